//! Options and loops of the programs that determinize lattices of words.

use anyhow::{Result, bail};
use clap::Args;
use kaldi_cli::log::num;
use nnet3_decode::costs::AcousticCosts;
use nnet3_decode::determinize::{self, Event, Failure, Reduction, Report};
use nnet3_decode::{CompactLattice, Lattice, LatticeHolder, Scale, order, push};

use nnet3::lattices::{self, Depths, LatticeOutput};
use nnet3::messages;
use nnet3::tables::Input;

// Options of determinization with a beam.
#[derive(Args, Clone, Debug)]
pub struct PrunedOptions {
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
    /// Most states that one subset may reach by arcs without words (0: no limit); a larger subset, typically of a wrong
    /// input, is an error
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
    pub write_compact: bool,
    /// Controls pruning un-determinized lattice and retrying determinization: if effective-beam < retry-cutoff * beam,
    /// we prune the raw lattice and retry.
    #[arg(long, default_value_t = 0.5)]
    retry_cutoff: f32,
}

/// A determinized lattice with scaled costs.
pub struct Determinized {
    /// The input, scaled and sorted.
    pub input: Lattice,
    pub output: CompactLattice,
    /// Acoustic costs of the input, if the output is written with an arc for each frame.
    pub costs: Option<AcousticCosts>,
    pub report: Report,
}

impl PrunedOptions {
    pub fn scale(&self) -> Scale {
        Scale::new(1.0, f64::from(self.acoustic_scale))
    }

    pub fn check(&self) -> Result<()> {
        lattices::check_invertible(f64::from(self.acoustic_scale), 1.0)?;
        if self.beam <= 0.0 || !(0.0..1.0).contains(&self.retry_cutoff) {
            bail!(
                "--beam={} must be above 0, and --retry-cutoff={} from 0 to below 1",
                self.beam,
                self.retry_cutoff
            );
        }
        Ok(())
    }

    pub fn determinize(&self, lattice: Lattice) -> nnet3_decode::Result<Determinized> {
        let limits = determinize::Options {
            delta: self.delta,
            max_mem: self.max_mem,
            max_arcs: self.max_arcs,
            max_states: self.max_states,
            max_loop: self.max_loop,
            retry_cutoff: f64::from(self.retry_cutoff),
            ..determinize::Options::default()
        };
        let costs = (!self.write_compact).then(|| AcousticCosts::of(&lattice)).transpose()?;
        let mut input = lattices::scaled(lattice, self.scale())?;
        let (mut output, report) =
            determinize::determinize_connected(&mut input, f64::from(self.beam), &limits)?;
        if self.minimize {
            push::minimize_pushed(&mut output)?;
        }
        order::sort(&mut output)?;
        Ok(Determinized { input, output, costs, report })
    }
}

/// Logs the result, and warns of an incomplete or empty one. Returns the number of these warnings.
pub fn warnings(key: &str, determinized: &Determinized) -> u64 {
    lattices::log_events(&determinized.report);
    let mut warned = 0;
    if !determinized.report.complete {
        messages::warn(&format!(
            "For key {key}, determinization did not succeed(partial output will be pruned tighter than the \
             specified beam.)"
        ));
        warned += 1;
    }
    if determinized.output.states.is_empty() {
        messages::warn(&format!("For key {key}, determinized and trimmed lattice was empty."));
        warned += 1;
    }
    warned
}

// Options of determinization that prunes only if memory does not suffice.
#[derive(Args, Clone, Debug)]
pub struct PlainOptions {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// If true, prune determinized lattices with the --beam option.
    #[arg(long, default_value_t = false)]
    prune: bool,
    /// Pruning beam [applied after acoustic scaling]-- also used to handle determinization failures, set --prune=false
    /// to disable routine pruning
    #[arg(long, default_value_t = 10.0)]
    beam: f32,
    /// Ratio by which to decrease beam if we reach the max-arcs.
    #[arg(long, default_value_t = 0.9)]
    beam_ratio: f32,
    /// If true, push and minimize after determinization
    #[arg(long, default_value_t = false)]
    minimize: bool,
    /// Tolerance used in determinization
    #[arg(long, default_value_t = nnet3_decode::weight::DELTA)]
    delta: f32,
    /// Maximum approximate memory usage in determinization (real usage might be many times this)
    #[arg(long, default_value_t = 50000000)]
    max_mem: i32,
    /// Most states that one subset may reach by arcs without words (0: no limit); a larger subset, typically of a wrong
    /// input, is an error
    #[arg(long, default_value_t = 500000)]
    max_loop: i32,
    /// Number of times to decrease beam by beam-ratio if determinization fails.
    #[arg(long, default_value_t = 20)]
    num_loops: i32,
}

