//! `lattice-determinize-phone-pruned`: lattices in which each sequence of words has one path, by way of phones.

use anyhow::{Result, bail};
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::lattices::{self, Depths, LatticeOutput};
use nnet3::messages;
use nnet3::tables::Input;
use nnet3_decode::costs::AcousticCosts;
use nnet3_decode::determinize::{PhoneOptions, determinize_phones};
use nnet3_decode::{LatticeHolder, Scale};

/// Determinize lattices, keeping only the best path (sequence of acoustic states) for each input-symbol sequence.
///
/// This version does phone insertion in a first pass of determinization. It then removes the inserted phones and does
/// a second pass on the word lattices. It also does pruning as part of the determinization algorithm, which is more
/// efficient and prevents blowup.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-determinize-phone-pruned --acoustic-scale=0.1 final.mdl ark:in.lats ark:det.lats"
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
    /// If true, do an initial pass of determinization on both phones and words (see also --word-determinize)
    #[arg(long, default_value_t = true)]
    phone_determinize: bool,
    /// If true, do a second pass of determinization on words only (see also --phone-determinize)
    #[arg(long, default_value_t = true)]
    word_determinize: bool,
    /// If true, push and minimize after determinization.
    #[arg(long, default_value_t = false)]
    minimize: bool,
    /// If true, write in normal (compact) form.
    #[arg(long, default_value_t = true)]
    write_compact: bool,
    model: String,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(1.0, f64::from(options.acoustic_scale));
    lattices::check_invertible(scale.acoustic, 1.0)?;
    if options.beam <= 0.0 {
        bail!("--beam={}: expected a number above 0", options.beam);
    }
    let choices = PhoneOptions {
        delta: options.delta,
        max_mem: options.max_mem,
        phone_determinize: options.phone_determinize,
        word_determinize: options.word_determinize,
        minimize: options.minimize,
    };
    if !options.phone_determinize && !options.word_determinize {
        messages::warn(
            "Both --phone-determinize and --word-determinize are set to false, copying lattice without determinization.",
        );
    }
    let model: TransitionModel = read_object(&options.model)?;
    let input = Input::<LatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut output = LatticeOutput::open(&options.lattice_wspecifier, options.write_compact)?;
    let (mut warned, mut depths) = (0, Depths::default());
    input.for_each(|key, lattice| {
        messages::detail(2, format_args!("Processing lattice {key}"));
        let costs = (!options.write_compact).then(|| AcousticCosts::of(&lattice)).transpose()?;
        let determinized = lattices::scaled(lattice, scale).and_then(|mut lattice| {
            let found = determinize_phones(&model, &mut lattice, f64::from(options.beam), &choices)?;
            Ok((lattice, found))
        });
        let (lattice, (mut out, report)) = match determinized {
            Ok(found) => found,
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                warned += 1;
                return Ok(());
            }
        };
        lattices::log_events(&report);
        if !report.complete {
            messages::warn(&format!(
                "For key {key}, determinization did not succeed(partial output will be pruned tighter than the \
                 specified beam.)"
            ));
            warned += 1;
        }
        depths.add(&lattice, &mut out)?;
        output.write(key, out, scale, costs.as_ref())
    })?;
    depths.log(output.done(), " ");
    messages::log(&format!(
        "Done {} lattices, determinization finished earlier than specified by the beam on {warned} of these.",
        output.done()
    ));
    output.finish()
}
