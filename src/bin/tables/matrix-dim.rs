//! `matrix-dim`: prints the dimensions of matrices.

use anyhow::Result;
use kaldi_cli::NOTHING_DONE;
use kaldi_io::DenseMatrix;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::object::read_matrix;
use nnet3::json::{self, FormatOption};
use nnet3::messages;
use nnet3::tables::{self, Input};
use serde_json::{Value, json};
use std::io::Write;

/// Print dimension info on an input matrix (rows then cols, separated by tab), to standard output.
///
/// Output for single filename: rows[tab]cols. Output per line for archive of files: key[tab]rows[tab]cols
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: matrix-dim final.mat | cut -f 2\nSee also: feat-to-len, feat-to-dim")]
pub struct Options {
    #[command(flatten)]
    format: FormatOption,
    #[arg(value_name = "(<matrix-in>|<in-rspecifier>)")]
    matrix_in: String,
}

fn dims(matrix: &DenseMatrix<f32>) -> json::Fields {
    json::fields(json!({"rows": matrix.rows, "cols": matrix.cols}))
}

pub fn run(options: Options) -> Result<u8> {
    let mut out = kaldi_cli::StandardOutput::open()?;
    if !tables::is_input(&options.matrix_in) {
        let matrix = read_matrix::<f32>(&options.matrix_in)?;
        match options.format.is_json() {
            true => writeln!(out, "{}", Value::Object(dims(&matrix)))?,
            false => writeln!(out, "{}\t{}", matrix.rows, matrix.cols)?,
        }
        out.flush()?;
        return Ok(0);
    }
    let mut count = 0;
    Input::<MatrixHolder>::open(&options.matrix_in)?.for_each(|key, matrix| {
        match options.format.is_json() {
            true => out.write_all(json::line(key, dims(&matrix)).as_bytes())?,
            false => writeln!(out, "{key}\t{}\t{}", matrix.rows, matrix.cols)?,
        }
        count += 1;
        Ok(())
    })?;
    out.flush()?;
    if count == 0 {
        messages::error(&format!("{}: expected at least one matrix, found none", options.matrix_in));
        return Ok(NOTHING_DONE);
    }
    Ok(0)
}
