//! A model: all that recognisers share.

mod files;
mod inputs;
mod load;
pub(crate) mod low_rate;
pub(crate) mod other_kinds;
mod parts;

use std::path::Path;
use std::sync::Arc;

use kaldi_hmm::TransitionModel;
use nnet3_core::forward::LoopedForward;
use nnet3_decode::CompactLattice;
use nnet3_decode::align::align_words;

use crate::error::{Error, Result};
use crate::first_half::FirstHalf;
use crate::graph::SharedGraph;
use crate::notice::Notice;
use crate::options::{ModelOptions, RecognizerOptions};
use crate::phrases::Phrases;
use crate::transcript::UNKNOWN;
use crate::words::word_alignment;

pub use files::{acoustic_model, needs_folder};
pub use inputs::{IVECTOR_PERIOD, Inputs};
pub use low_rate::LowRate;
pub use parts::ModelParts;

/// A model. Clones share everything, so that one model serves recognisers on many threads.
#[derive(Clone)]
pub struct Model {
    shared: Arc<Shared>,
}

struct Shared {
    parts: ModelParts,
    notices: Vec<Notice>,
}

impl Model {
    /// Opens the model in a folder, as published for vosk, or of the older form. Files that `options` name replace those
    /// of the folder. Errors name the file that is missing or wrong, or that does not fit the others.
    ///
    /// # Errors
    /// A file is missing or wrong, or does not fit the others. The error names it.
    pub fn open(folder: impl AsRef<Path>, options: &ModelOptions) -> Result<Model> {
        let mut notices = Vec::new();
        let pieces =
            files::Pieces::of_folder(&folder.as_ref().to_string_lossy(), &options.files, &mut notices)?;
        Model::load(pieces, options, notices)
    }

    /// Opens a model without a folder, from the files that `options` name.
    ///
    /// # Errors
    /// A file is missing or wrong, or does not fit the others. The error names it.
    pub fn from_files(options: &ModelOptions) -> Result<Model> {
        Model::load(files::Pieces::of_files(&options.files)?, options, Vec::new())
    }

    fn load(pieces: files::Pieces, options: &ModelOptions, mut notices: Vec<Notice>) -> Result<Model> {
        let parts = load::parts(&pieces, options, &mut notices)?;
        Model::new(parts, notices)
    }

    /// Makes a model of its parts.
    ///
    /// # Errors
    /// Features and network do not fit.
    pub fn from_parts(parts: ModelParts) -> Result<Model> {
        Model::new(parts, Vec::new())
    }

    fn new(parts: ModelParts, notices: Vec<Notice>) -> Result<Model> {
        parts.network.check_inputs(parts.features.dim(), parts.features.ivector_dim())?;
        Ok(Model { shared: Arc::new(Shared { parts, notices }) })
    }

    /// The options of recognisers in the files of the model.
    pub fn options(&self) -> &RecognizerOptions {
        &self.parts().options
    }

    /// Events while the model was opened.
    pub fn notices(&self) -> &[Notice] {
        &self.shared.notices
    }

    /// The rate (in Hz) of sound that needs no resampling.
    pub fn sample_rate(&self) -> f32 {
        self.parts().features.sample_rate()
    }

    /// Returns the bands that sound at this rate (in Hz) lacks. `None` if it lacks none, or if the model was trained with such sound.
    pub fn low_rate(&self, rate: f32) -> Option<LowRate> {
        LowRate::of(rate, self.sample_rate(), self.options().missing_bands)
    }

    /// The transition-ids of the model.
    pub fn transitions(&self) -> &TransitionModel {
        &self.parts().transitions
    }

    /// False for a model of Gaussians that is written as a network.
    pub fn is_trained(&self) -> bool {
        self.parts().is_trained
    }

    /// The length of an output frame of the network, in seconds.
    pub fn output_frame_length(&self) -> f32 {
        self.parts().features.frame_shift() * self.parts().network.frame_subsampling_factor() as f32
    }

