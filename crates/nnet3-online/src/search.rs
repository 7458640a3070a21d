//! A search, whatever its graph is.

use kaldi_hmm::TransitionModel;
use nnet3_decode::decoder::{Decodable, Graph, IncrementalLattice, LatticeDecoder, MatrixDecodable, Step};
use nnet3_decode::{CompactLattice, Lattice, Result};

/// A search that leaves lattices ([`LatticeDecoder`]) over some kind of graph. Its loop over frames is compiled for each
/// kind; a call decodes all frames of a chunk.
pub trait Search: Send {
    /// Begins an utterance.
    ///
    /// # Errors
    /// The graph has no start, or cannot be read.
    fn begin(&mut self) -> Result<()>;

    /// Decodes these frames of a chunk.
    ///
    /// # Errors
    /// No path is left, or a state of the graph cannot be read.
    fn advance(&mut self, likelihoods: &MatrixDecodable<'_>, frames: std::ops::Range<usize>) -> Result<()>;

    /// Frames of the utterance so far.
    fn frames_decoded(&self) -> usize;

    /// Returns the best path so far, from its last frame backwards. Must be called before the utterance is finished.
    fn best_path(&self) -> Box<dyn Iterator<Item = Step> + '_>;

    /// See [`LatticeDecoder::best_words`].
    fn best_words(&mut self) -> Vec<i32>;

    /// See [`LatticeDecoder::final_relative_cost`].
    ///
    /// # Errors
    /// A state of the graph cannot be read.
    fn final_relative_cost(&self) -> Result<f32>;

    /// Ends the utterance. False if no path is left.
    ///
    /// # Errors
    /// A state of the graph cannot be read.
    fn finish(&mut self) -> Result<bool>;

    /// True if a path of the finished utterance ends in a final state.
    fn reached_final(&self) -> bool;

    /// Returns all paths that were kept, so far or of the finished utterance.
    ///
    /// # Errors
    /// No path is left.
    fn raw_lattice(&self) -> Result<Lattice>;

    /// See [`IncrementalLattice::update`].
    ///
    /// # Errors
    /// The lattice cannot be determinized.
    fn update(&mut self, chunks: &mut IncrementalLattice, transitions: &TransitionModel) -> Result<()>;

    /// See [`IncrementalLattice::finish`].
    ///
    /// # Errors
    /// The lattice cannot be determinized.
    fn finish_chunks(
        &self,
        chunks: &mut IncrementalLattice,
        transitions: &TransitionModel,
    ) -> Result<CompactLattice>;
}

impl<G: Graph + Send> Search for LatticeDecoder<G> {
    fn begin(&mut self) -> Result<()> {
        LatticeDecoder::begin(self)
    }

    fn advance(&mut self, likelihoods: &MatrixDecodable<'_>, frames: std::ops::Range<usize>) -> Result<()> {
        for frame in frames {
            LatticeDecoder::advance(self, likelihoods.frame(frame))?;
        }
        Ok(())
    }

    fn frames_decoded(&self) -> usize {
        LatticeDecoder::frames_decoded(self)
    }

    fn best_path(&self) -> Box<dyn Iterator<Item = Step> + '_> {
        Box::new(LatticeDecoder::best_path(self))
    }

    fn best_words(&mut self) -> Vec<i32> {
        LatticeDecoder::best_words(self)
    }

    fn final_relative_cost(&self) -> Result<f32> {
        LatticeDecoder::final_relative_cost(self)
    }

    fn finish(&mut self) -> Result<bool> {
        LatticeDecoder::finish(self)
    }

    fn reached_final(&self) -> bool {
        LatticeDecoder::reached_final(self)
    }

    fn raw_lattice(&self) -> Result<Lattice> {
        LatticeDecoder::raw_lattice(self)
    }

    fn update(&mut self, chunks: &mut IncrementalLattice, transitions: &TransitionModel) -> Result<()> {
        chunks.update(self, transitions)
    }

    fn finish_chunks(
        &self,
        chunks: &mut IncrementalLattice,
        transitions: &TransitionModel,
    ) -> Result<CompactLattice> {
        chunks.finish(self, transitions)
    }
}
