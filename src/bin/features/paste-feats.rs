//! `paste-feats`: joins the dimensions of several features.

use anyhow::{Result, bail};
use kaldi_cli::{FAILED, NOTHING_DONE};
use kaldi_feat::frames::paste;
use kaldi_io::RandomReader;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::object::read_matrix;
use nnet3::{messages, tables};

/// Paste feature files (assuming they have about the same durations, see --length-tolerance), appending the features on
/// each frame; think of the unix command 'paste'.
///
/// Inputs and output are all tables or all files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g. paste-feats ark:feats1.ark \"ark:select-feats 0-3 ark:feats2.ark ark:- |\" \
    ark:feats-out.ark\n  or: paste-feats foo.mat bar.mat baz.mat\n\
    See also: copy-feats, copy-matrix, append-vector-to-feats, concat-feats")]
pub struct Options {
    /// If lengths differ by up to this many frames, trim to the shortest, otherwise leave the utterance out.
    #[arg(long, default_value_t = 0)]
    length_tolerance: i32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// At least two inputs, and the output
    #[arg(value_name = "<in-rspecifier1> <in-rspecifier2> [<in-rspecifier3> ...] <out-wspecifier>", required = true, num_args = 3..)]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Ok(tolerance) = usize::try_from(options.length_tolerance) else {
        bail!("--length-tolerance={}: expected a number that is not negative", options.length_tolerance);
    };
    let Some((to, [first, others @ ..])) = options.arguments.split_last() else {
        bail!("expected at least two inputs and the output");
    };
    if !tables::are_tables(first, to)? {
        let mut inputs = vec![read_matrix::<f32>(first)?];
        for input in others {
            inputs.push(read_matrix(input)?);
        }
        return match paste(&inputs, tolerance) {
            Ok(pasted) => {
                kaldi_io::write_object(to, options.mode.binary, &pasted)?;
                messages::log(&format!("Wrote appended features to {to}"));
                Ok(0)
            }
            Err(reason) => {
                messages::error(&reason);
                Ok(NOTHING_DONE)
            }
        };
    }
    let mut readers = Vec::new();
    for input in others {
        readers.push(RandomReader::<MatrixHolder>::open(input)?);
    }
    let output = tables::map::<MatrixHolder, MatrixHolder>(first, to, |key, features| {
        messages::detail(2, format_args!("Merging features for utterance {key}"));
        let mut inputs = vec![features];
        for (reader, name) in readers.iter_mut().zip(others) {
            match reader.get(key)? {
                Some(features) => inputs.push(features.clone()),
                None => return tables::skip_as(format!("Missing utt {key} from input {name}")),
            }
        }
        match paste(&inputs, tolerance) {
            Ok(pasted) => Ok(Ok(pasted)),
            Err(reason) => tables::skip(reason),
        }
    })?;
    for reader in readers {
        reader.close()?;
    }
    messages::log(&format!("Done {} utts, errors on {}", output.done, output.failed));
    output.finish_or(FAILED)
}
