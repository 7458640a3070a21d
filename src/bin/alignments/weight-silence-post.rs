//! `weight-silence-post`: multiplies the posteriors of silence phones.

use anyhow::{Context, Result};
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::PosteriorHolder;
use kaldi_io::read_object;
use kaldi_tree::phone_sets::parse_phones;
use nnet3::{messages, tables};

/// Apply weight to silences in posts.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n weight-silence-post 0.0 1:2:3 1.mdl ark:1.post ark:nosil.post")]
pub struct Options {
    /// If true, rather than weighting the individual posteriors, apply the weighting to the whole frame: i.e. on time
    /// t, scale all posterior entries by p(sil)*silence-weight + p(non-sil)*1.0
    #[arg(long, default_value_t = false)]
    distribute: bool,
    silence_weight: String,
    silence_phones: String,
    model: String,
    posteriors_rspecifier: String,
    posteriors_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (weight, list) = (&options.silence_weight, &options.silence_phones);
    let weight: f32 = weight
        .parse()
        .with_context(|| format!("Invalid silence-weight parameter: expected float, got \"{weight}\""))?;
    let phones = match list.is_empty() {
        true => Vec::new(),
        false => parse_phones(list).with_context(|| format!("Invalid silence-phones string {list}"))?,
    };
    if phones.is_empty() {
        messages::warn("No silence phones, this will have no effect");
    }
    let model: TransitionModel = read_object(&options.model)?;
    let (from, to) = (&options.posteriors_rspecifier, &options.posteriors_wspecifier);
    let output = tables::map::<PosteriorHolder, PosteriorHolder>(from, to, |_, mut posterior| {
        if options.distribute {
            model.weight_frames_by_phones(&mut posterior, &phones, weight)?;
        } else {
            model.weight_phones(&mut posterior, &phones, weight)?;
        }
        Ok(Ok(posterior))
    })?;
    messages::log(&format!("Done {} posteriors.", output.done));
    output.finish()
}
