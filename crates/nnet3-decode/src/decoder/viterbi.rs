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
        let (mut list, mut costs) = (std::mem::take(&mut self.list), std::mem::take(&mut self.costs));
        self.active.take(&mut list);
        let cutoff = self.process_emitting(&list, &mut costs, log_likelihood)?;
        (self.list, self.costs) = (list, costs);
        self.process_nonemitting(cutoff)?;
        self.frames += 1;
        self.graph.check(false)
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
