//! `fsts-union`: joins FSTs of a table that have the same key.

use anyhow::Result;
use kaldi_fst::{Fst, FstHolder, ops};
use nnet3::messages;
use nnet3::tables::{Input, Output};

/// Reads a table of FSTs. Makes the union of FSTs that follow each other with the same key; removes epsilons,
/// determinizes and minimizes the result, also of single ones.
#[derive(clap::Parser)]
pub struct Options {
    fsts_rspecifier: String,
    fsts_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut output = Output::<FstHolder>::open(&options.fsts_wspecifier)?;
    let mut pending: Option<(String, Vec<Fst>)> = None;
    let mut write = |(key, fsts): (String, Vec<Fst>)| match ops::joined(&fsts) {
        Ok(fst) => output.write(&key, &fst),
        Err(reason) => {
            output.skip(&key, reason);
            Ok(())
        }
    };
    let mut read = 0;
    Input::<FstHolder>::open(&options.fsts_rspecifier)?.for_each(|key, fst| {
        read += 1;
        match &mut pending {
            Some((same, fsts)) if same == key => fsts.push(fst),
            _ => pending.replace((key.to_owned(), vec![fst])).map_or(Ok(()), &mut write)?,
        }
        Ok(())
    })?;
    pending.map_or(Ok(()), &mut write)?;
    messages::log(&format!("Applied fst union on {read} FSTs, produced {} FSTs", output.done));
    output.finish()
}
