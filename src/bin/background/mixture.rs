//! A mixture of either kind of covariances, for programs that treat both alike.

use anyhow::Result;
use kaldi_gmm::stats::{Diagonal, Full, Kind};
use kaldi_gmm::{DiagGmm, FullGmm, Scorer};
use kaldi_io::{KaldiObject, read_object, write_object};
use nnet3::messages;
use std::io::Write;

pub trait Mixture: KaldiObject {
    type Kind: Kind;

    fn scorer(&self) -> Scorer;
}

impl Mixture for DiagGmm {
    type Kind = Diagonal;

    fn scorer(&self) -> Scorer {
        self.into()
    }
}

impl Mixture for FullGmm {
    type Kind = Full;

    fn scorer(&self) -> Scorer {
        self.into()
    }
}

/// Reads a mixture and prepares it for frames.
pub fn read_scorer<M: Mixture>(file: &str) -> Result<Scorer> {
    Ok(read_object::<M>(file)?.scorer())
}

/// Reads a mixture, and writes what `change` makes of it. `kind` names the result in the log line.
pub fn convert<A: KaldiObject, B: KaldiObject>(
    from: &str,
    to: &str,
    binary: bool,
    kind: &str,
    change: impl FnOnce(A) -> kaldi_gmm::Result<B>,
) -> Result<u8> {
    write_object(to, binary, &change(read_object(from)?)?)?;
    messages::log(&format!("Written {kind} to {to}"));
    Ok(0)
}

/// Prints the sizes of a mixture.
pub fn print_sizes<M: Mixture>(file: &str) -> Result<u8> {
    let mixture = read_scorer::<M>(file)?;
    let mut out = kaldi_cli::StandardOutput::open()?;
    writeln!(out, "number of gaussians {}", mixture.num_gauss())?;
    writeln!(out, "feature dimension {}", mixture.dim())?;
    Ok(0)
}
