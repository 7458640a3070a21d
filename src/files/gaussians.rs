//! Code that the programs with Gaussian models share: models in files, loops over features with a second table, averages.

use anyhow::{Context, Result};
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::{num, ratio};
use kaldi_gmm::AmDiagGmm;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{Holder, MatrixHolder};
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, RandomReader};

use crate::messages;
use crate::tables::{self, Input, Outcome, Skip};

/// Writes a transition model and its mixtures.
pub fn write_model(
    wxfilename: &str,
    binary: bool,
    transitions: &TransitionModel,
    mixtures: &AmDiagGmm,
) -> Result<()> {
    let mut w = KaldiWriter::create(wxfilename, binary)?;
    transitions.write(&mut w)?;
    mixtures.write(&mut w)?;
    Ok(w.finish()?)
}

/// Reads a transition model and its mixtures. Fails if there are pdfs without mixtures.
pub fn read_model(rxfilename: &str) -> Result<(TransitionModel, AmDiagGmm)> {
    let mut r = KaldiReader::open(rxfilename)?;
    let (transitions, mixtures) = (TransitionModel::read(&mut r)?, AmDiagGmm::read(&mut r)?);
    r.finish()?;
    mixtures.check_transitions(&transitions).with_context(|| rxfilename.to_owned())?;
    Ok((transitions, mixtures))
}

/// Fate of the utterances of a table.
#[derive(Debug, Default)]
pub struct Counts {
    pub done: u64,
    /// Keys that the second table does not have.
    pub missing: u64,
    /// Entries that could not be used.
    pub failed: u64,
}

impl Counts {
    /// Returns status 0 if an utterance was processed, else 1.
    pub fn status(&self) -> u8 {
        if self.done > 0 { 0 } else { NOTHING_DONE }
    }
}

/// Calls `f` with each utterance's features and its entry in a second table. Warns of keys that this does not have, in the
/// words of `missing`, and of entries that `f` does not use; counts both.
pub fn for_each_with<H: Holder>(
    features: &str,
    second: &str,
    missing: impl Fn(&str) -> String,
    mut f: impl FnMut(&str, &DenseMatrix<f32>, &H::T) -> Result<Outcome>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut others = RandomReader::<H>::open(second)?;
    Input::<MatrixHolder>::open(features)?.for_each(|key, features| {
        let Some(other) = others.get(key)? else {
            messages::warn(&missing(key));
            counts.missing += 1;
            return Ok(());
        };
        if features.rows == 0 {
            messages::warn(&tables::no_frames(key));
            counts.failed += 1;
            return Ok(());
        }
        match f(key, &features, other)? {
            Ok(()) => counts.done += 1,
            Err(skip) => {
                messages::warn(&skip.sentence(key));
                counts.failed += 1;
            }
        }
        Ok(())
    })?;
    others.close()?;
    Ok(counts)
}

/// Returns the reason to skip an utterance if its posteriors have another length than its features.
pub fn check_posteriors(posteriors: usize, features: &DenseMatrix<f32>) -> Outcome {
    match posteriors == features.rows {
        true => Ok(()),
        false => {
            Err(Skip::Sentence(format!("Posterior vector has wrong size {posteriors} vs. {}", features.rows)))
        }
    }
}

/// A sum of log-likelihoods, and the weight of the frames that they are of.
#[derive(Debug, Default, Clone, Copy)]
pub struct LogLikelihood {
    pub sum: f64,
    pub frames: f64,
}

impl LogLikelihood {
    pub fn add(&mut self, other: LogLikelihood) {
        self.sum += other.sum;
        self.frames += other.frames;
    }

    /// The average, as in `-97.5`.
    pub fn average(&self) -> String {
        ratio(self.sum, self.frames)
    }

    /// The average and the number of frames, as in `-97.5 over 100 frames.`
    pub fn over_frames(&self) -> String {
        format!("{} over {} frames.", self.average(), num(self.frames))
    }

    /// Logs the average over all files.
    pub fn log_overall(&self) {
        messages::log(&format!("Overall avg like per frame (Gaussian only) = {}", self.over_frames()));
    }

    /// Logs the average of a file and, after every tenth file, the average of all so far.
    pub fn log_file(&self, all: &LogLikelihood, done: u64) {
        messages::log(&format!("Average like for this file is {}", self.over_frames()));
        if done.is_multiple_of(10) {
            messages::log(&format!("Avg like per frame so far is {}", all.average()));
        }
    }

    /// Logs the average of every 50th file.
    pub fn log_every_50th(&self, key: &str, done: u64) {
        if done.is_multiple_of(50) {
            let average = self.over_frames();
            messages::log(&format!(
                "Processed {done} utterances; for utterance {key} avg. like is {average}"
            ));
        }
    }
}
