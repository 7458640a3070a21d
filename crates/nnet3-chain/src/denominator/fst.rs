//! Making the denominator FST of a phone language model, and the normalization FST of it.

use kaldi_fst::ops::{self, Semiring, Side};
use kaldi_fst::{Arc, EPSILON, Fst};
use nnet3_train::Result;

use super::graph::initial_probabilities;
use crate::transition_graph::{PhoneModel, fst_error};

/// Tolerances of costs: a hundredth of this for pushing, ten times this for comparisons.
const DELTA: f32 = 1.0 / 1024.0;

/// Passes of minimization, from the end and from the start.
const PASSES: usize = 3;

/// Makes the acceptor of pdfs plus 1. Calls `report` with the name and the result of each stage, for log lines with
/// sizes.
pub fn make_denominator_fst(
    model: PhoneModel<'_>,
    phone_lm: Fst,
    report: &mut dyn FnMut(&str, &Fst),
) -> Result<Fst> {
    phone_lm.check_acceptor().map_err(fst_error)?;
    report("phone-LM FST", &phone_lm);
    let stages = ["context-dependent LM FST", "transition-id FST"];
    let mut fst = model.expand(phone_lm, 1.0, |fst, last| report(stages[usize::from(last)], fst))?;
    model.to_pdfs(&mut fst)?;
    ops::remove_epsilons_locally(&mut fst, Semiring::Tropical, Semiring::Tropical);
    ops::remove_epsilons(&mut fst).map_err(fst_error)?;
    report("transition-id FST after removing epsilons", &fst);
    for pass in 1..=PASSES {
        for kind in ["reversed", "regular"] {
            fst = ops::reverse(&fst);
            ops::push_special(&mut fst, DELTA * 0.01);
            ops::minimize_encoded(&mut fst, DELTA * 10.0);
            report(&format!("transition-id FST after {kind} minimization (pass {pass})"), &fst);
        }
    }
    ops::remove_epsilons(&mut fst).map_err(fst_error)?;
    report("transition-id FST after removing any epsilons introduced by reversal", &fst);
    ops::push_special(&mut fst, DELTA * 0.01);
    Ok(busiest_first(fst))
}

/// Puts states with many arcs, in or out, first.
fn busiest_first(mut fst: Fst) -> Fst {
    let mut degrees: Vec<usize> = fst.states.iter().map(|state| state.arcs.len()).collect();
    for arc in fst.states.iter().flat_map(|state| &state.arcs) {
        degrees[arc.next as usize] += 1;
    }
    let mut order: Vec<usize> = (0..degrees.len()).collect();
    order.sort_by_key(|&s| std::cmp::Reverse(degrees[s]));
    let mut numbers = vec![0; order.len()];
    order.iter().enumerate().for_each(|(number, &s)| numbers[s] = number as u32);
    let mut states: Vec<_> = order.iter().map(|&s| std::mem::take(&mut fst.states[s])).collect();
    for arc in states.iter_mut().flat_map(|state| &mut state.arcs) {
        arc.next = numbers[arc.next as usize];
    }
    Fst { start: fst.start.map(|s| numbers[s as usize]), states }
}

/// Makes the FST with which supervision is composed. It is the denominator FST, but it begins in any state, at the cost
/// of that state's initial probability, and ends in any state.
pub fn make_normalization_fst(denominator: &Fst) -> Result<Fst> {
    let initial = initial_probabilities(denominator)?;
    let mut fst = denominator.clone();
    fst.states.iter_mut().for_each(|state| state.final_weight = 0.0);
    let start = fst.add_state();
    fst.start = Some(start);
    let arcs = (0..).zip(&initial).filter(|(_, p)| **p > 0.0);
    fst.state_mut(start).arcs = arcs.map(|(next, p)| Arc::new(EPSILON, -p.ln(), next)).collect();
    ops::remove_epsilons(&mut fst).map_err(fst_error)?;
    ops::sort_arcs(&mut fst, Side::Input);
    Ok(fst)
}

/// The numbers of the pdfs that no arc has.
pub fn missing_pdfs(fst: &Fst, num_pdfs: usize) -> Vec<usize> {
    let mut seen = vec![false; num_pdfs];
    for arc in fst.states.iter().flat_map(|state| &state.arcs) {
        if let Some(seen) = (arc.ilabel as usize).checked_sub(1).and_then(|pdf| seen.get_mut(pdf)) {
            *seen = true;
        }
    }
    (0..num_pdfs).filter(|&pdf| !seen[pdf]).collect()
}
