//! Maximum-likelihood estimates of transition probabilities from counts of transition-ids.
//!
//! Sums and quotients round as in the reference: counts are double, probabilities and totals single precision.

use crate::error::{Error, Result};
use crate::transitions::{TransitionId, TransitionModel};
use std::collections::{BTreeMap, BTreeSet};

/// Options for estimating transition probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct MleOptions {
    /// Least probability of a transition.
    pub floor: f32,
    /// States with a smaller count keep their probabilities.
    pub min_count: f32,
    /// States with the same pdf get the same probabilities.
    pub share_for_pdfs: bool,
}

impl Default for MleOptions {
    fn default() -> Self {
        MleOptions { floor: 0.01, min_count: 5.0, share_for_pdfs: false }
    }
}

/// The result of an update.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MleReport {
    /// By how much the log-likelihood of the counts grew.
    pub improvement: f32,
    /// Total count of all states with more than one transition.
    pub count: f32,
    /// Probabilities that are at the floor now.
    pub num_floored: usize,
    /// States (or, sharing for pdfs, pdfs) that had too small a count.
    pub num_skipped: usize,
}

impl MleReport {
    /// Growth of the log-likelihood per unit of count; 0 if there was none.
    pub fn improvement_per_frame(&self) -> f32 {
        if self.count == 0.0 { 0.0 } else { self.improvement / self.count }
    }
}

/// Counts of transition-ids.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionCounts(Vec<f64>);

impl TransitionCounts {
    pub fn new(model: &TransitionModel) -> TransitionCounts {
        TransitionCounts(vec![0.0; model.num_transition_ids() + 1])
    }

    /// Takes counts as in files: an unused first element, then one for each transition-id. Another number of elements
    /// is an error.
    pub fn from_values(model: &TransitionModel, counts: Vec<f64>) -> Result<TransitionCounts> {
        let expected = model.num_transition_ids() + 1;
        if counts.len() != expected {
            return Err(Error::Value(format!(
                "expected {expected} counts (one for each transition-id, and one more), found {}",
                counts.len()
            )));
        }
        Ok(TransitionCounts(counts))
    }

    pub fn add(&mut self, id: TransitionId, weight: f64) {
        self.0[id.get()] += weight;
    }

    pub fn get(&self, id: TransitionId) -> f64 {
        self.0[id.get()]
    }

    /// The counts of each transition-id; the first element is 0.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }
}

impl TransitionModel {
    /// Replaces the transition probabilities by maximum-likelihood estimates from the counts.
    pub fn update(&mut self, counts: &TransitionCounts, options: &MleOptions) -> Result<MleReport> {
        if !(0.0..1.0).contains(&options.floor) {
            return Err(Error::Value(format!(
                "the floor of transition probabilities must be at least 0 and below 1, found {}",
                options.floor
            )));
        }
        let mut report = MleReport::default();
        for states in self.groups(options.share_for_pdfs) {
            self.update_group(&states, counts, options, &mut report)?;
        }
        Ok(report)
    }

    /// Indexes of states that share probabilities.
    fn groups(&self, share_for_pdfs: bool) -> Vec<Vec<usize>> {
        if !share_for_pdfs {
            return (0..self.states().len()).map(|s| vec![s]).collect();
        }
        let mut by_pdf = BTreeMap::<i32, BTreeSet<usize>>::new();
        for (s, state) in self.states().iter().enumerate() {
            for pdf in [Some(state.forward_pdf), state.self_loop_pdf].into_iter().flatten() {
                by_pdf.entry(pdf).or_default().insert(s);
            }
        }
        by_pdf.into_values().map(|states| states.into_iter().collect()).collect()
    }

