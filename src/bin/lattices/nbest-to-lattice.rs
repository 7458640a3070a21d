//! `nbest-to-lattice`: joins n-best lists to lattices.

use anyhow::{Context, Result};
use kaldi_cli::log::num;
use nnet3::messages;
use nnet3::tables::{Input, Output};
use nnet3_decode::combine::unite;
use nnet3_decode::{CompactLattice, CompactLatticeHolder};

/// Reads a table of N-best entries from lattices and merges them into one lattice per utterance-id. The entries are
/// individual linear lattices, indexed by utt_id_a-1, utt_id_a-2, etc.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nbest-to-lattice ark:1.nbest ark:1.lats")]
pub struct Options {
    nbest_rspecifier: String,
    lattices_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let input = Input::<CompactLatticeHolder>::open(&options.nbest_rspecifier)?;
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattices_wspecifier)?;
    let mut current: Option<(String, CompactLattice)> = None;
    let mut paths = 0u64;
    input.for_each(|key, path| {
        let utterance =
            key.rsplit_once('-').map(|(utterance, _)| utterance).filter(|utterance| !utterance.is_empty());
        let utterance = utterance.with_context(|| {
            format!("Invalid n-best id {key}: make sure you are giving N-bests to nbest-to-lattice.")
        })?;
        if path.start.is_none() {
            output.skip(key, nnet3_decode::Error::Empty);
            return Ok(());
        }
        paths += 1;
        match &mut current {
            Some((of, lattice)) if of == utterance => unite(lattice, path),
            _ => {
                if let Some((of, lattice)) = current.replace((utterance.to_owned(), path)) {
                    output.write(&of, &lattice)?;
                }
            }
        }
        Ok(())
    })?;
    if let Some((of, lattice)) = current {
        output.write(&of, &lattice)?;
    }
    messages::log(&format!(
        "Done joining n-best into lattices for {} utterances, with on average {} N-best paths per utterance.",
        output.done,
        num(paths as f64 / output.done.max(1) as f64)
    ));
    output.finish()
}
