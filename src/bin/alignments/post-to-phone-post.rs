//! `post-to-phone-post`: converts posteriors of transition-ids or pdfs to posteriors of phones.

use anyhow::Context;
use kaldi_hmm::TransitionModel;
use kaldi_hmm::posterior::PhonesOfPdfs;
use kaldi_io::holder::PosteriorHolder;
use kaldi_io::read_object;
use nnet3::{messages, tables};
/// Convert posteriors of transition-ids to phone-level posteriors; with --transition-id-counts, convert posteriors of
/// pdfs (e.g. a network's).
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n post-to-phone-post 1.mdl \"ark:ali-to-post 1.ali|\" ark,t:-\n post-to-phone-post \
        --transition-id-counts=final.tacc 1.mdl ark:pdf_post.ark ark,t:-\nSee also: post-to-pdf-post, post-to-weights, \
        get-post-on-ali"
)]
pub struct Options {
    /// Rxfilename where vector of counts for transition-ids can be read (would normally come from training data
    /// alignments, e.g. from ali-to-post and then post-to-tacc with --per-pdf=false)
    #[arg(long, default_value = "")]
    transition_id_counts: String,
    model: String,
    post_rspecifier: String,
    phone_post_wspecifier: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let counts = &options.transition_id_counts;
    let phones_of_pdfs = match counts.as_str() {
        "" => None,
        file => {
            let phones = PhonesOfPdfs::new(&model, &read_object::<Vec<f32>>(file)?);
            Some(phones.with_context(|| counts.clone())?)
        }
    };
    let (from, to) = (&options.post_rspecifier, &options.phone_post_wspecifier);
    let output = tables::map::<PosteriorHolder, PosteriorHolder>(from, to, |_, posterior| {
        Ok(Ok(match &phones_of_pdfs {
            Some(phones) => phones.posterior_of_phones(&posterior)?,
            None => model.posterior_of_phones(&posterior)?,
        }))
    })?;
    messages::log(&format!("Done converting posteriors to phone posteriors for {} utterances.", output.done));
    output.finish()
}
