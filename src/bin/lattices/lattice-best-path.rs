//! `lattice-best-path`: the best path of each lattice, as words and alignment.

use anyhow::Result;
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::{num, ratio};
use kaldi_fst::Algebra;
use kaldi_io::holder::I32VectorHolder;
use nnet3::tables::Input;
use nnet3::{lattices, messages};
use nnet3_decode::{CompactLatticeHolder, LatticeWeight, Scale, order, path};

/// Generate 1-best path through lattices; output as transcriptions and alignments.
///
/// For output as lattices use lattice-1best; with acoustic and LM scores, lattice-1best | nbest-to-linear.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-best-path --acoustic-scale=0.1 ark:1.lats 'ark,t:|int2sym.pl -f 2- words.txt > text' ark:1.ali"
)]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Scaling factor for LM probabilities. Note: the ratio acoustic-scale/lm-scale is all that matters.
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Symbol table for words [for debug output]
    #[arg(long, default_value = "")]
    word_symbol_table: String,
    lattice_rspecifier: String,
    transcriptions_wspecifier: Option<String>,
    alignments_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(f64::from(options.lm_scale), f64::from(options.acoustic_scale));
    let symbols = lattices::open_symbols(&options.word_symbol_table)?;
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut words = lattices::open_writer::<I32VectorHolder>(options.transcriptions_wspecifier.as_ref())?;
    let mut alignments = lattices::open_writer::<I32VectorHolder>(options.alignments_wspecifier.as_ref())?;
    let (mut done, mut failed, mut frames) = (0u64, 0u64, 0usize);
    let mut total = LatticeWeight::ONE;
    input.for_each(|key, lattice| {
        let mut lattice = lattices::scaled(lattice, scale)?;
        let best = match order::sort(&mut lattice).and_then(|()| path::best_linear(&lattice)) {
            Ok(best) => best,
            Err(error) => {
                messages::warn(&format!("Best-path failed for key {key}: {error}"));
                failed += 1;
                return Ok(());
            }
        };
        let LatticeWeight { graph, acoustic } = best.weight;
        messages::log(&format!(
            "For utterance {key}, best cost {} + {} = {} over {} frames.",
            num(f64::from(graph)),
            num(f64::from(acoustic)),
            num(f64::from(graph + acoustic)),
            best.ids.len()
        ));
        lattices::write(&mut words, key, &best.words)?;
        lattices::write(&mut alignments, key, &best.ids)?;
        if let Some(symbols) = &symbols {
            lattices::print_words(key, &best.words, symbols)?;
        }
        done += 1;
        frames += best.ids.len();
        total = total.times(&best.weight);
        Ok(())
    })?;
    let per_frame = |cost: f32| ratio(cost, frames as f32);
    messages::log(&format!(
        "Overall cost per frame is {} = {} [graph] + {} [acoustic] over {frames} frames.",
        per_frame(total.graph + total.acoustic),
        per_frame(total.graph),
        per_frame(total.acoustic)
    ));
    messages::log(&format!("Done {done} lattices, failed for {failed}"));
    lattices::close(words)?;
    lattices::close(alignments)?;
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
