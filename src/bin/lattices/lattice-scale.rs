//! `lattice-scale`: scales the costs of lattices.

use anyhow::Result;
use nnet3::{lattices, messages, tables};
use nnet3_decode::{CompactLatticeHolder, LatticeHolder, Scale};

/// Apply scaling to lattice weights.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-scale --lm-scale=0.0 ark:1.lats ark:scaled.lats")]
pub struct Options {
    /// If true, write in normal (compact) form.
    #[arg(long, default_value_t = true)]
    write_compact: bool,
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// An alternative way of setting the acoustic scale: its inverse
    #[arg(long, default_value_t = 1.0)]
    inv_acoustic_scale: f32,
    /// Scaling factor for language model (graph) costs
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Add this times original acoustic costs to LM costs
    #[arg(long, default_value_t = 0.0)]
    acoustic2lm_scale: f32,
    /// Add this times original LM costs to acoustic costs
    #[arg(long, default_value_t = 0.0)]
    lm2acoustic_scale: f32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale {
        lm: f64::from(options.lm_scale),
        acoustic_to_lm: f64::from(options.acoustic2lm_scale),
        lm_to_acoustic: f64::from(options.lm2acoustic_scale),
        acoustic: lattices::acoustic_scale(options.acoustic_scale, options.inv_acoustic_scale)?,
    };
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let (done, status) = if options.write_compact {
        let output = tables::map::<CompactLatticeHolder, CompactLatticeHolder>(from, to, |_, lattice| {
            lattices::scaled(lattice, scale).map_or_else(tables::skip, |lattice| Ok(Ok(lattice)))
        })?;
        (output.done, output.finish()?)
    } else {
        let output = tables::map::<LatticeHolder, LatticeHolder>(from, to, |_, lattice| {
            lattices::scaled(lattice, scale).map_or_else(tables::skip, |lattice| Ok(Ok(lattice)))
        })?;
        (output.done, output.finish()?)
    };
    messages::log(&format!("Done {done} lattices."));
    Ok(status)
}