impl PlainOptions {
    /// Determinizes a table of lattices. Returns the program's exit status.
    pub fn run(&self, from: &str, to: &str, write_compact: bool) -> Result<u8> {
        lattices::check_invertible(f64::from(self.acoustic_scale), 1.0)?;
        if self.beam <= 0.0 || !(0.0..1.0).contains(&self.beam_ratio) {
            bail!(
                "--beam={} must be above 0, and --beam-ratio={} from 0 to below 1",
                self.beam,
                self.beam_ratio
            );
        }
        let scale = Scale::new(1.0, f64::from(self.acoustic_scale));
        let mut output = LatticeOutput::open(to, write_compact)?;
        let (mut depths, mut failed) = (Depths::default(), 0);
        Input::<LatticeHolder>::open(from)?.for_each(|key, lattice| {
            match self.determinize(key, lattice, scale, write_compact) {
                Ok(Some(Reduced { input, output: mut out, costs })) => {
                    depths.add(&input, &mut out)?;
                    output.write(key, out, scale, costs.as_ref())
                }
                Ok(None) => {
                    messages::warn(&format!(
                        "Decreased pruning beam --num-loops={} times and was not able to determinize: failed for {key}",
                        self.num_loops
                    ));
                    failed += 1;
                    Ok(())
                }
                Err(error) => {
                    messages::warn(&format!("{key}: {error}"));
                    failed += 1;
                    Ok(())
                }
            }
        })?;
        depths.log(output.done(), if write_compact { " " } else { "" });
        messages::log(&format!("Done {} lattices, errors on {failed}", output.done()));
        output.finish()
    }

    /// Determinizes a lattice; `None` if memory did not suffice.
    fn determinize(
        &self,
        key: &str,
        lattice: Lattice,
        scale: Scale,
        write_compact: bool,
    ) -> nnet3_decode::Result<Option<Reduced>> {
        let costs = (!write_compact).then(|| AcousticCosts::of(&lattice)).transpose()?;
        let mut input = lattices::scaled(lattices::nonempty(lattice)?, scale)?;
        order::sort(&mut input)?;
        let options = determinize::Options {
            delta: self.delta,
            max_mem: self.max_mem,
            max_loop: self.max_loop,
            ..determinize::Options::default()
        };
        let reduction = Reduction {
            beam: self.beam,
            ratio: self.beam_ratio,
            tries: self.num_loops.max(0) as usize,
            prune: self.prune,
        };
        let found =
            determinize::determinize_reduced(&mut input, &options, &reduction, |failure| warn(key, failure))?;
        let Some(mut output) = found else { return Ok(None) };
        if self.minimize {
            push::minimize_pushed(&mut output)?;
        }
        Ok(Some(Reduced { input, output: lattices::nonempty(output)?, costs }))
    }
}

/// A determinized lattice, with a smaller beam if memory did not suffice for the first.
struct Reduced {
    input: Lattice,
    output: CompactLattice,
    /// See [`Determinized`].
    costs: Option<AcousticCosts>,
}

fn warn(key: &str, failure: &Failure) {
    let text = match failure {
        Failure::OutOfMemory(Event::OutOfMemory { limit, strings, arcs, elements, kept_strings, .. }) => {
            format!(
                "Failure in determinize-lattice: size exceeds maximum {limit} bytes; (repo,arcs,elems) = \
             ({strings},{arcs},{elements}), after rebuilding, repo size was {kept_strings}"
            )
        }
        Failure::OutOfMemory(_) => format!("{key}: memory was running out"),
        Failure::Looped(error) => format!("{key}: {error}"),
        Failure::First { beam } => format!(
            "Failed to determinize lattice (presumably max-states reached), reducing lattice-beam to {} and re-trying.",
            num(f64::from(*beam))
        ),
        Failure::NoEffect { beam } => format!(
            "Pruning did not have an effect on the original lattice size; reducing beam to {} and re-trying.",
            num(f64::from(*beam))
        ),
        Failure::Again { beam } => {
            format!(
                "Determinization failed again; reducing beam again to {} and re-trying.",
                num(f64::from(*beam))
            )
        }
    };
    messages::warn(&text);
}
