//! Posteriors of transition-ids as posteriors of pdfs or phones. Entries of a frame are sorted; zeros are left out.

use crate::error::{Error, Result};
use crate::transitions::{TransitionId, TransitionModel};
use kaldi_io::Posterior;
use std::collections::BTreeMap;

impl TransitionModel {
    /// Sums of the posteriors of the transition-ids of each pdf.
    pub fn posterior_of_pdfs(&self, posterior: &Posterior) -> Result<Posterior> {
        self.sum_by(posterior, |id| self.pdf(id))
    }

    /// Sums of the posteriors of the transition-ids of each phone.
    pub fn posterior_of_phones(&self, posterior: &Posterior) -> Result<Posterior> {
        self.sum_by(posterior, |id| self.phone(id))
    }

    /// Multiplies the posteriors of the transition-ids of some phones, in ascending order, by a weight. With 0 they are left
    /// out; frames stay, maybe without entries.
    pub fn weight_phones(&self, posterior: &mut Posterior, phones: &[i32], weight: f32) -> Result<()> {
        for (t, frame) in posterior.iter_mut().enumerate() {
            for (id, p) in frame.iter_mut() {
                let id = self.transition_id(*id).map_err(|e| e.at_frame(t))?;
                if phones.binary_search(&self.phone(id)).is_ok() {
                    *p *= weight;
                }
            }
            if weight == 0.0 {
                let listed =
                    |id: i32| self.transition_id(id).map(|id| phones.binary_search(&self.phone(id)).is_ok());
                frame.retain(|entry| !listed(entry.0).unwrap_or(false));
            }
        }
        Ok(())
    }

    /// Multiplies all posteriors of a frame by the average weight of its entries. An entry of one of `phones`
    /// (ascending) has the weight `weight`, any other entry 1. Frames with average 0 lose their entries; frames with
    /// sum 0 stay unchanged. It is an error if the posteriors of either kind have a negative sum.
    pub fn weight_frames_by_phones(
        &self,
        posterior: &mut Posterior,
        phones: &[i32],
        weight: f32,
    ) -> Result<()> {
        for (t, frame) in posterior.iter_mut().enumerate() {
            let (mut listed, mut others) = (0.0f32, 0.0f32);
            for &(id, p) in frame.iter() {
                let id = self.transition_id(id).map_err(|e| e.at_frame(t))?;
                let is_listed = phones.binary_search(&self.phone(id)).is_ok();
                *(if is_listed { &mut listed } else { &mut others }) += p;
            }
            if listed < 0.0 || others < 0.0 {
                let message = format!("posteriors with sums {listed} and {others} cannot be distributed");
                return Err(Error::Value(message).at_frame(t));
            }
            if listed + others == 0.0 {
                continue;
            }
            let factor = (listed * weight + others) / (listed + others);
            if factor == 0.0 {
                frame.clear();
            }
            frame.iter_mut().for_each(|entry| entry.1 *= factor);
        }
        Ok(())
    }

    fn sum_by(&self, posterior: &Posterior, class: impl Fn(TransitionId) -> i32) -> Result<Posterior> {
        map_frames(posterior, |id, weight, sums| {
            *sums.entry(class(self.transition_id(id)?)).or_insert(0.0) += weight;
            Ok(())
        })
    }
}

type Sums = BTreeMap<i32, f32>;

/// For each frame, calls `add` with every entry and collects the sums.
fn map_frames(posterior: &Posterior, add: impl Fn(i32, f32, &mut Sums) -> Result<()>) -> Result<Posterior> {
    let frame = |(t, entries): (usize, &Vec<(i32, f32)>)| {
        let mut sums = Sums::new();
        for &(id, weight) in entries {
            add(id, weight, &mut sums).map_err(|e| e.at_frame(t))?;
        }
        Ok(sums.into_iter().filter(|entry| entry.1 != 0.0).collect())
    };
    posterior.iter().enumerate().map(frame).collect()
}

/// Probability of each phone, given the pdf.
#[derive(Debug, Clone, PartialEq)]
pub struct PhonesOfPdfs(Vec<Sums>);

impl PhonesOfPdfs {
    /// Takes counts of transition-ids (the first element is unused). Phones of a pdf without counts are equally
    /// probable.
    pub fn new(model: &TransitionModel, counts: &[f32]) -> Result<PhonesOfPdfs> {
        let expected = model.num_transition_ids() + 1;
        if counts.len() != expected {
            return Err(Error::Value(format!(
                "expected {expected} counts (one for each transition-id, and one more), found {}",
                counts.len()
            )));
        }
        let mut phones = vec![Sums::new(); model.num_pdfs()];
        for id in model.ids() {
            // Only a self-loop without a pdf has none, and that the model does not allow.
            let pdf = model.pdf(id) as usize;
            *phones[pdf].entry(model.phone(id)).or_insert(0.0) += counts[id.get()];
        }
        for sums in &mut phones {
            let (total, count) = (sums.values().sum::<f32>(), sums.len() as f32);
            sums.values_mut().for_each(|p| *p = if total != 0.0 { *p / total } else { 1.0 / count });
        }
        Ok(PhonesOfPdfs(phones))
    }

