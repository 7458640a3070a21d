//! `select-voiced-frames`: keeps the frames with voice.

use anyhow::Result;
use kaldi_io::RandomReader;
use kaldi_io::holder::{MatrixHolder, VectorHolder};
use kaldi_speaker::vad::select_voiced;
use nnet3::{messages, tables};

/// Selects a subset of frames of the input files, based on the output of compute-vad or a similar program. That is a
/// vector of length num-frames, containing 1.0 for voiced, 0.0 for unvoiced.
///
/// If an utterance has no voiced frames, or if its decisions do not fit, it is left out with a warning.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: select-voiced-frames scp:feats.scp scp:vad.scp ark:-\nSee also: compute-vad")]
pub struct Options {
    feats_rspecifier: String,
    vad_rspecifier: String,
    feats_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mut table = RandomReader::<VectorHolder>::open(&options.vad_rspecifier)?;
    let (from, to) = (&options.feats_rspecifier, &options.feats_wspecifier);
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |key, features| {
        if features.rows == 0 {
            return tables::skip_as(tables::no_frames(key));
        }
        let Some(decisions) = table.get(key)? else {
            return tables::skip_as(format!(
                "No VAD input found for utterance {key} ({})",
                options.vad_rspecifier
            ));
        };
        match select_voiced(&features, decisions) {
            Ok(selected) if selected.rows == 0 => {
                tables::skip_as(format!("No features were judged as voiced for utterance {key}"))
            }
            Ok(selected) => Ok(Ok(selected)),
            Err(reason) => tables::skip(reason),
        }
    })?;
    table.close()?;
    let (done, failed) = (output.done, output.failed);
    messages::log(&format!(
        "Done selecting voiced frames; processed {done} utterances, {failed} had errors."
    ));
    output.finish()
}
