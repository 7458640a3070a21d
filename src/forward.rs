//! Features in, outputs of a network out: what `nnet3-compute` and `nnet3-compute-batch` have in common.

use std::collections::VecDeque;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::log::{self, Site};
use kaldi_io::{DenseMatrix, SequentialReader, TableWriter, kaldi_warn};
use nnet3_core::forward::{BatchForward, GroupedForward, Ivectors, OutputScaling};
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;

use crate::options::device::{DeviceOptions, USE_GPU};
use crate::options::forward::{IvectorOptions, IvectorReader, SimpleOptions};
use crate::{messages, prepare, progress};

// Options of both programs.
#[derive(Args, Clone, Debug)]
pub struct ForwardOptions {
    /// Multiply the output by this
    #[arg(long, default_value_t = 1.0)]
    pub acoustic_scale: f32,
    /// Apply the exponential function to the output
    #[arg(long)]
    pub apply_exp: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = USE_GPU)]
    pub use_gpu: String,
    /// Subtract the logarithms of the priors stored with the model (which must then be an acoustic model, .mdl)
    #[arg(long)]
    pub use_priors: bool,
    #[command(flatten)]
    pub simple: SimpleOptions,
    #[command(flatten)]
    pub ivector: IvectorOptions,
    #[command(flatten)]
    pub device: DeviceOptions,
}

impl ForwardOptions {
    /// What becomes of outputs before they are written.
    pub fn finish(&self) -> impl FnMut(&str, DenseMatrix<f32>) -> Result<Option<DenseMatrix<f32>>> + use<> {
        let apply_exp = self.apply_exp;
        move |_, mut output| {
            if apply_exp {
                output.data.iter_mut().for_each(|value| *value = value.exp());
            }
            Ok(Some(output))
        }
    }

    /// The network in test mode on the device, with components merged where that changes nothing, and what becomes of its
    /// outputs.
    pub fn load(&self, rxfilename: &str, device: &Device) -> Result<(Nnet, OutputScaling)> {
        let scale = self.acoustic_scale;
        if scale.is_nan() || scale <= 0.0 {
            bail!("--acoustic-scale must be greater than 0, found {scale}");
        }
        let (mut nnet, log_priors) = if self.use_priors {
            let model = crate::models::load_acoustic(rxfilename)?;
            let log_priors = model.log_priors().with_context(|| rxfilename.to_owned())?;
            if log_priors.is_empty() {
                messages::warn(&format!("{rxfilename}: --use-priors=true, but the model has no priors"));
            }
            (model.into_nnet(), log_priors)
        } else {
            (crate::models::load(rxfilename)?, Vec::new())
        };
        prepare::for_running(&mut nnet)?;
        nnet.to_device(device);
        Ok((nnet, OutputScaling { log_priors, scale }))
    }
}

/// Something that computes outputs, at once or later, in the order of the utterances.
pub trait Compute {
    fn accept(&mut self, features: &DenseMatrix<f32>, ivectors: Ivectors<'_>) -> nnet3_core::Result<()>;
    /// No more utterances come.
    fn finish(&mut self) -> nnet3_core::Result<()>;
    /// The next output that is there.
    fn next_output(&mut self) -> Option<DenseMatrix<f32>>;
}

impl Compute for BatchForward<'_> {
    fn accept(&mut self, features: &DenseMatrix<f32>, ivectors: Ivectors<'_>) -> nnet3_core::Result<()> {
        BatchForward::accept(self, features, ivectors)
    }
    fn finish(&mut self) -> nnet3_core::Result<()> {
        BatchForward::finish(self)
    }
    fn next_output(&mut self) -> Option<DenseMatrix<f32>> {
        BatchForward::next_output(self)
    }
}

impl Compute for GroupedForward<'_> {
    fn accept(&mut self, features: &DenseMatrix<f32>, ivectors: Ivectors<'_>) -> nnet3_core::Result<()> {
        GroupedForward::accept(self, features, ivectors)
    }
    fn finish(&mut self) -> nnet3_core::Result<()> {
        GroupedForward::finish(self)
    }
    fn next_output(&mut self) -> Option<DenseMatrix<f32>> {
        GroupedForward::next_output(self)
    }
}

/// See [`one_by_one`].
pub struct OneByOne<F> {
    compute: F,
    output: Option<DenseMatrix<f32>>,
}