    fn update_group(
        &mut self,
        states: &[usize],
        counts: &TransitionCounts,
        options: &MleOptions,
        report: &mut MleReport,
    ) -> Result<()> {
        let old: Vec<f32> = self.ids_of_state(states[0]).map(|id| self.log_prob(id).exp()).collect();
        if old.len() < 2 {
            return Ok(());
        }
        let mut group = vec![0.0; old.len()];
        for &s in states {
            if self.ids_of_state(s).len() != old.len() {
                return Err(Error::Model(format!(
                    "transition-states {} and {} have the same pdf, but different numbers of transitions: probabilities \
                     cannot be shared for pdfs",
                    states[0] + 1,
                    s + 1
                )));
            }
            self.ids_of_state(s).zip(&mut group).for_each(|(id, count)| *count += counts.get(id));
        }
        let total: f64 = group.iter().sum();
        report.count = (f64::from(report.count) + total) as f32;
        if total < f64::from(options.min_count) {
            report.num_skipped += 1;
            return Ok(());
        }
        let new = estimate(&group, total, options.floor);
        for ((&count, &new), &old) in group.iter().zip(&new).zip(&old) {
            report.num_floored += usize::from(new == options.floor);
            let change = if count == 0.0 { 0.0 } else { count * f64::from(new.ln() - old.ln()) };
            report.improvement = (f64::from(report.improvement) + change) as f32;
        }
        for &s in states {
            for (id, probability) in self.ids_of_state(s).zip(&new) {
                let log_prob = probability.ln();
                if !log_prob.is_finite() {
                    return Err(Error::Value(format!(
                        "transition-id {} would get probability {probability}: are counts and floor right?",
                        id.get()
                    )));
                }
                self.log_probs_mut()[id.get()] = log_prob;
            }
        }
        Ok(())
    }
}

/// Proportions of the counts, none below `floor`. Flooring makes the sum exceed 1 a little, so it is done over and over.
fn estimate(counts: &[f64], total: f64, floor: f32) -> Vec<f32> {
    let mut probabilities: Vec<f32> = counts.iter().map(|count| (count / total) as f32).collect();
    for _ in 0..3 {
        let scale = (1.0 / f64::from(strided_sum(&probabilities))) as f32;
        probabilities.iter_mut().for_each(|p| *p = (*p * scale).max(floor));
    }
    probabilities
}

