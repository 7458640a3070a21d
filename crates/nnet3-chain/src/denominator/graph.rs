//! The denominator graph as a hidden Markov model.

use kaldi_fst::Fst;
use nnet3_matrix::{Hmm, HmmArc};
use nnet3_train::{Error, Result};

/// Steps of the power iteration for the initial probabilities.
const STEPS: usize = 100;

/// Arc probabilities of a state add up to less than this.
const MOST_PROBABILITY: f64 = 100.0;

/// The den.fst of a model.
pub struct DenominatorGraph {
    /// Its states are the states of the FST in another order.
    hmm: Hmm,
    initial: Vec<f32>,
}

impl DenominatorGraph {
    /// Makes the graph of an FST with pdfs plus 1 as labels. All states become final with probability 1; final weights
    /// of the FST are ignored. It is an error if the FST is no acceptor, has empty arcs or labels above `num_pdfs`, or
    /// if a state's probabilities are out of range.
    pub fn new(fst: &Fst, num_pdfs: usize) -> Result<DenominatorGraph> {
        let initial = initial_probabilities(fst)?;
        let mut arcs = Vec::with_capacity(fst.num_arcs());
        for (from, state) in fst.numbered() {
            for arc in &state.arcs {
                let pdf = usize::try_from(arc.ilabel - 1).ok().filter(|&pdf| pdf < num_pdfs);
                let Some(pdf) = pdf else {
                    return Err(problem(format!(
                        "an arc of state {from} has the label {}, expected a pdf plus 1, from 1 to {num_pdfs}",
                        arc.ilabel
                    )));
                };
                let probability = (-arc.weight).exp();
                arcs.push(HmmArc { from, to: arc.next, emission: pdf as u32, probability });
            }
        }
        let order = by_predecessors(&arcs, initial.len());
        let mut numbers = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&state, number)| numbers[state as usize] = number);
        for arc in &mut arcs {
            (arc.from, arc.to) = (numbers[arc.from as usize], numbers[arc.to as usize]);
        }
        let initial: Vec<f32> = order.iter().map(|&state| initial[state as usize]).collect();
        Ok(DenominatorGraph { hmm: Hmm::new(num_pdfs, &initial, &arcs), initial })
    }

    pub fn num_pdfs(&self) -> usize {
        self.hmm.emissions()
    }
    pub fn num_states(&self) -> usize {
        self.hmm.states()
    }
    pub fn num_arcs(&self) -> usize {
        self.hmm.arcs()
    }
    /// The probability of each state of the model before the first frame.
    pub fn initial(&self) -> &[f32] {
        &self.initial
    }
    pub fn hmm(&self) -> &Hmm {
        &self.hmm
    }
}

/// Returns the best order of the states for computing: states with the same predecessors are adjacent, so that their
/// data stay in the nearest cache. (In a graph of n-grams, histories that differ only in their last phone have the same
/// predecessors.)
fn by_predecessors(arcs: &[HmmArc], states: usize) -> Vec<u32> {
    let mut predecessors = vec![Vec::new(); states];
    arcs.iter().filter(|arc| arc.from != arc.to).for_each(|arc| predecessors[arc.to as usize].push(arc.from));
    predecessors.iter_mut().for_each(|list| list.sort_unstable());
    let mut order: Vec<u32> = (0..states as u32).collect();
    order.sort_by(|&a, &b| predecessors[a as usize].cmp(&predecessors[b as usize]));
    order
}

fn problem(why: String) -> Error {
    Error::data(format!("denominator FST: {why}"))
}

/// Returns the probability of each state in the middle of an utterance: the mean of the distributions after 0 to 99
/// steps from the start state.
pub fn initial_probabilities(fst: &Fst) -> Result<Vec<f32>> {
    let start = fst.start.ok_or_else(|| problem("it has no start state".to_owned()))?;
    fst.check_acceptor().map_err(|e| problem(e.to_string()))?;
    let mut normalizers = Vec::with_capacity(fst.states.len());
    for (number, state) in fst.numbered() {
        let arcs = state.arcs.iter().map(|arc| probability(arc.weight)).sum::<f64>();
        let sum = arcs + probability(state.final_weight);
        if !(sum > 0.0 && sum < MOST_PROBABILITY) {
            return Err(problem(format!(
                "probabilities of state {number} add up to {sum}, expected more than 0 and less than {MOST_PROBABILITY}"
            )));
        }
        normalizers.push(1.0 / sum);
    }
    let mut current = vec![0.0; fst.states.len()];
    current[start as usize] = 1.0;
    let mut next = vec![0.0; fst.states.len()];
    let mut mean = vec![0.0; fst.states.len()];
    for _ in 0..STEPS {
        mean.iter_mut().zip(&current).for_each(|(mean, now)| *mean += now / STEPS as f64);
        next.fill(0.0);
        for (s, state) in fst.states.iter().enumerate() {
            let here = current[s] * normalizers[s];
            if here != 0.0 {
                state.arcs.iter().for_each(|arc| next[arc.next as usize] += here * probability(arc.weight));
            }
        }
        let sum: f64 = next.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return Err(problem("all its paths end before the hundredth frame".to_owned()));
        }
        next.iter_mut().for_each(|p| *p /= sum);
        std::mem::swap(&mut current, &mut next);
    }
    Ok(mean.into_iter().map(|p| p as f32).collect())
}

fn probability(cost: f32) -> f64 {
    (-f64::from(cost)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_fst::text::parse;

    #[test]
    fn means_of_distributions() {
        // State 0 leads to state 1 only. After normalisation, state 1 stays with probability 3/4, or goes back.
        let fst = parse("0 1 1 1\n1 1 2 2 0.28768207\n1 0 1 1 1.3862944\n").unwrap();
        let found = initial_probabilities(&fst).unwrap();
        let (mut p, mut sum) = ([1.0, 0.0], [0.0, 0.0]);
        for _ in 0..100 {
            sum = [sum[0] + p[0] / 100.0, sum[1] + p[1] / 100.0];
            p = [p[1] * 0.25, p[0] + p[1] * 0.75];
        }
        assert!((f64::from(found[0]) - sum[0]).abs() < 1e-6 && (f64::from(found[1]) - sum[1]).abs() < 1e-6);
    }

    #[test]
    fn what_is_no_denominator_graph() {
        let refusal = |fst: &Fst| DenominatorGraph::new(fst, 3).err().map(|e| e.to_string());
        assert!(refusal(&Fst::default()).is_some_and(|found| found.contains("no start state")));
        for (text, expected) in [
            ("0 1 1 2\n1 0 1 1\n", "input label 1 and output label 2"),
            ("0 1 1 1\n1 0 4 4\n", "has the label 4, expected a pdf plus 1, from 1 to 3"),
            ("0 1 1 1\n1 0 0 0\n", "has the label 0"),
            ("0 1 1 1\n1\n", "end before the hundredth frame"),
            ("0 1 1 1\n0 0 1 1\n1 1 1 1 -5\n", "probabilities of state 1 add up to 148"),
            ("0 1 1 1\n0 0 1 1\n", "probabilities of state 1 add up to 0"),
        ] {
            let found = refusal(&parse(text).unwrap());
            assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{text:?}: {found:?}");
        }
    }
}
