//! `lattice-mbr-decode`: words with the least expected number of errors.

use anyhow::Result;
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::ratio;
use kaldi_io::holder::{F32PairVectorHolder, FloatHolder, I32VectorHolder, PosteriorHolder};
use nnet3::tables::Input;
use nnet3::{lattices, messages};
use nnet3_decode::{CompactLatticeHolder, Scale, mbr};

/// Do Minimum Bayes Risk decoding (decoding that aims to minimize the expected word error rate).
///
/// Possible outputs include the 1-best path (the word-sequence, as a sequence of ints per utterance) and the computed
/// Bayes Risk for each utterance. They also include the sausage stats: for each position, words with probabilities, in
/// the form of posteriors. times-wspecifier writes pairs of (start-time, end-time) in frames, for each sausage position,
/// or for each one-best entry if --one-best-times=true.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-mbr-decode --acoustic-scale=0.1 ark:1.lats 'ark,t:|int2sym.pl -f 2- words.txt > text' ark:/dev/null ark:1.sau"
)]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Scaling factor for language model (graph) costs
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Symbol table for words [for debug output]; it is read, and has no other effect
    #[arg(long, default_value = "")]
    word_symbol_table: String,
    /// If true, output times corresponding to one-best, not whole sausage.
    #[arg(long, default_value_t = false)]
    one_best_times: bool,
    lattice_rspecifier: String,
    transcriptions_wspecifier: String,
    bayes_risk_wspecifier: Option<String>,
    sausage_stats_wspecifier: Option<String>,
    times_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(f64::from(options.lm_scale), f64::from(options.acoustic_scale));
    lattices::open_symbols(&options.word_symbol_table)?;
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut words = lattices::open_writer::<I32VectorHolder>(Some(&options.transcriptions_wspecifier))?;
    let mut risks = lattices::open_writer::<FloatHolder>(options.bayes_risk_wspecifier.as_ref())?;
    let mut sausages = lattices::open_writer::<PosteriorHolder>(options.sausage_stats_wspecifier.as_ref())?;
    let mut times = lattices::open_writer::<F32PairVectorHolder>(options.times_wspecifier.as_ref())?;
    let (mut done, mut failed, mut num_words, mut risk) = (0, 0, 0, 0.0_f32);
    input.for_each(|key, lattice| {
        let decoded = lattices::scaled(lattice, scale)
            .and_then(|lattice| mbr::decode(&lattice, None, mbr::Options::default()));
        let outcome = match decoded {
            Ok(outcome) => outcome,
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                failed += 1;
                return Ok(());
            }
        };
        outcome.problems.iter().for_each(|problem| messages::warn(&format!("{key}: {problem}")));
        lattices::write(&mut words, key, &outcome.words)?;
        lattices::write(&mut risks, key, &(outcome.risk as f32))?;
        lattices::write(&mut sausages, key, &outcome.bins)?;
        lattices::write(
            &mut times,
            key,
            if options.one_best_times { &outcome.times } else { &outcome.bin_times },
        )?;
        done += 1;
        num_words += outcome.words.len();
        risk += outcome.risk as f32;
        Ok(())
    })?;
    messages::log(&format!("Done {done} lattices."));
    lattices::report_left_out(failed);
    messages::log(&format!(
        "Average Bayes Risk per sentence is {} and per word, {}",
        ratio(risk, done as f32),
        ratio(risk, num_words as f32)
    ));
    lattices::close(words)?;
    lattices::close(risks)?;
    lattices::close(sausages)?;
    lattices::close(times)?;
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
