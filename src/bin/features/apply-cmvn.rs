//! `apply-cmvn`: normalises means and variances by given statistics.

use anyhow::{Context, Result, bail};
use kaldi_feat::cmvn::{CmvnStats, Normalization};
use kaldi_io::holder::{DoubleMatrixHolder, GeneralMatrixHolder, MatrixHolder};
use kaldi_io::object::read_matrix;
use kaldi_io::{DenseMatrix, MappedRandomReader};
use nnet3::options::cmvn::{skip_dims, warn_floored};
use nnet3::{messages, tables};

/// Apply cepstral mean and (optionally) variance normalization.
///
/// Statistics in a table are per utterance, or per speaker with --utt2spk; in a file, they are for all utterances.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: apply-cmvn --utt2spk=ark:data/train/utt2spk scp:data/train/cmvn.scp \
    scp:data/train/feats.scp ark:-\n\
    See also: modify-cmvn-stats, matrix-sum, compute-cmvn-stats")]
pub struct Options {
    /// Rspecifier for utterance to speaker map
    #[arg(long, default_value = "")]
    utt2spk: String,
    /// If true, normalize variances.
    #[arg(long)]
    norm_vars: bool,
    /// If false, features are copied without a change, compressed ones too.
    #[arg(long, default_value_t = true)]
    norm_means: bool,
    /// Dimensions for which to skip normalization: colon-separated list of integers, e.g. 13:14:15
    #[arg(long, default_value = "")]
    skip_dims: String,
    /// If true, apply CMVN in a reverse sense, so as to transform zero-mean, unit-variance input into data with the given
    /// mean and variance.
    #[arg(long)]
    reverse: bool,
    #[arg(value_name = "(<cmvn-stats-rspecifier>|<cmvn-stats-rxfilename>)")]
    cmvn_stats: String,
    feats_rspecifier: String,
    feats_wspecifier: String,
}

impl Options {
    fn normalization(&self, stats: &DenseMatrix<f64>, skip: &[usize]) -> Result<Normalization> {
        let mut stats = CmvnStats::from_matrix(stats)?;
        if !skip.is_empty() {
            stats.skip(skip)?;
        }
        let normalization = if self.reverse {
            stats.denormalization(self.norm_vars)?
        } else {
            stats.normalization(self.norm_vars)?
        };
        warn_floored(&normalization);
        Ok(normalization)
    }
}

/// Source of an utterance's normalisation.
enum Source {
    Global(Normalization),
    Table(Box<MappedRandomReader<DoubleMatrixHolder>>),
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.feats_rspecifier, &options.feats_wspecifier);
    if !options.norm_means {
        if options.norm_vars {
            bail!("variances cannot be normalised without means: --norm-vars=true needs --norm-means=true");
        }
        let output = tables::map::<GeneralMatrixHolder, GeneralMatrixHolder>(from, to, |_, m| Ok(Ok(m)))?;
        messages::log(&format!("Copied {} utterances.", output.done));
        return output.finish();
    }
    let skip = skip_dims(&options.skip_dims).context("--skip-dims")?;
    let stats = &options.cmvn_stats;
    let mut source = if tables::is_input(stats) {
        Source::Table(Box::new(MappedRandomReader::open(stats, &options.utt2spk)?))
    } else if options.utt2spk.is_empty() {
        Source::Global(options.normalization(&read_matrix(stats)?, &skip).with_context(|| stats.clone())?)
    } else {
        bail!("--utt2spk needs a table of statistics, found the file {stats} (did you forget ark:?)");
    };
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, mut features| {
        if features.rows == 0 {
            return tables::skip_as(tables::no_frames(key));
        }
        match &mut source {
            Source::Global(normalization) => normalization.apply(&mut features)?,
            Source::Table(table) => match table.get(key)? {
                Some(stats) if stats.rows == 0 => {
                    return tables::skip(format!("empty normalization statistics in {}", options.cmvn_stats));
                }
                Some(stats) => options.normalization(stats, &skip)?.apply(&mut features)?,
                None => {
                    return tables::skip_as(format!(
                        "No normalization statistics available for key {key}, producing no output for this utterance ({})",
                        options.cmvn_stats
                    ));
                }
            },
        }
        Ok(Ok(features))
    })?;
    if let Source::Table(table) = source {
        table.close()?;
        if output.done == 0 && output.failed > 0 && options.utt2spk.is_empty() {
            messages::warn(&format!(
                "No utterance has statistics in {stats}: if they are those of speakers, give --utt2spk"
            ));
        }
    }
    let what = if options.norm_vars { "mean and variance" } else { "mean" };
    messages::log(&format!(
        "Applied cepstral {what} normalization to {} utterances, errors on {}",
        output.done, output.failed
    ));
    output.finish()
}
