//! Options and loop of the programs that work out derivatives of expected frame accuracies.

use anyhow::Result;
use clap::Args;
use kaldi_cli::log::{num, ratio};
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{I32VectorHolder, PosteriorHolder};
use kaldi_io::{RandomReader, read_object};
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_decode::accuracy::{Criterion, FrameAccuracy, expected_accuracy};
use nnet3_decode::{LatticeHolder, Scale};

// Options and arguments.
#[derive(Args, Clone, Debug)]
pub struct AccuracyOptions {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Scaling factor for "graph costs" (including LM costs)
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Colon-separated list of integer id's of silence phones, e.g. 46:47
    #[arg(long, default_value = "")]
    silence_phones: String,
    /// If true, newer behavior which will tend to reduce insertions: all silence phones count as the same
    #[arg(long, default_value_t = false)]
    one_silence_class: bool,
    model: String,
    alignments_rspecifier: String,
    lats_rspecifier: String,
    posteriors_wspecifier: String,
}

impl AccuracyOptions {
    /// Writes the derivatives. Returns the program's exit status.
    pub fn run(&self, criterion: Criterion) -> Result<u8> {
        let scale = Scale::new(f64::from(self.lm_scale), f64::from(self.acoustic_scale));
        lattices::check_invertible(scale.acoustic, 1.0)?;
        let silence_phones = lattices::silence_phones(&self.silence_phones)?;
        let model: TransitionModel = read_object(&self.model)?;
        let one_silence_class = self.one_silence_class;
        let accuracy = FrameAccuracy { model: &model, criterion, silence_phones, one_silence_class };
        let mut alignments = RandomReader::<I32VectorHolder>::open(&self.alignments_rspecifier)?;
        let input = Input::<LatticeHolder>::open(&self.lats_rspecifier)?;
        let mut output = Output::<PosteriorHolder>::open(&self.posteriors_wspecifier)?;
        let (mut sum, mut frames) = (0.0, 0.0);
        input.for_each(|key, lattice| {
            let Some(alignment) = alignments.get(key)? else {
                messages::warn(&format!("No alignment for utterance {key}"));
                output.failed += 1;
                return Ok(());
            };
            let found = lattices::scaled(lattice, scale)
                .and_then(|mut lattice| expected_accuracy(&mut lattice, alignment, &accuracy));
            match found {
                Ok(found) => {
                    sum += found.accuracy;
                    frames += alignment.len() as f64;
                    output.write(key, &found.posterior)
                }
                Err(error) => {
                    output.skip(key, error);
                    Ok(())
                }
            }
        })?;
        messages::log(&format!(
            "Overall average frame-accuracy is {} over {} frames.",
            ratio(sum, frames),
            num(frames)
        ));
        messages::log(&format!("Done {} lattices.", output.done));
        output.finish()
    }
}
