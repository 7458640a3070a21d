//! `lattice-push`: moves transition-ids and costs of lattices to the front.

use anyhow::Result;
use nnet3::messages;

use super::pushing::PushOptions;

/// Pushes lattices, in CompactLattice format, so that the strings are as close to the start as possible. The lowest cost
/// weight for each state except the start state is then (0, 0).
///
/// This can be helpful prior to word-alignment (in this case, only strings need to be pushed).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-push ark:1.lats ark:2.lats")]
pub struct Options {
    #[command(flatten)]
    push: PushOptions,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let output = options.push.map(&options.lattice_rspecifier, &options.lattice_wspecifier, false)?;
    messages::log(&format!("Pushed {} lattices, errors on {}", output.done, output.failed));
    output.finish()
}
