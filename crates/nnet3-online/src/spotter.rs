//! Words as soon as they are certain (`OnlineWakeWordFasterDecoder` of `online2/online-nnet3-wake-word-faster-decoder.cc`):
//! a search for one path, which looks where all paths still alive begin alike.

use std::sync::Arc;

use kaldi_hmm::TransitionModel;
use kaldi_online::{PipelineModel, Speaker};
use nnet3_core::forward::LoopedForward;
use nnet3_decode::decoder::{Decodable, MatrixDecodable, ViterbiDecoder, ViterbiPath};

use crate::acoustics::{Acoustics, Chunk};
use crate::error::Result;

/// Takes samples, and tells words when no other path can win any more.
pub struct Spotter<'g> {
    /// The pdf of each transition-id.
    pdfs: Arc<[i32]>,
    acoustics: Acoustics,
    search: ViterbiDecoder<'g>,
}

impl<'g> Spotter<'g> {
    /// Makes a spotter that is ready for an utterance of a new speaker.
    ///
    /// # Errors
    /// Features, network and search do not fit.
    pub fn new(
        transitions: &TransitionModel,
        features: Arc<PipelineModel>,
        network: LoopedForward,
        search: ViterbiDecoder<'g>,
    ) -> Result<Spotter<'g>> {
        let acoustics = Acoustics::new(features, Speaker::default(), network)?;
        let mut spotter = Spotter { pdfs: transitions.pdfs().clone(), acoustics, search };
        spotter.search.begin()?;
        Ok(spotter)
    }

    /// Forgets the utterance, and begins another one. `speaker` is the speaker's state after earlier utterances.
    ///
    /// # Errors
    /// The search over the graph cannot begin.
    pub fn begin(&mut self, speaker: Speaker) -> Result<()> {
        self.acoustics.begin(speaker)?;
        Ok(self.search.begin()?)
    }

    /// Takes the next samples, at this rate (in Hz), and searches the frames that become ready. `last` ends the sound.
    ///
    /// # Errors
    /// Samples at a rate that does not fit the features, outputs of the network that are not numbers.
    pub fn accept(&mut self, rate: f32, samples: &[f32], last: bool) -> Result<()> {
        self.acoustics.accept(rate, samples, last)?;
        let ready = self.acoustics.ready();
        while self.search.frames_decoded() < ready {
            let Chunk { outputs, first } = self.acoustics.chunk(self.search.frames_decoded())?;
            let likelihoods = MatrixDecodable::new(outputs, &self.pdfs, 1.0)?;
            while self.search.frames_decoded() < ready.min(first + outputs.rows) {
                self.search.advance(likelihoods.frame(self.search.frames_decoded() - first))?;
            }
        }
        Ok(())
    }

    /// Output frames of the utterance so far.
    pub fn frames_decoded(&self) -> usize {
        self.search.frames_decoded()
    }

    /// Returns the words that have become certain since the last call; `None` if the certain part did not grow.
    pub fn certain_words(&mut self) -> Option<Vec<i32>> {
        self.search.certain_words()
    }

    /// Returns the words of the best path after its certain part.
    ///
    /// # Errors
    /// The graph is damaged.
    pub fn other_words(&self) -> Result<Vec<i32>> {
        Ok(self.search.other_words()?)
    }

    /// Returns the best path so far, to a final state if one is reached. `None` if no path is left.
    ///
    /// # Errors
    /// The graph is damaged.
    pub fn best_path(&self) -> Result<Option<ViterbiPath>> {
        Ok(self.search.path()?.map(|(path, _)| path))
    }

    /// Returns the speaker's present state, for the next utterance.
    ///
    /// # Errors
    /// The features of the last frames cannot be made.
    pub fn speaker(&mut self) -> Result<Speaker> {
        Ok(self.acoustics.pipeline().speaker()?)
    }
}
