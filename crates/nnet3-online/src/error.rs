//! The one error type of the crate.

use kaldi_feat::wave::RATES;

use crate::config;
use crate::model::other_kinds;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of recognition, with its place.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a pipe.
    #[error(transparent)]
    Io(#[from] kaldi_io::IoError),

    /// Options in a file of the model.
    #[error(transparent)]
    Config(#[from] config::Error),

    /// Features of sound.
    #[error(transparent)]
    Features(#[from] kaldi_online::Error),

    /// The acoustic model.
    #[error(transparent)]
    Acoustic(#[from] nnet3_train::Error),

    /// The network.
    #[error(transparent)]
    Network(#[from] nnet3_core::Error),

    /// The search or a lattice.
    #[error(transparent)]
    Search(#[from] nnet3_decode::Error),

    /// An error in a file, or about it.
    #[error("{file}")]
    File { file: String, source: Box<dyn std::error::Error + Send + Sync> },

    /// A rate of sound that no recogniser takes, in Hz.
    #[error("expected a sampling rate from {} to {} Hz, found {rate} Hz", RATES.start(), RATES.end())]
    Rate { rate: f32 },

    /// Sound at a lower rate than the model's, in Hz.
    #[error(
        "the sound has {rate} Hz, and the model needs {least} Hz or more; --allow-upsample=true takes it nevertheless, with more \
         wrong words"
    )]
    LowRate { rate: f32, least: f32 },

    /// A folder that is not there.
    #[error(
        "{0}: expected the folder of a model, with am/final.mdl, conf/ and graph/, but there is no such folder (docs/models.md \
         says where models come from)"
    )]
    NoFolder(String),

    /// A file in place of a folder.
    #[error("{0}: expected the folder of a model, with am/final.mdl, conf/ and graph/, found a file{remark}", remark = other_kinds::of_file(.0))]
    NotAFolder(String),

    /// `lacks` begins with "no" or "neither".
    #[error("{folder}: the folder of the model has {lacks}")]
    Incomplete { folder: String, lacks: String },

    /// A piece that has no default, of a model without a folder.
    #[error("expected the file of the model's {0}, since no folder is given")]
    NoFile(&'static str),

    /// Words without names.
    #[error("the graph has no names of words, and there is no words.txt")]
    NoNames,

    /// A word of the graph without a name.
    #[error("Word-id {0} not in symbol table.")]
    UnknownWord(i32),

    /// Samples that are no sound.
    #[error(transparent)]
    Sound(#[from] kaldi_feat::Error),

    /// Sound of a recording.
    #[cfg(feature = "sound")]
    #[error(transparent)]
    Recording(#[from] kaldi_sound::Error),

    /// A recording without samples.
    #[error("the recording has no samples")]
    NoSamples,

    /// A recording with too few samples for a frame.
    #[error("the recording has {samples} samples, too few for a frame")]
    TooShort { samples: u64 },

    /// Vectors of speakers.
    #[error(transparent)]
    Vectors(#[from] kaldi_speaker::error::Error),

    /// A model whose graph is one file: its language model cannot be replaced.
    #[error(
        "phrases need a model with a graph of two halves (HCLr.fst and Gr.fst) or with a folder graph/phrases, and this one has its \
         language model within a single graph; scripts/adapt_model.sh --phrases=FILE makes a model of it that takes phrases, and \
         scripts/make_graph.sh --look-ahead=true makes the halves alone"
    )]
    OneGraph,

    /// A model of Gaussians: its graph always has a language model in it.
    #[error(
        "phrases need a network (recognizer.sh --model=network trains one), and this is a model of Gaussians, whose graph cannot do without \
         its language model; scripts/adapt_model.sh --phrases=FILE --old-weight=0 makes a model of it that hears these phrases alone, which \
         is used without the option for phrases"
    )]
    GaussianGraph,

    /// Phrases without a word of the model.
    #[error("the vocabulary of the model has no word of the phrases, {found}")]
    NoPhrases { found: String },

    /// A line of a file of phrases that is no text.
    #[error("{file}, line {line}: expected a phrase in UTF-8")]
    NotText { file: String, line: usize },

    /// A file of phrases that is too long, or has no end.
    #[error("{file}: expected a file of phrases of at most {most} bytes, found more")]
    ManyPhrases { file: String, most: u64 },

    /// Data that allow no computation, or calls in a wrong order.
    #[error("{0}")]
    Data(String),
}

impl Error {
    /// True if no further utterance can be decoded.
    pub fn is_broken_graph(&self) -> bool {
        matches!(self, Error::Search(nnet3_decode::Error::BrokenGraph(_)))
    }

    /// Returns a function that adds the name of a file to an error.
    pub(crate) fn of<E>(file: &str) -> impl FnOnce(E) -> Error
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        move |error| Error::File { file: file.to_owned(), source: error.into() }
    }
}
