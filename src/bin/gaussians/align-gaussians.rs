//! `align-gaussians`: aligns a data folder with a Gaussian model.

use anyhow::Result;
use kaldi_align::{Event, System, store};
use kaldi_cli::NOTHING_DONE;
use nnet3::options::threads;
use nnet3::progress;

use crate::gaussians::alignment_output::{STEPS, show, write};
use crate::gaussians::data_folder::{CepstraOptions, Data, read_lang, read_weights};
use crate::gaussians::texts::TextScoreOptions;

/// Align a data folder with a folder of train-gaussians, of Kaldi's scripts or of the Montreal Forced Aligner, in two passes if
/// the model is speaker-adaptive.
///
/// Writes ali.1.gz, trans.1, speakers_without_transform (those with too little speech), utterances.tsv and phones.ctm, and a copy of
/// the model.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: align-gaussians --num-threads=4 data/dev data/lang exp/tri exp/tri_ali\nSee also: train-gaussians"
)]
pub struct Options {
    /// Number of threads; -1 for one for each processor.
    #[arg(long, default_value_t = -1)]
    num_threads: i32,
    /// Factor of the probabilities of silence.
    #[arg(long, default_value_t = 1.0)]
    boost_silence: f32,
    /// Beam of the search; if it finds no path, one four times, and then one sixteen times as wide.
    #[arg(long, default_value_t = 10.0)]
    beam: f32,
    /// Virtual frames that draw the transform of a speaker towards the identity; 0 for the transform of maximum likelihood.
    #[arg(long, default_value_t = 0.0)]
    prior_frames: f64,
    /// File with a line for each utterance: its key, and a number from 0 to 1 for each word, by which its frames count in the transform of
    /// the speaker. Without it all words count alike.
    #[arg(long, default_value = "")]
    word_weights: String,
    #[command(flatten)]
    scores: TextScoreOptions,
    #[command(flatten)]
    cepstra: CepstraOptions,
    data_dir: String,
    lang_dir: String,
    model_dir: String,
    exp_dir: String,
}

pub fn run(options: Options) -> Result<u8> {
    let threads = match options.num_threads {
        -1 => threads::number("num-threads", threads::processors() as i64)?,
        wanted => threads::number("num-threads", wanted.into())?,
    };
    if !(options.beam > 0.0 && options.beam.is_finite()) {
        anyhow::bail!("--beam={}: expected a number above 0", options.beam);
    }
    if !(options.prior_frames >= 0.0 && options.prior_frames.is_finite()) {
        anyhow::bail!("--prior-frames={}: expected a number of 0 or more", options.prior_frames);
    }
    let lang = read_lang(&options.lang_dir)?;
    let mut system = System::load(&options.model_dir)?;
    store::check_phones(&options.model_dir, &lang.phones)?;
    system.options.boost_silence = options.boost_silence;
    system.options.beams.0 = vec![options.beam, 4.0 * options.beam, 16.0 * options.beam];
    let data = Data::read(&options.data_dir, &lang, &options.cepstra.or_beside(&options.model_dir))?;
    system.options.prior_frames = options.prior_frames;
    let weights = match options.word_weights.as_str() {
        "" => None,
        file => Some(read_weights(file, &data)?),
    };
    let bar = progress::steps("steps of alignment", STEPS);
    let aligned = system.align_weighted(
        &lang,
        &data.utterances,
        weights.as_deref(),
        threads,
        &mut |event: Event| show(event, &bar),
    )?;
    options.scores.write(&system, &lang, &data, &aligned, threads)?;
    drop(bar);
    system.save(&options.exp_dir, &lang.phones)?;
    data.write_options(&options.exp_dir)?;
    let done = write(&options.exp_dir, &data, &aligned, &lang.phones)?;
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
