//! Rescores lattices: adds the costs of other language models.

use kaldi_fst::{EPSILON, Weight, ops};

use crate::compose::{AsLatticeWeight, Pairs, SecondFst, compose, final_weight};
use crate::compose_states::compose_states;
use crate::determinize::{Options, Report, determinize_connected};
use crate::error::Result;
use crate::lattice::{CompactLattice, Lattice, Scale, expand, scale};
use crate::lm::ConstArpa;
use crate::lm::deterministic::DeterministicLm;
use crate::weight::LatticeWeight;

/// A language model for rescoring.
pub enum LanguageModel {
    /// Arcs without input label are ways to back off.
    Fst(SecondFst),
    ConstArpa(ConstArpa),
}

/// Adds `lm_scale` times the cost of the best path through the language model to the graph costs, and determinizes. The
/// result is empty if the model accepts no path of the lattice.
pub fn rescore(mut lattice: Lattice, lm: &LanguageModel, lm_scale: f32) -> Result<(CompactLattice, Report)> {
    // The lattice is scaled so that the best path is the model's also if its cost is subtracted.
    let factor = f64::from(lm_scale);
    scale(&mut lattice, Scale::new(1.0 / factor, 1.0));
    let mut composed = match lm {
        LanguageModel::Fst(lm) => compose(&lattice, lm)?,
        LanguageModel::ConstArpa(lm) => compose_const_arpa(&lattice, lm),
    };
    let unlimited = Options { max_mem: 0, ..Options::default() };
    let (mut out, report) = determinize_connected(&mut composed, f64::INFINITY, &unlimited)?;
    scale(&mut out, Scale::new(factor, 1.0));
    Ok((out, report))
}

/// Adds `lm_scale` (not 0) times the costs of a language model whose states are made when they are met, and determinizes. The result
/// is empty if the model accepts nothing of the lattice.
pub fn rescore_states(
    mut lattice: CompactLattice,
    lm: &mut impl DeterministicLm,
    lm_scale: f32,
) -> Result<(CompactLattice, Report)> {
    let factor = f64::from(lm_scale);
    scale(&mut lattice, Scale::new(1.0 / factor, 1.0));
    let mut composed = expand(&compose_states(&lattice, lm));
    let unlimited = Options { max_mem: 0, ..Options::default() };
    let (mut out, report) = determinize_connected(&mut composed, f64::INFINITY, &unlimited)?;
    scale(&mut out, Scale::new(factor, 1.0));
    Ok((out, report))
}

fn costing(graph: f32) -> LatticeWeight {
    LatticeWeight::new(graph, 0.0)
}

fn compose_const_arpa(lattice: &Lattice, lm: &ConstArpa) -> Lattice {
    let Some(start) = lattice.start else { return Lattice::default() };
    let mut pairs = Pairs::starting_with((start, vec![lm.begin()]));
    while let Some((s, history)) = pairs.waiting.pop() {
        let from = pairs.number((s, history.clone()));
        let state = lattice.state(s);
        if state.is_final() {
            let end = -lm.log_prob(&history, lm.end());
            pairs.out.state_mut(from).final_weight = final_weight(state, end.as_lattice_weight());
        }
        for arc in &state.arcs {
            if arc.olabel == EPSILON {
                pairs.add_arc(from, (arc.ilabel, EPSILON), arc.weight, (arc.next, history.clone()));
                continue;
            }
            let log_prob = lm.log_prob(&history, arc.olabel);
            if log_prob == f32::NEG_INFINITY {
                continue;
            }
            let weight = arc.weight.times(&costing(-log_prob));
            let next = lm.next_history(&history, arc.olabel);
            pairs.add_arc(from, (arc.ilabel, arc.olabel), weight, (arc.next, next));
        }
    }
    ops::connect(&mut pairs.out);
    pairs.out
}
