//! The search that leaves lattices. Tokens move along the arcs of a graph, frame by frame, and keep all links within a
//! beam. (Povey and others, "Generating exact lattices in the WFST framework", 2012;
//! `decoder/lattice-faster-decoder.cc`.)

use kaldi_fst::{Arc, StateId};

use super::active::{Active, ActiveStates};
use super::cutoff::Cutoff;
use super::decodable::Decodable;
use super::graph::Graph;
use super::options::SearchOptions;
use super::tokens::{Link, Tokens};
use super::trace::TracedWords;
use crate::error::{Error, Result};

/// More steps along arcs without transition-ids in one frame, for each state of the graph, mean a cycle in which costs fall.
const MOST_STEPS_PER_STATE: usize = 1000;
/// Number of states by which the prefetch of arcs is ahead.
const AHEAD: usize = 4;
/// So many states before its turn, the place of a state's arcs is prefetched.
const FAR_AHEAD: usize = 2 * AHEAD;

/// The end of an utterance.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending {
    /// The costs of ending in the states of the last frame, in the order in which they were reached: infinite if a
    /// state is not final.
    pub costs: Vec<f32>,
    /// True if one of them is final.
    pub is_final: bool,
    /// The lowest cost of all paths.
    pub best: f32,
}

/// A decoder for one utterance after the other. An error of one of its methods is an error of the graph.
pub struct LatticeDecoder<G> {
    pub(super) graph: G,
    pub(super) options: SearchOptions,
    /// They have one more frame than were decoded.
    pub(super) tokens: Tokens,
    /// Offset of each frame's acoustic costs, which keeps costs small.
    pub(super) offsets: Vec<f32>,
    /// The states of the newest frame, with their costs. Their places are the numbers of the tokens.
    pub(super) active: ActiveStates<f32>,
    pub(super) ending: Ending,
    pub(super) traced: TracedWords,
    no_tokens_after: Option<usize>,
    // Kept for their memory.
    list: Vec<Active<f32>>,
    costs: Vec<f32>,
    queue: Vec<StateId>,
    reached: Vec<StateId>,
}

impl<G: Graph> LatticeDecoder<G> {
    /// Fails for options that make no sense.
    pub fn new(graph: G, options: SearchOptions) -> Result<LatticeDecoder<G>> {
        options.check()?;
        let active = ActiveStates::new((!G::GROWS).then(|| graph.num_states()));
        Ok(LatticeDecoder {
            graph,
            options,
            tokens: Tokens::default(),
            offsets: Vec::new(),
            active,
            ending: Ending::default(),
            traced: TracedWords::default(),
            no_tokens_after: None,
            list: Vec::new(),
            costs: Vec::new(),
            queue: Vec::new(),
            reached: Vec::new(),
        })
    }

    /// Goes through all frames. False if no path got to the last one.
    pub fn decode(&mut self, decodable: &impl Decodable) -> Result<bool> {
        self.begin()?;
        for frame in 0..decodable.num_frames() {
            self.advance(decodable.frame(frame))?;
        }
        self.finish()
    }

    /// Takes the next frame of an utterance that was begun: its log-likelihoods by transition-id.
    pub fn advance(&mut self, log_likelihood: impl Fn(i32) -> f32) -> Result<()> {
        let mut list = std::mem::take(&mut self.list);
        self.active.take(&mut list);
        if self.frames_decoded().is_multiple_of(self.options.prune_interval) {
            self.prune();
            if self.graph.is_full() {
                self.graph.forget_others(&mut list.iter_mut().map(|active| &mut active.state))?;
            }
        }
        let cutoff = self.process_emitting(&mut list, log_likelihood)?;
        self.list = list;
        self.process_nonemitting(cutoff)?;
        self.graph.check(false)
    }

    /// Prunes all frames but the newest.
    pub(super) fn prune(&mut self) {
        let beam = self.options.lattice_beam;
        self.tokens.prune(beam, beam * self.options.prune_scale);
    }

    /// Marks the end of the frames. Returns false if no path reached the last one.
    pub fn finish(&mut self) -> Result<bool> {
        self.finalize()?;
        self.graph.check(true)?;
        Ok(self.tokens.of_newest().any(|token| self.tokens.get(token).is_kept()))
    }

    /// Frames so far.
    pub fn frames_decoded(&self) -> usize {
        self.offsets.len()
    }

    /// True if a path of the utterance ends in a final state.
    pub fn reached_final(&self) -> bool {
        self.ending.is_final
    }

    /// The first frame after which no path was left.
    pub fn lost_at(&self) -> Option<usize> {
        self.no_tokens_after
    }

