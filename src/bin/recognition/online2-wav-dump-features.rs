//! `online2-wav-dump-features`: sound → features and i-vectors, as online programs give them to networks.

use std::sync::Arc;

use anyhow::{Result, bail};
use kaldi_feat::wave::{Wave, WaveHolder};
use kaldi_io::holder::{MatrixHolder, TokenVectorHolder};
use kaldi_io::{DenseMatrix, KaldiWriter, RandomReader};
use kaldi_online::{OnlineFeaturePipeline, PipelineModel, Speaker};
use nnet3::messages;
use nnet3::options::threads;
use nnet3::tables::{Input, Output};

use crate::recognition::options::online::PipelineArgs;

/// Reads in wav file(s) and processes them as in online2-wav-nnet3-latgen-faster, but instead of decoding, dumps the features.
/// Most of the parameters are set via configuration files.
///
/// If there are i-vectors, each row ends with the one that was known when the frame was complete. With --print-ivector-dim=true
/// only their dimension is printed, 0 if there are none.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: online2-wav-dump-features --config=conf/online.conf ark:spk2utt scp:wav.scp ark:feats.ark\n  \
    online2-wav-dump-features --config=conf/online.conf --print-ivector-dim=true"
)]
pub struct Options {
    /// Length of chunk size in seconds, that we process.
    #[arg(long, default_value_t = 0.05)]
    chunk_length: f32,
    /// If true, print iVector dimension (possibly zero) and exit. This version requires no arguments.
    #[arg(long)]
    print_ivector_dim: bool,
    #[command(flatten)]
    pipeline: PipelineArgs,
    #[arg(required_unless_present = "print_ivector_dim")]
    spk2utt_rspecifier: Option<String>,
    #[arg(required_unless_present = "print_ivector_dim")]
    wav_rspecifier: Option<String>,
    #[arg(required_unless_present = "print_ivector_dim")]
    feature_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let model = Arc::new(options.pipeline.read(|_| {}, threads::number("num-threads", 1)?)?);
    if options.print_ivector_dim {
        let mut out = KaldiWriter::create("-", false)?;
        out.write_str(&format!("{}\n", model.ivector_dim().unwrap_or(0)))?;
        out.finish()?;
        return Ok(0);
    }
    if !(options.chunk_length > 0.0 && options.chunk_length.is_finite()) {
        bail!("--chunk-length={}: expected a number above 0", options.chunk_length);
    }
    let tables = (&options.spk2utt_rspecifier, &options.wav_rspecifier, &options.feature_wspecifier);
    let (Some(spk2utt), Some(wavs), Some(feats)) = tables else {
        return Ok(kaldi_cli::usage_error::<Options>(
            "expected three arguments, but with --print-ivector-dim=true",
        ));
    };
    let mut waves = RandomReader::<WaveHolder>::open(wavs)?;
    let mut output = Output::<MatrixHolder>::open(feats)?;
    let mut frames = 0;
    Input::<TokenVectorHolder>::open(spk2utt)?.for_each(|_, utterances| {
        // Means of features are not carried over, as in the reference.
        let mut speaker = Speaker::default();
        for utterance in &utterances {
            let Some(wave) = waves.get(utterance)? else {
                output.skip(utterance, "Did not find audio");
                continue;
            };
            match features(&model, options.chunk_length, wave, &speaker) {
                Ok((matrix, after)) if matrix.rows > 0 => {
                    speaker.adaptation = after.adaptation;
                    frames += matrix.rows;
                    output.write(utterance, &matrix)?;
                }
                Ok(_) => output.skip(utterance, "Got no frames of data"),
                Err(error) => output.skip(utterance, error),
            }
        }
        Ok(())
    })?;
    waves.close()?;
    messages::log(&format!(
        "Processed {} utterances, {} with errors; {frames} frames in total.",
        output.done, output.failed
    ));
    output.finish()
}

/// The rows of an utterance, and what is known of the speaker then.
fn features(
    model: &Arc<PipelineModel>,
    chunk_length: f32,
    wave: &Wave,
    speaker: &Speaker,
) -> kaldi_online::Result<(DenseMatrix<f32>, Speaker)> {
    let mut pipeline = OnlineFeaturePipeline::new(model.clone(), speaker.clone())?;
    let rate = wave.sample_rate as f32;
    let samples = wave.channel(0);
    let mut matrix =
        DenseMatrix { cols: model.dim() + model.ivector_dim().unwrap_or(0), ..DenseMatrix::default() };
    let mut taken = 0;
    for piece in samples.chunks(((rate * chunk_length) as usize).max(1)) {
        taken += piece.len();
        pipeline.accept(rate, piece)?;
        if taken == samples.len() {
            pipeline.finish()?;
        }
        // A row waits for the i-vector of its frame.
        while matrix.rows < pipeline.ready() {
            let t = matrix.rows;
            let Some(frame) = pipeline.frame(t)? else { break };
            matrix.data.extend_from_slice(frame);
            if let Some(dim) = model.ivector_dim() {
                let ivector = pipeline.ivector(t)?.unwrap_or_else(|| vec![0.0; dim]);
                matrix.data.extend(ivector);
            }
            matrix.rows += 1;
        }
    }
    Ok((matrix, pipeline.speaker()?))
}
