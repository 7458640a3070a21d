//! Options and loops of the decoders with a network, `nnet3-latgen-faster` and its variants.

use anyhow::{Context, Result};
use clap::Args;
use kaldi_cli::log::Site;
use nnet3_core::forward::Ivectors;
use nnet3_matrix::Device;

use crate::recognition::decoding::{Decoded, Decoding, LatticeOptions, Outputs, Searched};
use nnet3::forward::{self, AcousticNetwork, Compute, Output, Together};
use nnet3::options::device::DeviceOptions;
use nnet3::options::forward::{IvectorOptions, OwnedIvectors};
use nnet3::options::weights::WeightsOptions;
use nnet3::tables::Skip;
use nnet3::utterances::{Utterance, Utterances};
use nnet3::workers::in_parallel;
use nnet3_online::SharedGraph;

/// Largest number of utterances in progress for each decoding thread.
const WAITING: usize = 3;

// Options of all of them.
#[derive(Args, Clone, Debug)]
pub struct DecoderOptions {
    /// Scaling factor for acoustic log-likelihoods
    #[arg(long, default_value_t = 0.1)]
    pub acoustic_scale: f32,
    #[command(flatten)]
    pub lattice: LatticeOptions,
    #[command(flatten)]
    pub ivector: IvectorOptions,
    #[command(flatten)]
    pub device: DeviceOptions,
    #[command(flatten)]
    pub weights: WeightsOptions,
}

impl DecoderOptions {
    /// Loads the model on the device that `--use-gpu` selects.
    pub fn load(&self, nnet_in: &str, use_gpu: &str) -> Result<(AcousticNetwork, Device)> {
        let device = self.device.select(use_gpu)?;
        let model = forward::load_acoustic_network(
            nnet_in,
            &device,
            self.acoustic_scale,
            self.weights.form(&device)?,
        )?;
        Ok((model, device))
    }

    pub fn decoding<'a>(&'a self, model: &'a AcousticNetwork) -> Result<Decoding<'a>> {
        Decoding::new(&self.lattice, &model.transitions, self.acoustic_scale)
    }
}

// Input and output tables.
#[derive(Args, Clone, Debug)]
pub struct Tables {
    pub nnet_in: String,
    /// A graph for all utterances, or a table of graphs
    pub fst_in: String,
    pub features_rspecifier: String,
    #[command(flatten)]
    pub results: Results,
}

// Output tables.
#[derive(Args, Clone, Debug)]
pub struct Results {
    pub lattice_wspecifier: String,
    pub words_wspecifier: Option<String>,
    pub alignments_wspecifier: Option<String>,
}

impl Results {
    pub fn open(&self, site: Site, options: &LatticeOptions) -> Result<Outputs> {
        let (words, alignments) = (self.words_wspecifier.as_ref(), self.alignments_wspecifier.as_ref());
        Outputs::open(site, options, &self.lattice_wspecifier, words, alignments)
    }
}

/// Utterances, and their graph, if it is the same for all.
pub struct Inputs {
    pub graph: Option<SharedGraph>,
    pub utterances: Utterances,
}

impl Inputs {
    /// Opens features of utterances that are decoded with this graph.
    pub fn with_graph(graph: SharedGraph, features: &str) -> Result<Inputs> {
        Ok(Inputs { graph: Some(graph), utterances: Utterances::of_features(features)? })
    }
}

impl Tables {
    /// Opens the graph or the graphs, and the features.
    pub fn open(&self, decoding: &Decoding) -> Result<Inputs> {
        let graph = decoding.graph(&self.fst_in)?;
        let utterances = self.utterances(graph.is_some())?;
        Ok(Inputs { graph, utterances })
    }

    /// Opens the features. If no graph is common to all utterances, it also opens their graphs.
    fn utterances(&self, graph_for_all: bool) -> Result<Utterances> {
        if graph_for_all {
            return Utterances::of_features(&self.features_rspecifier);
        }
        Utterances::of_graphs(&self.fst_in, &self.features_rspecifier, |key| {
            format!("Not decoding utterance {key} because no features available.")
        })
    }
}

