//! The way from features to examples of any kind: the loop of the programs `nnet3-get-egs`, `nnet3-chain-get-egs`,
//! `nnet3-discriminative-get-egs` and their variants.

use anyhow::{Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_warn};
use kaldi_io::holder::{GeneralMatrixHolder, Holder, MatrixHolder, ObjectHolder};
use kaldi_io::{DenseMatrix, GeneralMatrix, RandomReader, SequentialReader, TableWriter};
use nnet3_train::Example;
use nnet3_train::chunk::{Cut, Targets, Utterance, cut};
use nnet3_train::split::UtteranceSplitter;

use crate::losses::{Losses, Reason};
use crate::options::egs::{EgsOptions, InputOptions};
use crate::{messages, progress, tables};

pub const ROUNDING: Site = Site::new("ComputeDerived", "nnet-example-utils.cc", 344);
/// The source lines of the splitter's statistics in the reference, which log lines name.
const STATISTICS: [u32; 3] = [373, 383, 400];

/// Features and i-vectors of an utterance.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub key: &'a str,
    pub features: &'a GeneralMatrix,
    pub ivectors: Option<&'a DenseMatrix<f32>>,
}

/// Results of cutting an utterance.
pub enum Made<E> {
    /// Keys and examples, and messages about chunks that are not as they should be.
    Examples(Vec<(String, E)>, Vec<String>),
    /// No chunk fits: a warning.
    TooShort(String),
    /// An error of the utterance: a warning, and one more utterance with errors.
    Rejected(Reason, String),
    /// A value that is not finite. It rejects the utterance if some table is permissive, else it ends the program.
    NotFinite(String),
}

/// Tables and options of the loop.
pub struct EgsLoop<'a> {
    pub input: &'a InputOptions,
    pub seed: Option<i32>,
    pub features: &'a str,
    /// The tables that are read by key, besides that of i-vectors.
    pub others: &'a [&'a str],
    pub egs: &'a str,
    /// The place that messages about utterances name.
    pub process: Site,
}

impl EgsLoop<'_> {
    /// Writes the examples that `make` makes of each utterance. Returns the exit status: 0 if there was a chunk.
    pub fn run<E: Example>(
        &self,
        mut make: impl FnMut(&mut UtteranceSplitter, Inputs<'_>) -> Result<Made<E>>,
    ) -> Result<u8> {
        let mut splitter = UtteranceSplitter::new(&self.input.generation.split_options())?;
        self.seed.into_iter().for_each(|seed| splitter.seed(seed));
        if let Some(message) = splitter.rounding() {
            kaldi_log!(ROUNDING, "{message}");
        }
        let ivector_table = self.input.ivector_rspecifier();
        let mut features = SequentialReader::<GeneralMatrixHolder>::open(self.features)?;
        let mut first = features.next()?;
        if first.is_none() {
            features.close()?;
            messages::error(&format!("{}: expected at least one utterance, found none", self.features));
            return Ok(NOTHING_DONE);
        }
        let mut ivectors = tables::open_optional::<MatrixHolder>(ivector_table)?;
        let mut writer = TableWriter::<ObjectHolder<E>>::open(self.egs)?;
        let permissive = [self.features, ivector_table]
            .iter()
            .chain(self.others)
            .any(|table| tables::is_permissive(table));
        let progress = progress::counter("utterances", self.features);
        let (mut errors, mut losses) = (0, Losses::default());
        while let Some((key, features)) =
            first.take().map_or_else(|| features.next(), |entry| Ok(Some(entry)))?
        {
            progress.inc();
            let made = match optional(&mut ivectors, &key)? {
                Ok(ivectors) => make(&mut splitter, Inputs { key: &key, features: &features, ivectors })?,
                Err(Missing) => {
                    Made::Rejected(Reason::NoIvectors, format!("No iVectors for utterance {key}"))
                }
            };
            let frames = features.rows();
            match made {
                Made::Examples(examples, warnings) => {
                    warnings.iter().for_each(|message| kaldi_warn!(self.process, "{message}"));
                    if examples.is_empty() {
                        losses.lost(Reason::NoPath, &key, frames);
                    } else {
                        losses.used(frames);
                    }
                    for (key, example) in &examples {
                        writer.write(key, example)?;
                    }
                }
                Made::NotFinite(message) if !permissive => tolerate(&message, false)?,
                Made::TooShort(message) => {
                    kaldi_warn!(self.process, "{message}");
                    losses.lost(Reason::TooShort, &key, frames);
                }
                Made::NotFinite(message) => {
                    kaldi_warn!(self.process, "{message}");
                    losses.lost(Reason::NotFinite, &key, frames);
                    errors += 1;
                }
                Made::Rejected(reason, message) => {
                    kaldi_warn!(self.process, "{message}");
                    losses.lost(reason, &key, frames);
                    errors += 1;
                }
            }
        }
        drop(progress);
        features.close()?;
        ivectors.map_or(Ok(()), RandomReader::close)?;
        writer.close()?;
        if errors > 0 {
            messages::warn(&format!("{errors} utterances had errors and could not be processed."));
        }
        log_statistics(&splitter);
        losses.log();
        Ok(u8::from(splitter.counts().chunk_frames == 0))
    }
}

