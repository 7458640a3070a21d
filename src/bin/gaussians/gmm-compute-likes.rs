//! `gmm-compute-likes`: computes the log-likelihoods of frames by all pdfs of a model.

use anyhow::Result;
use kaldi_gmm::Likelihoods;
use kaldi_io::holder::MatrixHolder;
use nnet3::{gaussians, messages, tables};

/// Compute log-likelihoods from GMM-based model (outputs matrices of log-likelihoods indexed by (frame, pdf))
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-compute-likes 1.mdl scp:train.scp ark:likes.ark")]
pub struct Options {
    model_in: String,
    features_rspecifier: String,
    likes_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (_, model) = gaussians::read_model(&options.model_in)?;
    let (from, to) = (&options.features_rspecifier, &options.likes_wspecifier);
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |_, features| {
        model.check_features(&features)?;
        match Likelihoods::new(&model, &features).and_then(|likelihoods| likelihoods.matrix()) {
            Ok(likelihoods) => Ok(Ok(likelihoods)),
            Err(error) => tables::skip(error),
        }
    })?;
    messages::log(&format!("gmm-compute-likes: computed likelihoods for {} utterances.", output.done));
    output.finish_any()
}
