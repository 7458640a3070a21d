//! From features to outputs of a network: the common part of `nnet3-compute` and `nnet3-compute-batch`.

use std::collections::VecDeque;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_cli::kaldi_warn;
use kaldi_cli::log::{self, Site};
use kaldi_fst::Fst;
use kaldi_io::holder::{Holder, MatrixHolder};
use kaldi_io::{DenseMatrix, TableWriter};
use nnet3_core::forward::xvector::BatchedXvectors;
use nnet3_core::forward::{BatchForward, GroupedForward, Ivectors, OutputScaling};
use nnet3_core::nnet::Nnet;
use nnet3_matrix::{Device, WeightForm};
pub use nnet3_online::AcousticNetwork;
use nnet3_online::Notice;

use crate::options::device::{DeviceOptions, USE_GPU};
use crate::options::forward::{IvectorOptions, IvectorReader, SimpleOptions, log_compiled};
use crate::options::weights::WeightsOptions;
use crate::tables::{self, Outcome, Skip};
use crate::utterances::{Utterance, Utterances};
use crate::{messages, prepare};

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
    #[command(flatten)]
    pub weights: WeightsOptions,
}

impl ForwardOptions {
    /// Returns the processing of outputs before they are written.
    pub fn finish(&self) -> impl FnMut(&str, DenseMatrix<f32>) -> Result<Option<DenseMatrix<f32>>> + use<> {
        let apply_exp = self.apply_exp;
        move |_, mut output| {
            if apply_exp {
                output.data.iter_mut().for_each(|value| *value = value.exp());
            }
            Ok(Some(output))
        }
    }

    /// Loads the network in test mode on the device, with components merged if that does not change outputs, and
    /// returns the scaling of its outputs.
    pub fn load(&self, rxfilename: &str, device: &Device) -> Result<(Nnet, OutputScaling)> {
        let (scale, form) = (self.acoustic_scale, self.weights.form(device)?);
        if scale.is_nan() || scale <= 0.0 {
            bail!("--acoustic-scale must be greater than 0, found {scale}");
        }
        if self.use_priors {
            let AcousticNetwork { nnet, scaling, .. } =
                load_acoustic_network(rxfilename, device, scale, form)?;
            if scaling.log_priors.is_empty() {
                messages::warn(&format!("{rxfilename}: --use-priors=true, but the model has no priors"));
            }
            return Ok((nnet, scaling));
        }
        Ok((load_to_run(rxfilename, device, form)?, scale.into()))
    }
}

/// Loads a raw network, or the network of an acoustic model, in test mode on the device, for forward runs only.
/// Components are merged if the outputs do not change.
pub fn load_to_run(rxfilename: &str, device: &Device, form: WeightForm) -> Result<Nnet> {
    on_device(crate::models::load(rxfilename)?, device, form)
}

/// Loads an acoustic model with a network for forward runs only ([`AcousticNetwork::load`]).
pub fn load_acoustic_network(
    rxfilename: &str,
    device: &Device,
    acoustic_scale: f32,
    form: WeightForm,
) -> Result<AcousticNetwork> {
    let (network, notices) = AcousticNetwork::load(rxfilename, device, acoustic_scale, form)?;
    notices.iter().for_each(notice);
    Ok(network)
}

/// Logs an event while a model is opened.
pub fn notice(notice: &Notice) {
    match notice {
        Notice::Merged(report) => prepare::log_merged(report),
        Notice::Compiled(time) => log_compiled(*time),
        notice => messages::warn(&notice.to_string()),
    }
}

fn on_device(mut nnet: Nnet, device: &Device, form: WeightForm) -> Result<Nnet> {
    prepare::for_running(&mut nnet)?;
    nnet.to_device(device);
    nnet.arrange_weights(device, form);
    Ok(nnet)
}

/// Computes outputs, at once or later, in the order of the utterances.
pub trait Compute {
    fn accept(&mut self, features: &DenseMatrix<f32>, ivectors: Ivectors<'_>) -> nnet3_core::Result<()>;
    /// No more utterances come.
    fn finish(&mut self) -> nnet3_core::Result<()>;
    /// Returns the next finished output.
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

/// Networks that make vectors of utterances have no i-vectors.
impl Compute for BatchedXvectors<'_> {
    fn accept(&mut self, features: &DenseMatrix<f32>, _: Ivectors<'_>) -> nnet3_core::Result<()> {
        BatchedXvectors::accept(self, features)
    }
    fn finish(&mut self) -> nnet3_core::Result<()> {
        BatchedXvectors::finish(self)
    }
    fn next_output(&mut self) -> Option<DenseMatrix<f32>> {
        BatchedXvectors::next_output(self)
    }
}

/// See [`one_by_one`].
pub struct OneByOne<F> {
    compute: F,
    output: Option<DenseMatrix<f32>>,
}

/// Makes a computation that returns the output of an utterance at once.
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

/// An utterance after the network.
pub struct Output {
    pub key: String,
    /// The graph that belongs to it, where each utterance has its own.
    pub graph: Option<Fst>,
    /// The number of frames of its features.
    pub frames: usize,
    /// The network's output, or the reason for which there is none.
    pub output: Outcome<DenseMatrix<f32>>,
}

/// Choice: outputs of utterances may wait for others, so that their chunks are computed together, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Together {
    /// An output is ready as soon as the utterance has been read, and does not depend on other utterances.
    No,
    Yes,
}

