//! The search for one path (`decoder/faster-decoder.cc`).

use std::collections::BTreeSet;

use kaldi_fst::{Arc, EPSILON, StateId};

use super::active::{Active, ActiveStates};
use super::cutoff::Cutoff;
use super::decodable::Decodable;
use super::graph::{Graph, SearchGraph, VisitedGraph};
use super::options::Pruning;
use super::tokens::NONE;
use crate::error::{Error, Result};
use crate::weight::LatticeWeight;

/// More steps along arcs without transition-ids in one frame, for each state of the graph, mean a cycle in which costs fall.
const MOST_STEPS_PER_STATE: usize = 1000;

/// The best arrival at a state.
#[derive(Debug, Clone, Copy)]
struct Token {
    cost: f64,
    ilabel: i32,
    olabel: i32,
    graph: f32,
    acoustic: f32,
    /// The state that its arc leads to.
    state: StateId,
    /// The token before; it has a smaller number.
    before: u32,
}

/// The best path of an utterance.
#[derive(Debug, Clone, PartialEq)]
pub struct ViterbiPath {
    /// Transition-ids, one a frame.
    pub ids: Vec<i32>,
    pub words: Vec<i32>,
    /// The acoustic cost of each frame.
    pub acoustic: Vec<f32>,
    /// The costs of the path, including the final cost.
    pub weight: LatticeWeight,
}

pub struct ViterbiDecoder<'g> {
    graph: VisitedGraph<&'g SearchGraph>,
    pruning: Pruning,
    /// All that lead to an active state, and some that do not: see [`make_room`](Self::make_room).
    tokens: Vec<Token>,
    /// The values are tokens.
    active: ActiveStates<u32>,
    frames: usize,
    /// The last token that all paths had in common when [`certain_words`](Self::certain_words) was called.
    certain: u32,
    list: Vec<Active<u32>>,
    costs: Vec<f64>,
}

