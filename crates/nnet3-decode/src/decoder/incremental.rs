//! The lattice of a search that is determinized chunk by chunk while the search goes on (`LatticeIncrementalDecoder` of
//! `decoder/lattice-incremental-decoder.cc`). At the end of a long utterance only the last chunk is left to do.

use kaldi_fst::{Arc, EPSILON};
use kaldi_hmm::TransitionModel;

use super::decodable::Decodable;
use super::graph::Graph;
use super::options::SearchOptions;
use super::search::LatticeDecoder;
use crate::determinize::incremental::Chunk;
use crate::determinize::{Incremental, PhoneOptions, Report};
use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::weight::LatticeWeight;

/// Lengths of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkOptions {
    /// A chunk is determinized when so many frames are not.
    pub max_delay: usize,
    /// Number of frames of the shortest chunk.
    pub min_size: usize,
    /// A chunk ends at a frame with at most so many tokens, counted before the last pruning. If there is no such frame,
    /// it waits. The end of the utterance does not count.
    pub max_active: usize,
}

impl Default for ChunkOptions {
    fn default() -> ChunkOptions {
        ChunkOptions { max_delay: 60, min_size: 20, max_active: 200 }
    }
}

impl ChunkOptions {
    /// # Errors
    /// `min_size` is 0, or not below `max_delay`.
    pub fn check(&self) -> Result<()> {
        if self.min_size == 0 {
            return Err(Error::option("determinize-min-chunk-size", 0, "at least 1"));
        }
        if self.max_delay <= self.min_size {
            let expected = format!("more than determinize-min-chunk-size={}", self.min_size);
            return Err(Error::option("determinize-max-delay", self.max_delay, expected));
        }
        Ok(())
    }
}

/// The determinized lattice of an utterance that is being decoded.
///
/// A chunk can be joined to the others only if each of its tokens needs a word; otherwise it begins anew with the first
/// frame. If `min_active` keeps all states of a small graph active, a path of silence stays alive. Then each chunk
/// starts anew, and the work grows with the square of the length (as in the reference).
#[derive(Debug)]
pub struct IncrementalLattice {
    options: ChunkOptions,
    determinizer: Incremental,
    /// Number of frames in the determinized lattice.
    frames: usize,
}

impl IncrementalLattice {
    /// The share of the lattice beam by which relative costs may be wrong, as in the reference.
    pub const PRUNE_SCALE: f32 = 0.01;

    /// Makes an empty lattice for a search with these options. Their `prune_scale` should be
    /// [`PRUNE_SCALE`](Self::PRUNE_SCALE): costs in the middle of an utterance select the paths.
    ///
    /// # Errors
    /// Options that make no sense, or that ask for minimization or for no pass on words.
    pub fn new(
        options: ChunkOptions,
        search: &SearchOptions,
        determinization: PhoneOptions,
    ) -> Result<IncrementalLattice> {
        options.check()?;
        let determinizer = Incremental::new(search.lattice_beam.into(), determinization)?;
        Ok(IncrementalLattice { options, determinizer, frames: 0 })
    }

    /// Forgets the utterance. Must be called when the search begins another one.
    pub fn clear(&mut self) {
        self.determinizer.clear();
        self.frames = 0;
    }

    /// Searches a whole utterance, and determinizes chunks on the way. False if no path got to the last frame.
    ///
    /// # Errors
    /// Errors of the search, and of [`update`](Self::update).
    pub fn decode<G: Graph>(
        &mut self,
        search: &mut LatticeDecoder<G>,
        model: &TransitionModel,
        decodable: &impl Decodable,
    ) -> Result<bool> {
        self.clear();
        search.begin()?;
        for frame in 0..decodable.num_frames() {
            self.update(search, model)?;
            search.advance(decodable.frame(frame))?;
        }
        search.finish()
    }

    /// Number of frames in the determinized lattice.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Events of all chunks so far; complete if no limit stopped the determinization of a chunk.
    pub fn report(&self) -> &Report {
        self.determinizer.report()
    }

