//! The way from features and targets to examples: `nnet3-get-egs` and its variant with dense targets.

use anyhow::{Result, bail};
use kaldi_io::cli::NOTHING_DONE;
use kaldi_io::holder::{GeneralMatrixHolder, Holder, MatrixHolder};
use kaldi_io::log::{self, Site};
use kaldi_io::{RandomReader, SequentialReader, TableWriter, kaldi_log, kaldi_warn};
use nnet3_train::ExampleHolder;
use nnet3_train::chunk::{Cut, Targets, Utterance, cut};
use nnet3_train::split::UtteranceSplitter;

use crate::options::egs::EgsOptions;
use crate::{progress, tables};

pub const ROUNDING: Site = Site::new("ComputeDerived", "nnet-example-utils.cc", 344);
/// The source lines of the splitter's statistics in the reference, which log lines name.
const STATISTICS: [u32; 3] = [373, 383, 400];

/// Inputs, outputs, and source place of messages.
pub struct GetEgs<'a> {
    pub options: &'a EgsOptions,
    pub features_rspecifier: &'a str,
    pub targets_rspecifier: &'a str,
    pub egs_wspecifier: &'a str,
    /// Name of targets in a message about missing ones.
    pub targets_name: &'a str,
    pub main: Site,
    pub process: Site,
}

impl GetEgs<'_> {
    /// Makes examples. `targets` converts a value of the table of targets.
    pub fn run<H: Holder>(&self, targets: impl for<'t> Fn(&'t H::T) -> Box<dyn Targets + 't>) -> Result<u8> {
        let input = &self.options.input;
        let chunk_options = input.chunk_options(self.options.targets_length_tolerance)?;
        let mut splitter = UtteranceSplitter::new(&input.generation.split_options())?;
        if let Some(message) = splitter.rounding() {
            kaldi_log!(ROUNDING, "{message}");
        }
        let mut features = SequentialReader::<GeneralMatrixHolder>::open(self.features_rspecifier)?;
        let mut first = features.next()?;
        if first.is_none() {
            features.close()?;
            let table = self.features_rspecifier;
            log::error(&self.main, &format!("{table}: expected at least one utterance, found none"));
            return Ok(NOTHING_DONE);
        }
        let mut table = RandomReader::<H>::open(self.targets_rspecifier)?;
        let mut ivectors = tables::open_optional::<MatrixHolder>(input.ivector_rspecifier())?;
        let mut writer = TableWriter::<ExampleHolder>::open(self.egs_wspecifier)?;
        let permissive = [self.features_rspecifier, self.targets_rspecifier, input.ivector_rspecifier()]
            .iter()
            .any(|table| tables::is_permissive(table));
        let progress = progress::counter("utterances", self.features_rspecifier);
        let warn = |message: String| kaldi_warn!(self.process, "{message}");
        let mut errors = 0;
        while let Some((key, features)) =
            first.take().map_or_else(|| features.next(), |entry| Ok(Some(entry)))?
        {
            progress.inc();
            let Some(value) = table.get(&key)? else {
                warn(format!("No {} for key {key}", self.targets_name));
                errors += 1;
                continue;
            };
            let ivectors = match &mut ivectors {
                None => None,
                Some(table) => match table.get(&key)? {
                    Some(matrix) => Some(matrix),
                    None => {
                        warn(format!("No iVectors for utterance {key}"));
                        errors += 1;
                        continue;
                    }
                },
            };
            let targets = targets(value);
            let utterance = Utterance { key: &key, features: &features, ivectors, targets: targets.as_ref() };
            if let Some(message) = utterance.not_finite() {
                if !permissive {
                    bail!("{message}; with the option p, as in scp,p:…, such utterances are left out");
                }
                warn(message);
                errors += 1;
                continue;
            }
            match cut(&chunk_options, &mut splitter, utterance)? {
                Cut::Examples(examples) => {
                    for (key, example) in &examples {
                        writer.write(key, example)?;
                    }
                }
                Cut::TooShort(message) => warn(message),
                Cut::Mismatch(message) => {
                    warn(message);
                    errors += 1;
                }
            }
        }
        drop(progress);
        features.close()?;
        table.close()?;
        ivectors.map_or(Ok(()), RandomReader::close)?;
        writer.close()?;
        if errors > 0 {
            kaldi_warn!(self.main, "{errors} utterances had errors and could not be processed.");
        }
        log_statistics(&splitter);
        Ok(u8::from(splitter.counts().chunk_frames == 0))
    }
}

/// Logs the counts of cuts.
pub fn log_statistics(splitter: &UtteranceSplitter) {
    for (line, number) in splitter.counts().lines().iter().zip(STATISTICS) {
        kaldi_log!(Site::new("~UtteranceSplitter", "nnet-example-utils.cc", number), "{line}");
    }
}
