//! Decoders that read log-likelihoods as matrices: `latgen-faster-mapped` and its sisters.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use kaldi_cli::log::Site;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::utterances::{Utterance, Utterances};
use nnet3::workers::{Give, in_parallel};
use nnet3_decode::decoder::ChunkOptions;

use crate::recognition::decoders::Results;
use crate::recognition::decoding::{Decoded, Decoding, LatticeOptions, Timing};

// Options, and names of files and tables.
#[derive(Args, Clone, Debug)]
pub struct MappedArgs {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    #[command(flatten)]
    lattice: LatticeOptions,
    trans_model_in: String,
    /// A graph for all utterances, or a table of graphs
    fst_in: String,
    loglikes_rspecifier: String,
    #[command(flatten)]
    results: Results,
}

// Numbers of threads, and of utterances on their way.
#[derive(Args, Clone, Debug)]
pub struct ThreadArgs {
    /// Number of threads that decode, each an utterance at a time
    #[arg(long, default_value_t = 1)]
    num_threads: usize,
    /// Most utterances that are on their way: being decoded, or waiting to be or to be written. 0: as many as there are
    /// threads
    #[arg(long, default_value_t = 0)]
    num_threads_total: usize,
}

/// Numbers of threads that decode, and of utterances on their way at most.
#[derive(Clone, Copy)]
pub struct Threads {
    pub count: usize,
    pub most: usize,
}

impl ThreadArgs {
    pub fn numbers(&self) -> Result<Threads> {
        let count = self.num_threads;
        if count == 0 {
            bail!("--num-threads=0: expected at least 1");
        }
        match self.num_threads_total {
            0 => Ok(Threads { count, most: count }),
            most if most >= count => Ok(Threads { count, most }),
            most => bail!("--num-threads-total={most}: expected at least --num-threads={count}, or 0"),
        }
    }
}

/// Decodes all utterances, several at a time if there are `threads`. Results come in the order of the log-likelihoods.
/// Lattices are determinized in `chunks`, if they are given.
pub fn decode(
    site: Site,
    args: &MappedArgs,
    threads: Option<&ThreadArgs>,
    chunks: Option<ChunkOptions>,
) -> Result<u8> {
    let start = Instant::now();
    let Threads { count, most } = threads.map_or(Ok(Threads { count: 1, most: 1 }), ThreadArgs::numbers)?;
    let model: TransitionModel = read_object(&args.trans_model_in)?;
    let scale = args.acoustic_scale;
    let mut decoding = Decoding::new(&args.lattice, &model, scale)?;
    if let Some(chunks) = chunks {
        decoding.determinize_in_chunks(chunks)?;
    }
    let decoding = &decoding;
    let graph = decoding.graph(&args.fst_in)?;
    let (graphs, loglikes) = (&args.fst_in, &args.loglikes_rspecifier);
    let mut utterances = match graph {
        Some(_) => Utterances::of_features(loglikes),
        None => Utterances::of_graphs(graphs, loglikes, |key| {
            format!("Not decoding utterance {key} because no loglikes available.")
        }),
    }?;
    let mut outputs = args.results.open(site, &args.lattice)?;
    let mut workers = Vec::new();
    for _ in 0..count {
        let mut decoder = decoding.decoder(graph.as_ref())?;
        workers.push(move |Utterance { key, graph, features }: Utterance| -> Result<Decoded> {
            let searched = decoder.search(key, graph, features, scale);
            Ok(decoding.finish(searched.with_context(|| loglikes.clone())?))
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
    outputs.finish(&Timing { start, frame_subsampling_factor: 1, threads: threads.map(|_| count) })
}
