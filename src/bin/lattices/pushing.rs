//! Options and loop of the programs that push lattices.

use anyhow::Result;
use clap::Args;
use kaldi_fst::ops;
use nnet3::lattices;
use nnet3::tables::Output;
use nnet3_decode::{CompactLatticeHolder, push};

// Choice of the labels or costs to push.
#[derive(Args, Clone, Debug)]
pub struct PushOptions {
    /// If true, push the strings in the lattice to the start.
    #[arg(long, default_value_t = true)]
    push_strings: bool,
    /// If true, push the weights in the lattice to the start.
    #[arg(long, default_value_t = true)]
    push_weights: bool,
}

impl PushOptions {
    /// Pushes the lattices of a table, and minimizes them if that is wanted.
    pub fn map(&self, from: &str, to: &str, minimize: bool) -> Result<Output<CompactLatticeHolder>> {
        lattices::map::<_, _, CompactLatticeHolder, CompactLatticeHolder>(from, to, |mut lattice| {
            ops::connect(&mut lattice);
            if self.push_strings {
                push::push_strings(&mut lattice)?;
            }
            if self.push_weights {
                push::push_weights(&mut lattice)?;
            }
            if minimize {
                push::minimize(&mut lattice)?;
            }
            Ok(lattice)
        })
    }
}
