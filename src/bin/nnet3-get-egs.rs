//! `nnet3-get-egs`: features and posteriors → examples.

use std::process::ExitCode;

use anyhow::{Result, bail};
use kaldi_io::cli::NOTHING_DONE;
use kaldi_io::holder::{GeneralMatrixHolder, MatrixHolder, PosteriorHolder};
use kaldi_io::log::{self, Site};
use kaldi_io::{RandomReader, SequentialReader, TableWriter, kaldi_log, kaldi_warn};
use nnet3::options::egs::EgsGenerationOptions;
use nnet3::progress;
use nnet3_train::ExampleHolder;
use nnet3_train::chunk::{ChunkOptions, Cut, Utterance, cut};
use nnet3_train::split::UtteranceSplitter;

const SITE: Site = Site::main("nnet3-get-egs.cc", 260);
const PROCESS: Site = Site::new("ProcessFile", "nnet3-get-egs.cc", 52);
const ROUNDING: Site = Site::new("ComputeDerived", "nnet-example-utils.cc", 344);
/// Of each line of the splitter's statistics.
const STATISTICS: [u32; 3] = [373, 383, 400];

/// Get frame-by-frame examples of data for nnet3 neural network training.
///
/// Essentially this is a format change from features and posteriors into a special frame-by-frame format. This program
/// handles the common case where you have some input features, possibly some iVectors, and one set of labels.
#[derive(clap::Parser, Debug)]
#[command(after_help = "An example [where $feats expands to the actual features]:\n\
    nnet3-get-egs --num-pdfs=2658 --left-context=12 --right-context=9 --num-frames=8 \"$feats\" \
    \"ark:gunzip -c exp/nnet/ali.1.gz | ali-to-pdf exp/nnet/1.nnet ark:- ark:- | ali-to-post ark:- ark:- |\" ark:-\n\
    See also: nnet3-chain-get-egs, nnet3-get-egs-simple")]
struct Options {
    /// If true, write egs with input features in compressed format (recommended). This is only relevant if the features
    /// being read are un-compressed; if already compressed, we keep the same compressed format when dumping egs.
    #[arg(long, default_value_t = true)]
    compress: bool,
    /// Number of pdfs in the acoustic model (required)
    #[arg(long, default_value_t = -1)]
    num_pdfs: i32,
    /// Alias for --online-ivectors
    #[arg(long, default_value = "")]
    ivectors: String,
    /// Rspecifier of ivector features, as a matrix.
    #[arg(long, default_value = "")]
    online_ivectors: String,
    /// Number of frames between iVectors in matrices supplied to the --online-ivectors option
    #[arg(long, default_value_t = 1)]
    online_ivector_period: i32,
    /// Tolerance for difference in num-frames between feat and ivector matrices
    #[arg(long, default_value_t = 100)]
    length_tolerance: i32,
    /// Tolerance for difference in num-frames (after subsampling) between feature matrix and posterior
    #[arg(long, default_value_t = 2)]
    targets_length_tolerance: i32,
    #[command(flatten)]
    generation: EgsGenerationOptions,
    features_rspecifier: String,
    pdf_post_rspecifier: String,
    egs_out: String,
}

impl Options {
    fn chunk_options(&self) -> Result<ChunkOptions> {
        let Some(num_pdfs) = usize::try_from(self.num_pdfs).ok().filter(|&n| n > 0) else {
            bail!("--num-pdfs is required and must be above 0, found {}", self.num_pdfs);
        };
        let Some(ivector_period) = usize::try_from(self.online_ivector_period).ok().filter(|&n| n > 0) else {
            bail!("--online-ivector-period must be above 0, found {}", self.online_ivector_period);
        };
        Ok(ChunkOptions {
            num_pdfs,
            compress: self.compress,
            ivector_period,
            length_tolerance: self.length_tolerance,
            targets_length_tolerance: self.targets_length_tolerance,
        })
    }

    fn ivector_rspecifier(&self) -> Option<&str> {
        [&self.online_ivectors, &self.ivectors].into_iter().find(|name| !name.is_empty()).map(String::as_str)
    }
}

fn run(options: Options) -> Result<u8> {
    let chunk_options = options.chunk_options()?;
    let mut splitter = UtteranceSplitter::new(&options.generation.split_options())?;
    if let Some(message) = splitter.rounding() {
        kaldi_log!(ROUNDING, "{message}");
    }
    let mut features = SequentialReader::<GeneralMatrixHolder>::open(&options.features_rspecifier)?;
    let mut first = features.next()?;
    if first.is_none() {
        features.close()?;
        let table = &options.features_rspecifier;
        log::error(&SITE, &format!("{table}: expected at least one utterance, found none"));
        return Ok(NOTHING_DONE);
    }
    let mut targets = RandomReader::<PosteriorHolder>::open(&options.pdf_post_rspecifier)?;
    let mut ivectors = options.ivector_rspecifier().map(RandomReader::<MatrixHolder>::open).transpose()?;
    let mut writer = TableWriter::<ExampleHolder>::open(&options.egs_out)?;
    let progress = progress::counter("utterances");
    let warn = |message: String| progress.suspend(|| kaldi_warn!(PROCESS, "{message}"));
    let mut errors = 0;
    while let Some((key, features)) = first.take().map_or_else(|| features.next(), |entry| Ok(Some(entry)))? {
        progress.inc(1);
        let Some(targets) = targets.get(&key)? else {
            warn(format!("No pdf-level posterior for key {key}"));
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
        let utterance = Utterance { key: &key, features: &features, ivectors, targets };
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
    progress.finish_and_clear();
    features.close()?;
    writer.close()?;
    if errors > 0 {
        kaldi_warn!(SITE, "{errors} utterances had errors and could not be processed.");
    }
    for (line, number) in splitter.counts().lines().iter().zip(STATISTICS) {
        kaldi_log!(Site::new("~UtteranceSplitter", "nnet-example-utils.cc", number), "{line}");
    }
    Ok(u8::from(splitter.counts().chunk_frames == 0))
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
