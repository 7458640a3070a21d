//! Rescores lattices: adds the costs of other language models.

use kaldi_fst::state_table::unfold;
use kaldi_fst::{Algebra, EPSILON, ops};

use crate::compose::{AsLatticeWeight, Composed, SecondFst, compose, final_weight};
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
    let mut out = unfold((start, vec![lm.begin()]), |(s, history), out: &mut Composed<_>| {
        let state = lattice.state(s);
        for arc in &state.arcs {
            if arc.olabel == EPSILON {
                out.add((arc.ilabel, EPSILON), arc.weight, (arc.next, history.clone()));
                continue;
            }
            let log_prob = lm.log_prob(&history, arc.olabel);
            if log_prob == f32::NEG_INFINITY {
                continue;
            }
            let weight = arc.weight.times(&costing(-log_prob));
            let next = lm.next_history(&history, arc.olabel);
            out.add((arc.ilabel, arc.olabel), weight, (arc.next, next));
        }
        let end = || (-lm.log_prob(&history, lm.end())).as_lattice_weight();
        if state.is_final() { final_weight(state, end()) } else { LatticeWeight::ZERO }
    });
    ops::connect(&mut out);
    out
}