/// Adds up numbers as the reference's `VectorBase::Sum` does, which is OpenBLAS's product with a vector of stride 0: pairs
/// in single precision, their sums in double.
pub fn strided_sum(values: &[f32]) -> f32 {
    let (pairs, rest) = values.as_chunks::<2>();
    let sum: f64 = pairs.iter().map(|[a, b]| f64::from(a + b)).sum();
    rest.iter().fold(sum, |sum, &x| sum + f64::from(x)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;

    /// Phones 1 and 2 share pdf 0 in their first states; phone 2 has a state more.
    fn model() -> TransitionModel {
        let topology = "<Topology> <TopologyEntry> <ForPhones> 1 </ForPhones> \
            <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> </TopologyEntry> \
            <TopologyEntry> <ForPhones> 2 </ForPhones> \
            <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> \
            <State> 1 <PdfClass> 1 <Transition> 2 1 </State> <State> 2 </State> </TopologyEntry> </Topology> ";
        let tree =
            "ContextDependency 1 0 ToPdf TE 0 3 ( NULL CE 0 TE -1 2 ( CE 0 CE 1 ) ) EndContextDependency ";
        TransitionModel::new(&from_text(tree).unwrap(), from_text(topology).unwrap()).unwrap()
    }

    /// Makes counts of the transition-ids from 1 on.
    fn counts(model: &TransitionModel, values: [f64; 5]) -> TransitionCounts {
        let mut counts = TransitionCounts::new(model);
        model.ids().zip(values).for_each(|(id, value)| counts.add(id, value));
        counts
    }

    fn probabilities(model: &TransitionModel) -> Vec<f32> {
        model.ids().map(|id| model.log_prob(id).exp()).collect()
    }

    fn assert_near(a: &[f32], b: &[f32]) {
        assert_eq!(a.len(), b.len());
        assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-6), "{a:?} and {b:?}");
    }

    #[test]
    fn proportions_and_floors() {
        let mut model = model();
        // State 1: 6 and 2. State 2: all of 10 stay, so leaving gets the floor. State 3 has one transition only.
        let counts = counts(&model, [6.0, 2.0, 10.0, 0.0, 7.0]);
        let report = model.update(&counts, &MleOptions { floor: 0.02, ..Default::default() }).unwrap();
        // 1 and 0.02 are divided by 1.02. Then 0.0196 is raised to 0.02, and the division is repeated.
        let stays = 1.0 / 1.02 / (1.0 / 1.02 + 0.02);
        assert_near(&probabilities(&model), &[0.75, 0.25, stays, 0.02, 1.0]);
        assert_eq!((report.count, report.num_floored, report.num_skipped), (18.0, 1, 0));
        let improvement = 6.0 * 1.5f32.ln() + 2.0 * 0.5f32.ln() + 10.0 * (stays / 0.5).ln();
        assert!((report.improvement - improvement).abs() < 1e-5, "{report:?}");
    }

    #[test]
    fn counts_of_files() {
        let model = model();
        let values = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(TransitionCounts::from_values(&model, values.clone()).unwrap().as_slice(), values);
        let error = TransitionCounts::from_values(&model, vec![0.0; 5]).unwrap_err().to_string();
        assert!(error.contains("expected 6 counts"), "{error}");
    }

    #[test]
    fn small_counts_change_nothing() {
        let mut model = model();
        let before = model.clone();
        let counts = counts(&model, [4.0, 0.9, 0.0, 0.0, 100.0]);
        let report = model.update(&counts, &MleOptions::default()).unwrap();
        assert_eq!(model, before);
        assert_eq!((report.num_skipped, report.improvement, report.improvement_per_frame()), (2, 0.0, 0.0));
    }

    #[test]
    fn sharing() {
        let mut model = model();
        let counts = counts(&model, [6.0, 2.0, 10.0, 2.0, 7.0]);
        let options = MleOptions { share_for_pdfs: true, ..Default::default() };
        let report = model.update(&counts, &options).unwrap();
        assert_near(&probabilities(&model), &[0.8, 0.2, 0.8, 0.2, 1.0]);
        assert_eq!(report.count, 20.0);
        assert!(model.update(&counts, &MleOptions { floor: 1.0, ..options }).is_err());
    }

    #[test]
    fn sharing_needs_equal_numbers_of_transitions() {
        let topology = "<Topology> <TopologyEntry> <ForPhones> 1 </ForPhones> \
            <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> \
            <State> 1 <PdfClass> 0 <Transition> 2 1 </State> <State> 2 </State> </TopologyEntry> </Topology> ";
        let tree = "ContextDependency 1 0 ToPdf CE 0 EndContextDependency ";
        let mut model =
            TransitionModel::new(&from_text(tree).unwrap(), from_text(topology).unwrap()).unwrap();
        let counts = TransitionCounts::new(&model);
        let options = MleOptions { share_for_pdfs: true, ..Default::default() };
        let error = model.update(&counts, &options).unwrap_err().to_string();
        assert!(error.contains("transition-states 1 and 2 have the same pdf"), "{error}");
        assert!(model.update(&counts, &MleOptions::default()).is_ok());
    }

    #[test]
    fn order_of_sums() {
        // 1 is lost beside 2²⁵ in single precision, 4 is not.
        let large = 33_554_432.0;
        assert_eq!(strided_sum(&[large, 1.0, 1.0, 1.0]), large);
        assert_eq!(strided_sum(&[large, 2.0, 1.0, 2.0]), large + 4.0);
        assert_eq!(strided_sum(&[1.0, large, 2.0, 0.0, 1.0]), large + 4.0);
        assert_eq!(strided_sum(&[0.5, 0.25, 1.0]), 1.75);
    }
}
