//! `gmm-latgen-faster-parallel`: decodes features with a Gaussian model into lattices, several utterances at a time.

use std::time::Instant;

use anyhow::Result;
use kaldi_cli::log::Site;
use nnet3::messages;
use nnet3::utterances::Utterance;
use nnet3::workers::{Give, in_parallel};

use crate::recognition::decoders::Inputs;
use crate::recognition::decoding::{Decoded, Decoding, LatticeOptions, Timing};
use crate::recognition::gaussians::{Acoustics, GaussianTables};
use crate::recognition::mapped::{ThreadArgs, Threads};

const SITE: Site = Site::main("gmm-latgen-faster-parallel.cc", 208);

/// Decode features using GMM-based model. Uses multiple decoding threads, but interface and behavior is otherwise the
/// same as gmm-latgen-faster
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: gmm-latgen-faster-parallel --num-threads=4 final.mdl HCLG.fst scp:feats.scp ark:lat.ark\n\
    See also: gmm-latgen-faster"
)]
pub struct Options {
    #[command(flatten)]
    threads: ThreadArgs,
    /// Terms of a mixture below the largest by more than this (in logarithms) are left out, if it is above 0
    #[arg(long, default_value_t = 0.0)]
    log_sum_exp_prune: f32,
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    #[command(flatten)]
    lattice: LatticeOptions,
    #[command(flatten)]
    tables: GaussianTables,
}

pub fn run(options: Options) -> Result<u8> {
    let start = Instant::now();
    let Threads { count, most } = options.threads.numbers()?;
    let mut acoustics = Acoustics::read(&options.tables.model_in, options.acoustic_scale)?;
    acoustics.prune = options.log_sum_exp_prune;
    let acoustics = &acoustics;
    let decoding = &Decoding::new(&options.lattice, &acoustics.transitions, options.acoustic_scale)?;
    let Inputs { graph, mut utterances } = options.tables.tables().open(decoding)?;
    let mut outputs = options.tables.results.open(SITE, &options.lattice)?;
    let mut workers = Vec::new();
    for _ in 0..count {
        let mut decoder = decoding.decoder(graph.as_ref())?;
        workers.push(move |utterance: Utterance| {
            Ok(decoding.finish(acoustics.search(&mut decoder, decoding.pdfs(), utterance)?))
        });
    }
    let read = |give: Give<'_, Utterance>| -> Result<()> {
        while let Some(utterance) = utterances.read()? {
            if !give(utterance) {
                return Ok(());
            }
        }
        utterances.close()
    };
    in_parallel(most, read, workers, |decoded: Result<Decoded>| outputs.write(decoded?))?;
    messages::log(&format!("Decoded with {count} threads."));
    outputs.finish(&Timing { start, frame_subsampling_factor: 1, threads: Some(count) })
}
