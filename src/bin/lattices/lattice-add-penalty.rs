//! `lattice-add-penalty`: adds a cost for each word.

use anyhow::Result;
use nnet3::{messages, tables};
use nnet3_decode::CompactLatticeHolder;
use nnet3_decode::lattice::add_word_penalty;

/// Add word insertion penalty to the lattice.
///
/// Penalties are negative log-probs, base e, and are added to the 'language model' part of the cost.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-add-penalty --word-ins-penalty=1.0 ark:- ark:-")]
pub struct Options {
    /// Word insertion penalty
    #[arg(long, default_value_t = 0.0)]
    word_ins_penalty: f32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output = tables::map::<CompactLatticeHolder, CompactLatticeHolder>(from, to, |_, mut lattice| {
        add_word_penalty(&mut lattice, options.word_ins_penalty);
        Ok(Ok(lattice))
    })?;
    messages::log(&format!("Done adding word insertion penalty to {} lattices.", output.done));
    output.finish()
}
