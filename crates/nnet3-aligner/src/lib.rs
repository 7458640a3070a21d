//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Forced alignment with models of any kind. [`Opened`] is a model of Gaussians, or a recogniser with a neural network (chain) in a
//! folder of vosk's form or of `recognizer.sh`; a [`kaldi_aligner::Job`] aligns with either. [`align`] does all by
//! one call.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod error;
mod features;
mod place;
mod recogniser;
mod whole;

use std::path::Path;

use kaldi_aligner::{AnyModel, Model, Pronunciations};
use nnet3_online::lexicon::Lexicon;
use nnet3_online::model_graph::ModelGraph;

pub use error::{Error, Result};
pub use whole::{Outcome, Request, align};

/// A model that was opened.
pub struct Opened {
    /// The model.
    pub model: AnyModel,
    /// Oddities, as sentences.
    pub warnings: Vec<String>,
    /// The graph of a recogniser, and its folder.
    graph: Option<(ModelGraph, String)>,
}

impl Opened {
    /// Opens a model: a folder or archive of [`Model::open`], the folder of a recogniser in one of vosk's forms, or a folder of
    /// `recognizer.sh`.
    ///
    /// # Errors
    /// A file is missing or makes no sense, or files do not fit each other.
    pub fn open(path: &Path) -> Result<Opened> {
        match place::find(path) {
            Some(place) => recogniser::open(&place),
            None => {
                let model = Model::open_with(path, features::of_folder(path)?)?;
                let warnings = model.warnings.clone();
                Ok(Opened { model: AnyModel::Gaussian(Box::new(model)), warnings, graph: None })
            }
        }
    }

    /// The lexicon within the graph of a recogniser; `None` for models that have none.
    ///
    /// # Errors
    /// The graph is damaged, or has no words.
    pub fn lexicon(&self) -> Result<Option<Pronunciations>> {
        let Some((graph, folder)) = &self.graph else { return Ok(None) };
        let lexicon = Lexicon::of(graph, false)?;
        let entries = lexicon.entries.into_iter().map(|(word, phones)| kaldi_lang::lexicon::Entry {
            word,
            probability: 1.0,
            silence: None,
            phones,
        });
        let lexicon = kaldi_lang::lexicon::Lexicon::new(&format!("the graph of {folder}"), entries.collect());
        Ok(Some(Pronunciations::of_lexicon(lexicon)?))
    }
}
