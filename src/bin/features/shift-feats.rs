//! `shift-feats`: frames moved to earlier or later times.

use anyhow::{Result, bail};
use kaldi_feat::frames;
use kaldi_io::holder::MatrixHolder;
use nnet3::{messages, tables};

/// Copies features, and possibly shifts them while maintaining the length.
///
/// Frame t of the output is frame t - shift of the input; the first or last frame fills the gap. Input and output are
/// both tables or both files.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: shift-feats --shift=2 scp:feats.scp ark:-\nor: shift-feats --shift=1 foo.mat bar.mat\nSee also: copy-feats, select-feats, subset-feats"
)]
pub struct Options {
    /// Number of time-frames to shift the features (may be negative)
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    shift: i32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    #[arg(value_name = "(<feature-rspecifier>|<feats-rxfilename>)")]
    feats_in: String,
    #[arg(value_name = "(<feature-wspecifier>|<feats-wxfilename>)")]
    feats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.feats_in, &options.feats_out);
    if !tables::are_tables(from, to)? {
        let features = kaldi_io::object::read_matrix(from)?;
        if features.rows == 0 {
            bail!("{from}: {}", tables::NO_FRAMES);
        }
        kaldi_io::write_object(to, options.mode.binary, &frames::shift(&features, options.shift))?;
        return Ok(0);
    }
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, features| {
        if features.rows == 0 {
            return tables::skip_as(format!("Empty matrix for key {key}"));
        }
        Ok(Ok(frames::shift(&features, options.shift)))
    })?;
    messages::log(&format!(
        "Shifted {} features by {} frames; {} with errors.",
        output.done, options.shift, output.failed
    ));
    output.finish()
}
