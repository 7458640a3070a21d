//! The words that can come next in a composed graph: those that a state of G has and a state of HCL can reach.
//!
//! A state of HCL has about twenty arcs without a word. Most of them lead to no word that G has here, and none leads to a
//! word that the state itself cannot reach. So the words of G that the state can reach are listed first; of these, its
//! arcs can reach some.

use std::sync::Arc as Shared;

use kaldi_fst::look_ahead::{Intervals, Reach, ReachId};
use kaldi_fst::{Arc, StateId};

use super::composed::Expanded;
use super::grammar::Grammar;
use super::log_sums::{GrammarArcs, plus};
use super::shared_states::hash;

/// Longer lists of words save no time.
const LONGEST_LIST: usize = 1 << 10;

/// Among so many labels all are looked at, which a processor does without guessing.
const FEW: usize = 16;
/// So many sums are kept: they fit into the second cache of a processor.
const KNOWN_SUMS: usize = 1 << 14;
/// The number of words of a sum that is not known.
const UNKNOWN: u32 = u32::MAX;
const NO_WORD: Sum = Sum { count: 0, first: 0, cost: f32::INFINITY };

/// The result of the lookahead.
pub(super) enum Ahead {
    Nothing,
    /// One word, which is this arc of G, and no end.
    One(usize),
    /// The cost of all that is possible.
    Cost(f32),
}

/// Buffers and known sums of one search.
#[derive(Debug, Default)]
pub(super) struct Memory {
    near: Near,
    known: Known,
}

/// Some of the words of a state of G: their positions among all, and their labels.
#[derive(Debug, Default)]
struct Near {
    positions: Vec<u32>,
    labels: Vec<i32>,
}

/// Sums by state of G and set of labels, of which about half are asked for again. A new one takes the place of an old one.
#[derive(Debug, Default)]
struct Known {
    sums: Vec<(Asked, Sum)>,
}

/// A state of G, and the labels that HCL can reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Asked {
    grammar: StateId,
    labels: ReachId,
}

/// The words that can come: how many there are, the position of the first one, and the cost of all together.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u32,
    first: u32,
    cost: f32,
}

/// The words of a state of G that can come next, for arcs of a state of HCL.
pub(super) struct NextWords<'g> {
    reach: &'g Reach,
    expanded: &'g Expanded,
    arcs: GrammarArcs<'g>,
    /// The number of words of the state of G.
    num_words: usize,
    /// The words that can come next, in ascending order.
    labels: &'g [i32],
    /// Their positions among the words of G. `None`: all can come.
    positions: Option<&'g [u32]>,
    /// The cost of the end of a path; infinite if G or HCL cannot end.
    ending: f32,
    /// See [`Expanded::sums`]; from the first sum on that needs them.
    sums: Option<Shared<[f64]>>,
    known: &'g mut Known,
}

impl<'g> NextWords<'g> {
    /// The words that can come next when HCL is at `hcl` and G at `state`. `memory` is that of the search.
    pub fn new(
        reach: &'g Reach,
        hcl: StateId,
        grammar: &'g Grammar,
        state: StateId,
        expanded: &'g Expanded,
        memory: &'g mut Memory,
    ) -> NextWords<'g> {
        let (labels, costs) = grammar.labels_and_costs(state);
        let arcs = GrammarArcs { grammar, state, costs, epsilons: grammar.epsilons(state).count() };
        let ending = grammar.final_cost(state);
        let ending = if ending < f32::INFINITY && reach.reaches_end(hcl) { ending } else { f32::INFINITY };
        let num_words = labels.len();
        let Memory { near, known } = memory;
        let (labels, positions) = match near.list(labels, reach.intervals(hcl)) {
            true => (&near.labels[..], Some(&near.positions[..])),
            false => (labels, None),
        };
        NextWords { reach, expanded, arcs, num_words, labels, positions, ending, sums: None, known }
    }

    /// True if nothing can come.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.ending == f32::INFINITY
    }

    /// The position of a word of the list among the words of G.
    fn position(&self, i: usize) -> usize {
        self.positions.map_or(i, |positions| positions[i] as usize)
    }

    /// Calls `matched` with each arc of HCL that has one of the words, and the word's position. `arcs` have output labels,
    /// in ascending order.
    pub fn match_arcs(&self, arcs: &[Arc], mut matched: impl FnMut(&Arc, usize)) {
        let labels = self.labels;
        if arcs.len() <= self.num_words {
            for arc in arcs {
                let first = labels.partition_point(|&label| label < arc.olabel);
                let same = (first..labels.len()).take_while(|&i| labels[i] == arc.olabel);
                same.for_each(|i| matched(arc, self.position(i)));
            }
        } else {
            for (i, &label) in labels.iter().enumerate() {
                let first = arcs.partition_point(|arc| arc.olabel < label);
                let same = arcs[first..].iter().take_while(|arc| arc.olabel == label);
                same.for_each(|arc| matched(arc, self.position(i)));
            }
        }
    }

    /// Returns the lookahead of an arc of HCL to `hcl` without a word, on which G stays.
    pub fn after(&mut self, hcl: StateId) -> Ahead {
        let reach = self.reach;
        let ending =
            if self.ending < f32::INFINITY && reach.reaches_end(hcl) { self.ending } else { f32::INFINITY };
        // (Most arcs end here: no word lies between the first label and the last one.)
        let may_come = match reach.intervals(hcl).as_slice() {
            [] => false,
            &[[low, _], .., [_, high]] | &[[low, high]] => {
                let begin = position(self.labels, 0, low);
                self.labels.get(begin).is_some_and(|&label| label < high)
            }
        };
        let Sum { count, first, cost } = if may_come { self.known_sum(hcl) } else { NO_WORD };
        match (count, ending == f32::INFINITY) {
            (0, true) => Ahead::Nothing,
            (1, true) => Ahead::One(first as usize),
            _ if cost.min(ending) == f32::INFINITY => Ahead::Nothing,
            _ => Ahead::Cost(cost.min(ending)),
        }
    }

    /// The words that can come after HCL has gone to `hcl`.
    fn known_sum(&mut self, hcl: StateId) -> Sum {
        let asked = Asked { grammar: self.arcs.state, labels: self.reach.id(hcl) };
        if let Some(sum) = self.known.get(asked) {
            return sum;
        }
        let sum = self.sum(self.reach.intervals(hcl));
        self.known.set(asked, sum);
        sum
    }

    /// The words in these intervals.
    fn sum(&mut self, intervals: Intervals<'_>) -> Sum {
        let (mut count, mut first, mut cost) = (0, 0, f32::INFINITY);
        let NextWords { expanded, arcs, num_words, labels, positions, sums, .. } = self;
        // (The costs of few words are added one by one, those of many by ranges: as the reference does.)
        let one_by_one = 2 * (arcs.epsilons + *num_words) < intervals.as_slice().len();
        let position = |i: usize| positions.map_or(i, |positions| positions[i] as usize);
        ranges(labels, intervals, |range| {
            let begin = position(range.start);
            let end = begin + range.len();
            if count == 0 {
                first = begin;
            }
            count += range.len();
            cost = match one_by_one {
                true => arcs.costs[begin..end].iter().fold(cost, |sum, &cost| plus(sum, cost)),
                false => arcs.add(cost, begin..end, || sums.get_or_insert_with(|| expanded.sums(arcs))),
            };
        });
        Sum { count: count as u32, first: first as u32, cost }
    }
}