/// A computation that gives the output of an utterance when it gets its features.
pub fn one_by_one<F>(compute: F) -> OneByOne<F>
where
    F: FnMut(&DenseMatrix<f32>, Ivectors<'_>) -> nnet3_core::Result<DenseMatrix<f32>>,
{
    OneByOne { compute, output: None }
}

impl<F> Compute for OneByOne<F>
where
    F: FnMut(&DenseMatrix<f32>, Ivectors<'_>) -> nnet3_core::Result<DenseMatrix<f32>>,
{
    fn accept(&mut self, features: &DenseMatrix<f32>, ivectors: Ivectors<'_>) -> nnet3_core::Result<()> {
        self.output = Some((self.compute)(features, ivectors)?);
        Ok(())
    }
    fn finish(&mut self) -> nnet3_core::Result<()> {
        Ok(())
    }
    fn next_output(&mut self) -> Option<DenseMatrix<f32>> {
        self.output.take()
    }
}

/// What has been computed.
#[derive(Debug, Default)]
pub struct Counts {
    pub done: usize,
    pub failed: usize,
    /// Of the utterances that are done.
    pub frames: usize,
}

/// What is written of an utterance's output; `None` if nothing is, because it failed.
pub type Finish<'f> = &'f mut dyn FnMut(&str, DenseMatrix<f32>) -> Result<Option<DenseMatrix<f32>>>;

/// All utterances of the features, in their order; those that cannot be computed are left out with a warning.
pub fn compute(
    site: Site,
    ivectors: &IvectorOptions,
    (features, outputs): (&str, &str),
    compute: &mut impl Compute,
    finish: Finish<'_>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut ivectors = ivectors.open()?;
    let mut reader = SequentialReader::<MatrixHolder>::open(features)?;
    let mut next = reader.next()?;
    if next.is_none() {
        reader.close()?;
        log::error(&site, &format!("{features}: expected at least one utterance, found none"));
        return Ok(counts);
    }
    let mut writer = Writer {
        table: TableWriter::open(outputs)?,
        finish,
        waiting: VecDeque::new(),
        site,
        failed: Counts::default(),
    };
    let progress = progress::counter("utterances", features);
    while let Some((utterance, matrix)) = next {
        let accepted = accept(compute, &utterance, &matrix, &mut ivectors);
        let accepted = accepted.with_context(|| format!("utterance {utterance}"));
        if accepted.is_err() && compute.finish().is_ok() {
            // What came before is not lost.
            writer.write(compute)?;
        }
        match accepted? {
            Ok(()) => {
                writer.waiting.push_back((utterance, matrix.rows));
                writer.write(compute)?;
                counts.done += 1;
                counts.frames += matrix.rows;
            }
            Err(reason) => {
                counts.failed += 1;
                kaldi_warn!(site, "{reason}");
            }
        }
        progress.inc();
        next = reader.next()?;
    }
    reader.close()?;
    compute.finish()?;
    writer.write(compute)?;
    let failed = writer.failed;
    writer.table.close()?;
    counts.done -= failed.failed;
    counts.frames -= failed.frames;
    counts.failed += failed.failed;
    Ok(counts)
}

/// Gives an utterance to the computation, or the reason for which it is left out.
fn accept(
    compute: &mut impl Compute,
    utterance: &str,
    features: &DenseMatrix<f32>,
    ivectors: &mut IvectorReader,
) -> Result<std::result::Result<(), String>> {
    if features.rows == 0 {
        return Ok(Err(format!("Zero-length utterance: {utterance}")));
    }
    if let Some(found) = features.not_finite() {
        return Ok(Err(format!("{utterance}: the features' {found}")));
    }
    let kind = ivectors.kind();
    Ok(match ivectors.get(utterance)? {
        Some(ivectors) => Ok(compute.accept(features, ivectors)?),
        None => Err(format!("No {kind} available for utterance {utterance}")),
    })
}

struct Writer<'f> {
    table: TableWriter<MatrixHolder>,
    finish: Finish<'f>,
    /// Utterances whose outputs have not been written, and their frames.
    waiting: VecDeque<(String, usize)>,
    site: Site,
    /// Those of which nothing was written.
    failed: Counts,
}

impl Writer<'_> {
    /// Writes the outputs that are there.
    fn write(&mut self, compute: &mut impl Compute) -> Result<()> {
        while let Some(output) = compute.next_output() {
            let Some((utterance, frames)) = self.waiting.pop_front() else {
                bail!("an output without an utterance")
            };
            // (-inf can be the logarithm of a probability.)
            let nan = output.data.iter().any(|value| value.is_nan());
            let finished = match output.not_finite().filter(|_| nan) {
                Some(found) => {
                    kaldi_warn!(self.site, "{utterance}: the output's {found}; it is not written");
                    None
                }
                None => (self.finish)(&utterance, output)?,
            };
            match finished {
                Some(output) => self.table.write(&utterance, &output)?,
                None => {
                    self.failed.failed += 1;
                    self.failed.frames += frames;
                }
            }
        }
        Ok(())
    }
}
