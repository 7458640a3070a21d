//! Composes lattices with FSTs: words of the lattice are the input of the FST, and costs are added.

use kaldi_fst::state_table::{Expanded, LastInFirstOut, unfold};
use kaldi_fst::{Algebra, Arc, EPSILON, Fst, State, StateId, Weight, ops};

use crate::error::{Error, Result};
use crate::lattice::Lattice;
use crate::weight::LatticeWeight;

/// Weights that can be added to those of a lattice.
pub trait AsLatticeWeight: Weight {
    fn as_lattice_weight(&self) -> LatticeWeight;
}

/// A cost of an FST is a graph cost.
impl AsLatticeWeight for f32 {
    fn as_lattice_weight(&self) -> LatticeWeight {
        if self.is_zero() { LatticeWeight::ZERO } else { LatticeWeight::new(*self, 0.0) }
    }
}

impl AsLatticeWeight for LatticeWeight {
    fn as_lattice_weight(&self) -> LatticeWeight {
        *self
    }
}

/// The arcs of the second FST that match a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// Arcs with the word.
    Exact,
    /// Takes arcs with the word. If a state has none, its arc with this label (phi) leads to the next state to try, at
    /// its cost.
    BackOff(i32),
    /// Arcs with the word. If a state has none, its arcs with this label (rho) match any word.
    Rest(i32),
}

/// The second FST of a composition: arcs are sorted by input label.
#[derive(Debug, Clone)]
pub struct SecondFst<W = f32> {
    fst: Fst<W>,
    matching: Matching,
    /// With [`Matching::Rest`]: the label is replaced on the output side, too.
    is_acceptor: bool,
}

impl<W: AsLatticeWeight> SecondFst<W> {
    /// Sorts arcs. With [`Matching::BackOff`], states that are not final and can back off to a final state become final.
    ///
    /// # Errors
    /// [`Error::BackOffCycle`] if arcs to back off form a cycle.
    pub fn new(fst: Fst<W>, matching: Matching) -> Result<SecondFst<W>> {
        let mut second = SecondFst { matching, ..SecondFst::exact(fst) };
        second.is_acceptor = matches!(matching, Matching::Rest(_)) && second.fst.check_acceptor().is_ok();
        if let Matching::BackOff(label) = matching {
            second.propagate_finals(label)?;
        }
        Ok(second)
    }

    /// Sorts arcs. Arcs match by [`Matching::Exact`].
    pub fn exact(mut fst: Fst<W>) -> SecondFst<W> {
        for state in &mut fst.states {
            state.arcs.sort_by_key(|arc| arc.ilabel);
        }
        SecondFst { fst, matching: Matching::Exact, is_acceptor: false }
    }

    fn propagate_finals(&mut self, label: i32) -> Result<()> {
        let count = self.fst.states.len();
        // States with a backoff chain that is known to end.
        let mut settled = vec![false; count];
        for first in 0..count as StateId {
            let (mut chain, mut at) = (Vec::new(), first);
            while !settled[at as usize] {
                if chain.len() > count {
                    return Err(Error::BackOffCycle { state: first, label });
                }
                chain.push(at);
                let Some(arc) = self.arcs(at, label).first() else { break };
                at = arc.next;
            }
            for state in chain.into_iter().rev() {
                settled[state as usize] = true;
                if self.fst.state(state).is_final() {
                    continue;
                }
                if let Some(arc) = self.arcs(state, label).first() {
                    let end = self.fst.state(arc.next).final_weight.times(&arc.weight);
                    if !self.fst.state(arc.next).final_weight.is_zero() {
                        self.fst.state_mut(state).final_weight = end;
                    }
                }
            }
        }
        Ok(())
    }

    /// The label of [`Matching::BackOff`] or [`Matching::Rest`].
    fn special_label(&self) -> Option<i32> {
        match self.matching {
            Matching::Exact => None,
            Matching::BackOff(label) | Matching::Rest(label) => Some(label),
        }
    }

    fn arcs(&self, state: StateId, label: i32) -> &[Arc<W>] {
        let arcs = &self.fst.state(state).arcs;
        let first = arcs.partition_point(|arc| arc.ilabel < label);
        let count = arcs[first..].partition_point(|arc| arc.ilabel == label);
        &arcs[first..first + count]
    }

    /// Calls `found` with output label, weight and target of each arc that matches a word.
    fn for_each_match(
        &self,
        mut state: StateId,
        word: i32,
        mut found: impl FnMut(i32, LatticeWeight, StateId),
    ) {
        let mut before = LatticeWeight::ONE;
        let mut arcs = self.arcs(state, word);
        match self.matching {
            Matching::BackOff(label) => {
                while arcs.is_empty() {
                    let Some(back) = self.arcs(state, label).first() else { return };
                    before = before.times(&back.weight.as_lattice_weight());
                    state = back.next;
                    arcs = self.arcs(state, word);
                }
            }
            Matching::Rest(label) if arcs.is_empty() => arcs = self.arcs(state, label),
            Matching::Rest(_) | Matching::Exact => {}
        }
        for arc in arcs {
            let output = match self.matching {
                Matching::Rest(label) if self.is_acceptor && arc.olabel == label => word,
                _ => arc.olabel,
            };
            found(output, before.times(&arc.weight.as_lattice_weight()), arc.next);
        }
    }
}