    /// The times of output frames: the length of one, and the beginning of the first one's part of the time, in seconds. A frame's
    /// part lies around the middle of its first input frame.
    pub fn output_frame_times(&self) -> (f32, f32) {
        let length = self.output_frame_length();
        (length, self.parts().features.first_middle() - 0.5 * length)
    }

    /// Returns the name of a word.
    ///
    /// # Errors
    /// It has none.
    pub fn word(&self, word: i32) -> Result<&str> {
        let names = self.parts().names.as_ref().ok_or(Error::NoNames)?;
        names.get(word).ok_or(Error::UnknownWord(word))
    }

    /// Returns the number of a word. `None` if the model does not have the word.
    pub fn word_number(&self, name: &str) -> Option<i32> {
        self.parts().names.as_ref()?.number(name)
    }

    /// Returns all words with their numbers. Empty if the model has no names of words.
    pub fn words(&self) -> impl Iterator<Item = (i32, &str)> {
        self.parts().names.iter().flat_map(|names| names.iter())
    }

    /// Returns the words that differ from this one in capitals or in the Unicode form alone, with their numbers.
    pub fn words_alike(&self, name: &str) -> Vec<(i32, &str)> {
        let sought = kaldi_io::alike::folded(name);
        self.words().filter(|(_, other)| *other != name && kaldi_io::alike::folded(other) == sought).collect()
    }

    /// Returns a word of the model that looks like this one, which the model does not have: a clause to put behind a message.
    /// Empty if there is no such word.
    pub fn word_hint(&self, name: &str) -> String {
        kaldi_io::alike::hint(name, self.words().map(|(_, name)| name))
    }

    /// Returns a lattice of this model with an arc for each word, of the length of its phones. If the model does not know where
    /// words begin, or if the lattice cannot be aligned, arcs are those of the search.
    pub fn words_as_arcs(&self, lattice: &CompactLattice) -> CompactLattice {
        let parts = self.parts();
        let aligned = parts.boundaries.as_ref().and_then(|boundaries| {
            align_words(lattice, &parts.transitions, boundaries, &word_alignment()).ok()
        });
        aligned
            .filter(|(_, problems)| problems.is_empty())
            .map_or_else(|| lattice.clone(), |(aligned, _)| aligned)
    }

    /// Makes a grammar of phrases, for [`RecognizerOptions::phrases`]: sentences then consist of these phrases, or of their
    /// words in another order, which is less likely. A phrase is words with blanks between them. Words that the model cannot
    /// recognise are ignored ([`Phrases::ignored`]); one that it has with other capitals is that one ([`Phrases::replaced`]). Probabilities are those of vosk.
    ///
    /// # Errors
    /// The graph of the model has no first half without a language model, or no names of words, or it can recognise no word of the
    /// phrases.
    pub fn phrases<S: AsRef<str>>(&self, phrases: &[S]) -> Result<Phrases> {
        let parts = self.parts();
        let half = match (&parts.graph, &parts.phrases) {
            (SharedGraph::Pair(pair), _) => FirstHalf { pair, names: None },
            (_, Some(part)) => part.half()?,
            _ if parts.is_trained => return Err(Error::OneGraph),
            _ => return Err(Error::GaussianGraph),
        };
        Phrases::new(half, parts.names.as_ref().ok_or(Error::NoNames)?, phrases)
    }

    /// The word for sounds that are no known word: `[unk]`, `<unk>` or `<UNK>`, if the model has it.
    pub fn garbage_word(&self) -> Option<&str> {
        let names = self.parts().names.as_ref()?;
        let found = |wanted: &&&str| names.iter().any(|(_, name)| name == **wanted);
        UNKNOWN.iter().find(found).copied()
    }

    pub(crate) fn parts(&self) -> &ModelParts {
        &self.shared.parts
    }

    pub(crate) fn pdfs(&self) -> &[i32] {
        self.shared.parts.transitions.pdfs()
    }

    /// Makes a runner of the network.
    pub(crate) fn network(&self) -> LoopedForward {
        let mut network = LoopedForward::of(self.parts().network.clone());
        if let Some(observer) = self.parts().observer {
            network.executor().observe(observer());
        }
        network
    }
}
