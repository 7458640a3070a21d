//! `lattice-determinize-non-compact`: determinized lattices with an arc for each frame.

use anyhow::Result;

use super::determinization::PlainOptions;

/// Determinize lattices, keeping only the best path (sequence of acoustic states) for each input-symbol sequence.
///
/// Writes lattices with an arc for each transition-id. Acoustic costs stay at the same transition-ids as in the input.
/// This version prunes only if memory does not suffice, or with --prune=true.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-determinize-non-compact --acoustic-scale=0.1 --beam=15.0 ark:1.lats ark:det.lats"
)]
pub struct Options {
    #[command(flatten)]
    plain: PlainOptions,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    options.plain.run(&options.lattice_rspecifier, &options.lattice_wspecifier, false)
}
