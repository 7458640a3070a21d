//! `gmm-global-get-post`: writes the largest posteriors of Gaussians at each frame.

use crate::background::mixture::read_scorer;
use crate::background::selecting::{Totals, number};
use crate::background::utterances::{self, Sources};
use anyhow::{Result, bail};
use kaldi_gmm::DiagGmm;
use kaldi_gmm::selection::posterior_entry;
use kaldi_io::holder::PosteriorHolder;
use nnet3::tables::{self, Output};

/// Precompute Gaussian indices and convert immediately to top-n posteriors (useful in iVector extraction with diagonal UBMs).
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: gmm-global-get-post --n=20 1.gmm \"ark:feature-command |\" \"ark,t:|gzip -c >post.1.gz\"\n\
    See also: gmm-gselect, fgmm-gselect, fgmm-global-gselect-to-post"
)]
pub struct Options {
    /// Number of Gaussians to keep per frame
    #[arg(long, default_value_t = 50)]
    n: i32,
    /// Minimum posterior we will output before pruning and renormalizing (e.g. 0.01)
    #[arg(long, default_value_t = 0.0)]
    min_post: f32,
    model_in: String,
    feature_rspecifier: String,
    post_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let least = options.min_post;
    if !(0.0..1.0).contains(&least) {
        bail!("--min-post={least}: expected a number from 0 to below 1");
    }
    let scorer = read_scorer::<DiagGmm>(&options.model_in)?;
    let n = number(options.n, scorer.num_gauss(), "")?;
    let mut output = Output::<PosteriorHolder>::open(&options.post_wspecifier)?;
    let mut totals = Totals::default();
    let sources =
        Sources { features: &options.feature_rspecifier, skip_wrong_dim: true, ..Sources::default() };
    let counts = utterances::for_each(&sources, &scorer, |utterance| {
        let (mut posterior, mut of_file) = (Vec::with_capacity(utterance.features.rows), 0.0);
        let mut add = |likelihoods: &[f32]| {
            let (entry, log_likelihood) = posterior_entry(likelihoods, n, least)?;
            posterior.push(entry.into_iter().map(|(g, posterior)| (g as i32, posterior)).collect());
            of_file += f64::from(log_likelihood);
            Ok(())
        };
        if let Err(error) = scorer.for_each_frame(utterance.features, |_, likelihoods| add(likelihoods)) {
            return tables::skip(error);
        }
        output.write(utterance.key, &posterior)?;
        totals.log_likelihood += of_file;
        totals.frames += utterance.features.rows;
        Ok(Ok(()))
    })?;
    totals.log(counts.done, counts.failed);
    output.finish()
}
