//! The best path during a search (`LatticeFasterOnlineDecoder` of `decoder/lattice-faster-online-decoder.cc`).
//!
//! Tokens have no back pointers. The trace finds the predecessor again, as the link with the same cost. So a search of
//! whole utterances does not pay for traces.

use kaldi_fst::EPSILON;

use super::graph::Graph;
use super::search::LatticeDecoder;
use super::tokens::NONE;
use crate::error::Result;

/// One frame of the best path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Place of the token from which the path enters the frame. It is unique among all tokens after that many frames.
    pub token: u32,
    pub transition_id: i32,
}

/// The frames of a path, the last one first.
pub struct BestPath<'d, G> {
    decoder: &'d LatticeDecoder<G>,
    /// The end of the remaining path, and its frame.
    token: u32,
    frame: usize,
}

impl<G: Graph> LatticeDecoder<G> {
    /// Returns the best path so far, to any state, from its last frame backwards. Must be called before the utterance
    /// is finished.
    pub fn best_path(&self) -> BestPath<'_, G> {
        let frame = self.tokens.num_frames().saturating_sub(1);
        let mut best = (NONE, f32::INFINITY);
        for token in self.tokens.of_newest().rev() {
            let cost = self.tokens.get(token).cost;
            if cost < best.1 {
                best = (token, cost);
            }
        }
        BestPath { decoder: self, token: best.0, frame }
    }

    /// Returns the cost of the best path to a final state minus that of the best path: infinite if no state is final.
    /// Must be called before the utterance is finished.
    pub fn final_relative_cost(&self) -> Result<f32> {
        let (mut best, mut best_final) = (f32::INFINITY, f32::INFINITY);
        for (state, cost) in self.active.states().zip(self.active.values()) {
            best = best.min(cost);
            best_final = best_final.min(cost + self.graph.final_cost(state)?);
        }
        Ok(if best_final == f32::INFINITY { best_final } else { best_final - best })
    }
}

impl<G: Graph> BestPath<'_, G> {
    /// Returns the tokens after `frame` frames that give the token `to` its cost, and the labels of the links. The
    /// links have a transition-id if `emitting`, else none.
    fn sources(&self, frame: usize, to: u32, emitting: bool) -> impl Iterator<Item = (u32, i32)> {
        let tokens = &self.decoder.tokens;
        let cost = tokens.get(to).cost;
        tokens.of_frame(frame).rev().flat_map(move |token| {
            let from = tokens.get(token).cost;
            tokens.links(token).filter_map(move |link| {
                let same = link.to == to
                    && (link.ilabel != EPSILON) == emitting
                    && from + link.acoustic + link.graph == cost;
                same.then_some((token, link.ilabel))
            })
        })
    }
}

impl<G: Graph> Iterator for BestPath<'_, G> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.token == NONE || self.frame == 0 {
            return None;
        }
        // Links without transition-ids may form cycles of cost zero: each token is visited once.
        let mut found = vec![self.token];
        let mut next = 0;
        while let Some(&token) = found.get(next) {
            let step = self.sources(self.frame - 1, token, true).next();
            if let Some((token, transition_id)) = step {
                (self.token, self.frame) = (token, self.frame - 1);
                return Some(Step { token: self.decoder.tokens.get(token).place, transition_id });
            }
            for (source, _) in self.sources(self.frame, token, false) {
                if !found.contains(&source) {
                    found.push(source);
                }
            }
            next += 1;
        }
        self.token = NONE;
        None
    }
}