    /// Begins an utterance: frames are given by [`advance`](Self::advance), after the last one comes
    /// [`finish`](Self::finish).
    pub fn begin(&mut self) -> Result<()> {
        let start = self.graph.start().ok_or(Error::EmptyGraph)?;
        self.active.clear();
        self.tokens.clear();
        self.offsets.clear();
        self.traced.clear();
        self.ending = Ending::default();
        self.no_tokens_after = None;
        self.tokens.add_frame();
        self.active.insert(start, self.graph.order(start), 0.0);
        self.process_nonemitting(self.options.pruning.beam)
    }

    /// Passes the tokens of those states along arcs with transition-ids; returns the cutoff for the new ones. The list
    /// keeps only the states that were followed.
    fn process_emitting(
        &mut self,
        list: &mut Vec<Active<f32>>,
        log_likelihood: impl Fn(i32) -> f32,
    ) -> Result<f32> {
        self.costs.clear();
        self.costs.extend(list.iter().map(|active| active.value));
        let Cutoff { cost: cutoff, adaptive_beam, best } = self.options.pruning.cutoff(&mut self.costs);
        self.active.grow((list.len() as f32 * self.options.pruning.hash_ratio) as usize);
        let (mut next_cutoff, mut offset) = (f32::INFINITY, 0.0);
        let LatticeDecoder { graph, tokens, active, .. } = self;
        let before = tokens.of_newest().start;
        let newest = tokens.add_frame();
        if let Some(best) = best {
            let Active { state, value: cost, .. } = list[best];
            offset = -cost;
            graph.visit(state)?;
            for arc in graph.emitting(state) {
                let next = arc.weight + offset - log_likelihood(arc.ilabel) + cost;
                next_cutoff = next_cutoff.min(next + adaptive_beam);
            }
        }
        list.retain(|active| active.value <= cutoff);
        for (i, &Active { state, value: cost, place }) in list.iter().enumerate() {
            if let Some(later) = list.get(i + FAR_AHEAD) {
                graph.expect_state(later.state);
            }
            if let Some(later) = list.get(i + AHEAD) {
                graph.expect_arcs(later.state);
            }
            graph.visit(state)?;
            let first_link = tokens.num_links();
            for Arc { ilabel, olabel, weight, next } in graph.emitting(state) {
                let acoustic = offset - log_likelihood(ilabel);
                let total = cost + acoustic + weight;
                // (NaN fails this comparison and is not followed.)
                if total < next_cutoff {
                    next_cutoff = next_cutoff.min(total + adaptive_beam);
                    graph.expect_state(next);
                    let to = newest + reach(graph, active, next, total).0;
                    tokens.add_link(Link { to, ilabel, olabel, graph: weight, acoustic });
                }
            }
            tokens.set_emitting(before + place, first_link);
        }
        tokens.begin_epsilons();
        self.offsets.push(offset);
        Ok(next_cutoff)
    }

    /// Passes tokens of the newest frame along arcs without transition-ids.
    fn process_nonemitting(&mut self, cutoff: f32) -> Result<()> {
        if self.active.is_empty() {
            self.no_tokens_after.get_or_insert(self.offsets.len().saturating_sub(1));
        }
        let mut queue = std::mem::take(&mut self.queue);
        queue.clear();
        let LatticeDecoder { graph, tokens, active, reached, .. } = self;
        let newest = tokens.of_newest().start;
        let states = active.iter().map(|active| active.state);
        queue.extend(states.filter(|&state| graph.may_have_epsilons(state)));
        let mut steps = 0;
        while let Some(state) = queue.pop() {
            if let Some(&later) = queue.len().checked_sub(AHEAD).and_then(|at| queue.get(at)) {
                graph.expect_arcs(later);
            }
            let Some((place, &mut cost)) = active.get_mut(state) else { continue };
            if cost >= cutoff {
                continue;
            }
            steps += 1;
            if steps / MOST_STEPS_PER_STATE > graph.num_states() {
                return Err(Error::EpsilonCycle { state });
            }
            graph.visit(state)?;
            let first_link = tokens.num_links();
            for Arc { ilabel, olabel, weight, next } in graph.epsilons(state) {
                let total = cost + weight;
                if total < cutoff {
                    let (to, better) = reach(graph, active, next, total);
                    tokens.add_link(Link { to: newest + to, ilabel, olabel, graph: weight, acoustic: 0.0 });
                    if better {
                        reached.push(next);
                    }
                }
            }
            // (The token may have been here before, with a higher cost.)
            tokens.set_epsilons(place, first_link);
            queue.extend(reached.drain(..).filter(|&state| graph.may_have_epsilons(state)));
        }
        tokens.end_frame(active.values());
        self.queue = queue;
        Ok(())
    }
}

/// The place of a state in the newest frame, and whether it is new or better than before.
#[inline]
fn reach(graph: &impl Graph, active: &mut ActiveStates<f32>, state: StateId, cost: f32) -> (u32, bool) {
    match active.get_mut(state) {
        Some((place, known)) => {
            let better = *known > cost;
            if better {
                *known = cost;
            }
            (place, better)
        }
        None => (active.insert(state, graph.order(state), cost), true),
    }
}