    /// Posteriors of pdfs as posteriors of phones.
    pub fn posterior_of_phones(&self, posterior: &Posterior) -> Result<Posterior> {
        map_frames(posterior, |pdf, weight, sums| {
            let phones = usize::try_from(pdf).ok().and_then(|pdf| self.0.get(pdf));
            let phones = phones.ok_or(Error::PdfId { id: pdf, count: self.0.len() })?;
            for (&phone, &probability) in phones.iter().filter(|entry| *entry.1 != 0.0) {
                *sums.entry(phone).or_insert(0.0) += weight * probability;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;

    /// Phone and pdf of the ids: 1 and 2 have phone 1 and pdf 0; 3 and 4 have phone 2 and pdf 0; 5 and 6 have phone
    /// 3 and pdf 1.
    fn model() -> TransitionModel {
        let topology = "<Topology> <TopologyEntry> <ForPhones> 1 2 3 </ForPhones> \
            <State> 0 <PdfClass> 0 <Transition> 0 0.5 <Transition> 1 0.5 </State> <State> 1 </State> \
            </TopologyEntry> </Topology> ";
        let tree = "ContextDependency 1 0 ToPdf SE 0 [ 1 2 ] { CE 0 CE 1 } EndContextDependency ";
        TransitionModel::new(&from_text(tree).unwrap(), from_text(topology).unwrap()).unwrap()
    }

    #[test]
    fn sums_by_pdf_and_phone() {
        let model = model();
        let posterior =
            vec![vec![(6, 0.25), (4, 0.25), (1, 0.25), (3, 0.125)], vec![], vec![(2, 1.0), (1, -1.0)]];
        assert_eq!(
            model.posterior_of_pdfs(&posterior).unwrap(),
            [vec![(0, 0.625), (1, 0.25)], vec![], vec![]]
        );
        assert_eq!(
            model.posterior_of_phones(&posterior).unwrap(),
            [vec![(1, 0.25), (2, 0.375), (3, 0.25)], vec![], vec![]]
        );
        let error = model.posterior_of_pdfs(&vec![vec![(1, 1.0)], vec![(7, 1.0)]]).unwrap_err();
        assert_eq!(error.to_string(), "frame 1");
    }

    #[test]
    fn weights_of_phones() {
        let model = model();
        let posterior = || vec![vec![(6, 0.25), (3, 0.5), (1, 0.25)], vec![(4, 1.0)], vec![], vec![(5, 0.0)]];
        let run = |weight, distribute| {
            let mut posterior = posterior();
            match distribute {
                true => model.weight_frames_by_phones(&mut posterior, &[2, 4], weight).unwrap(),
                false => model.weight_phones(&mut posterior, &[2, 4], weight).unwrap(),
            }
            posterior
        };
        let frame = vec![(6, 0.25), (3, 0.25), (1, 0.25)];
        assert_eq!(run(0.5, false), [frame, vec![(4, 0.5)], vec![], vec![(5, 0.0)]]);
        assert_eq!(run(0.0, false), [vec![(6, 0.25), (1, 0.25)], vec![], vec![], vec![(5, 0.0)]]);
        let frame = vec![(6, 0.125), (3, 0.25), (1, 0.125)];
        assert_eq!(run(0.0, true), [frame, vec![], vec![], vec![(5, 0.0)]]);
        let mut negative = vec![vec![], vec![(1, -1.0)]];
        let error = model.weight_frames_by_phones(&mut negative, &[1], 0.5).unwrap_err();
        assert_eq!(error.to_string(), "frame 1");
        assert!(model.weight_phones(&mut vec![vec![(7, 1.0)]], &[1], 0.5).is_err());
    }

    #[test]
    fn phones_from_pdfs() {
        let model = model();
        let phones = PhonesOfPdfs::new(&model, &[0.0, 1.0, 2.0, 0.5, 0.5, 0.0, 0.0]).unwrap();
        let posterior = vec![vec![(0, 0.5), (1, 0.25)], vec![(1, 1.0)]];
        assert_eq!(
            phones.posterior_of_phones(&posterior).unwrap(),
            [vec![(1, 0.375), (2, 0.125), (3, 0.25)], vec![(3, 1.0)]]
        );
        assert!(PhonesOfPdfs::new(&model, &[0.0; 6]).is_err());
        assert!(phones.posterior_of_phones(&vec![vec![(2, 1.0)]]).is_err());
    }
}
