//! Posteriors of listed Gaussians.

use anyhow::Result;
use kaldi_cli::log::{num, ratio};
use kaldi_gmm::selection::{prune, softmax};
use kaldi_io::Posterior;
use kaldi_io::holder::PosteriorHolder;
use nnet3::messages;
use nnet3::tables::{self, Output};

use crate::background::mixture::{Mixture, read_scorer};
use crate::background::utterances::{self, Sources};

// Options and arguments of programs that turn lists into posteriors.
#[derive(clap::Args)]
pub struct PosteriorOptions {
    /// If nonzero, posteriors below this threshold will be pruned away and the rest will be renormalized to sum to one.
    #[arg(long, default_value_t = 0.0)]
    min_post: f32,
    model_in: String,
    feature_rspecifier: String,
    gselect_rspecifier: String,
    post_wspecifier: String,
}

pub fn run<M: Mixture>(options: &PosteriorOptions) -> Result<u8> {
    let scorer = read_scorer::<M>(&options.model_in)?;
    let mut output = Output::<PosteriorHolder>::open(&options.post_wspecifier)?;
    let (mut log_likelihood, mut frames, mut entries) = (0.0, 0.0, 0.0);
    let sources = Sources {
        features: &options.feature_rspecifier,
        lists: &options.gselect_rspecifier,
        ..Sources::default()
    };
    let counts = utterances::for_each(&sources, &scorer, |utterance| {
        let lists = utterance.lists.as_deref().unwrap_or_default();
        let (mut of_file, mut posterior) = (0.0, Posterior::new());
        for (t, list) in lists.iter().enumerate() {
            let mut values = scorer.listed(utterance.features.row(t), list);
            match softmax(&mut values) {
                Ok(value) => of_file += f64::from(value),
                Err(error) => return tables::skip(format!("frame {t}: {error}")),
            }
            if options.min_post != 0.0 {
                prune(&mut values, options.min_post);
            }
            let pairs = list.iter().map(|&g| g as i32).zip(values);
            posterior.push(pairs.filter(|pair| pair.1 != 0.0).collect::<Vec<_>>());
        }
        output.write(utterance.key, &posterior)?;
        log_likelihood += of_file;
        frames += lists.len() as f64;
        entries += posterior.iter().map(Vec::len).sum::<usize>() as f64;
        Ok(Ok(()))
    })?;
    messages::log(&format!("Done {} files; {} had errors.", counts.done, counts.failed));
    messages::log(&format!(
        "Overall loglike per frame is {} with {} entries per frame,  over {} frames",
        ratio(log_likelihood, frames),
        ratio(entries, frames),
        num(frames)
    ));
    output.finish()
}
