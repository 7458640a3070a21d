//! `get-full-lda-mat`: completes an LDA and MLLT matrix with the rejected rows of LDA.

use anyhow::{Context, Result};
use kaldi_feat::compose::full_lda;
use kaldi_io::object::read_matrix;
use kaldi_io::write_object;

/// This is a special-purpose program to be used in "predictive SGMMs". It takes in an LDA+MLLT matrix, and the original
/// "full" LDA matrix as output by the --write-full-matrix option of est-lda. It writes out a "full" LDA+MLLT matrix:
/// the LDA+MLLT matrix plus the remaining rows of the "full" LDA matrix. It also writes out the inverse of this matrix
#[derive(clap::Parser)]
#[command(after_help = "e.g.: get-full-lda-mat final.mat full.mat full_lda_mllt.mat full_lda_mllt_inv.mat")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    lda_mllt_rxfilename: String,
    full_lda_rxfilename: String,
    full_lda_mllt_wxfilename: String,
    inv_full_lda_mllt_wxfilename: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (part, full) = (&options.lda_mllt_rxfilename, &options.full_lda_rxfilename);
    let both = full_lda(&read_matrix(part)?, &read_matrix(full)?);
    let (matrix, inverse) = both.with_context(|| format!("{part} and {full}"))?;
    write_object(&options.full_lda_mllt_wxfilename, options.mode.binary, &matrix)?;
    if let Some(file) = &options.inv_full_lda_mllt_wxfilename {
        write_object(file, options.mode.binary, &inverse)?;
    }
    Ok(0)
}
