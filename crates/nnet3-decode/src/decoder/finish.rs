//! The end of an utterance: final costs, exact pruning, the lattice.

use kaldi_fst::{Arc, EPSILON, StateId, ops};
use rustc_hash::FxHashMap;

use super::graph::Graph;
use super::search::{Ending, LatticeDecoder, Reached};
use super::tokens::NONE;
use crate::error::Result;
use crate::lattice::Lattice;
use crate::order;
use crate::weight::LatticeWeight;

/// Extra costs of the last frame are right when they change by no more than this share.
const PRECISION: f32 = 1e-5;

impl<G: Graph> LatticeDecoder<G> {
    /// Prunes all frames with what is now known of the end.
    pub(super) fn finalize(&mut self) -> Result<()> {
        self.ending = self.final_costs()?;
        self.active.clear();
        self.prune_last_links();
        for f in (0..self.frames.len() - 1).rev() {
            self.prune_links(f, 0.0);
            self.prune_tokens(f + 1);
        }
        self.prune_tokens(0);
        Ok(())
    }

    fn final_costs(&self) -> Result<Ending> {
        let (mut costs, mut best, mut best_final) = (FxHashMap::default(), f32::INFINITY, f32::INFINITY);
        for active in self.active.iter() {
            let Reached { token, cost } = active.value;
            let ending = self.graph.final_cost(active.state)?;
            best = best.min(cost);
            best_final = best_final.min(cost + ending);
            if ending != f32::INFINITY {
                costs.insert(token, ending);
            }
        }
        Ok(Ending { costs, best: if best_final == f32::INFINITY { best } else { best_final } })
    }

    /// The cost of ending in a token of the last frame. If none is final, all are.
    fn ending_cost(&self, token: u32) -> f32 {
        match self.ending.costs.is_empty() {
            true => 0.0,
            false => self.ending.costs.get(&token).copied().unwrap_or(f32::INFINITY),
        }
    }

    fn prune_last_links(&mut self) {
        let last = self.frames.len() - 1;
        let beam = self.options.lattice_beam;
        let mut changed = true;
        while changed {
            changed = false;
            let mut token = self.frames[last].head;
            while token != NONE {
                let ending = self.tokens.get(token).cost + self.ending_cost(token) - self.ending.best;
                let (mut extra, _) = self.tokens.prune_links(token, beam, ending);
                if extra > beam {
                    extra = f32::INFINITY;
                }
                let data = self.tokens.get_mut(token);
                changed |= !nearly_equal(data.extra, extra);
                data.extra = extra;
                token = data.next;
            }
        }
    }

    /// All paths that were kept, as a lattice that is connected and sorted. It has a state for each token, and acoustic
    /// costs scaled as the log-likelihoods are; it is empty if no path is left.
    pub fn raw_lattice(&self) -> Result<Lattice> {
        let mut numbers: FxHashMap<u32, StateId> = FxHashMap::default();
        let mut lattice = Lattice::default();
        for frame in &self.frames {
            for token in self.tokens.list(frame.head) {
                numbers.insert(token, lattice.add_state());
            }
        }
        lattice.start = numbers.get(&self.start_token).copied();
        for (f, frame) in self.frames.iter().enumerate() {
            let offset = self.offsets.get(f).copied().unwrap_or(0.0);
            for token in self.tokens.list(frame.head) {
                let state = lattice.state_mut(numbers[&token]);
                for link in self.tokens.links(token) {
                    let Some(&next) = numbers.get(&link.to) else { continue };
                    let offset = if link.ilabel == EPSILON { 0.0 } else { offset };
                    let weight = LatticeWeight::new(link.graph, link.acoustic - offset);
                    let (ilabel, olabel) = (link.ilabel, link.olabel);
                    state.arcs.push(Arc { ilabel, olabel, weight, next });
                }
                if f + 1 == self.frames.len() {
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

fn nearly_equal(a: f32, b: f32) -> bool {
    a == b || {
        let difference = (a - b).abs();
        difference.is_finite() && difference <= PRECISION * (a.abs() + b.abs())
    }
}
