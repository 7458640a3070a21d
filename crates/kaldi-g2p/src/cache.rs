//! A model of a lexicon that is kept in a file.

use std::path::Path;

use crate::error::Result;
use crate::lexicon::Lexicon;
use crate::model::Model;
use crate::train::{Report, TrainOptions, stamp, train};

/// Returns the model of a lexicon. If `file` has it, it is read. Otherwise it is learned, with a report, and written there.
///
/// # Errors
/// The file has something else than a model: it is not replaced. Training fails, or the file cannot be written.
pub fn learned(
    lexicon: &Lexicon,
    options: &TrainOptions,
    file: Option<&str>,
) -> Result<(Model, Option<Report>)> {
    let stamp = stamp(lexicon, options);
    if let Some(file) = file.filter(|file| Path::new(file).exists()) {
        let model = Model::load(file)?;
        if model.stamp == stamp {
            return Ok((model, None));
        }
    }
    let (mut model, report) = train(lexicon, options)?;
    model.stamp = stamp;
    if let Some(file) = file {
        model.store(file, true)?;
    }
    Ok((model, Some(report)))
}