/// A message about values that are not finite: a reason to leave out an utterance of a permissive table, else an error.
pub fn tolerate(message: &str, permissive: bool) -> Result<()> {
    if !permissive {
        bail!("{message}; with the option p, as in scp,p:…, such utterances are left out");
    }
    Ok(())
}

/// A key that a table does not have.
pub struct Missing;

/// The value that a table has for a key, if there is a table.
pub fn optional<'t, H: Holder>(
    table: &'t mut Option<RandomReader<H>>,
    key: &str,
) -> Result<std::result::Result<Option<&'t H::T>, Missing>> {
    Ok(match table {
        None => Ok(None),
        Some(table) => table.get(key)?.map(Some).ok_or(Missing),
    })
}

/// Tables and options of the programs that make plain examples.
pub struct GetEgs<'a> {
    pub options: &'a EgsOptions,
    pub features_rspecifier: &'a str,
    pub targets_rspecifier: &'a str,
    pub egs_wspecifier: &'a str,
    /// The name of targets in a message about missing ones.
    pub targets_name: &'a str,
    pub process: Site,
}

impl GetEgs<'_> {
    /// Makes examples. `targets` converts a value of the table of targets.
    pub fn run<H: Holder>(&self, targets: impl for<'t> Fn(&'t H::T) -> Box<dyn Targets + 't>) -> Result<u8> {
        let input = &self.options.input;
        let chunk_options = input.chunk_options(self.options.targets_length_tolerance)?;
        let mut table = RandomReader::<H>::open(self.targets_rspecifier)?;
        let egs_loop = EgsLoop {
            input,
            seed: None,
            features: self.features_rspecifier,
            others: &[self.targets_rspecifier],
            egs: self.egs_wspecifier,
            process: self.process,
        };
        let status = egs_loop.run(|splitter, Inputs { key, features, ivectors }| {
            let Some(value) = table.get(key)? else {
                return Ok(Made::Rejected(
                    Reason::Missing,
                    format!("No {} for key {key}", self.targets_name),
                ));
            };
            let targets = targets(value);
            let utterance = Utterance { key, features, ivectors, targets: targets.as_ref() };
            if let Some(message) = utterance.not_finite() {
                return Ok(Made::NotFinite(message));
            }
            Ok(match cut(&chunk_options, splitter, utterance)? {
                Cut::Examples(examples) => Made::Examples(examples, Vec::new()),
                Cut::TooShort(message) => Made::TooShort(message),
                Cut::Mismatch(message) => Made::Rejected(Reason::Mismatch, message),
            })
        })?;
        table.close()?;
        Ok(status)
    }
}

/// Logs the numbers of utterances and chunks.
pub fn log_statistics(splitter: &UtteranceSplitter) {
    for (line, number) in splitter.counts().lines().iter().zip(STATISTICS) {
        kaldi_log!(Site::new("~UtteranceSplitter", "nnet-example-utils.cc", number), "{line}");
    }
}
