//! `append-vector-to-feats`: the same vector behind each frame.

use anyhow::{Context, Result};
use kaldi_cli::FAILED;
use kaldi_feat::frames::append_vector;
use kaldi_io::holder::{MatrixHolder, VectorHolder};
use kaldi_io::object::read_matrix;
use kaldi_io::{RandomReader, read_object};
use nnet3::{messages, tables};

/// Append a vector to each row of input feature files.
///
/// Inputs and output are all tables or all files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: append-vector-to-feats scp:feats.scp scp:ivectors.scp ark:-\n\
    See also: paste-feats, concat-feats")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    #[arg(value_name = "(<in-rspecifier1>|<in-rxfilename1>)")]
    feats_in: String,
    #[arg(value_name = "(<in-rspecifier2>|<in-rxfilename2>)")]
    vectors_in: String,
    #[arg(value_name = "(<out-wspecifier>|<out-wxfilename>)")]
    feats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.feats_in, &options.feats_out);
    if !tables::are_tables(from, to)? {
        let vector: Vec<f32> = read_object(&options.vectors_in)?;
        let features = append_vector(&read_matrix(from)?, &vector).with_context(|| from.clone())?;
        kaldi_io::write_object(to, options.mode.binary, &features)?;
        messages::log(&format!("Wrote appended features to {to}"));
        return Ok(0);
    }
    let mut vectors = RandomReader::<VectorHolder>::open(&options.vectors_in)?;
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, features| {
        messages::detail(2, format_args!("Processing utterance {key}"));
        match vectors.get(key)? {
            _ if features.rows == 0 => tables::skip_as(tables::no_frames(key)),
            Some(vector) => Ok(Ok(append_vector(&features, vector)?)),
            None => {
                tables::skip_as(format!("Could not read vector for utterance {key} ({})", options.vectors_in))
            }
        }
    })?;
    vectors.close()?;
    messages::log(&format!("Done {} utts, errors on {}", output.done, output.failed));
    output.finish_or(FAILED)
}
