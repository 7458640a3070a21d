//! `lattice-interp`: interpolates the costs of two lattices of each utterance.

use anyhow::Result;
use nnet3::tables::Output;
use nnet3::{lattices, messages};
use nnet3_decode::compose::{SecondFst, compose};
use nnet3_decode::lattice::{compact, word_lattice};
use nnet3_decode::{CompactLatticeHolder, LatticeHolder, Scale};

/// Takes two archives of lattices (indexed by utterances) and combines the individual lattice pairs (one from each
/// archive).
///
/// Keeps the alignments from the first lattice. Equivalent to projecting the second archive on words (lattice-project),
/// then composing the pairs of lattices (lattice-compose), then scaling graph and acoustic costs by 0.5 (lattice-scale).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-interp ark:1.lats ark:2.lats ark:composed.lats")]
pub struct Options {
    /// Scaling factor for the first lattices, from 0 to 1; for the second ones 1 - alpha
    #[arg(long, default_value_t = 0.5)]
    alpha: f32,
    lattice_rspecifier_a: String,
    lattice_rspecifier_b: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let alpha = f64::from(options.alpha);
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattice_wspecifier)?;
    let (first, second) = (&options.lattice_rspecifier_a, &options.lattice_rspecifier_b);
    let (mut processed, mut empty, mut missing) = (0u64, 0u64, 0u64);
    lattices::for_each_pair::<LatticeHolder, CompactLatticeHolder>(first, second, |key, first, second| {
        processed += 1;
        let Some(second) = second.filter(|second| second.start.is_some()) else {
            messages::warn(&format!(
                "No lattice found for utterance {key} in {}",
                options.lattice_rspecifier_b
            ));
            missing += 1;
            return Ok(());
        };
        let scaled = lattices::scaled(first, Scale::new(alpha, alpha))
            .and_then(|first| Ok((first, lattices::scaled(second, Scale::new(1.0 - alpha, 1.0 - alpha))?)));
        let (first, second) = match scaled {
            Ok(scaled) => scaled,
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                empty += 1;
                return Ok(());
            }
        };
        let composed = compose(&first, &SecondFst::exact(word_lattice(second)))?;
        if composed.start.is_none() {
            messages::warn(&format!("For utterance {key}, composed result is empty."));
            empty += 1;
            return Ok(());
        }
        output.write(key, &compact(&composed))
    })?;
    messages::log(&format!(
        "Done {processed} lattices; {} had nonempty result, {empty} had empty composition; in {missing}, had empty second \
         lattice.",
        output.done
    ));
    output.finish()
}
