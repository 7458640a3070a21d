//! `sum-post`: adds posteriors.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_feat::posterior::{self, SumOptions};
use kaldi_io::RandomReader;
use kaldi_io::holder::PosteriorHolder;
use nnet3::{messages, tables};

/// Sum two sets of posteriors for each utterance.
///
/// To take the difference of posteriors, use e.g. --scale2=-1.0
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: sum-post ark:1.post ark:2.post ark:-")]
pub struct Options {
    /// Scale for first set of posteriors
    #[arg(long, default_value_t = 1.0)]
    scale1: f32,
    /// Scale for second set of posteriors
    #[arg(long, default_value_t = 1.0)]
    scale2: f32,
    /// If true, merge posterior entries for same id (canceling positive and negative parts)
    #[arg(long, default_value_t = true)]
    merge: bool,
    /// If true, zero posteriors on all frames when the two sets of posteriors are disjoint
    #[arg(long, alias = "zero-if-disjoint")]
    drop_frames: bool,
    post_rspecifier1: String,
    post_rspecifier2: String,
    post_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let sum_options = SumOptions { merge: options.merge, drop_disjoint: options.drop_frames };
    let mut second = RandomReader::<PosteriorHolder>::open(&options.post_rspecifier2)?;
    let (mut frames, mut disjoint) = (0, 0);
    let (from, to) = (&options.post_rspecifier1, &options.post_wspecifier);
    let output = tables::map::<PosteriorHolder, PosteriorHolder>(from, to, |key, mut first| {
        let Some(second) = second.get(key)? else {
            return tables::skip_as(format!(
                "Second set of posteriors has nothing for key {key}, producing no output. ({})",
                options.post_rspecifier2
            ));
        };
        if second.len() != first.len() {
            let (first, second) = (first.len(), second.len());
            return tables::skip_as(format!(
                "Posteriors have mismatched sizes {first} vs. {second} for key {key}"
            ));
        }
        let mut second = second.clone();
        posterior::scale(&mut first, options.scale1);
        posterior::scale(&mut second, options.scale2);
        let (sum, apart) = posterior::sum(first, second, sum_options);
        frames += sum.len();
        disjoint += apart;
        Ok(Ok(sum))
    })?;
    second.close()?;
    let percent = 100.0 * disjoint as f64 / frames.max(1) as f64;
    messages::log(&format!(
        "Processed {frames} frames; for {disjoint} frames there was no overlap, i.e. {}%",
        num(percent)
    ));
    messages::log(&format!("Done adding {} posteriors;  {} with errors.", output.done, output.failed));
    output.finish()
}
