//! `ivector-compute-dot-products`: dot products of the vectors of trials.

use crate::speakers::trials::{self, Side};
use anyhow::{Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_io::holder::VectorHolder;
use nnet3::tables::Input;
use rustc_hash::FxHashMap;

/// Computes dot-products between iVectors; useful in application of an iVector-based system. The 'trials' file has lines
/// of the form `<key1> <key2>` and the output will have the form `<key1> <key2> [<dot-product>]`.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: ivector-compute-dot-products trials ark:train_ivectors.scp ark:test_ivectors.scp \
    trials.scored\nSee also: ivector-plda-scoring"
)]
pub struct Options {
    trials_in: String,
    ivector1_rspecifier: String,
    ivector2_rspecifier: String,
    scores_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let first = read("1st table of ivectors", &options.ivector1_rspecifier)?;
    let second = read("2nd table of ivectors", &options.ivector2_rspecifier)?;
    let counts = trials::score(&options.trials_in, [&first, &second], &options.scores_out, |x, y| {
        if x.len() != y.len() {
            bail!("the vectors have dimensions {} and {}; expected the same", x.len(), y.len());
        }
        Ok(x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum())
    })?;
    counts.log("dot-product", "");
    Ok(if counts.done > 0 { 0 } else { NOTHING_DONE })
}

fn read(name: &'static str, table: &str) -> Result<Side<Vec<f32>>> {
    let mut vectors = FxHashMap::default();
    Input::<VectorHolder>::open(table)?.for_each(|key, vector| {
        if vector.is_empty() {
            nnet3::messages::warn(&format!("{key}: empty vector"));
        } else if vectors.insert(key.to_owned(), vector).is_some() {
            bail!("the key appears twice");
        }
        Ok(())
    })?;
    Ok(Side { name, vectors })
}