/// A network on a thread of its own.
pub struct Network<'n, C> {
    pub compute: &'n mut C,
    pub together: Together,
    pub ivectors: &'n IvectorOptions,
}

/// Progress of an utterance when it leaves the searching thread.
enum Stage {
    Searched(Searched),
    Decoded(Decoded),
}

/// Decodes all utterances: one thread runs the network, `threads` others search.
pub fn decode<C: Compute + Send>(
    Inputs { graph, utterances }: Inputs,
    decoding: &Decoding,
    network: Network<'_, C>,
    threads: usize,
    outputs: &mut Outputs,
) -> Result<()> {
    let Network { compute, together, ivectors } = network;
    // With a single search, the writing thread makes the results.
    let leaves_rest = threads == 1;
    let mut workers = Vec::new();
    for _ in 0..threads {
        let mut decoder = decoding.decoder(graph.as_ref())?;
        workers.push(move |Output { key, graph, output, .. }: Output| -> Result<Stage> {
            let searched = decoder.search(key, graph, output, 1.0)?;
            Ok(if leaves_rest {
                Stage::Searched(searched)
            } else {
                Stage::Decoded(decoding.finish(searched))
            })
        });
    }
    let mut ivectors = ivectors.open()?;
    in_parallel(
        WAITING * threads,
        |give| forward::outputs(utterances, &mut ivectors, compute, together, |output| Ok(give(output))),
        workers,
        |stage: Result<Stage>| {
            outputs.write(match stage? {
                Stage::Searched(searched) => decoding.finish(searched),
                Stage::Decoded(decoded) => decoded,
            })
        },
    )
}

/// An utterance with its i-vectors; without features, if it cannot be decoded.
type Job = (Utterance, Option<OwnedIvectors>);

/// Decodes all utterances, on a thread for each of the networks `compute`, which runs it and searches. At most `most`
/// utterances are on their way.
pub fn decode_in_parallel(
    Inputs { graph, mut utterances }: Inputs,
    decoding: &Decoding,
    ivectors: &IvectorOptions,
    compute: &mut [impl Compute + Send],
    most: usize,
    outputs: &mut Outputs,
) -> Result<()> {
    let mut ivectors = ivectors.open()?;
    let read = |give: nnet3::workers::Give<'_, Job>| -> Result<()> {
        while let Some(Utterance { key, graph, features }) = utterances.read()? {
            let features = features.and_then(|features| forward::check(&key, &features).map(|()| features));
            let (features, its) = match (features, ivectors.get(&key)?) {
                (Ok(features), Some(its)) => (Ok(features), Some(its.into())),
                (Ok(_), None) => {
                    let reason = format!("No {} available for utterance {key}", ivectors.kind());
                    (Err(Skip::Sentence(reason)), None)
                }
                (Err(skip), _) => (Err(skip), None),
            };
            if !give((Utterance { key, graph, features }, its)) {
                return Ok(());
            }
        }
        utterances.close()
    };
    let mut workers = Vec::new();
    for compute in compute {
        let mut decoder = decoding.decoder(graph.as_ref())?;
        workers.push(move |(Utterance { key, graph, features }, ivectors): Job| {
            let loglikes = match features {
                Ok(features) => {
                    let ivectors = ivectors.as_ref().map_or(Ivectors::None, OwnedIvectors::get);
                    let loglikes = compute.accept(&features, ivectors).and_then(|()| compute.finish());
                    loglikes.with_context(|| format!("utterance {key}"))?;
                    compute.next_output().ok_or_else(|| Skip::Reason("the network gave no output".to_owned()))
                }
                Err(skip) => Err(skip),
            };
            Ok(decoding.finish(decoder.search(key, graph, loglikes, 1.0)?))
        });
    }
    in_parallel(most, read, workers, |decoded: Result<Decoded>| outputs.write(decoded?))
}