impl Known {
    #[inline]
    fn place(asked: Asked) -> usize {
        (hash(&asked) >> (u64::BITS - KNOWN_SUMS.ilog2())) as usize
    }

    fn get(&self, asked: Asked) -> Option<Sum> {
        self.sums
            .get(Self::place(asked))
            .filter(|(known, sum)| *known == asked && sum.count != UNKNOWN)
            .map(|&(_, sum)| sum)
    }

    fn set(&mut self, asked: Asked, sum: Sum) {
        if self.sums.is_empty() {
            self.sums.resize(KNOWN_SUMS, (Asked::default(), Sum { count: UNKNOWN, ..NO_WORD }));
        }
        self.sums[Self::place(asked)] = (asked, sum);
    }
}

impl Near {
    /// Lists the words in the intervals. False if there are too many.
    fn list(&mut self, labels: &[i32], intervals: Intervals<'_>) -> bool {
        let Near { positions, labels: near } = self;
        positions.clear();
        near.clear();
        let mut count = 0;
        ranges(labels, intervals, |range| {
            count += range.len();
            if count <= LONGEST_LIST {
                positions.extend(range.start as u32..range.end as u32);
                near.extend_from_slice(&labels[range]);
            }
        });
        count <= LONGEST_LIST
    }
}

/// Calls `found` with the positions of the labels in each interval that has any. Labels and intervals are in ascending
/// order.
fn ranges(labels: &[i32], intervals: Intervals<'_>, mut found: impl FnMut(std::ops::Range<usize>)) {
    let mut begin = 0;
    let list = intervals.as_slice();
    if labels.len() < list.len() {
        let mut interval = 0;
        while let Some(&label) = labels.get(begin) {
            interval = intervals.first_after(interval, label);
            let Some(&[low, high]) = list.get(interval) else { break };
            let end = begin + labels[begin..].iter().take_while(|&&label| label < high).count();
            let from = begin + labels[begin..end].iter().take_while(|&&label| label < low).count();
            if from < end {
                found(from..end);
            }
            begin = end;
        }
    } else {
        for &[low, high] in list {
            begin = position(labels, begin, low);
            let end = position(labels, begin, high);
            if begin < end {
                found(begin..end);
            }
            begin = end;
            if begin == labels.len() {
                break;
            }
        }
    }
}

/// Returns the position of the first label from `begin` on that is at least `label`. Labels are in ascending order. If all
/// differ, the position is as far from both ends as the label is, at most: few comparisons for labels with few gaps.
fn position(labels: &[i32], begin: usize, label: i32) -> usize {
    if labels.len() <= FEW {
        return begin + labels[begin..].iter().filter(|&&there| there < label).count();
    }
    let (Some(&first), Some(&last)) = (labels.get(begin), labels.last()) else { return begin };
    if label <= first {
        return begin;
    }
    if label > last {
        return labels.len();
    }
    // (`first` < `label` <= `last`.)
    let high = begin.saturating_add(label.abs_diff(first) as usize).min(labels.len() - 1);
    let low = (labels.len() - 1).saturating_sub(last.abs_diff(label) as usize).max(begin + 1);
    let is_low = low <= high && labels[low - 1] < label;
    let (low, high) =
        if is_low && labels[high] >= label { (low, high) } else { (begin + 1, labels.len() - 1) };
    low + labels[low..high].partition_point(|&there| there < label)
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn positions_of_labels() {
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..2000 {
            // (Some lists are dense, some have the same label twice.)
            let gap = [1, 2, 30][round % 3];
            let mut label = random.i32(1..5);
            let labels: Vec<i32> = (0..random.usize(0..40))
                .map(|_| {
                    label += random.i32(i32::from(round % 2 == 0)..=gap);
                    label
                })
                .collect();
            let begin = random.usize(0..=labels.len());
            for wanted in 0..label + 3 {
                let expected = begin + labels[begin..].iter().take_while(|&&there| there < wanted).count();
                assert_eq!(position(&labels, begin, wanted), expected, "{labels:?} {begin} {wanted}");
            }
        }
    }
}
