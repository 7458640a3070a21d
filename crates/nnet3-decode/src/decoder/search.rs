//! The search that leaves lattices: tokens are passed along the arcs of a graph, frame by frame, and remember all ways on
//! that are within a beam (Povey and others, "Generating exact lattices in the WFST framework", 2012;
//! `decoder/lattice-faster-decoder.cc`).

use kaldi_fst::{Arc, StateId};
use rustc_hash::FxHashMap;

use super::active::{Active, ActiveStates};
use super::cutoff::Cutoff;
use super::decodable::Decodable;
use super::graph::Graph;
use super::options::SearchOptions;
use super::tokens::{Link, NONE, Tokens};
use crate::error::{Error, Result};

/// Extra costs may be wrong by this share of the lattice beam until the end.
const PRUNE_SCALE: f32 = 0.1;
/// More steps along arcs without transition-ids in one frame, for each state of the graph, mean a cycle in which costs fall.
const MOST_STEPS_PER_STATE: usize = 1000;
/// How many states before its turn a state's arcs are asked for.
const AHEAD: usize = 4;

/// The tokens after some frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The first token.
    pub head: u32,
    /// Whether links may have become useless.
    prune_links: bool,
    /// Whether tokens may have.
    prune_tokens: bool,
}

/// How a state of the newest frame was reached: its token, and the cost of that, which is looked at most often.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached {
    pub token: u32,
    pub cost: f32,
}

/// How an utterance ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending {
    /// The costs of ending in tokens of the last frame that are final.
    pub costs: FxHashMap<u32, f32>,
    /// The lowest cost of all paths.
    pub best: f32,
}

/// A decoder for one utterance after the other. An error of one of its methods is an error of the graph.
pub struct LatticeDecoder<G> {
    pub(super) graph: G,
    pub(super) options: SearchOptions,
    pub(super) tokens: Tokens,
    /// There is one more than there are frames.
    pub(super) frames: Vec<Frame>,
    /// What is added to the acoustic costs of each frame, so that costs stay small.
    pub(super) offsets: Vec<f32>,
    pub(super) active: ActiveStates<Reached>,
    pub(super) start_token: u32,
    pub(super) ending: Ending,
    no_tokens_after: Option<usize>,
    // Kept for their memory.
    list: Vec<Active<Reached>>,
    costs: Vec<f32>,
    queue: Vec<StateId>,
    reached: Vec<StateId>,
}

