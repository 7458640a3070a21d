//! `ivector-compute-plda`: estimates a PLDA model.

use crate::speakers::grouped;
use anyhow::{Context, Result, bail};
use kaldi_cli::log::num;
use kaldi_speaker::plda_estimate::estimate;
use kaldi_speaker::vectors::norm;
use nnet3::messages;

/// Computes a Plda object (for Probabilistic Linear Discriminant Analysis) from a set of iVectors. Uses speaker
/// information from a spk2utt file to compute within and between class variances.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-compute-plda ark:spk2utt ark,s,cs:ivectors.ark plda\n\
    See also: ivector-adapt-plda, ivector-copy-plda, ivector-plda-scoring")]
pub struct Options {
    /// Number of iterations of E-M used for PLDA estimation
    #[arg(long, default_value_t = 10)]
    num_em_iters: i32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    spk2utt_rspecifier: String,
    ivector_rspecifier: String,
    plda_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Ok(iterations) = usize::try_from(options.num_em_iters) else {
        bail!("--num-em-iters={}: expected a number that is not negative", options.num_em_iters);
    };
    let vectors = grouped::read(&options.spk2utt_rspecifier, &options.ivector_rspecifier)?;
    messages::log(&format!(
        "Accumulated stats from {} speakers ({} with no utterances), consisting of {} utterances ({} absent from input).",
        vectors.speakers.len(),
        vectors.without,
        vectors.present,
        vectors.absent
    ));
    let found =
        estimate(&vectors.speakers, iterations).with_context(|| options.ivector_rspecifier.clone())?;
    for (i, (within, between)) in found.traces.iter().enumerate() {
        messages::log(&format!("Plda estimation iteration {i} of {iterations}"));
        messages::log(&format!("Trace of within-class variance is {}", num(*within)));
        messages::log(&format!("Trace of between-class variance is {}", num(*between)));
    }
    let psi: Vec<String> = found.model.psi().iter().map(|&x| num(x)).collect();
    messages::log(&format!("Norm of mean of iVector distribution is {}", num(norm(found.model.mean()))));
    messages::log(&format!(
        "Diagonal of between-class variance in normalized space is  [ {} ]",
        psi.join(" ")
    ));
    kaldi_io::write_object(&options.plda_out, options.mode.binary, &found.model)?;
    Ok(0)
}
