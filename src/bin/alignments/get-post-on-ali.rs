//! `get-post-on-ali`: finds the posterior of the aligned id of each frame.

use anyhow::{Result, bail};
use kaldi_io::RandomReader;
use kaldi_io::holder::{I32VectorHolder, PosteriorHolder, VectorHolder};
use nnet3::messages;
use nnet3::tables::{Input, Output};

/// Reads posteriors, e.g. derived from lattice-to-post, and an alignment, typically of the best path of a lattice.
/// Outputs the posterior of the alignment's index in each frame.
///
/// This is the posterior of the alignment, a confidence of each frame. If the posteriors of a frame do not have the id,
/// it is 0.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: get-post-on-ali ark:post.ark ark,s,cs:ali.ark ark:weights.ark")]
pub struct Options {
    posteriors_rspecifier: String,
    alignments_rspecifier: String,
    weights_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut alignments = RandomReader::<I32VectorHolder>::open(&options.alignments_rspecifier)?;
    let mut output = Output::<VectorHolder>::open(&options.weights_wspecifier)?;
    Input::<PosteriorHolder>::open(&options.posteriors_rspecifier)?.for_each(|key, posterior| {
        let Some(alignment) = alignments.get(key)? else {
            messages::warn(&format!("No alignment for utterance {key}"));
            output.failed += 1;
            return Ok(());
        };
        if alignment.len() != posterior.len() {
            bail!("the posteriors have {} frames, the alignment {}", posterior.len(), alignment.len());
        }
        let weight = |(frame, id): (&Vec<(i32, f32)>, &i32)| {
            frame.iter().find(|entry| entry.0 == *id).map_or(0.0, |entry| entry.1)
        };
        output.write(key, &posterior.iter().zip(alignment).map(weight).collect())
    })?;
    alignments.close()?;
    messages::log(&format!(
        "Done getting the posteriors under the alignment path for {} utterances. {} with missing alignments.",
        output.done, output.failed
    ));
    output.finish_any()
}