/// A state of a composition that is being made.
pub(crate) type Composed<K> = Expanded<K, LatticeWeight, LastInFirstOut>;

/// The weight of ending in both.
pub(crate) fn final_weight(state: &State<LatticeWeight>, other: LatticeWeight) -> LatticeWeight {
    if !state.is_final() || other.is_zero() { LatticeWeight::ZERO } else { state.final_weight.times(&other) }
}

/// Composes a lattice with an FST on words. The result has the transition-ids of the first and the output labels of the
/// second, one path for each pair of paths, and only states on paths. It is empty if no words match.
///
/// # Errors
/// [`Error::SpecialWord`] if a word of the lattice is the label of [`Matching::BackOff`] or [`Matching::Rest`].
pub fn compose<W: AsLatticeWeight>(lattice: &Lattice, second: &SecondFst<W>) -> Result<Lattice> {
    if let Some(label) = second.special_label()
        && lattice.states.iter().flat_map(|state| &state.arcs).any(|arc| arc.olabel == label)
    {
        return Err(Error::SpecialWord { label });
    }
    let (Some(a), Some(b)) = (lattice.start, second.fst.start) else { return Ok(Lattice::default()) };
    // Epsilon moves have a fixed order, so each pair of paths gives one path. Arcs without input of the second FST come
    // before arcs without words of the lattice. The flag is true after an arc without a word.
    let mut out = unfold((a, b, false), |(a, b, moved), out: &mut Composed<_>| {
        let state = lattice.state(a);
        if !moved {
            for arc in second.arcs(b, EPSILON) {
                let weight = arc.weight.as_lattice_weight();
                out.add((EPSILON, arc.olabel), weight, (a, arc.next, false));
            }
        }
        for arc in &state.arcs {
            if arc.olabel == EPSILON {
                out.add((arc.ilabel, EPSILON), arc.weight, (arc.next, b, true));
                continue;
            }
            second.for_each_match(b, arc.olabel, |output, weight, next| {
                out.add((arc.ilabel, output), arc.weight.times(&weight), (arc.next, next, false));
            });
        }
        final_weight(state, second.fst.state(b).final_weight.as_lattice_weight())
    });
    ops::connect(&mut out);
    Ok(out)
}

/// Composes FSTs, as [`compose`] does lattices.
///
/// # Errors
/// As there.
pub fn compose_fsts(first: &Fst, second: &SecondFst) -> Result<Fst> {
    let lattice = converted(first, f32::as_lattice_weight);
    Ok(converted(&compose(&lattice, second)?, |weight| weight.graph))
}

fn converted<V, W>(fst: &Fst<V>, weight: impl Fn(&V) -> W) -> Fst<W> {
    let state = |state: &State<V>| {
        let arcs = state.arcs.iter().map(|arc| Arc {
            ilabel: arc.ilabel,
            olabel: arc.olabel,
            weight: weight(&arc.weight),
            next: arc.next,
        });
        State { final_weight: weight(&state.final_weight), arcs: arcs.collect() }
    };
    Fst { start: fst.start, states: fst.states.iter().map(state).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fst(arcs: &[&[(i32, i32, f32, StateId)]], last: StateId) -> Fst {
        let arc =
            |&(ilabel, olabel, weight, next): &(i32, i32, f32, StateId)| Arc { ilabel, olabel, weight, next };
        let state = |(i, arcs): (usize, &&[(i32, i32, f32, StateId)])| State {
            final_weight: if i as StateId == last { 0.5 } else { f32::INFINITY },
            arcs: arcs.iter().map(arc).collect(),
        };
        Fst { start: Some(0), states: arcs.iter().enumerate().map(state).collect() }
    }

    /// By hand: 100 is rho. Label 10 has no arc at state 0 and takes rho, to the last state; 11 has one, a loop at state 0.
    #[test]
    fn rest_of_the_labels() {
        let first = fst(&[&[(7, 10, 0.0, 1), (8, 11, 0.0, 1)], &[]], 1);
        let second = fst(&[&[(100, 100, 1.0, 1), (11, 11, 0.0, 0)], &[(11, 11, 1.0, 0)]], 1);
        let composed =
            |second| compose_fsts(&first, &SecondFst::new(second, Matching::Rest(100)).unwrap()).unwrap();
        assert_eq!(composed(second), {
            let mut expected = fst(&[&[(7, 10, 1.0, 1)], &[]], 1);
            expected.states[1].final_weight = 1.0;
            expected
        });
        // Of a transducer the output stays.
        let transducer = fst(&[&[(100, 5, 1.0, 1)], &[]], 1);
        let arcs = composed(transducer).states[0].arcs.clone();
        assert_eq!(arcs.iter().map(|arc| (arc.ilabel, arc.olabel)).collect::<Vec<_>>(), [(7, 5), (8, 5)]);
    }
}
