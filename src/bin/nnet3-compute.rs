//! Features in, outputs of a network out.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Parser;
use kaldi_io::cli;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::log::{self, Site, num};
use kaldi_io::{DenseMatrix, SequentialReader, TableWriter, kaldi_log, kaldi_warn};
use nnet3::options::device::{self, DeviceOptions};
use nnet3::options::forward::{IvectorOptions, IvectorReader, SimpleOptions};
use nnet3::{progress, training_log};
use nnet3_core::forward::{Forward, Ivectors, LoopedForward};
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;

const SITE: Site = Site::main("nnet3-compute.cc", 1);
const LOOPED: Site = Site::new("CompileLooped", "nnet-compile-looped.cc", 1);

/// Propagate features through a raw neural network and write its output.
///
/// If --apply-exp=true, apply the exponential function to the output before writing it.
#[derive(Parser)]
#[command(
    after_help = "e.g.: nnet3-compute final.raw scp:feats.scp ark:nnet_prediction.ark\nSee also: nnet3-compute-from-egs"
)]
struct Options {
    /// Multiply the output by this
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// Apply the exponential function to the output
    #[arg(long)]
    apply_exp: bool,
    /// yes|no|optional|wait: which device to use
    #[arg(long, default_value = "yes")]
    use_gpu: String,
    /// Keep the network's state from chunk to chunk, as in online decoding: --frames-per-chunk new frames at a time, and
    /// all of the past as left context
    #[arg(long)]
    looped: bool,
    /// Subtract the logarithms of the priors stored with the model (which must then be an acoustic model, .mdl)
    #[arg(long)]
    use_priors: bool,
    #[command(flatten)]
    simple: SimpleOptions,
    #[command(flatten)]
    ivector: IvectorOptions,
    #[command(flatten)]
    device: DeviceOptions,
    /// Network in test mode or not; it is used in test mode
    nnet_in: String,
    features_rspecifier: String,
    matrix_wspecifier: String,
}

fn main() -> ExitCode {
    cli::run(run)
}

fn run(options: Options) -> Result<u8> {
    let start = Instant::now();
    if options.use_priors {
        bail!("--use-priors=true needs an acoustic model (.mdl), which this program cannot read yet");
    }
    if options.acoustic_scale <= 0.0 {
        bail!("--acoustic-scale must be greater than 0, found {}", options.acoustic_scale);
    }
    let device = device::select(&options.use_gpu)?;
    let nnet = load(&options.nnet_in, &device)?;
    let counts = if options.looped {
        let (simple, compiling) = (&options.simple, Instant::now());
        let (streaming, optimize) = (simple.streaming()?, simple.optimization.optimize_options()?);
        let forward = LoopedForward::new(nnet, &device, &streaming, options.acoustic_scale, &optimize);
        let mut forward = forward.with_context(|| options.nnet_in.clone())?;
        simple.observe(forward.executor());
        kaldi_log!(LOOPED, "Spent {} seconds in looped compilation.", num(compiling.elapsed().as_secs_f64()));
        compute(&options, &mut |features, ivectors| forward.compute(features, ivectors))?
    } else {
        let chunking = options.simple.chunking(&nnet)?;
        let compiler = options.simple.compiler()?;
        let forward = Forward::new(&nnet, &device, chunking, options.acoustic_scale, compiler);
        let mut forward = forward.with_context(|| options.nnet_in.clone())?;
        options.simple.observe(forward.executor());
        let counts = compute(&options, &mut |features, ivectors| forward.compute(features, ivectors))?;
        training_log::compilation(forward.compiler());
        counts
    };
    let elapsed = start.elapsed().as_secs_f64();
    let factor = elapsed * 100.0 / counts.frames as f64;
    kaldi_log!(
        SITE,
        "Time taken {}s: real-time factor assuming 100 frames/sec is {}",
        num(elapsed),
        num(factor)
    );
    kaldi_log!(SITE, "Done {} utterances, failed for {}", counts.done, counts.failed);
    Ok(if counts.done > 0 { 0 } else { cli::NOTHING_DONE })
}

/// What has been computed.
#[derive(Default)]
struct Counts {
    done: usize,
    failed: usize,
    /// Of the utterances that are done.
    frames: usize,
}

/// The output of the network for an utterance.
type Compute<'a> =
    dyn FnMut(&DenseMatrix<f32>, Ivectors<'_>) -> nnet3_core::error::Result<DenseMatrix<f32>> + 'a;

/// All utterances, in the order of the features.
fn compute(options: &Options, forward: &mut Compute<'_>) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut ivectors = options.ivector.open()?;
    let mut features = SequentialReader::<MatrixHolder>::open(&options.features_rspecifier)?;
    let mut next = features.next()?;
    if next.is_none() {
        features.close()?;
        let table = &options.features_rspecifier;
        log::error(&SITE, &format!("{table}: expected at least one utterance, found none"));
        return Ok(counts);
    }
    let mut writer = TableWriter::<MatrixHolder>::open(&options.matrix_wspecifier)?;
    let progress = progress::counter("utterances");
    while let Some((utterance, matrix)) = next {
        let output = compute_utterance(forward, &utterance, &matrix, &mut ivectors);
        match output.with_context(|| format!("utterance {utterance}"))? {
            Ok(mut output) => {
                if options.apply_exp {
                    output.data.iter_mut().for_each(|value| *value = value.exp());
                }
                writer.write(&utterance, &output)?;
                counts.done += 1;
                counts.frames += matrix.rows;
            }
            Err(reason) => {
                counts.failed += 1;
                progress.suspend(|| kaldi_warn!(SITE, "{reason}"));
            }
        }
        progress.inc(1);
        next = features.next()?;
    }
    features.close()?;
    writer.close()?;
    progress.finish_and_clear();
    Ok(counts)
}

/// The output for an utterance, or the reason for which it is left out.
fn compute_utterance(
    forward: &mut Compute<'_>,
    utterance: &str,
    features: &DenseMatrix<f32>,
    ivectors: &mut IvectorReader,
) -> Result<std::result::Result<DenseMatrix<f32>, String>> {
    if features.rows == 0 {
        return Ok(Err(format!("Zero-length utterance: {utterance}")));
    }
    let kind = ivectors.kind();
    Ok(match ivectors.get(utterance)? {
        Some(ivectors) => Ok(forward(features, ivectors)?),
        None => Err(format!("No {kind} available for utterance {utterance}")),
    })
}

/// The network in test mode, with components merged where that changes nothing.
fn load(rxfilename: &str, device: &Device) -> Result<Nnet> {
    let mut nnet = Nnet::load(rxfilename)?;
    nnet3::prepare::for_test(&mut nnet)?;
    nnet.to_device(device);
    Ok(nnet)
}
