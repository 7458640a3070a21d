//! `gmm-post-to-gpost`: computes posteriors of Gaussians from posteriors of transition-ids.

use anyhow::{Context, Result};
use kaldi_gmm::random::prune;
use kaldi_gmm::{Accumulator, pdf_posterior};
use kaldi_io::holder::{GaussPostHolder, PosteriorHolder};
use kaldi_io::{GaussPost, TableWriter};
use nnet3::gaussians::{self, LogLikelihood};
use nnet3::messages;
use nnet3_core::c_rand::CRand;

use crate::transforms::lda::check_rand_prune;

/// Convert state-level posteriors to Gaussian-level posteriors
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: gmm-post-to-gpost 1.mdl scp:feats.scp ark:1.post ark:1.gpost\nSee also: gmm-est-fmllr-gpost"
)]
pub struct Options {
    /// Write output in binary mode. It has no effect: the wspecifier gives the mode.
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// Randomized pruning of posteriors less than this
    #[arg(long, default_value_t = 0.0)]
    rand_prune: f32,
    model_in: String,
    feature_rspecifier: String,
    posteriors_rspecifier: String,
    gpost_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    check_rand_prune(options.rand_prune)?;
    let (transitions, model) = gaussians::read_model(&options.model_in)?;
    let mut output = TableWriter::<GaussPostHolder>::open(&options.gpost_wspecifier)?;
    let (mut rand, mut accumulator) = (CRand::default(), Accumulator::default());
    let mut all = LogLikelihood::default();
    let (features, posteriors) = (&options.feature_rspecifier, &options.posteriors_rspecifier);
    let missing = |key: &str| format!("No posteriors for utterance {key}");
    let counts = gaussians::for_each_with::<PosteriorHolder>(
        features,
        posteriors,
        missing,
        |key, features, posterior| {
            if let Err(reason) = gaussians::check_posteriors(posterior.len(), features) {
                return Ok(Err(reason));
            }
            model.check_features(features)?;
            let pdfs = pdf_posterior(&transitions, posterior).with_context(|| posteriors.clone())?;
            let mut gposts = GaussPost::with_capacity(pdfs.len());
            for (t, frame) in pdfs.iter().enumerate() {
                let mut entries = Vec::with_capacity(frame.len());
                for &(pdf, weight) in frame {
                    let row = features.row(t);
                    let (weights, log_likelihood) = accumulator.posteriors(model.pdf(pdf)?, row, weight)?;
                    all.add(LogLikelihood {
                        sum: f64::from(log_likelihood) * f64::from(weight),
                        frames: weight.into(),
                    });
                    let pruned = weights.iter().map(|&p| prune(p, options.rand_prune, &mut || rand.next()));
                    let pruned: Vec<f32> = pruned.collect();
                    if pruned.iter().any(|&p| p != 0.0) {
                        entries.push((pdf, pruned));
                    }
                }
                gposts.push(entries);
            }
            output.write(key, &gposts)?;
            Ok(Ok(()))
        },
    )?;
    output.close()?;
    messages::log(&format!(
        "Done {} files, {} with no posteriors, {} with other errors.",
        counts.done, counts.missing, counts.failed
    ));
    all.log_overall();
    messages::log("Done converting post to gpost");
    Ok(counts.status())
}
