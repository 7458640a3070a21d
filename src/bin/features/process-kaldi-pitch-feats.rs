//! `process-kaldi-pitch-feats`: makes features of pitch.

use super::pitch::noise;
use anyhow::Result;
use kaldi_cli::Group;
use kaldi_feat::pitch;
use kaldi_io::DenseMatrix;
use kaldi_io::holder::MatrixHolder;
use nnet3::options::pitch::PitchProcessArgs;
use nnet3::{messages, tables};

/// Post-process Kaldi pitch features, consisting of pitch and NCCF, into features suitable for input to ASR system.
///
/// Default setup produces three-dimensional features: the warped NCCF, the log-pitch with POV-weighted mean subtraction
/// over a
/// 1.5 second window, and the delta of log-pitch.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: compute-kaldi-pitch-feats [args] ark:- | process-kaldi-pitch-feats ark:- ark:feats.ark\n\
    See also: compute-kaldi-pitch-feats, compute-and-process-kaldi-pitch-feats"
)]
pub struct Options {
    #[command(flatten)]
    process: Group<PitchProcessArgs>,
    /// Seed for random number generator, used to add noise to delta-log-pitch features
    #[arg(long, default_value_t = 0)]
    srand: i32,
    feat_rspecifier: String,
    feats_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let process = options.process.options()?;
    let mut noise = noise(options.srand);
    // Invalid options are an error before output is written.
    pitch::process(&process, &mut noise, &DenseMatrix::default())?;
    let (from, to) = (&options.feat_rspecifier, &options.feats_wspecifier);
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |_, pitch| {
        match pitch::process(&process, &mut noise, &pitch) {
            Ok(features) => Ok(Ok(features)),
            Err(reason) => tables::skip(reason),
        }
    })?;
    messages::log(&format!("Post-processed pitch for {} utterances.", output.done));
    output.finish()
}
