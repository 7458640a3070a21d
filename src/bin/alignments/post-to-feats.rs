//! `post-to-feats`: posteriors as features.

use anyhow::{Context, Result, bail};
use kaldi_cli::FAILED;
use kaldi_feat::posterior::to_matrix;
use kaldi_io::KaldiReader;
use kaldi_io::holder::{MatrixHolder, PosteriorHolder};
use kaldi_io::posterior::read_posterior;
use nnet3::{messages, tables};

/// Convert posteriors to features.
///
/// Input and output are both tables or both files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: post-to-feats --post-dim=50 ark:post.ark ark:feat.ark\n\
    See also: post-to-weights, append-vector-to-feats")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Dimensionality of the posteriors (required)
    #[arg(long, default_value_t = 0)]
    post_dim: i32,
    #[arg(value_name = "(<in-rspecifier>|<in-rxfilename>)")]
    post_in: String,
    #[arg(value_name = "(<out-wspecifier>|<out-wxfilename>)")]
    feats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Some(dim) = usize::try_from(options.post_dim).ok().filter(|&dim| dim > 0) else {
        bail!("--post-dim is required and must be above 0, found {}", options.post_dim);
    };
    let (from, to) = (&options.post_in, &options.feats_out);
    if tables::are_tables(from, to)? {
        let output = tables::map::<PosteriorHolder, MatrixHolder>(from, to, |_, posterior| {
            Ok(Ok(to_matrix(&posterior, dim)?))
        })?;
        messages::log(&format!("Done {} utts", output.done));
        return output.finish_or(FAILED);
    }
    let mut reader = KaldiReader::open(from)?;
    let posterior = read_posterior(&mut reader)?;
    reader.finish()?;
    let features = to_matrix(&posterior, dim).with_context(|| from.clone())?;
    kaldi_io::write_object(to, options.mode.binary, &features)?;
    messages::log(&format!("Wrote posteriors as feature-matrix to {to}"));
    Ok(0)
}
