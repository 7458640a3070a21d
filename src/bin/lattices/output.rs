//! Tables of lattices in the form that an option asks for.

use anyhow::Result;
use nnet3::tables::Output;
use nnet3_decode::lattice::compact;
use nnet3_decode::{CompactLatticeHolder, Lattice, LatticeHolder};

/// Lattices with an arc for each frame, or compact ones.
pub enum EitherOutput {
    Compact(Output<CompactLatticeHolder>),
    Plain(Output<LatticeHolder>),
}

impl EitherOutput {
    pub fn open(wspecifier: &str, write_compact: bool) -> Result<EitherOutput> {
        Ok(match write_compact {
            true => EitherOutput::Compact(Output::open(wspecifier)?),
            false => EitherOutput::Plain(Output::open(wspecifier)?),
        })
    }

    pub fn write(&mut self, key: &str, lattice: Lattice) -> Result<()> {
        match self {
            EitherOutput::Compact(output) => output.write(key, &compact(&lattice)),
            EitherOutput::Plain(output) => output.write(key, &lattice),
        }
    }

    pub fn done(&self) -> u64 {
        match self {
            EitherOutput::Compact(output) => output.done,
            EitherOutput::Plain(output) => output.done,
        }
    }

    /// Status 0 if anything was written.
    pub fn finish(self) -> Result<u8> {
        match self {
            EitherOutput::Compact(output) => output.finish(),
            EitherOutput::Plain(output) => output.finish(),
        }
    }
}
