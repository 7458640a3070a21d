//! `feat-to-dim`: the dimension of features.

use anyhow::{Result, bail};
use kaldi_io::holder::{I32Holder, MatrixHolder};
use kaldi_io::{KaldiWriter, SequentialReader};
use nnet3::json::{self, FormatOption};
use nnet3::messages;
use nnet3::tables::{self, Output};
use serde_json::json;

/// Reads an archive of features.
///
/// If the second argument is a file, writes the feature dimension of the first utterance. If it is a table, writes a
/// table of the feature dimension of each utterance.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: feat-to-dim scp:feats.scp -")]
pub struct Options {
    #[command(flatten)]
    format: FormatOption,
    feat_rspecifier: String,
    #[arg(value_name = "(<dim-wspecifier>|<dim-wxfilename>)")]
    dim_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    if tables::is_output(&options.dim_out) {
        let from = &options.feat_rspecifier;
        let open =
            || Output::open_as(options.format, &options.dim_out, |dim| json::fields(json!({"dim": dim})));
        return tables::map_into::<MatrixHolder, I32Holder>(from, open, |_, features| {
            Ok(Ok(i32::try_from(features.cols)?))
        })?
        .finish_any();
    }
    let mut reader = SequentialReader::<MatrixHolder>::open(&options.feat_rspecifier)?;
    let first = loop {
        let Some((key, features)) = reader.next()? else {
            reader.close()?;
            bail!("{}: expected at least one utterance with frames, found none", options.feat_rspecifier);
        };
        if features.rows > 0 {
            break features;
        }
        messages::warn(&tables::no_frames(&key));
    };
    let mut writer = KaldiWriter::create(&options.dim_out, false)?;
    writer.write_str(&match options.format.is_json() {
        true => format!("{}\n", json!({"dim": first.cols})),
        false => format!("{}\n", first.cols),
    })?;
    writer.finish()?;
    Ok(0)
}