/// Calls `give` with each utterance, in order, until it returns false.
pub fn outputs(
    mut utterances: Utterances,
    ivectors: &mut IvectorReader,
    compute: &mut impl Compute,
    together: Together,
    mut give: impl FnMut(Output) -> Result<bool>,
) -> Result<()> {
    let mut waiting = VecDeque::new();
    while let Some(Utterance { key, graph, features }) = utterances.read()? {
        let frames = features.as_ref().map_or(0, |features| features.rows);
        let accepted = match features {
            Ok(features) => accept(compute, &key, &features, ivectors),
            Err(skip) => Ok(Err(skip)),
        };
        let accepted = match accepted {
            Ok(Ok(())) if together == Together::No => Ok(compute.finish().map(Ok)?),
            accepted => accepted.with_context(|| format!("utterance {key}")),
        };
        if accepted.is_err() && compute.finish().is_ok() {
            // Earlier outputs are not lost.
            give_finished(&mut waiting, compute, &mut give)?;
        }
        waiting.push_back(Output { key, graph, frames, output: accepted?.map(|()| DenseMatrix::new(0, 0)) });
        if !give_finished(&mut waiting, compute, &mut give)? {
            return Ok(());
        }
    }
    utterances.close()?;
    compute.finish()?;
    give_finished(&mut waiting, compute, &mut give)?;
    Ok(())
}

/// Passes the finished utterances to `give`, in order. Returns false if `give` returned false.
fn give_finished(
    waiting: &mut VecDeque<Output>,
    compute: &mut impl Compute,
    give: &mut impl FnMut(Output) -> Result<bool>,
) -> Result<bool> {
    while let Some(first) = waiting.front_mut() {
        if let Ok(output) = &mut first.output {
            let Some(computed) = compute.next_output() else { break };
            *output = computed;
        }
        let Some(first) = waiting.pop_front() else { break };
        if !give(first)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Counts of computed utterances.
#[derive(Debug, Default)]
pub struct Counts {
    pub done: usize,
    pub failed: usize,
    /// The frames of the utterances that are done.
    pub frames: usize,
}

/// Returns the matrix to write for an utterance's output; `None` if the utterance failed.
pub type Finish<'f> = &'f mut dyn FnMut(&str, DenseMatrix<f32>) -> Result<Option<DenseMatrix<f32>>>;

/// Names of the tables of features and of outputs.
#[derive(Clone, Copy)]
pub struct Tables<'t> {
    pub features: &'t str,
    pub outputs: &'t str,
}

/// Computes all utterances of the features, in their order. If an utterance cannot be computed, it is left out with a
/// warning.
pub fn compute(
    site: Site,
    ivectors: &IvectorOptions,
    tables: Tables<'_>,
    compute: &mut impl Compute,
    finish: Finish<'_>,
) -> Result<Counts> {
    compute_into::<MatrixHolder>(site, &mut ivectors.open()?, tables, compute, |key, _, output| {
        finish(key, output)
    })
}

/// Does the same as [`compute`] for tables of any kind. `finish` also gets the number of frames.
pub fn compute_into<H: Holder>(
    site: Site,
    ivectors: &mut IvectorReader,
    Tables { features, outputs: table }: Tables<'_>,
    compute: &mut impl Compute,
    mut finish: impl FnMut(&str, usize, DenseMatrix<f32>) -> Result<Option<H::T>>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut utterances = Utterances::of_features(features)?;
    if utterances.is_empty()? {
        utterances.close()?;
        log::error(&site, &format!("{features}: expected at least one utterance, found none"));
        return Ok(counts);
    }
    let mut table = TableWriter::<H>::open(table)?;
    outputs(utterances, ivectors, compute, Together::Yes, |Output { key, frames, output, .. }| {
        let output = output.and_then(|output| match output.not_a_number() {
            Some(found) => Err(Skip::Reason(format!("the output's {found}; it is not written"))),
            None => Ok(output),
        });
        let finished = match output {
            Ok(output) => finish(&key, frames, output)?,
            Err(skip) => {
                kaldi_warn!(site, "{}", skip.sentence(&key));
                None
            }
        };
        match finished {
            Some(output) => {
                table.write(&key, &output)?;
                counts.done += 1;
                counts.frames += frames;
            }
            None => counts.failed += 1,
        }
        Ok(true)
    })?;
    table.close()?;
    Ok(counts)
}

/// Gives an utterance to the computation, if it is not left out.
fn accept(
    compute: &mut impl Compute,
    utterance: &str,
    features: &DenseMatrix<f32>,
    ivectors: &mut IvectorReader,
) -> Result<Outcome> {
    if let Err(skip) = check(utterance, features) {
        return Ok(Err(skip));
    }
    let kind = ivectors.kind();
    match ivectors.get(utterance)? {
        Some(ivectors) => Ok(Ok(compute.accept(features, ivectors)?)),
        None => tables::skip_as(format!("No {kind} available for utterance {utterance}")),
    }
}

/// Returns success, or why the features cannot go through a network.
pub fn check(utterance: &str, features: &DenseMatrix<f32>) -> Outcome {
    if features.rows == 0 {
        return Err(Skip::Sentence(format!("Zero-length utterance: {utterance}")));
    }
    match features.not_finite() {
        Some(found) => Err(Skip::Reason(format!("the features' {found}"))),
        None => Ok(()),
    }
}
