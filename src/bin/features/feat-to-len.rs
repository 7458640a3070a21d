//! `feat-to-len`: the number of frames of features.

use anyhow::Result;
use kaldi_io::holder::{I32Holder, MatrixHolder};
use nnet3::json::{self, FormatOption};
use nnet3::tables::{self, Input, Output};
use serde_json::json;
use std::io::Write;

/// Reads an archive of features and writes a corresponding archive that maps utterance-id to utterance length in frames.
/// With one argument, prints to stdout the total number of frames in the input archive.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: feat-to-len scp:feats.scp ark,t:feats.lengths\nor: feat-to-len scp:feats.scp")]
pub struct Options {
    #[command(flatten)]
    format: FormatOption,
    in_rspecifier: String,
    out_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let from = &options.in_rspecifier;
    if let Some(to) = &options.out_wspecifier {
        let open = || Output::open_as(options.format, to, |frames| json::fields(json!({"frames": frames})));
        return tables::map_into::<MatrixHolder, I32Holder>(from, open, |_, features| {
            Ok(Ok(i32::try_from(features.rows)?))
        })?
        .finish_any();
    }
    let mut total = 0;
    Input::<MatrixHolder>::open(from)?.for_each(|_, features| {
        total += features.rows;
        Ok(())
    })?;
    if options.format.is_json() {
        json::print(&json!({"frames": total}))?;
        return Ok(0);
    }
    writeln!(kaldi_cli::StandardOutput::open()?, "{total}")?;
    Ok(0)
}