impl<G: Graph> LatticeDecoder<G> {
    /// An error for options that make no sense.
    pub fn new(graph: G, options: SearchOptions) -> Result<LatticeDecoder<G>> {
        options.check()?;
        let active = ActiveStates::new(graph.num_states());
        Ok(LatticeDecoder {
            graph,
            options,
            tokens: Tokens::default(),
            frames: Vec::new(),
            offsets: Vec::new(),
            active,
            start_token: NONE,
            ending: Ending::default(),
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
        if self.frames_decoded().is_multiple_of(self.options.prune_interval) {
            self.prune_active(self.options.lattice_beam * PRUNE_SCALE);
            if self.graph.is_full() {
                self.active.renumber(|states| self.graph.forget_others(states));
            }
        }
        let cutoff = self.process_emitting(log_likelihood)?;
        self.process_nonemitting(cutoff)
    }

    /// Says that no more frames come. False if no path got to the last one.
    pub fn finish(&mut self) -> Result<bool> {
        self.finalize()?;
        Ok(self.frames.last().is_some_and(|frame| frame.head != NONE))
    }

    /// Frames so far.
    pub fn frames_decoded(&self) -> usize {
        self.offsets.len()
    }

    /// Whether a path of the utterance ends in a final state.
    pub fn reached_final(&self) -> bool {
        !self.ending.costs.is_empty()
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
        self.frames.clear();
        self.offsets.clear();
        self.ending = Ending::default();
        self.no_tokens_after = None;
        self.add_frame();
        let LatticeDecoder { tokens, active, frames, .. } = self;
        self.start_token = reach(tokens, active, newest(frames), start, 0.0).0;
        self.process_nonemitting(self.options.pruning.beam)
    }

    fn add_frame(&mut self) {
        self.frames.push(Frame { head: NONE, prune_links: true, prune_tokens: true });
    }

    /// Passes tokens along arcs with transition-ids; gives the cutoff for the new ones.
    fn process_emitting(&mut self, log_likelihood: impl Fn(i32) -> f32) -> Result<f32> {
        let mut list = std::mem::take(&mut self.list);
        self.active.take(&mut list);
        self.costs.clear();
        self.costs.extend(list.iter().map(|active| active.value.cost));
        let Cutoff { cost: cutoff, adaptive_beam, best } = self.options.pruning.cutoff(&mut self.costs);
        self.active.grow((list.len() as f32 * self.options.pruning.hash_ratio) as usize);
        self.add_frame();
        let (mut next_cutoff, mut offset) = (f32::INFINITY, 0.0);
        let LatticeDecoder { graph, tokens, active, frames, .. } = self;
        let head = newest(frames);
        if let Some(best) = best {
            let cost = list[best].value.cost;
            offset = -cost;
            graph.visit(list[best].state)?;
            for arc in graph.emitting(list[best].state) {
                let next = arc.weight + offset - log_likelihood(arc.ilabel) + cost;
                next_cutoff = next_cutoff.min(next + adaptive_beam);
            }
        }
        for (i, &Active { state, value: Reached { token, cost }, .. }) in list.iter().enumerate() {
            if let Some(later) = list.get(i + AHEAD).filter(|later| later.value.cost <= cutoff) {
                graph.expect(later.state);
            }
            if cost > cutoff {
                continue;
            }
            graph.visit(state)?;
            for arc in graph.emitting(state) {
                let acoustic = offset - log_likelihood(arc.ilabel);
                let total = cost + acoustic + arc.weight;
                // (What is not a number is not followed.)
                if total < next_cutoff {
                    next_cutoff = next_cutoff.min(total + adaptive_beam);
                    let (to, _) = reach(tokens, active, head, arc.next, total);
                    let (ilabel, olabel, graph) = (arc.ilabel, arc.olabel, arc.weight);
                    let link = Link { to, ilabel, olabel, graph, acoustic, next: NONE };
                    tokens.add_link(token, link);
                }
            }
        }
        self.offsets.push(offset);
        self.list = list;
        Ok(next_cutoff)
    }

    /// Passes tokens of the newest frame along arcs without transition-ids.
    fn process_nonemitting(&mut self, cutoff: f32) -> Result<()> {
        if self.active.is_empty() {
            self.no_tokens_after.get_or_insert(self.offsets.len().saturating_sub(1));
        }
        let mut queue = std::mem::take(&mut self.queue);
        queue.clear();
        let LatticeDecoder { graph, tokens, active, frames, reached, .. } = self;
        let head = newest(frames);
        let states = active.iter().map(|active| active.state);
        queue.extend(states.filter(|&state| graph.may_have_epsilons(state)));
        let mut steps = 0;
        while let Some(state) = queue.pop() {
            if let Some(&later) = queue.len().checked_sub(AHEAD).and_then(|at| queue.get(at)) {
                graph.expect(later);
            }
            let Some(&mut Reached { token, cost }) = active.get_mut(state) else { continue };
            if cost >= cutoff {
                continue;
            }
            steps += 1;
            if steps / MOST_STEPS_PER_STATE > graph.num_states() {
                return Err(Error::EpsilonCycle { state });
            }
            graph.visit(state)?;
            // The token may have been here before, with a higher cost.
            tokens.remove_links(token);
            for Arc { ilabel, olabel, weight, next } in graph.epsilons(state) {
                let total = cost + weight;
                if total < cutoff {
                    let (to, better) = reach(tokens, active, head, next, total);
                    let link = Link { to, ilabel, olabel, graph: weight, acoustic: 0.0, next: NONE };
                    tokens.add_link(token, link);
                    if better {
                        reached.push(next);
                    }
                }
            }
            queue.extend(reached.drain(..).filter(|&state| graph.may_have_epsilons(state)));
        }
        self.queue = queue;
        Ok(())
    }

    /// Removes what cannot be in the lattice, in all frames but the newest. Extra costs may be wrong by `delta`.
    fn prune_active(&mut self, delta: f32) {
        let newest = self.frames.len() - 1;
        for f in (0..newest).rev() {
            if self.frames[f].prune_links {
                let (changed, removed) = self.prune_links(f, delta);
                if changed && f > 0 {
                    self.frames[f - 1].prune_links = true;
                }
                self.frames[f].prune_tokens |= removed;
                self.frames[f].prune_links = false;
            }
            if f + 1 < newest && self.frames[f + 1].prune_tokens {
                self.prune_tokens(f + 1);
                self.frames[f + 1].prune_tokens = false;
            }
        }
    }

    /// Works out the extra costs of a frame, and removes its useless links. Whether extra costs changed, and whether links
    /// were removed.
    pub(super) fn prune_links(&mut self, f: usize, delta: f32) -> (bool, bool) {
        let (mut any_changed, mut any_removed) = (false, false);
        loop {
            let mut changed = false;
            let mut token = self.frames[f].head;
            while token != NONE {
                let (extra, removed) =
                    self.tokens.prune_links(token, self.options.lattice_beam, f32::INFINITY);
                any_removed |= removed;
                let data = self.tokens.get_mut(token);
                // (The difference of two infinite ones is no change.)
                changed |= (extra - data.extra).abs() > delta;
                data.extra = extra;
                token = data.next;
            }
            any_changed |= changed;
            if !changed {
                return (any_changed, any_removed);
            }
        }
    }

    pub(super) fn prune_tokens(&mut self, f: usize) {
        self.frames[f].head = self.tokens.remove_useless(self.frames[f].head);
    }
}

/// The first token of the newest frame.
fn newest(frames: &mut [Frame]) -> &mut u32 {
    &mut frames.last_mut().expect("there is a frame").head
}

/// The token of a state in the frame whose first token is `head`, and whether it is new or better than before.
#[inline]
fn reach(
    tokens: &mut Tokens,
    active: &mut ActiveStates<Reached>,
    head: &mut u32,
    state: StateId,
    cost: f32,
) -> (u32, bool) {
    if let Some(known) = active.get_mut(state) {
        let better = known.cost > cost;
        if better {
            known.cost = cost;
            tokens.get_mut(known.token).cost = cost;
        }
        return (known.token, better);
    }
    *head = tokens.add(cost, *head);
    active.insert(state, Reached { token: *head, cost });
    (*head, true)
}
