//! Gaussian models in decoders and aligners.

use std::time::Instant;

use anyhow::{Context, Result};
use kaldi_cli::log::Site;
use kaldi_gmm::{AmDiagGmm, Likelihoods};
use kaldi_hmm::TransitionModel;
use kaldi_io::DenseMatrix;
use nnet3::gaussians;
use nnet3::tables::{Outcome, Skip};
use nnet3::utterances::Utterance;
use nnet3_decode::decoder::Decodable;

use crate::recognition::decoders::{Inputs, Results, Tables};
use crate::recognition::decoding::{Decoder, Decoding, LatticeOptions, Outputs, Searched, Timing};

/// Log-likelihoods of an utterance by a Gaussian model, computed at the search's requests.
pub struct GaussianDecodable<'a> {
    likelihoods: Likelihoods<'a>,
    /// The pdf of each transition-id; the first element is not used.
    pdfs: &'a [i32],
    scale: f32,
}

impl<'a> GaussianDecodable<'a> {
    /// `scale` multiplies log-likelihoods. It is an error if the features have another dimension.
    pub fn new(
        model: &'a AmDiagGmm,
        features: &DenseMatrix<f32>,
        pdfs: &'a [i32],
        scale: f32,
    ) -> Result<Outcome<Self>> {
        model.check_features(features)?;
        Ok(Likelihoods::new(model, features)
            .map(|likelihoods| GaussianDecodable { likelihoods, pdfs, scale })
            .map_err(|error| Skip::Reason(error.to_string())))
    }

    /// Leaves out terms of mixtures below the best by more than `prune`, if that is above 0.
    pub fn pruned(self, prune: f32) -> Self {
        GaussianDecodable { likelihoods: self.likelihoods.pruned(prune), ..self }
    }
}

impl Decodable for GaussianDecodable<'_> {
    fn num_frames(&self) -> usize {
        self.likelihoods.num_frames()
    }

    fn frame(&self, frame: usize) -> impl Fn(i32) -> f32 {
        move |id| self.scale * self.likelihoods.get(frame, self.pdfs[id as usize] as usize)
    }
}

/// A model, and how its log-likelihoods are used by a decoder.
pub struct Acoustics {
    pub transitions: TransitionModel,
    mixtures: AmDiagGmm,
    acoustic_scale: f32,
    /// See [`GaussianDecodable::pruned`].
    pub prune: f32,
}

impl Acoustics {
    pub fn read(rxfilename: &str, acoustic_scale: f32) -> Result<Acoustics> {
        let (transitions, mixtures) = gaussians::read_model(rxfilename)?;
        Ok(Acoustics { transitions, mixtures, acoustic_scale, prune: 0.0 })
    }

    /// Searches for the paths of an utterance.
    pub fn search(&self, decoder: &mut Decoder<'_>, pdfs: &[i32], utterance: Utterance) -> Result<Searched> {
        let Utterance { key, graph, features } = utterance;
        let features = match features {
            Ok(features) if features.rows > 0 => features,
            Ok(_) => {
                let reason = Skip::Sentence(format!("Zero-length utterance: {key}"));
                return Ok(Searched::not_searched(key, reason));
            }
            Err(skip) => return Ok(Searched::not_searched(key, skip)),
        };
        let decodable = GaussianDecodable::new(&self.mixtures, &features, pdfs, self.acoustic_scale);
        match decodable.with_context(|| format!("utterance {key}"))? {
            Ok(decodable) => decoder.search_with(key, graph, &decodable.pruned(self.prune)),
            Err(skip) => Ok(Searched::not_searched(key, skip)),
        }
    }
}

// Names of inputs and outputs.
#[derive(clap::Args, Clone, Debug)]
pub struct GaussianTables {
    pub model_in: String,
    /// A graph for all utterances, or a table of graphs
    pub fst_in: String,
    pub features_rspecifier: String,
    #[command(flatten)]
    pub results: Results,
}

impl GaussianTables {
    /// The names of the tables. They are the same as for a decoder with a network.
    pub fn tables(&self) -> Tables {
        let GaussianTables { model_in, fst_in, features_rspecifier, results } = self.clone();
        Tables { nnet_in: model_in, fst_in, features_rspecifier, results }
    }
}

/// The whole of a decoder that writes lattices: one utterance after the other.
pub fn decode(
    site: Site,
    options: &LatticeOptions,
    acoustics: &Acoustics,
    tables: &GaussianTables,
    start: Instant,
) -> Result<u8> {
    let tables = tables.tables();
    let decoding = Decoding::new(options, &acoustics.transitions, acoustics.acoustic_scale)?;
    let Inputs { graph, mut utterances } = tables.open(&decoding)?;
    let mut decoder = decoding.decoder(graph.as_ref())?;
    let mut outputs: Outputs = tables.results.open(site, options)?;
    while let Some(utterance) = utterances.read()? {
        let searched = acoustics.search(&mut decoder, decoding.pdfs(), utterance)?;
        outputs.write(decoding.finish(searched))?;
    }
    utterances.close()?;
    outputs.finish(&Timing { start, frame_subsampling_factor: 1, threads: None })
}
