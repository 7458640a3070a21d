//! `lattice-path-cover`: paths that together have every arc of a lattice.

use anyhow::Result;
use kaldi_io::holder::{DoubleHolder, I32VectorHolder};
use nnet3::tables::Input;
use nnet3::{lattices, messages};
use nnet3_decode::cover::path_cover;
use nnet3_decode::{CompactLatticeHolder, Scale};

/// Generate a set of paths from each lattice that together cover all its arcs; outputs transcriptions, states and costs.
///
/// The keys of the paths of utterance U are U-1, U-2, and so on, best first.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-path-cover --acoustic-scale=0.1 ark:1.lats ark:1.tra ark:1.states ark:1.costs"
)]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Scaling factor for language model (graph) costs
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Symbol table for words [for debug output]
    #[arg(long, default_value = "")]
    word_symbol_table: String,
    lattice_rspecifier: String,
    transcriptions_wspecifier: Option<String>,
    states_wspecifier: Option<String>,
    costs_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(f64::from(options.lm_scale), f64::from(options.acoustic_scale));
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let symbols = lattices::open_symbols(&options.word_symbol_table)?;
    let mut words = lattices::open_writer::<I32VectorHolder>(options.transcriptions_wspecifier.as_ref())?;
    let mut states = lattices::open_writer::<I32VectorHolder>(options.states_wspecifier.as_ref())?;
    let mut costs = lattices::open_writer::<DoubleHolder>(options.costs_wspecifier.as_ref())?;
    let (mut done, mut failed) = (0u64, 0u64);
    input.for_each(|key, lattice| {
        let paths = match lattices::scaled(lattice, scale).and_then(|mut lattice| path_cover(&mut lattice)) {
            Ok(paths) => paths,
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                failed += 1;
                return Ok(());
            }
        };
        for (i, path) in paths.into_iter().enumerate() {
            let key = format!("{key}-{}", i + 1);
            if let Some(symbols) = &symbols {
                lattices::print_words(&key, &path.words, symbols)?;
            }
            lattices::write(&mut words, &key, &path.words)?;
            lattices::write(&mut states, &key, &path.states.iter().map(|&state| state as i32).collect())?;
            lattices::write(&mut costs, &key, &path.cost)?;
            done += 1;
        }
        Ok(())
    })?;
    messages::log(&format!("Done {done} paths, failed for {failed}"));
    if done == 0 {
        return Ok(kaldi_cli::NOTHING_DONE);
    }
    lattices::close(words)?;
    lattices::close(states)?;
    lattices::close(costs)?;
    Ok(0)
}
