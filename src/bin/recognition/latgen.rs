//! The work of `nnet3-latgen-faster` and its variants: each runs the network in its own way.

use std::time::Instant;

use anyhow::{Context, Result};
use kaldi_cli::log::Site;
use nnet3_core::forward::{BatchForward, GroupedForward, LoopedForward};
use nnet3_matrix::Device;

use crate::recognition::decoders::{self, DecoderOptions, Inputs, Network, Results, Tables};
use crate::recognition::decoding::{Decoding, Timing};
use crate::recognition::mapped::Threads;
use nnet3::forward::{AcousticNetwork, Together, one_by_one};
use nnet3::options::forward::{BatchComputeOptions, LoopedOptions, SimpleOptions, compare_factor};
use nnet3::training_log;

/// A program, its options, and the value of `--use-gpu`.
pub struct Latgen<'o> {
    pub site: Site,
    pub use_gpu: &'o str,
    pub decoder: &'o DecoderOptions,
}

/// Prepares a network for utterances that are computed one at a time.
fn grouped<'m>(
    model: &'m AcousticNetwork,
    device: &Device,
    simple: &SimpleOptions,
    nnet_in: &str,
) -> Result<GroupedForward<'m>> {
    let (chunking, compiler) = (simple.chunking(&model.nnet)?, simple.compiler()?);
    let forward = GroupedForward::new(&model.nnet, device, chunking, model.scaling.clone(), compiler, 1);
    let mut forward = forward.with_context(|| nnet_in.to_owned())?;
    forward.executors().iter_mut().for_each(|executor| simple.observe(executor));
    Ok(forward)
}

impl Latgen<'_> {
    /// Decodes utterances whose network output is computed as a whole, on a thread beside the search. `open` returns the
    /// graph, if it is the same for all, and the utterances. Returns the program's exit status.
    pub fn wholes(
        &self,
        simple: &SimpleOptions,
        nnet_in: &str,
        open: impl FnOnce(&Decoding) -> Result<Inputs>,
        results: &Results,
    ) -> Result<u8> {
        let start = Instant::now();
        let &Latgen { site, use_gpu, decoder } = self;
        let (model, device) = decoder.load(nnet_in, use_gpu)?;
        compare_factor(nnet_in, simple.frame_subsampling_factor);
        let mut forward = grouped(&model, &device, simple, nnet_in)?;
        let decoding = decoder.decoding(&model)?;
        let mut outputs = results.open(site, &decoder.lattice)?;
        let network = Network { compute: &mut forward, together: Together::No, ivectors: &decoder.ivector };
        decoders::decode(open(&decoding)?, &decoding, network, 1, &mut outputs)?;
        let frame_subsampling_factor = simple.frame_subsampling_factor;
        let status = outputs.finish(&Timing { start, frame_subsampling_factor, threads: None })?;
        training_log::compilation(forward.compiler());
        Ok(status)
    }

    /// Does the same as [`wholes`](Self::wholes) on several threads, each of which runs the network and searches.
    pub fn wholes_in_parallel(
        &self,
        simple: &SimpleOptions,
        Threads { count, most }: Threads,
        tables: &Tables,
    ) -> Result<u8> {
        let start = Instant::now();
        let &Latgen { site, use_gpu, decoder } = self;
        let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
        compare_factor(&tables.nnet_in, simple.frame_subsampling_factor);
        let forwards = (0..count).map(|_| grouped(&model, &device, simple, &tables.nnet_in));
        let mut forwards = forwards.collect::<Result<Vec<_>>>()?;
        let decoding = decoder.decoding(&model)?;
        let mut outputs = tables.results.open(site, &decoder.lattice)?;
        let inputs = tables.open(&decoding)?;
        let ivectors = &decoder.ivector;
        decoders::decode_in_parallel(inputs, &decoding, ivectors, &mut forwards, most, &mut outputs)?;
        let frame_subsampling_factor = simple.frame_subsampling_factor;
        outputs.finish(&Timing { start, frame_subsampling_factor, threads: Some(count) })
    }

    /// Decodes utterances whose chunks go through the network together. `threads` others search.
    pub fn batches(
        &self,
        simple: &SimpleOptions,
        batch: &BatchComputeOptions,
        threads: usize,
        tables: &Tables,
    ) -> Result<u8> {
        let start = Instant::now();
        let &Latgen { site, use_gpu, decoder } = self;
        let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
        compare_factor(&tables.nnet_in, simple.frame_subsampling_factor);
        let (chunking, compiler) = (simple.chunking(&model.nnet)?, simple.compiler()?);
        let scaling = model.scaling.clone();
        let forward = BatchForward::new(&model.nnet, &device, chunking, batch.options(), scaling, compiler);
        let mut forward = forward.with_context(|| tables.nnet_in.clone())?;
        simple.observe(forward.executor());
        let decoding = decoder.decoding(&model)?;
        let mut outputs = tables.results.open(site, &decoder.lattice)?;
        let network = Network { compute: &mut forward, together: Together::Yes, ivectors: &decoder.ivector };
        decoders::decode(tables.open(&decoding)?, &decoding, network, threads, &mut outputs)?;
        let frame_subsampling_factor = simple.frame_subsampling_factor;
        let status = outputs.finish(&Timing { start, frame_subsampling_factor, threads: Some(threads) })?;
        training_log::minibatches(forward.stats());
        training_log::compilation(forward.compiler());
        Ok(status)
    }

    /// Decodes utterances with a network that keeps its state from chunk to chunk: beside the search or, if there are
    /// `threads`, on each of them.
    pub fn looped(&self, looped: &LoopedOptions, threads: Option<Threads>, tables: &Tables) -> Result<u8> {
        let start = Instant::now();
        let &Latgen { site, use_gpu, decoder } = self;
        let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
        compare_factor(&tables.nnet_in, looped.network.frame_subsampling_factor);
        let forward = looped.forward(model.nnet.clone(), &device, model.scaling.clone());
        let forward = forward.with_context(|| tables.nnet_in.clone())?;
        let compute = |mut forward: LoopedForward| {
            one_by_one(move |features, ivectors| forward.compute(features, ivectors))
        };
        let count = threads.map(|threads| threads.count);
        let mut computes: Vec<_> =
            (1..count.unwrap_or(1)).map(|_| compute(looped.another(&forward))).collect();
        computes.push(compute(forward));
        let decoding = decoder.decoding(&model)?;
        let mut outputs = tables.results.open(site, &decoder.lattice)?;
        let (inputs, ivectors) = (tables.open(&decoding)?, &decoder.ivector);
        match threads {
            None => {
                let network = Network { compute: &mut computes[0], together: Together::No, ivectors };
                decoders::decode(inputs, &decoding, network, 1, &mut outputs)?;
            }
            Some(Threads { most, .. }) => {
                let computes = &mut computes;
                decoders::decode_in_parallel(inputs, &decoding, ivectors, computes, most, &mut outputs)?;
            }
        }
        let frame_subsampling_factor = looped.network.frame_subsampling_factor;
        outputs.finish(&Timing { start, frame_subsampling_factor, threads: count })
    }
}
