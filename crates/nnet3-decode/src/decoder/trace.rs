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

/// The words of the best path when it was traced last. A path is followed back until it meets that one.
#[derive(Debug, Default)]
pub(super) struct TracedWords {
    /// For each number of frames, the place of the token from which the path enters the next frame, or at which it ends.
    tokens: Vec<u32>,
    /// Words, with the frames after which they come.
    words: Vec<(usize, i32)>,
}

impl TracedWords {
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.words.clear();
    }
}

impl<G: Graph> LatticeDecoder<G> {
    /// Returns the words of the best path so far, to any state. The work grows with the part of the path that differs from
    /// that of the last call. Must be called before the utterance is finished.
    pub fn best_words(&mut self) -> Vec<i32> {
        let mut traced = std::mem::take(&mut self.traced);
        let mut path = self.best_path();
        let frames = path.frame + 1;
        let known = traced.tokens.len();
        traced.tokens.resize(frames, NONE);
        // The words of each step in the order of speech, the last step first.
        let mut newer: Vec<(usize, Vec<i32>)> = Vec::new();
        let mut same_until = None;
        while path.token != NONE {
            let (frame, place) = (path.frame, self.tokens.get(path.token).place);
            if frame < known && traced.tokens[frame] == place {
                same_until = Some(frame);
                break;
            }
            traced.tokens[frame] = place;
            let mut words = Vec::new();
            path.step(&mut words);
            newer.push((frame, words));
        }
        traced.words.retain(|&(frame, _)| same_until.is_some_and(|same| frame <= same));
        for (frame, words) in newer.into_iter().rev() {
            traced.words.extend(words.into_iter().map(|word| (frame, word)));
        }
        let words = traced.words.iter().map(|&(_, word)| word).collect();
        self.traced = traced;
        words
    }
}

/// A token on the way back along links without transition-ids, the position of the token after it, and the word between
/// them.
struct Way {
    token: u32,
    next: Option<usize>,
    olabel: i32,
}

impl<G: Graph> BestPath<'_, G> {
    /// Returns the tokens after `frame` frames that give the token `to` its cost, and the labels of the links. The
    /// links have a transition-id if `emitting`, else none.
    fn sources(&self, frame: usize, to: u32, emitting: bool) -> impl Iterator<Item = (u32, i32, i32)> {
        let tokens = &self.decoder.tokens;
        let cost = tokens.get(to).cost;
        tokens.of_frame(frame).rev().flat_map(move |token| {
            let from = tokens.get(token).cost;
            tokens.links(token).filter_map(move |link| {
                let same = link.to == to
                    && (link.ilabel != EPSILON) == emitting
                    && from + link.acoustic + link.graph == cost;
                same.then_some((token, link.ilabel, link.olabel))
            })
        })
    }

    /// Goes back one frame, or to the start before the first frame. Adds the words of the step, in the order of speech.
    fn step(&mut self, words: &mut Vec<i32>) -> Option<Step> {
        if self.token == NONE {
            return None;
        }
        // Links without transition-ids may form cycles of cost zero: each token is visited once.
        let mut found = vec![Way { token: self.token, next: None, olabel: EPSILON }];
        let mut at = 0;
        while let Some(&Way { token, .. }) = found.get(at) {
            let step = match self.frame.checked_sub(1) {
                Some(before) => self.sources(before, token, true).next().map(Some),
                None => (self.decoder.tokens.start() == Some(token)).then_some(None),
            };
            if let Some(step) = step {
                let mut add = |word: i32| words.extend((word != EPSILON).then_some(word));
                if let Some((_, _, olabel)) = step {
                    add(olabel);
                }
                let mut way = Some(at);
                while let Some(Way { next, olabel, .. }) = way.map(|at| &found[at]) {
                    add(*olabel);
                    way = *next;
                }
                let Some((token, transition_id, _)) = step else {
                    self.token = NONE;
                    return None;
                };
                (self.token, self.frame) = (token, self.frame - 1);
                return Some(Step { token: self.decoder.tokens.get(token).place, transition_id });
            }
            for (source, _, olabel) in self.sources(self.frame, token, false) {
                if found.iter().all(|way| way.token != source) {
                    found.push(Way { token: source, next: Some(at), olabel });
                }
            }
            at += 1;
        }
        self.token = NONE;
        None
    }
}

impl<G: Graph> Iterator for BestPath<'_, G> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.frame == 0 { None } else { self.step(&mut Vec::new()) }
    }
}
