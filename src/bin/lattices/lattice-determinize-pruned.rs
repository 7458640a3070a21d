//! `lattice-determinize-pruned`: lattices in which each sequence of words has one path.

use anyhow::{Result, bail};
use nnet3::lattices::{self, Depths, LatticeOutput};
use nnet3::messages;
use nnet3::tables::Input;
use nnet3_decode::costs::AcousticCosts;
use nnet3_decode::{LatticeHolder, Scale, determinize, push};

/// Determinize lattices, keeping only the best path (sequence of acoustic states) for each input-symbol sequence.
///
/// This version does pruning as part of the determinization algorithm, which is more efficient and prevents blowup.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-determinize-pruned --acoustic-scale=0.1 --beam=6.0 ark:in.lats ark:det.lats"
)]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Pruning beam [applied after acoustic scaling].
    #[arg(long, default_value_t = 10.0)]
    beam: f32,
    /// Tolerance used in determinization
    #[arg(long, default_value_t = nnet3_decode::weight::DELTA)]
    delta: f32,
    /// Maximum approximate memory usage in determinization (real usage might be many times this).
    #[arg(long, default_value_t = 50000000)]
    max_mem: i32,
    /// Option used to detect a particular type of determinization failure, typically due to invalid input (e.g., negative-cost loops); lattices cannot loop here
    #[arg(long, default_value_t = 0)]
    max_loop: i32,
    /// Maximum number of arcs in output FST (total, not per state)
    #[arg(long, default_value_t = -1)]
    max_arcs: i32,
    /// Maximum number of states in output FST
    #[arg(long, default_value_t = -1)]
    max_states: i32,
    /// If true, push and minimize after determinization
    #[arg(long, default_value_t = false)]
    minimize: bool,
    /// If true, write in normal (compact) form.
    #[arg(long, default_value_t = true)]
    write_compact: bool,
    /// Controls pruning un-determinized lattice and retrying determinization: if effective-beam < retry-cutoff * beam, we prune the raw lattice and retry.
    #[arg(long, default_value_t = 0.5)]
    retry_cutoff: f32,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(1.0, f64::from(options.acoustic_scale));
    lattices::check_invertible(scale.acoustic, 1.0)?;
    if options.beam <= 0.0 || !(0.0..1.0).contains(&options.retry_cutoff) {
        bail!(
            "--beam={} must be above 0, and --retry-cutoff={} from 0 to below 1",
            options.beam,
            options.retry_cutoff
        );
    }
    let limits = determinize::Options {
        delta: options.delta,
        max_mem: options.max_mem,
        max_arcs: options.max_arcs,
        max_states: options.max_states,
        retry_cutoff: f64::from(options.retry_cutoff),
    };
    let input = Input::<LatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut output = LatticeOutput::open(&options.lattice_wspecifier, options.write_compact)?;
    let (mut warned, mut depths) = (0, Depths::default());
    input.for_each(|key, lattice| {
        let costs = (!options.write_compact).then(|| AcousticCosts::of(&lattice)).transpose()?;
        let mut lattice = lattices::scaled(lattice, scale);
        let (mut out, report) =
            determinize::determinize_connected(&mut lattice, f64::from(options.beam), &limits)?;
        lattices::log_events(&report);
        if !report.complete {
            messages::warn(&format!(
                "For key {key}, determinization did not succeed(partial output will be pruned tighter than the \
                 specified beam.)"
            ));
            warned += 1;
        }
        if out.states.is_empty() {
            messages::warn(&format!("For key {key}, determinized and trimmed lattice was empty."));
            warned += 1;
        }
        if options.minimize {
            push::minimize_pushed(&mut out)?;
        }
        depths.add(&lattice, &mut out)?;
        output.write(key, out, scale, costs.as_ref())
    })?;
    depths.log(output.done());
    messages::log(&format!(
        "Done {} lattices, determinization finished earlier than specified by the beam (or output was empty) on \
         {warned} of these.",
        output.done()
    ));
    output.finish()
}
