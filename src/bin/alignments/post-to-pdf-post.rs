//! `post-to-pdf-post`: converts posteriors of transition-ids to posteriors of pdfs.

use kaldi_hmm::TransitionModel;
use kaldi_io::holder::PosteriorHolder;
use kaldi_io::read_object;
use nnet3::{messages, tables};
/// This program turns per-frame posteriors, which have transition-ids as the integers, into pdf-level posteriors.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n post-to-pdf-post 1.mdl ark:- ark:-\nSee also: post-to-phone-post, post-to-weights, \
        get-post-on-ali"
)]
pub struct Options {
    model_file: String,
    posteriors_rspecifier: String,
    posteriors_wspecifier: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let model: TransitionModel = read_object(&options.model_file)?;
    let (from, to) = (&options.posteriors_rspecifier, &options.posteriors_wspecifier);
    let output = tables::map::<PosteriorHolder, PosteriorHolder>(from, to, |_, posterior| {
        Ok(Ok(model.posterior_of_pdfs(&posterior)?))
    })?;
    messages::log(&format!(
        "Done converting posteriors to pdf-level posteriors for {} utterances.",
        output.done
    ));
    output.finish_any()
}
