//! `lattice-boost-ali`: makes paths of lattices with errors more probable.

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::{RandomReader, read_object};
use nnet3::options::fraction;
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_decode::accuracy::{Boosting, boost};
use nnet3_decode::lattice::compact;
use nnet3_decode::{CompactLatticeHolder, LatticeHolder};

/// Boost graph likelihoods (decrease graph costs) by b * #frame-phone-errors on each arc in the lattice.
///
/// Useful for discriminative training, e.g. boosted MMI. Modifies input lattices. This version takes the reference in the
/// form of alignments. Needs the model (just the transitions) to transform pdf-ids to phones. Takes the --silence-phones
/// option and these phones appearing in the lattice are always assigned zero error, or with the --max-silence option, at
/// most this error-count per frame.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-boost-ali --silence-phones=1:2:3 --b=0.05 1.mdl ark:1.lats ark:1.ali ark:boosted.lats"
)]
pub struct Options {
    /// Boosting factor (more -> more boosting of errors / larger margin)
    #[arg(long, default_value_t = 0.05)]
    b: f32,
    /// Maximum error assigned to silence phones [c.f. --silence-phones option]. 0.0 -> original BMMI paper, 1.0 -> no
    /// special silence treatment.
    #[arg(long, default_value_t = 0.0)]
    max_silence: f32,
    /// Colon-separated list of integer id's of silence phones, e.g. 46:47
    #[arg(long, default_value = "")]
    silence_phones: String,
    model: String,
    lats_rspecifier: String,
    ali_rspecifier: String,
    lats_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    fraction::check("max-silence", options.max_silence)?;
    let silence_phones = lattices::silence_phones(&options.silence_phones)?;
    let model: TransitionModel = read_object(&options.model)?;
    let boosting =
        Boosting { model: &model, factor: options.b, silence_phones, max_silence_error: options.max_silence };
    let mut alignments = RandomReader::<I32VectorHolder>::open(&options.ali_rspecifier)?;
    let input = Input::<LatticeHolder>::open(&options.lats_rspecifier)?;
    let mut output = Output::<CompactLatticeHolder>::open(&options.lats_wspecifier)?;
    let mut missing = 0;
    input.for_each(|key, lattice| {
        let mut lattice = match lattices::nonempty(lattice) {
            Ok(lattice) => lattice,
            Err(error) => {
                output.skip(key, error);
                return Ok(());
            }
        };
        if options.b != 0.0 {
            let Some(alignment) = alignments.get(key)? else {
                messages::warn(&format!("No alignment for utterance {key}"));
                missing += 1;
                return Ok(());
            };
            if let Err(error) = boost(&mut lattice, alignment, &boosting) {
                output.skip(key, error);
                return Ok(());
            }
        }
        output.write(key, &compact(&lattice))
    })?;
    messages::log(&format!(
        "Done {} lattices, missing alignments for {missing}, other errors on {}",
        output.done, output.failed
    ));
    output.finish()
}
