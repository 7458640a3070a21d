//! `select-feats`: some of the dimensions.

use anyhow::{Context, Result};
use kaldi_feat::columns::Columns;
use kaldi_io::holder::MatrixHolder;
use nnet3::tables;

/// Select certain dimensions of the feature file; think of it as the unix command cut -f ...
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g. select-feats 0,24-22,3-12 scp:feats.scp ark,scp:feat-red.ark,feat-red.scp\n\
    See also copy-feats, extract-feature-segments, subset-feats, subsample-feats")]
pub struct Options {
    selection: String,
    in_rspecifier: String,
    out_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let columns = Columns::parse(&options.selection)?;
    let (from, to) = (&options.in_rspecifier, &options.out_wspecifier);
    tables::map::<MatrixHolder, MatrixHolder>(from, to, |_, features| {
        let selected = columns.select(&features).with_context(|| format!("'{}'", options.selection))?;
        Ok(Ok(selected))
    })?
    .finish_any()
}
