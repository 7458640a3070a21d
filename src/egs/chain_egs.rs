//! The way from features and supervision to chain examples: `nnet3-chain-get-egs` and `nnet3-chain-e2e-get-egs`.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_warn};
use kaldi_fst::{FstHolder, read_fst};
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{GeneralMatrixHolder, MatrixHolder, ObjectHolder, VectorHolder};
use kaldi_io::{RandomReader, SequentialReader, TableWriter};
use nnet3_chain::chunk::{ChainChunks, ChainCut, ChainUtterance};
use nnet3_chain::end_to_end::{EndToEnd, EndToEndUtterance};
use nnet3_chain::normalize::Normalization;
use nnet3_chain::{ChainExampleHolder, Supervision};
use nnet3_train::finite::inputs_not_finite;

use crate::get_egs::{EgsLoop, Inputs, Made, ROUNDING, optional, tolerate};
use crate::losses::{Losses, Reason};
use crate::options::egs::InputOptions;
use crate::{messages, progress, tables};

const PROCESS: Site = Site::new("ProcessFile", "nnet3-chain-get-egs.cc", 159);
const END_TO_END_PROCESS: Site = Site::new("ProcessFile", "nnet3-chain-e2e-get-egs.cc", 96);

/// The normalization FST with its costs multiplied by `scale`.
pub fn read_normalization(rxfilename: &str, scale: f32) -> Result<Normalization> {
    let fst = read_fst(rxfilename)?;
    if fst.start.is_none() {
        bail!("{rxfilename}: the normalization FST is empty");
    }
    Normalization::new(fst, scale).with_context(|| rxfilename.to_owned())
}

/// Tables and options of the program.
pub struct GetChainEgs<'a> {
    pub input: &'a InputOptions,
    pub seed: i32,
    /// By how many frames of the output the length of supervision may be off.
    pub length_tolerance: i32,
    pub long_keys: bool,
    pub normalization: Option<Normalization>,
    pub transitions: Option<&'a TransitionModel>,
    pub features: &'a str,
    pub supervision: &'a str,
    /// Specifier of derivative weights; empty without them.
    pub deriv_weights: &'a str,
    pub egs: &'a str,
}

impl GetChainEgs<'_> {
    pub fn run(self) -> Result<u8> {
        let chunks = ChainChunks {
            options: self.input.chunk_options(self.length_tolerance)?,
            long_keys: self.long_keys,
            normalization: self.normalization,
            transitions: self.transitions,
            seed: self.seed,
        };
        let mut supervision = RandomReader::<ObjectHolder<Supervision>>::open(self.supervision)?;
        let mut weights = tables::open_optional::<VectorHolder>(self.deriv_weights)?;
        let egs_loop = EgsLoop {
            input: self.input,
            seed: Some(self.seed),
            features: self.features,
            others: &[self.supervision, self.deriv_weights],
            egs: self.egs,
            process: PROCESS,
        };
        let status = egs_loop.run(|splitter, Inputs { key, features, ivectors }| {
            let Some(supervision) = supervision.get(key)? else {
                return Ok(Made::Rejected(Reason::Missing, format!("No supervision for key {key}")));
            };
            let Ok(weights) = optional(&mut weights, key)? else {
                return Ok(Made::Rejected(Reason::Missing, format!("No deriv weights for utterance {key}")));
            };
            let deriv_weights = weights.map(Vec::as_slice);
            let utterance = ChainUtterance { key, features, ivectors, supervision, deriv_weights };
            if let Some(message) = utterance.not_finite() {
                return Ok(Made::NotFinite(message));
            }
            Ok(match chunks.cut(splitter, utterance)? {
                ChainCut::Examples { examples, warnings } => Made::Examples(examples, warnings),
                ChainCut::TooShort(message) => Made::Rejected(Reason::TooShort, message),
                ChainCut::Rejected(message) => Made::Rejected(Reason::Mismatch, message),
            })
        })?;
        supervision.close()?;
        weights.map_or(Ok(()), RandomReader::close)?;
        Ok(status)
    }
}

