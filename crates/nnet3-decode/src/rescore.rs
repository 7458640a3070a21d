//! Other language models: their costs are added to those of lattices.

use std::collections::HashMap;

use kaldi_fst::{Arc, EPSILON, Fst, State, StateId, Weight, ops};

use crate::determinize::{Options, Report, determinize_connected};
use crate::error::Result;
use crate::lattice::{CompactLattice, Lattice, Scale, scale};
use crate::lm::ConstArpa;
use crate::weight::LatticeWeight;

/// A language model as a transducer, arcs in the order of input labels. Arcs without input label are ways to back off.
pub struct FstLm(Fst);

impl FstLm {
    pub fn new(mut fst: Fst) -> FstLm {
        for state in &mut fst.states {
            state.arcs.sort_by_key(|arc| arc.ilabel);
        }
        FstLm(fst)
    }

    fn arcs(&self, state: StateId, label: i32) -> &[Arc] {
        let arcs = &self.0.state(state).arcs;
        let first = arcs.partition_point(|arc| arc.ilabel < label);
        let count = arcs[first..].partition_point(|arc| arc.ilabel == label);
        &arcs[first..first + count]
    }
}

/// A language model for rescoring.
pub enum LanguageModel {
    Fst(FstLm),
    ConstArpa(ConstArpa),
}

/// Adds `lm_scale` times the cost of the best path through the language model to the graph costs, and determinizes. The
/// result is empty if the model accepts nothing of the lattice.
pub fn rescore(mut lattice: Lattice, lm: &LanguageModel, lm_scale: f32) -> Result<(CompactLattice, Report)> {
    // The lattice is scaled so that the best path is that of the model also where its cost is taken away.
    let factor = f64::from(lm_scale);
    scale(&mut lattice, Scale::new(1.0 / factor, 1.0));
    let mut composed = match lm {
        LanguageModel::Fst(lm) => compose_fst(&lattice, lm),
        LanguageModel::ConstArpa(lm) => compose_const_arpa(&lattice, lm),
    };
    ops::connect(&mut composed);
    let unlimited = Options { max_mem: 0, ..Options::default() };
    let (mut out, report) = determinize_connected(&mut composed, f64::INFINITY, &unlimited)?;
    scale(&mut out, Scale::new(factor, 1.0));
    Ok((out, report))
}

/// States of a composition with their numbers.
struct Pairs<T> {
    out: Lattice,
    numbers: HashMap<T, StateId>,
    waiting: Vec<T>,
}

impl<T: Clone + Eq + std::hash::Hash> Pairs<T> {
    fn starting_with(start: T) -> Pairs<T> {
        let mut pairs = Pairs { out: Lattice::default(), numbers: HashMap::new(), waiting: Vec::new() };
        pairs.out.start = Some(pairs.number(start));
        pairs
    }

    fn number(&mut self, place: T) -> StateId {
        let (out, waiting) = (&mut self.out, &mut self.waiting);
        *self.numbers.entry(place).or_insert_with_key(|place| {
            waiting.push(place.clone());
            out.add_state()
        })
    }

    fn add_arc(&mut self, from: StateId, labels: (i32, i32), weight: LatticeWeight, next: T) {
        let next = self.number(next);
        self.out.state_mut(from).arcs.push(Arc { ilabel: labels.0, olabel: labels.1, weight, next });
    }
}

fn costing(graph: f32) -> LatticeWeight {
    LatticeWeight::new(graph, 0.0)
}

/// The weight of ending in both.
fn final_weight(state: &State<LatticeWeight>, lm: f32) -> LatticeWeight {
    if !state.is_final() || lm == f32::INFINITY {
        return LatticeWeight::ZERO;
    }
    state.final_weight.times(&costing(lm))
}

fn compose_fst(lattice: &Lattice, lm: &FstLm) -> Lattice {
    let (Some(a), Some(b)) = (lattice.start, lm.0.start) else { return Lattice::default() };
    // Backing off comes before arcs without words, so that there is one way for each pair of paths: the flag says that
    // such an arc was the last.
    let mut pairs = Pairs::starting_with((a, b, false));
    while let Some((a, b, moved)) = pairs.waiting.pop() {
        let from = pairs.number((a, b, moved));
        let state = lattice.state(a);
        pairs.out.state_mut(from).final_weight = final_weight(state, lm.0.state(b).final_weight);
        if !moved {
            for back in lm.arcs(b, EPSILON) {
                pairs.add_arc(from, (EPSILON, back.olabel), costing(back.weight), (a, back.next, false));
            }
        }
        for arc in &state.arcs {
            if arc.olabel == EPSILON {
                pairs.add_arc(from, (arc.ilabel, EPSILON), arc.weight, (arc.next, b, true));
                continue;
            }
            for other in lm.arcs(b, arc.olabel) {
                let weight = arc.weight.times(&costing(other.weight));
                pairs.add_arc(from, (arc.ilabel, other.olabel), weight, (arc.next, other.next, false));
            }
        }
    }
    pairs.out
}

fn compose_const_arpa(lattice: &Lattice, lm: &ConstArpa) -> Lattice {
    let Some(start) = lattice.start else { return Lattice::default() };
    let mut pairs = Pairs::starting_with((start, vec![lm.begin()]));
    while let Some((s, history)) = pairs.waiting.pop() {
        let from = pairs.number((s, history.clone()));
        let state = lattice.state(s);
        if state.is_final() {
            let end = -lm.log_prob(&history, lm.end());
            pairs.out.state_mut(from).final_weight = final_weight(state, end);
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
    pairs.out
}
