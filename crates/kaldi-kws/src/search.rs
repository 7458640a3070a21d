//! Searching keywords in an index (`kwsbin/kws-search.cc`).

use kaldi_fst::ops::{self, Side};
use kaldi_fst::state_table::StateTable;
use kaldi_fst::{Algebra, Arc, EPSILON, Fst, State, StateId};
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::index::Index;
use crate::weight::HitWeight;

/// An occurrence of a keyword.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub utterance: i32,
    pub weight: HitWeight,
}

/// An index that is ready to be searched.
#[derive(Debug, Clone)]
pub struct Searcher {
    /// Its last arcs have no input; their outputs are numbers of pairs in `ends`, from 1.
    index: Index,
    /// Marks of ends with utterances.
    ends: Vec<(i32, i32)>,
}

/// The places where a keyword was found: all paths that keyword and index have in common.
#[derive(Debug, Clone)]
pub struct Found<'s> {
    searcher: &'s Searcher,
    paths: Fst<HitWeight>,
    order: Vec<StateId>,
}

impl Searcher {
    pub fn new(mut index: Index) -> Searcher {
        let is_final: Vec<bool> = index.states.iter().map(State::is_final).collect();
        let mut ends: StateTable<(i32, i32)> = StateTable::default();
        for arc in index.states.iter_mut().flat_map(|state| &mut state.arcs) {
            if !is_final[arc.next as usize] {
                // (Nothing else has an output.)
                arc.olabel = EPSILON;
                continue;
            }
            let end = (arc.ilabel, arc.olabel);
            arc.ilabel = EPSILON;
            arc.olabel = ends.number(end) as i32 + 1;
        }
        ops::sort_arcs(&mut index, Side::Input);
        Searcher { index, ends: ends.into_keys() }
    }

    /// Searches a keyword, an FST whose outputs are words. An error if it has a cycle without words.
    pub fn search(&self, keyword: &Fst) -> Result<Found<'_>> {
        let weight = |cost: f32| {
            if cost == f32::INFINITY { HitWeight::zero() } else { HitWeight::new(cost, 0.0, 0.0) }
        };
        let arc = |arc: &Arc| Arc {
            ilabel: arc.ilabel,
            olabel: arc.olabel,
            weight: weight(arc.weight),
            next: arc.next,
        };
        let state = |state: &State| State {
            final_weight: weight(state.final_weight),
            arcs: state.arcs.iter().filter(|arc| arc.weight != f32::INFINITY).map(arc).collect(),
        };
        let keyword = Fst { start: keyword.start, states: keyword.states.iter().map(state).collect() };
        // The index is sorted, so there is a result.
        let paths = ops::compose_transducers(&keyword, &self.index, true).unwrap_or_default();
        let order = ops::topological_order(&paths)?;
        Ok(Found { searcher: self, paths, order })
    }
}

impl Found<'_> {
    fn utterance(&self, olabel: i32) -> i32 {
        self.searcher.ends[olabel as usize - 1].1
    }

    /// Returns the occurrences, the best path of each, in the order of their weights; at most `most` of them.
    pub fn hits(&self, most: Option<usize>) -> Vec<Hit> {
        let Some(start) = self.paths.start else { return Vec::new() };
        let mut so_far = vec![HitWeight::zero(); self.paths.states.len()];
        so_far[start as usize] = HitWeight::one();
        let mut best: FxHashMap<i32, HitWeight> = FxHashMap::default();
        for &s in &self.order {
            let here = so_far[s as usize];
            if here.is_zero() {
                continue;
            }
            for arc in &self.paths.state(s).arcs {
                let weight = here.times(&arc.weight);
                if arc.olabel == EPSILON {
                    let next = &mut so_far[arc.next as usize];
                    *next = next.plus(&weight);
                    continue;
                }
                let whole = weight.times(&self.paths.state(arc.next).final_weight);
                if !whole.is_zero() {
                    best.entry(arc.olabel).and_modify(|known| *known = known.plus(&whole)).or_insert(whole);
                }
            }
        }
        let mut hits: Vec<(HitWeight, i32)> =
            best.into_iter().map(|(label, weight)| (weight, label)).collect();
        hits.sort_by(|a, b| a.0.order(&b.0).then(a.1.cmp(&b.1)));
        hits.truncate(most.unwrap_or(usize::MAX));
        let hit = |(weight, label)| Hit { utterance: self.utterance(label), weight };
        hits.into_iter().map(hit).collect()
    }

    /// Calls `visit` with each path: its occurrence, and the inputs of its arcs, 0 where one has none. Stops at the first error.
    pub fn each_path<E>(
        &self,
        mut visit: impl FnMut(Hit, &[i32]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let Some(start) = self.paths.start else { return Ok(()) };
        // States with their weights so far, and the position of the arc that is next.
        let mut path = vec![(start, HitWeight::one(), 0)];
        let mut words = Vec::new();
        while let Some((state, weight, position)) = path.last_mut() {
            let Some(arc) = self.paths.state(*state).arcs.get(*position) else {
                path.pop();
                words.pop();
                continue;
            };
            *position += 1;
            let weight = weight.times(&arc.weight);
            words.push(arc.ilabel);
            if arc.olabel == EPSILON {
                path.push((arc.next, weight, 0));
            } else {
                visit(Hit { utterance: self.utterance(arc.olabel), weight }, &words)?;
                words.pop();
            }
        }
        Ok(())
    }
}
