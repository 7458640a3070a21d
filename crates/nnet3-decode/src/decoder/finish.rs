//! The end of an utterance: final costs, exact pruning, the lattice.

use kaldi_fst::{Arc, EPSILON, StateId, ops};

use super::graph::Graph;
use super::search::{Ending, LatticeDecoder};
use crate::error::Result;
use crate::lattice::Lattice;
use crate::order;
use crate::weight::LatticeWeight;

/// Extra costs of the last frame are final if they change by at most this share.
const PRECISION: f32 = 1e-5;

impl<G: Graph> LatticeDecoder<G> {
    /// Prunes all frames with the final costs.
    pub(super) fn finalize(&mut self) -> Result<()> {
        self.ending = self.final_costs()?;
        self.active.clear();
        self.prune_last_frame();
        for frame in (0..self.tokens.num_frames() - 1).rev() {
            self.tokens.prune_frame(frame, self.options.lattice_beam, 0.0);
        }
        Ok(())
    }

    fn final_costs(&self) -> Result<Ending> {
        let costs: Result<Vec<f32>> =
            self.active.states().map(|state| self.graph.final_cost(state)).collect();
        let costs = costs?;
        let (mut best, mut best_final) = (f32::INFINITY, f32::INFINITY);
        for (cost, ending) in self.active.values().zip(&costs) {
            best = best.min(cost);
            best_final = best_final.min(cost + ending);
        }
        let is_final = costs.iter().any(|&cost| cost != f32::INFINITY);
        Ok(Ending { costs, is_final, best: if best_final == f32::INFINITY { best } else { best_final } })
    }

    /// The cost of ending in a token of the last frame. If none is final, all are.
    pub(super) fn ending_cost(&self, token: u32) -> f32 {
        self.ending_cost_at(self.tokens.get(token).place)
    }

    /// The cost of ending in the token at a place of the last frame.
    pub(super) fn ending_cost_at(&self, place: u32) -> f32 {
        if self.ending.is_final { self.ending.costs[place as usize] } else { 0.0 }
    }

    fn prune_last_frame(&mut self) {
        let beam = self.options.lattice_beam;
        let mut changed = true;
        while changed {
            changed = false;
            for token in self.tokens.of_newest().rev() {
                let ending = self.tokens.get(token).cost + self.ending_cost(token) - self.ending.best;
                let most = if ending > beam { f32::INFINITY } else { ending };
                let pruned = self.tokens.prune_token(token, beam, most);
                changed |= !nearly_equal(pruned.before, pruned.after);
            }
        }
    }

    /// All paths that were kept, as a lattice that is connected and sorted. It has a state for each token, and acoustic
    /// costs scaled as the log-likelihoods are; it is empty if no path is left.
    pub fn raw_lattice(&self) -> Result<Lattice> {
        let tokens = &self.tokens;
        let mut lattice = Lattice::default();
        // The state of each token that is kept.
        let mut states: Vec<Option<StateId>> = vec![None; tokens.of_newest().end as usize];
        for frame in 0..tokens.num_frames() {
            for token in self.in_topological_order(frame) {
                states[token as usize] = Some(lattice.add_state());
            }
        }
        lattice.start = tokens.start().and_then(|token| states.get(token as usize).copied().flatten());
        for frame in 0..tokens.num_frames() {
            let offset = self.offsets.get(frame).copied().unwrap_or(0.0);
            for token in tokens.of_frame(frame) {
                let Some(state) = states[token as usize] else { continue };
                let state = lattice.state_mut(state);
                for link in tokens.links(token) {
                    let Some(next) = states[link.to as usize] else { continue };
                    let offset = if link.ilabel == EPSILON { 0.0 } else { offset };
                    let weight = LatticeWeight::new(link.graph, link.acoustic - offset);
                    let (ilabel, olabel) = (link.ilabel, link.olabel);
                    state.arcs.push(Arc { ilabel, olabel, weight, next });
                }
                if frame + 1 == tokens.num_frames() {
                    let cost = self.ending_cost(token);
                    if cost != f32::INFINITY {
                        state.final_weight = LatticeWeight::new(cost, 0.0);
                    }
                }
            }
        }
        ops::connect(&mut lattice);
        order::sort(&mut lattice)?;
        Ok(lattice)
    }
}

impl<G: Graph> LatticeDecoder<G> {
    /// The remaining tokens of a frame, in the order in which their states were reached. Tokens with an epsilon arc from a later
    /// one move to the end. The reference does so, and this order decides between best paths of the same cost.
    fn in_topological_order(&self, frame: usize) -> Vec<u32> {
        let all = self.tokens.of_frame(frame);
        let mut kept: Vec<u32> = all.clone().filter(|&token| self.tokens.get(token).is_kept()).collect();
        let first = all.start as usize;
        // The place of each token: a larger one than all places before for a token that moves.
        let mut places: Vec<usize> = (0..all.len()).collect();
        let mut next = all.len();
        let mut waiting = kept.clone();
        // A cycle of epsilons would never come to rest. (It is an error when the lattice is sorted.)
        for _ in 0..=kept.len() {
            let mut moved = Vec::new();
            for token in std::mem::take(&mut waiting) {
                for link in self.tokens.links(token).filter(|link| all.contains(&link.to)) {
                    let to = link.to as usize - first;
                    if places[to] < places[token as usize - first] {
                        places[to] = next;
                        next += 1;
                        moved.push(link.to);
                    }
                }
            }
            if moved.is_empty() {
                break;
            }
            waiting = moved;
        }
        if next > all.len() {
            kept.sort_by_key(|&token| places[token as usize - first]);
        }
        kept
    }
}

fn nearly_equal(a: f32, b: f32) -> bool {
    a == b || {
        let difference = (a - b).abs();
        difference.is_finite() && difference <= PRECISION * (a.abs() + b.abs())
    }
}
