//! `fsts-concat`: concatenates the FSTs of several tables.

use anyhow::{Result, bail};
use kaldi_fst::{FstHolder, ops};
use kaldi_io::RandomReader;
use nnet3::messages;
use nnet3::tables::{Input, Output};

/// Reads FSTs from several tables. For each key of the first, concatenates the FSTs that all tables have of this key,
/// in the order of the tables. Keys that a table lacks are left out with a warning.
#[derive(clap::Parser)]
pub struct Options {
    /// Tables to read, and the table to write
    #[arg(required = true, num_args = 2.., value_name = "fsts-specifier")]
    tables: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let Some((to, [first, others @ ..])) = options.tables.split_last() else {
        bail!("expected at least one table to read and a table to write");
    };
    let mut readers = others
        .iter()
        .map(|name| RandomReader::<FstHolder>::open(name))
        .collect::<kaldi_io::Result<Vec<_>>>()?;
    let mut output = Output::<FstHolder>::open(to)?;
    let mut skipped = 0;
    Input::<FstHolder>::open(first)?.for_each(|key, fst| {
        let mut fsts = vec![fst];
        for ((i, name), reader) in (2..).zip(others).zip(&mut readers) {
            let Some(next) = reader.get(key)? else {
                messages::warn(&format!(
                    "Skipping '{key}' due to missing the fst in {i}th <rspecifier> : '{name}'"
                ));
                skipped += 1;
                return Ok(());
            };
            fsts.push(next.clone());
        }
        output.write(key, &ops::concatenate(&fsts))
    })?;
    let (done, streams) = (output.done, options.tables.len() - 1);
    messages::log(&format!(
        "Produced {done} FSTs by concatenating {streams} streams ({skipped} keys skipped)."
    ));
    output.finish()
}
