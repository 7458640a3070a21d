//! Log-likelihoods of frames.

use anyhow::Result;
use kaldi_cli::log::{num, ratio};
use kaldi_gmm::selection::log_sum;
use kaldi_io::holder::{FloatHolder, VectorHolder};
use nnet3::messages;
use nnet3::tables::Output;

use crate::background::mixture::{Mixture, read_scorer};
use crate::background::utterances::{self, Sources};

// Options and arguments of programs that write log-likelihoods of frames.
#[derive(clap::Args)]
pub struct LikelihoodOptions {
    /// If true, print out the average per-frame log-likelihood as a single float per utterance.
    #[arg(long, default_value_t = false)]
    average: bool,
    /// rspecifier for gselect objects to limit the #Gaussians accessed on each frame.
    #[arg(long, default_value = "")]
    gselect: String,
    model_in: String,
    feature_rspecifier: String,
    #[arg(value_name = "LIKES_OUT_WSPECIFIER")]
    likes_wspecifier: String,
}

enum Likes {
    OfFrames(Output<VectorHolder>),
    OfUtterances(Output<FloatHolder>),
}

impl Likes {
    fn open(average: bool, wspecifier: &str) -> Result<Likes> {
        Ok(match average {
            true => Likes::OfUtterances(Output::open(wspecifier)?),
            false => Likes::OfFrames(Output::open(wspecifier)?),
        })
    }

    fn write(&mut self, key: &str, values: &Vec<f32>, sum: f64) -> Result<()> {
        match self {
            Likes::OfFrames(output) => output.write(key, values),
            Likes::OfUtterances(output) => output.write(key, &((sum / values.len() as f64) as f32)),
        }
    }

    fn finish(self) -> Result<u8> {
        match self {
            Likes::OfFrames(output) => output.finish(),
            Likes::OfUtterances(output) => output.finish(),
        }
    }
}

pub fn run<M: Mixture>(options: &LikelihoodOptions) -> Result<u8> {
    let scorer = read_scorer::<M>(&options.model_in)?;
    let mut output = Likes::open(options.average, &options.likes_wspecifier)?;
    let (mut sum, mut frames) = (0.0, 0.0);
    let sources =
        Sources { features: &options.feature_rspecifier, lists: &options.gselect, ..Sources::default() };
    let counts = utterances::for_each(&sources, &scorer, |utterance| {
        let features = utterance.features;
        let mut values = Vec::with_capacity(features.rows);
        let mut add = |likelihoods: &[f32]| {
            values.push(log_sum(likelihoods)?);
            Ok(())
        };
        match &utterance.lists {
            None => scorer.for_each_frame(features, |_, likelihoods| add(likelihoods))?,
            Some(lists) => {
                let frames = lists.iter().enumerate();
                frames.map(|(t, list)| scorer.listed(features.row(t), list)).try_for_each(|l| add(&l))?;
            }
        }
        let of_file: f64 = values.iter().map(|&value| f64::from(value)).sum();
        output.write(utterance.key, &values, of_file)?;
        sum += of_file;
        frames += values.len() as f64;
        Ok(Ok(()))
    })?;
    messages::log(&format!("Done {} files; {} with errors.", counts.done, counts.failed));
    messages::log(&format!(
        "Overall likelihood per frame = {} over {} frames.",
        ratio(sum, frames),
        num(frames)
    ));
    output.finish()
}
