//! `concat-feats`: the frames of several features behind one another.

use anyhow::{Result, bail};
use kaldi_feat::frames::concat;
use kaldi_io::object::read_matrix;

/// Concatenate feature files (assuming they have the same dimensions), so the output file has the sum of the num-frames
/// of the inputs.
///
/// Inputs and output are files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g. concat-feats mfcc/foo.ark:12343 mfcc/foo.ark:56789 -\n\
    See also: copy-feats, append-vector-to-feats, paste-feats")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// At least two inputs, and the output
    #[arg(value_name = "<in-rxfilename1> <in-rxfilename2> [<in-rxfilename3> ...] <out-wxfilename>", required = true, num_args = 3..)]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Some((to, names)) = options.arguments.split_last() else {
        bail!("expected at least two inputs and the output");
    };
    let mut inputs = Vec::new();
    for name in names {
        inputs.push(read_matrix(name)?);
    }
    kaldi_io::write_object(to, options.mode.binary, &concat(&inputs)?)?;
    Ok(0)
}
