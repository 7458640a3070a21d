//! `ali-to-pdf`: converts alignments of transition-ids to sequences of pdf-ids.

use kaldi_hmm::TransitionModel;
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::read_object;
use nnet3::{messages, tables};
/// Converts alignments (containing transition-ids) to pdf-ids, zero-based.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n ali-to-pdf 1.mdl ark:1.ali ark,t:-")]
pub struct Options {
    model: String,
    alignments_rspecifier: String,
    pdfs_wspecifier: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let (from, to) = (&options.alignments_rspecifier, &options.pdfs_wspecifier);
    let output = tables::map::<I32VectorHolder, I32VectorHolder>(from, to, |_, alignment| {
        let ids = model.transition_ids(&alignment)?;
        Ok(Ok(ids.into_iter().map(|id| model.pdf(id)).collect()))
    })?;
    messages::log(&format!("Converted {} alignments to pdf sequences.", output.done));
    output.finish_any()
}
