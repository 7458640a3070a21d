//! The work of `nnet3-latgen-faster` and its variants: each runs the network in its own way.

use std::time::Instant;

use anyhow::{Context, Result};
use kaldi_cli::log::Site;
use nnet3_core::forward::{BatchForward, GroupedForward, LoopedForward};
use nnet3_matrix::Device;
use nnet3_online::SharedGraph;

use crate::recognition::decoders::{self, DecoderOptions, Results, Tables};
use crate::recognition::decoding::{Decoding, Timing};
use nnet3::forward::{AcousticNetwork, Together, one_by_one};
use nnet3::options::forward::{BatchComputeOptions, LoopedOptions, SimpleOptions, compare_factor};
use nnet3::training_log;
use nnet3::utterances::Utterances;

/// Numbers of threads that decode, and of utterances on their way.
pub type Threads = (usize, usize);

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

/// Decodes utterances whose network output is computed as a whole, on a thread beside the search. `open` returns the
/// graph, if it is the same for all, and the utterances. Returns the program's exit status.
pub fn wholes(
    site: Site,
    (nnet_in, use_gpu): (&str, &str),
    (decoder, simple): (&DecoderOptions, &SimpleOptions),
    open: impl FnOnce(&Decoding) -> Result<(Option<SharedGraph>, Utterances)>,
    results: &Results,
) -> Result<u8> {
    let start = Instant::now();
    let (model, device) = decoder.load(nnet_in, use_gpu)?;
    compare_factor(nnet_in, simple.frame_subsampling_factor);
    let mut forward = grouped(&model, &device, simple, nnet_in)?;
    let decoding = decoder.decoding(&model)?;
    let mut outputs = results.open(site, &decoder.lattice)?;
    let (graph, utterances) = open(&decoding)?;
    let network = (&mut forward, Together::No);
    decoders::decode_with(graph.as_ref(), utterances, &decoding, &decoder.ivector, network, 1, &mut outputs)?;
    let frame_subsampling_factor = simple.frame_subsampling_factor;
    let status = outputs.finish(&Timing { start, frame_subsampling_factor, threads: None })?;
    training_log::compilation(forward.compiler());
    Ok(status)
}

/// Does the same as [`wholes`] on several threads, each of which runs the network and searches.
pub fn wholes_in_parallel(
    site: Site,
    use_gpu: &str,
    (decoder, simple): (&DecoderOptions, &SimpleOptions),
    (threads, most): Threads,
    tables: &Tables,
) -> Result<u8> {
    let start = Instant::now();
    let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
    compare_factor(&tables.nnet_in, simple.frame_subsampling_factor);
    let forwards = (0..threads).map(|_| grouped(&model, &device, simple, &tables.nnet_in));
    let mut forwards = forwards.collect::<Result<Vec<_>>>()?;
    let decoding = decoder.decoding(&model)?;
    let mut outputs = tables.results.open(site, &decoder.lattice)?;
    decoders::decode_in_parallel(tables, &decoding, &decoder.ivector, &mut forwards, most, &mut outputs)?;
    let frame_subsampling_factor = simple.frame_subsampling_factor;
    outputs.finish(&Timing { start, frame_subsampling_factor, threads: Some(threads) })
}

/// Decodes utterances whose chunks go through the network together. `threads` others search.
pub fn batches(
    site: Site,
    use_gpu: &str,
    (decoder, simple, batch): (&DecoderOptions, &SimpleOptions, &BatchComputeOptions),
    threads: usize,
    tables: &Tables,
) -> Result<u8> {
    let start = Instant::now();
    let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
    compare_factor(&tables.nnet_in, simple.frame_subsampling_factor);
    let (chunking, compiler) = (simple.chunking(&model.nnet)?, simple.compiler()?);
    let scaling = model.scaling.clone();
    let forward = BatchForward::new(&model.nnet, &device, chunking, batch.options(), scaling, compiler);
    let mut forward = forward.with_context(|| tables.nnet_in.clone())?;
    simple.observe(forward.executor());
    let decoding = decoder.decoding(&model)?;
    let mut outputs = tables.results.open(site, &decoder.lattice)?;
    let network = (&mut forward, Together::Yes);
    decoders::decode(tables, &decoding, &decoder.ivector, network, threads, &mut outputs)?;
    let frame_subsampling_factor = simple.frame_subsampling_factor;
    let status = outputs.finish(&Timing { start, frame_subsampling_factor, threads: Some(threads) })?;
    training_log::minibatches(forward.stats());
    training_log::compilation(forward.compiler());
    Ok(status)
}

/// Decodes utterances with a network that keeps its state from chunk to chunk: beside the search or, if there are
/// `threads`, on each of them.
pub fn looped(
    site: Site,
    use_gpu: &str,
    (decoder, looped): (&DecoderOptions, &LoopedOptions),
    threads: Option<Threads>,
    tables: &Tables,
) -> Result<u8> {
    let start = Instant::now();
    let (model, device) = decoder.load(&tables.nnet_in, use_gpu)?;
    compare_factor(&tables.nnet_in, looped.network.frame_subsampling_factor);
    let forward = looped.forward(model.nnet.clone(), &device, model.scaling.clone());
    let forward = forward.with_context(|| tables.nnet_in.clone())?;
    let compute = |mut forward: LoopedForward| {
        one_by_one(move |features, ivectors| forward.compute(features, ivectors))
    };
    let mut computes: Vec<_> =
        (1..threads.map_or(1, |(count, _)| count)).map(|_| compute(looped.another(&forward))).collect();
    computes.push(compute(forward));
    let decoding = decoder.decoding(&model)?;
    let mut outputs = tables.results.open(site, &decoder.lattice)?;
    match threads {
        None => {
            let network = (&mut computes[0], Together::No);
            decoders::decode(tables, &decoding, &decoder.ivector, network, 1, &mut outputs)?;
        }
        Some((_, most)) => {
            let computes = &mut computes;
            decoders::decode_in_parallel(tables, &decoding, &decoder.ivector, computes, most, &mut outputs)?;
        }
    }
    let frame_subsampling_factor = looped.network.frame_subsampling_factor;
    outputs.finish(&Timing { start, frame_subsampling_factor, threads: threads.map(|(count, _)| count) })
}
