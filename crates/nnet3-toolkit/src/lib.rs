//! Speech recognition, forced alignment and training with Kaldi's models and files.
//!
//! This is the library of the project. It re-exports what a program needs of the other crates, which are internal and
//! change without notice; this crate alone follows semantic versioning. The folder `examples` of the repository has a
//! program for each topic.
//!
//! | to do | begin with | example |
//! |---|---|---|
//! | recognise a recording of any format | [`Model`], [`Recording`] | `transcribe` |
//! | recognise sound as it arrives | [`Recognizer`] | `live` |
//! | find the times of words and phones | [`Aligner`], [`align`] | `align` |
//! | make features of sound | [`SoundStream`], [`Features`] | `features` |
//! | read and write Kaldi's archives | [`TableReader`], [`TableWriter`], [`tables`] | `archives` |
//! | compose and search transducers | [`Fst`], [`fst`] | `paths` |
//! | run a network | [`Network`], [`network`] | `train` |
//! | train a network | [`Trainer`], [`training`] | `train` |
//! | write a network as an ONNX model | [`onnx`] | `onnx` |
//!
//! ```no_run
//! use nnet3_toolkit::{Model, ModelOptions, Recording};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = Model::open("model", &ModelOptions::default())?;
//! for sentence in Recording::open("speech.mp3", &model)? {
//!     println!("{}", sentence?.text());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Conventions
//!
//! * Samples have the values of 16-bit wave files, from −32768 to 32767. Times are in seconds, rates in Hz.
//! * A [`Matrix`] has a row for each frame.
//! * An *rxfilename* is the name of a file, `-`, or a command that ends with `|`; an *rspecifier* and a *wspecifier* name
//!   a table in Kaldi's form (`ark:…`, `scp:…`).
//! * Functions return errors and neither print nor exit. [`chain`] writes an error with its causes.

pub use kaldi_aligner::Model as Aligner;
pub use kaldi_corpus::Corpus;
pub use kaldi_feat::spectral::{Extractor as Features, SpectralOptions as FeatureOptions};
pub use kaldi_fst::{Arc as FstArc, Fst};
pub use kaldi_io::error::chain;
pub use kaldi_io::{
    DenseMatrix as Matrix, RandomReader as TableLookup, SequentialReader as TableReader, TableWriter,
};
pub use kaldi_sound::{Channels, SoundOptions, SoundStream};
pub use nnet3_core::graph::FrameContext;
pub use nnet3_core::nnet::Nnet as Network;
pub use nnet3_online::{
    Model, ModelOptions, Recognizer, RecognizerOptions, Recording, RecordingOptions, RecordingWarning,
    SampleBytes, Sentence, Sentences, State, Transcript, Word,
};
pub use nnet3_train::trainer::Trainer;

/// Results of recognition in the forms of files: JSON with vosk's names, text, subtitles.
pub mod formats {
    pub use nnet3_online::formats::{Format, Parts, Recognized, Segment, write, write_sentence};
    pub use nnet3_online::json;
}

/// Forced alignment: a [`Corpus`] and a lexicon become times of words and phones. [`align_corpus`](align::align_corpus) does all by
/// one call, with a model of any kind or with one that it trains.
pub mod align {
    pub use kaldi_align::{Event, Observer};
    pub use kaldi_aligner::cepstra::{Extracted, extract};
    pub use kaldi_aligner::outputs::{Format, Subtitles, write};
    pub use kaldi_aligner::{
        AlignedPhone, AlignedUtterance, AlignedWord, AnyModel, Begin, FeatureSettings, Job, JobEvent,
        LeftOut, Pronunciations, Results, Source, Unknown,
    };
    pub use kaldi_corpus::vocabulary::{Policy, apply};
    pub use kaldi_corpus::{Fault, Input, Options, read};
    pub use kaldi_g2p::{Model as Pronouncer, SearchOptions, TrainOptions, train as train_pronouncer};
    pub use kaldi_lang::{Lang, LangOptions, Lexicon};
    pub use nnet3_aligner::{Opened, Outcome, Request, align as align_corpus};
}

/// Tables and single objects in Kaldi's forms. A holder is the type of a table's values.
pub mod tables {
    pub use kaldi_io::holder::{
        DoubleMatrixHolder, DoubleVectorHolder, GeneralMatrixHolder, Holder, I32Holder, I32VectorHolder,
        MatrixHolder, PosteriorHolder, TokenHolder, TokenVectorHolder, VectorHolder,
    };
    pub use kaldi_io::{
        GeneralMatrix, IoError, KaldiObject, KaldiReader, KaldiWriter, Posterior, read_object, write_object,
    };
}

/// Weighted transducers: files and operations.
pub mod fst {
    pub use kaldi_fst::ops;
    pub use kaldi_fst::ops::Side;
    pub use kaldi_fst::store::{Symbols, write_fst};
    pub use kaldi_fst::{EPSILON, FstHolder, State, StateId, Weight, read_fst};
}

/// Networks: config lines, devices, outputs of utterances.
pub mod network {
    pub use nnet3_core::Random;
    pub use nnet3_core::config::{parse_config, read_config};
    pub use nnet3_core::execute::CachingCompiler;
    pub use nnet3_core::forward::{Chunking, GroupedForward, Ivectors, OutputScaling};
    pub use nnet3_matrix::{Device, cpu, set_num_threads};
    pub use nnet3_train::acoustic::AmNnet as AcousticModel;
}

/// Training of networks: examples, minibatches, the trainer.
pub mod training {
    pub use nnet3_train::merge::merge;
    pub use nnet3_train::trainer::{Event, Report, Trained, TrainerOptions};
    pub use nnet3_train::{EgsReader, ExampleHolder, NnetExample, NnetIo};
}

/// Networks as ONNX models.
pub mod onnx {
    pub use nnet3_export::onnx::{Options, export_any_length, export_chunk, export_request};
}
