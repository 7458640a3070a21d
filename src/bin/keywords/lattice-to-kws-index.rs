//! `lattice-to-kws-index`: word-aligned lattices → indices for keyword search.

use anyhow::Result;
use kaldi_fst::FstHolder;
use kaldi_io::RandomReader;
use kaldi_io::holder::I32Holder;
use kaldi_kws::{HitWeight, IndexOptions, index_lattice};
use nnet3::messages;
use nnet3::tables::{Input, Output};
use nnet3_decode::CompactLatticeHolder;

/// Create an inverted index of the given lattices. The output index is in the T*T*T semiring. For details for the semiring,
/// please refer to Dogan Can and Murat Saraclar's paper named "Lattice Indexing for Spoken Term Detection".
///
/// Arcs of the lattices must be words (see lattice-align-words), and costs must be scaled (see lattice-scale).
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-to-kws-index ark:utter.symtab ark:1.lats ark:global.idx\nSee also: kws-index-union, kws-search"
)]
pub struct Options {
    /// Frame subsampling factor.
    #[arg(long, default_value_t = 1)]
    frame_subsampling_factor: i32,
    /// Longest silence within a keyword. If --frame-subsampling-factor is used, --max-silence-frames is relative to the input, not
    /// the output frame rate (we divide by frame-subsampling-factor and round to the closest integer).
    #[arg(long, default_value_t = 50)]
    max_silence_frames: i32,
    /// Setting --strict=false will cause successful termination even if we processed no lattices.
    #[arg(long, default_value_t = true)]
    strict: bool,
    /// Number of states in the original lattice times this scale is the number of states allowed when optimizing the index. Negative
    /// number means no limit on the number of states.
    #[arg(long, default_value_t = 4.0)]
    max_states_scale: f32,
    /// Allow partial output if fails to determinize, otherwise skip determinization if it fails.
    #[arg(long, default_value_t = true)]
    allow_partial: bool,
    /// Numbers of utterances
    utter_symtab_rspecifier: String,
    lattice_rspecifier: String,
    index_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    anyhow::ensure!(
        options.frame_subsampling_factor > 0,
        "--frame-subsampling-factor must be above 0, found {}",
        options.frame_subsampling_factor
    );
    let frames = 0.5 + options.max_silence_frames as f32 / options.frame_subsampling_factor as f32;
    let how = IndexOptions {
        longest_silence: frames as usize,
        max_states_scale: options.max_states_scale,
        allow_partial: options.allow_partial,
    };
    let mut numbers = RandomReader::<I32Holder>::open(&options.utter_symtab_rspecifier)?;
    let mut output = Output::<FstHolder<HitWeight>>::open(&options.index_wspecifier)?;
    Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?.for_each(|key, lattice| {
        messages::log(&format!("Processing lattice {key}"));
        let Some(&number) = numbers.get(key)? else {
            messages::warn(&format!("Cannot find utterance id for {key}"));
            output.failed += 1;
            return Ok(());
        };
        match index_lattice(&lattice, number, how) {
            Ok(indexed) => {
                if let Some(limit) = indexed.stopped_at {
                    let result = if how.allow_partial {
                        "partial results will be generated"
                    } else {
                        "it is not optimized"
                    };
                    messages::warn(&format!(
                        "{key}: Determinization terminated since passed {limit} states, {result}"
                    ));
                }
                output.write(key, &indexed.index)
            }
            Err(error) => {
                output.skip(key, error);
                Ok(())
            }
        }
    })?;
    numbers.close()?;
    messages::log(&format!("Done {} lattices, failed for {}", output.done, output.failed));
    if options.strict { output.finish() } else { output.finish_any() }
}