/// Tables and options of the program.
pub struct GetEndToEndEgs<'a> {
    pub input: &'a InputOptions,
    pub seed: i32,
    pub transitions: &'a TransitionModel,
    pub features: &'a str,
    pub graphs: &'a str,
    pub egs: &'a str,
}

impl GetEndToEndEgs<'_> {
    /// Status 0 also if all utterances had to be left out.
    pub fn run(self, normalization: Option<Normalization>) -> Result<u8> {
        let split = self.input.generation.split_options();
        if split.keep_short {
            bail!(
                "--keep-short=true: end-to-end examples are whole utterances; give their lengths as --num-frames"
            );
        }
        let options = self.input.chunk_options(0)?;
        let mut maker = EndToEnd::new(options, &split, self.transitions, normalization, self.seed)?;
        if let Some(message) = maker.rounding() {
            kaldi_log!(ROUNDING, "{message}");
        }
        let ivector_table = self.input.ivector_rspecifier();
        let mut graphs = SequentialReader::<FstHolder>::open(self.graphs)?;
        let mut features = RandomReader::<GeneralMatrixHolder>::open(self.features)?;
        let mut ivectors = tables::open_optional::<MatrixHolder>(ivector_table)?;
        let mut writer = TableWriter::<ChainExampleHolder>::open(self.egs)?;
        let permissive = [self.features, ivector_table].iter().any(|table| tables::is_permissive(table));
        let progress = progress::counter("utterances", self.graphs);
        let (mut errors, mut losses) = (0, Losses::default());
        let mut reject = |losses: &mut Losses, reason, key: &str, frames, message: String| {
            kaldi_warn!(END_TO_END_PROCESS, "{message}");
            losses.lost(reason, key, frames);
            errors += 1;
        };
        while let Some((key, graph)) = graphs.next()? {
            progress.inc();
            let key = key.as_str();
            let Some(features) = features.get(key)? else {
                let message = format!("No features for utterance {key}");
                reject(&mut losses, Reason::Missing, key, 0, message);
                continue;
            };
            let frames = features.rows();
            let Ok(ivectors) = optional(&mut ivectors, key)? else {
                let message = format!("No iVectors for utterance {key}");
                reject(&mut losses, Reason::NoIvectors, key, frames, message);
                continue;
            };
            if frames == 0 || graph.start.is_none() {
                let (what, reason) = if frames == 0 {
                    ("feature matrix", Reason::TooShort)
                } else {
                    ("graph", Reason::NoPath)
                };
                reject(&mut losses, reason, key, frames, format!("Empty {what} for utterance {key}"));
                continue;
            }
            if let Some(message) = inputs_not_finite(key, features, ivectors) {
                tolerate(&message, permissive)?;
                reject(&mut losses, Reason::NotFinite, key, frames, message);
                continue;
            }
            // The reference decompresses and compresses again.
            let features = features.to_dense().into();
            let utterance = EndToEndUtterance { key, features: &features, ivectors, training_graph: &graph };
            let mut made = maker.make(utterance)?;
            let reason = if made.example.is_none() { made.warnings.pop() } else { None };
            made.warnings.iter().for_each(|message| kaldi_warn!(END_TO_END_PROCESS, "{message}"));
            if let Some(message) = reason {
                reject(&mut losses, Reason::NoPath, key, frames, message);
            }
            if let Some(example) = &made.example {
                writer.write(key, example)?;
                losses.used(frames);
            }
        }
        drop(progress);
        graphs.close()?;
        features.close()?;
        ivectors.map_or(Ok(()), RandomReader::close)?;
        writer.close()?;
        if errors > 0 {
            messages::warn(&format!("{errors} utterances had errors and could not be processed."));
        }
        losses.log();
        Ok(0)
    }
}
