//! Composition with look-ahead (Allauzen, Riley and Schalkwyk, "A generalized composition algorithm for weighted
//! finite-state transducers", 2009), as a whole FST.
//!
//! The second FST makes its empty moves before those of the first one. The first FST makes an empty move only to a state
//! from which it can reach a label that the second FST has there, or from which both can end. So a lexicon that is composed
//! with a back-off language model has the states of words that the model has in each history. Plain composition has
//! the states of all words in each history, and removes most of them only at the end.

use super::product::{Filter, First, Pair, Step};
use crate::fst::{EPSILON, Fst, State, StateId};
use crate::look_ahead::LookAheadFst;
use crate::ops::connect::connect as keep_connected;
use crate::reach::Reach;
use crate::state_table::unfold;

/// Returns the composition of two FSTs as [`compose_transducers`](super::compose_transducers) does: the same paths, with
/// the same costs. `None` if `second` is not sorted on input labels.
pub fn compose_look_ahead(first: &LookAheadFst, second: &Fst, connect: bool) -> Option<Fst> {
    if !second.states.iter().all(|state| state.arcs.is_sorted_by_key(|arc| arc.ilabel)) {
        return None;
    }
    let (Some(a), Some(b)) = (first.fst.start, second.start) else { return Some(Fst::default()) };
    let mut out = unfold(Pair { first: a, second: b, moved: false }, |pair, out| {
        let (end, y) = (first.fst.finals[pair.first as usize], second.state(pair.second));
        let arcs = &first.fst.arcs[first.fst.arcs_of(pair.first as usize)];
        let own = First { arcs, is_final: end < f32::INFINITY };
        Step { filter: &LookAhead(&first.reach), pair, first: own, second: y }.search_second(out);
        end + y.final_weight
    });
    if connect {
        keep_connected(&mut out);
    }
    Some(out)
}

/// After an empty move of the first FST it is too late for empty moves of the second one.
struct LookAhead<'a>(&'a Reach);

impl Filter<f32> for LookAhead<'_> {
    fn first_moves(&self, _: bool, next: StateId, second: &State) -> Option<bool> {
        self.can_go_on(next, second).then_some(true)
    }

    fn second_moves(&self, moved: bool, _: First<f32>) -> Option<bool> {
        (!moved).then_some(false)
    }
}

impl LookAhead<'_> {
    /// True if a label of `second` can come next from a state of the first FST, or if both can end.
    fn can_go_on(&self, state: StateId, second: &State) -> bool {
        second.is_final() && self.0.reaches_end(state)
            || self.0.intervals(state).as_slice().iter().any(|&[begin, end]| {
                let at = second.arcs.partition_point(|arc| arc.ilabel < begin.max(EPSILON + 1));
                second.arcs.get(at).is_some_and(|arc| arc.ilabel < end)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{
        RandomComparison, Relabelled, Side, compose_transducers, look_ahead, randomly_equivalent, relabel,
        sort_arcs,
    };
    use crate::text::parse;

    /// A lexicon of `count` words of three phones in a tree, repeated.
    fn lexicon(count: i32) -> Fst {
        let mut text = String::new();
        for word in 1..=count {
            let (begin, middle) = (2 * word - 1, 2 * word);
            text += &format!(
                "0 {begin} {} 0 0.1\n{begin} {middle} {} 0\n{middle} 0 {} {word} 0.2\n",
                word % 3 + 1,
                word % 2 + 1,
                word
            );
        }
        parse(&(text + "0 0.5\n")).unwrap()
    }

    /// A history for each word: another word or two follow at once, the others behind a back-off arc without label.
    fn back_off(count: i32) -> Fst {
        let mut text = String::new();
        for word in 1..=count {
            text += &format!("0 {word} {word} {word} {}\n", 1.0 + word as f32 / 8.0);
        }
        for word in 1..=count {
            text += &format!(
                "{word} 0 0 0 0.75\n{word} {} {} {} 0.25\n",
                word % count + 1,
                word % count + 1,
                word % count + 1
            );
            if word % 4 == 0 {
                text += &format!("{word} 0.125\n");
            }
        }
        parse(&(text + "0 2\n")).unwrap()
    }

    #[test]
    fn paths_are_those_of_the_plain_composition() {
        let Relabelled { fst: first, pairs } = look_ahead(lexicon(12));
        let mut second = back_off(12);
        relabel(&mut second, Side::Input, &pairs.into_iter().collect());
        sort_arcs(&mut second, Side::Input);
        let plain_first = Fst {
            start: first.fst.start,
            states: (0..first.fst.num_states())
                .map(|s| State {
                    final_weight: first.fst.finals[s],
                    arcs: first.fst.arcs[first.fst.arcs_of(s)].to_vec(),
                })
                .collect(),
        };
        let composed = |connect| {
            let plain = compose_transducers(&plain_first, &second, connect).unwrap();
            (plain, compose_look_ahead(&first, &second, connect).unwrap())
        };
        let options = RandomComparison { paths: 200, longest: 60, delta: 1e-3, seed: 5 };
        for connect in [false, true] {
            let (plain, ours) = composed(connect);
            assert!(randomly_equivalent(&plain, &ours, options).unwrap());
        }
        // Every state is on a path; the plain composition has the inner states of all words in all histories.
        let (plain, ours) = composed(false);
        assert_eq!(ours.states.len(), composed(true).1.states.len());
        assert!(
            3 * ours.states.len() < plain.states.len(),
            "{} of {}",
            ours.states.len(),
            plain.states.len()
        );
    }

    #[test]
    fn unsorted_and_empty() {
        let Relabelled { fst: first, .. } = look_ahead(lexicon(2));
        let unsorted = parse("0 1 2 2\n0 1 1 1\n1\n").unwrap();
        assert_eq!(compose_look_ahead(&first, &unsorted, true), None);
        assert_eq!(compose_look_ahead(&first, &Fst::default(), true), Some(Fst::default()));
    }
}