    /// Determinizes a chunk if enough frames are waiting. To be called after some frames of the search, before its end.
    ///
    /// # Errors
    /// The lattice has a cycle, or a transition-id that the model does not have.
    pub fn update<G: Graph>(
        &mut self,
        search: &mut LatticeDecoder<G>,
        model: &TransitionModel,
    ) -> Result<()> {
        let decoded = search.frames_decoded();
        if decoded.saturating_sub(self.frames) < self.options.max_delay {
            return Ok(());
        }
        search.prune();
        // The frame with the fewest tokens, the latest of them.
        let frames = (self.frames + self.options.min_size..=decoded).rev();
        let fewest = frames
            .map(|frame| (search.tokens.count_before_pruning(frame), frame))
            .min_by_key(|&(count, _)| count);
        match fewest {
            Some((count, frame)) if count <= self.options.max_active => {
                self.append(search, model, frame, |decoder, token| {
                    let token = decoder.tokens.get(token);
                    Some(token.extra - token.cost)
                })
            }
            _ => Ok(()),
        }
    }

    /// Determinizes the remaining frames of a search that is [finished](LatticeDecoder::finish), and takes the whole
    /// lattice. It has no dead ends, may not be sorted, and is empty if no path is left. A second call for the same search
    /// determinizes all frames at once.
    ///
    /// # Errors
    /// The lattice has a cycle, or a transition-id that the model does not have.
    pub fn finish<G: Graph>(
        &mut self,
        search: &LatticeDecoder<G>,
        model: &TransitionModel,
    ) -> Result<CompactLattice> {
        let ending = |place: u32| Some(search.ending_cost_at(place)).filter(|&cost| cost != f32::INFINITY);
        if search.frames_decoded() > self.frames {
            let cost = |search: &LatticeDecoder<G>, token| ending(search.tokens.get(token).place);
            self.append(search, model, search.frames_decoded(), cost)?;
        }
        self.frames = 0;
        Ok(self.determinizer.take_lattice(ending))
    }

    /// Appends the frames from the end of the last chunk to `end`. `cost` is the cost of ending in a token, for the
    /// pruning, or `None` if no path ends there.
    fn append<G: Graph>(
        &mut self,
        search: &LatticeDecoder<G>,
        model: &TransitionModel,
        end: usize,
        cost: impl Fn(&LatticeDecoder<G>, u32) -> Option<f32>,
    ) -> Result<()> {
        let mut chunk = self.determinizer.begin_chunk();
        let begin = if chunk.is_continued() { self.frames } else { 0 };
        search.fill(&mut chunk, begin, end, |token| cost(search, token));
        self.determinizer.append(model, chunk)?;
        self.frames = end;
        Ok(())
    }
}

impl<G: Graph> LatticeDecoder<G> {
    /// Adds the tokens after `begin` to `end` frames to a chunk, with their links. `cost` is the cost of ending in a
    /// token of the last frame. The tokens' numbers in chunks are their places.
    fn fill(&self, chunk: &mut Chunk, begin: usize, end: usize, cost: impl Fn(u32) -> Option<f32>) {
        let tokens = &self.tokens;
        let first = tokens.of_frame(begin).start;
        let continued = chunk.is_continued();
        let mut states = Vec::with_capacity((tokens.of_frame(end).end - first) as usize);
        for frame in begin..=end {
            for token in tokens.of_frame(frame) {
                let place = tokens.get(token).place;
                states.push(if frame == end {
                    match cost(token).filter(|_| tokens.get(token).is_kept()) {
                        Some(cost) => chunk.end(place, cost),
                        None => chunk.lattice.add_state(),
                    }
                } else if frame == begin && continued {
                    chunk.begin(place)
                } else {
                    chunk.lattice.add_state()
                });
            }
        }
        if !continued {
            chunk.lattice.start = tokens.start().and_then(|token| states.get(token as usize).copied());
        }
        for frame in begin..=end {
            let offset = self.offsets.get(frame).copied().unwrap_or(0.0);
            for token in tokens.of_frame(frame) {
                let from = states[(token - first) as usize];
                for link in tokens.links(token) {
                    // (Links beyond the last frame belong to the next chunk.)
                    let Some(&next) = states.get((link.to - first) as usize) else { continue };
                    let offset = if link.ilabel == EPSILON { 0.0 } else { offset };
                    let weight = LatticeWeight::new(link.graph, link.acoustic - offset);
                    let arc = Arc { ilabel: link.ilabel, olabel: link.olabel, weight, next };
                    chunk.lattice.state_mut(from).arcs.push(arc);
                }
            }
        }
    }
}