impl<'g> ViterbiDecoder<'g> {
    /// Fails for options that make no sense.
    pub fn new(graph: &'g SearchGraph, pruning: Pruning) -> Result<ViterbiDecoder<'g>> {
        pruning.check()?;
        let graph = graph.unvisited();
        let active = ActiveStates::new(Some(graph.num_states()));
        let (tokens, list, costs) = (Vec::new(), Vec::new(), Vec::new());
        Ok(ViterbiDecoder { graph, pruning, tokens, active, frames: 0, certain: 0, list, costs })
    }

    /// Replaces the beam for the next utterance. (A second try with another decoder could find another path: the order of
    /// states depends on the most that were active so far.)
    pub fn set_beam(&mut self, beam: f32) -> Result<()> {
        self.pruning = Pruning { beam, ..self.pruning };
        self.pruning.check()
    }

    /// The best of the paths that end in a final state, if there is one.
    pub fn decode(&mut self, decodable: &impl Decodable) -> Result<Option<ViterbiPath>> {
        self.search(decodable)?;
        self.best_path(true)
    }

    /// The best of the paths that end in a final state, or else of all paths; true in the first case. `None` if no path is
    /// left.
    pub fn decode_partial(&mut self, decodable: &impl Decodable) -> Result<Option<(ViterbiPath, bool)>> {
        self.search(decodable)?;
        self.path()
    }

    fn search(&mut self, decodable: &impl Decodable) -> Result<()> {
        self.begin()?;
        for frame in 0..decodable.num_frames() {
            self.advance(decodable.frame(frame))?;
        }
        self.graph.check(true)?;
        Ok(())
    }

    /// Begins an utterance.
    pub fn begin(&mut self) -> Result<()> {
        let state = self.graph.start().ok_or(Error::EmptyGraph)?;
        self.tokens.clear();
        self.active.clear();
        (self.frames, self.certain) = (0, 0);
        let first = Token { cost: 0.0, ilabel: 0, olabel: 0, graph: 0.0, acoustic: 0.0, state, before: NONE };
        reach(&mut self.tokens, &mut self.active, state, first);
        self.process_nonemitting(f64::MAX)
    }

    /// Searches the next frame.
    pub fn advance(&mut self, log_likelihood: impl Fn(i32) -> f32) -> Result<()> {
        self.make_room();
        let (mut list, mut costs) = (std::mem::take(&mut self.list), std::mem::take(&mut self.costs));
        self.active.take(&mut list);
        let cutoff = self.process_emitting(&list, &mut costs, log_likelihood)?;
        (self.list, self.costs) = (list, costs);
        self.process_nonemitting(cutoff)?;
        self.frames += 1;
        self.graph.check(false)
    }

    /// Removes the tokens that lead to no active state, before there would be no room for those of a frame. Then at most half of
    /// the room is in use, or it grows, so the work is a small part of the search's.
    fn make_room(&mut self) {
        let (room, wanted) = (self.tokens.capacity(), 4 * self.active.len());
        if room - self.tokens.len() >= wanted {
            return;
        }
        self.remove_dead_tokens();
        if 2 * self.tokens.len() + wanted > room {
            self.tokens.reserve(room.max(wanted));
        }
    }

    fn remove_dead_tokens(&mut self) {
        let mut numbers = vec![NONE; self.tokens.len()];
        for active in self.active.iter() {
            let mut token = active.value;
            while token != NONE && numbers[token as usize] == NONE {
                numbers[token as usize] = 0;
                token = self.tokens[token as usize].before;
            }
        }
        let mut kept = 0;
        for token in 0..self.tokens.len() {
            if numbers[token] == NONE {
                continue;
            }
            numbers[token] = kept;
            let Token { before, .. } = self.tokens[token];
            // (A token before has its number already.)
            let before = if before == NONE { NONE } else { numbers[before as usize] };
            self.tokens[kept as usize] = Token { before, ..self.tokens[token] };
            kept += 1;
        }
        self.tokens.truncate(kept as usize);
        self.active.values_mut().for_each(|token| *token = numbers[*token as usize]);
        // (All paths begin with the token that they have in common.)
        self.certain = numbers.get(self.certain as usize).copied().unwrap_or(0);
    }

    /// Frames of the utterance so far.
    pub fn frames_decoded(&self) -> usize {
        self.frames
    }

    /// Returns the best path so far to a final state, or else to any state; true in the first case. `None` if no path is left.
    pub fn path(&self) -> Result<Option<(ViterbiPath, bool)>> {
        Ok(match self.best_path(true)? {
            Some(path) => Some((path, true)),
            None => self.best_path(false)?.map(|path| (path, false)),
        })
    }

    /// Looks for the last arc with a transition-id that all paths have in common. Returns the words from the one that was found
    /// last up to it, or `None` if there is no later one.
    pub fn certain_words(&mut self) -> Option<Vec<i32>> {
        let emitting = |mut token: u32| {
            while let Some(&Token { ilabel: EPSILON, before, .. }) = self.tokens.get(token as usize) {
                token = before;
            }
            (token != NONE).then_some(token)
        };
        let mut last: BTreeSet<u32> =
            self.active.iter().filter_map(|active| emitting(active.value)).collect();
        while last.len() > 1 {
            last = last.iter().filter_map(|&token| emitting(self.tokens[token as usize].before)).collect();
        }
        let common = last.pop_first().filter(|&token| token != self.certain)?;
        let words = self.words(common, self.certain);
        self.certain = common;
        Some(words)
    }

    /// Returns the words of the best path behind those that are certain.
    pub fn other_words(&self) -> Result<Vec<i32>> {
        let best = match self.best_token(true)? {
            Some(best) => Some(best),
            None => self.best_token(false)?,
        };
        Ok(best.map_or_else(Vec::new, |(token, _)| self.words(token, self.certain)))
    }

    /// Returns the words on the way from `first`, itself left out, to `last`. As in the reference, an arc at its beginning that
    /// leads to the start of the graph has no word.
    fn words(&self, last: u32, first: u32) -> Vec<i32> {
        let mut arcs = Vec::new();
        let mut at = last;
        while at != first && at != NONE {
            arcs.push(&self.tokens[at as usize]);
            at = self.tokens[at as usize].before;
        }
        // (The first token is on the start.)
        if arcs.last().is_some_and(|arc| arc.state == self.tokens[0].state) {
            arcs.pop();
        }
        arcs.iter().rev().map(|arc| arc.olabel).filter(|&word| word != EPSILON).collect()
    }

    fn process_emitting(
        &mut self,
        list: &[Active<u32>],
        costs: &mut Vec<f64>,
        log_likelihood: impl Fn(i32) -> f32,
    ) -> Result<f64> {
        costs.clear();
        costs.extend(list.iter().map(|active| self.tokens[active.value as usize].cost));
        let Cutoff { cost: cutoff, adaptive_beam, best } = self.pruning.cutoff(costs);
        self.active.grow((list.len() as f32 * self.pruning.hash_ratio) as usize);
        let mut next_cutoff = f64::INFINITY;
        let ViterbiDecoder { graph, tokens, active, .. } = self;
        let step = |cost: f64, before: u32, arc: Arc| {
            let acoustic = -log_likelihood(arc.ilabel);
            let cost = cost + f64::from(arc.weight) + f64::from(acoustic);
            let (ilabel, olabel, graph, state) = (arc.ilabel, arc.olabel, arc.weight, arc.next);
            Token { cost, ilabel, olabel, graph, acoustic, state, before }
        };
        if let Some(best) = best {
            let Active { state, value: token, .. } = list[best];
            let cost = tokens[token as usize].cost;
            graph.visit(state)?;
            for arc in graph.emitting(state) {
                next_cutoff = next_cutoff.min(step(cost, token, arc).cost + adaptive_beam);
            }
        }
        for &Active { state, value: token, .. } in list {
            let cost = tokens[token as usize].cost;
            if cost >= cutoff {
                continue;
            }
            graph.visit(state)?;
            for arc in graph.emitting(state) {
                let next = step(cost, token, arc);
                if next.cost < next_cutoff {
                    next_cutoff = next_cutoff.min(next.cost + adaptive_beam);
                    reach(tokens, active, arc.next, next);
                }
            }
        }
        Ok(next_cutoff)
    }

    fn process_nonemitting(&mut self, cutoff: f64) -> Result<()> {
        let ViterbiDecoder { graph, tokens, active, .. } = self;
        let states = active.iter().map(|active| active.state);
        let mut queue: Vec<StateId> = states.filter(|&state| graph.may_have_epsilons(state)).collect();
        let mut steps = 0;
        while let Some(state) = queue.pop() {
            let Some((_, &mut before)) = active.get_mut(state) else { continue };
            let cost = tokens[before as usize].cost;
            if cost > cutoff {
                continue;
            }
            steps += 1;
            if steps / MOST_STEPS_PER_STATE > graph.num_states() {
                return Err(Error::EpsilonCycle { state });
            }
            graph.visit(state)?;
            for arc in graph.epsilons(state) {
                let cost = cost + f64::from(arc.weight);
                let (olabel, graph_cost) = (arc.olabel, arc.weight);
                let (acoustic, state) = (0.0, arc.next);
                let next =
                    Token { cost, ilabel: EPSILON, olabel, graph: graph_cost, acoustic, state, before };
                if cost <= cutoff
                    && reach(tokens, active, arc.next, next)
                    && graph.may_have_epsilons(arc.next)
                {
                    queue.push(arc.next);
                }
            }
        }
        Ok(())
    }

    /// Returns the best path to a final state. If not `must_end`, the best path to any state, with a final cost of 0.
    fn best_path(&self, must_end: bool) -> Result<Option<ViterbiPath>> {
        let Some((last, ending)) = self.best_token(must_end)? else { return Ok(None) };
        let at = |token: u32| self.tokens.get(token as usize);
        let mut tokens: Vec<&Token> = std::iter::successors(at(last), |token| at(token.before)).collect();
        tokens.reverse();
        let frames = tokens.iter().filter(|token| token.ilabel != EPSILON);
        let (ids, acoustic) = frames.map(|token| (token.ilabel, token.acoustic)).unzip();
        let words = tokens.iter().map(|token| token.olabel).filter(|&word| word != EPSILON).collect();
        let total = |cost: fn(&Token) -> f32| tokens.iter().map(|token| f64::from(cost(token))).sum::<f64>();
        let graph = total(|token| token.graph) + f64::from(ending);
        let weight = LatticeWeight::new(graph as f32, total(|token| token.acoustic) as f32);
        Ok(Some(ViterbiPath { ids, words, acoustic, weight }))
    }

    /// Returns the last token of the best path, and the final cost of its state (0 if not `must_end`).
    fn best_token(&self, must_end: bool) -> Result<Option<(u32, f32)>> {
        let (mut best, mut best_cost) = (None, f64::INFINITY);
        for Active { state, value: token, .. } in self.active.iter() {
            let ending = if must_end { self.graph.final_cost(state)? } else { 0.0 };
            let cost = self.tokens[token as usize].cost + f64::from(ending);
            if cost < best_cost {
                (best, best_cost) = (Some((token, ending)), cost);
            }
        }
        Ok(best)
    }
}

/// Puts a token on a state, if it is better than the present one.
fn reach(tokens: &mut Vec<Token>, active: &mut ActiveStates<u32>, state: StateId, token: Token) -> bool {
    let number = tokens.len() as u32;
    match active.get_mut(state) {
        Some((_, known)) => {
            if tokens[*known as usize].cost <= token.cost {
                return false;
            }
            *known = number;
        }
        None => {
            active.insert(state, state, number);
        }
    }
    tokens.push(token);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_fst::Fst;

    /// A long utterance in a small graph, against the table of the best arrivals at all states in all frames. Dead tokens go.
    #[test]
    fn a_long_utterance() {
        const STATES: usize = 8;
        const FRAMES: usize = 5_000;
        let mut random = fastrand::Rng::with_seed(1);
        let mut fst = Fst::default();
        fst.start = Some(fst.add_state());
        for _ in 1..STATES {
            fst.add_state();
        }
        for state in &mut fst.states {
            state.final_weight = 0.0;
            state.arcs = (0..STATES as StateId)
                .map(|next| Arc {
                    ilabel: next as i32 + 1,
                    olabel: next as i32 + 1,
                    weight: random.f32(),
                    next,
                })
                .collect();
        }
        let loglikes: Vec<[f32; STATES + 1]> =
            (0..FRAMES).map(|_| std::array::from_fn(|_| -random.f32())).collect();

        let mut costs = [f64::INFINITY; STATES];
        costs[0] = 0.0;
        let mut before = Vec::new();
        for frame in &loglikes {
            let mut next = [(f64::INFINITY, 0); STATES];
            for (from, state) in fst.states.iter().enumerate() {
                for arc in &state.arcs {
                    let cost = costs[from] + f64::from(arc.weight) - f64::from(frame[arc.ilabel as usize]);
                    let best = &mut next[arc.next as usize];
                    if cost < best.0 {
                        *best = (cost, from);
                    }
                }
            }
            costs = next.map(|(cost, _)| cost);
            before.push(next.map(|(_, from)| from));
        }
        let mut state = (0..STATES).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap();
        let mut expected = vec![];
        for frame in before.iter().rev() {
            expected.push(state as i32 + 1);
            state = frame[state];
        }
        expected.reverse();

        let graph = SearchGraph::new((&fst).into(), STATES).unwrap();
        let mut decoder = ViterbiDecoder::new(&graph, Pruning::viterbi()).unwrap();
        decoder.begin().unwrap();
        let mut words = Vec::new();
        for (t, frame) in loglikes.iter().enumerate() {
            decoder.advance(|id| frame[id as usize]).unwrap();
            if t % 700 == 699 {
                words.extend(decoder.certain_words().unwrap());
            }
        }
        let (path, ended) = decoder.path().unwrap().unwrap();
        assert!(ended && path.ids == expected && path.words == expected);
        words.extend(decoder.other_words().unwrap());
        assert_eq!(words, expected);
        assert!(decoder.tokens.capacity() < 3 * FRAMES, "{}", decoder.tokens.capacity());
    }
}
