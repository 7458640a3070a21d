//! `lattice-minimize`: merges states of lattices from which the same can be done.

use anyhow::Result;
use nnet3::messages;

use super::pushing::PushOptions;

/// Minimize lattices, in CompactLattice format. Should be applied to determinized lattices (e.g. produced with
/// --determinize-lattice=true).
///
/// Note: by default this program pushes the strings and weights prior to minimization.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-minimize ark:1.lats ark:2.lats")]
pub struct Options {
    #[command(flatten)]
    push: PushOptions,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let output = options.push.map(&options.lattice_rspecifier, &options.lattice_wspecifier, true)?;
    messages::log(&format!("Minimized {} lattices, errors on {}", output.done, output.failed));
    output.finish()
}
