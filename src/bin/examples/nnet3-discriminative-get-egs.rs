//! `nnet3-discriminative-get-egs`: features, lattices and alignments → discriminative examples.

use anyhow::Result;
use kaldi_cli::log::Site;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::{RandomReader, read_object};
use nnet3::get_egs::{EgsLoop, Inputs, Made};
use nnet3::losses::Reason;
use nnet3::options::egs::InputOptions;
use nnet3_decode::LatticeHolder;
use nnet3_discriminative::chunk::{DiscriminativeChunks, DiscriminativeCut, DiscriminativeUtterance};
use nnet3_discriminative::split::SplitOptions;
use nnet3_online::config::search::of_option;
use nnet3_train::finite::inputs_not_finite;

/// Get frame-by-frame examples of data for nnet3+sequence neural network training.
///
/// This involves breaking up utterances into pieces of sizes determined by the --num-frames option. The denominator lattices come
/// from lattice-determinize-non-compact.
#[derive(clap::Parser, Debug)]
#[command(after_help = "An example [where $feats expands to the actual features]:\n\
    nnet3-discriminative-get-egs --left-context=25 --right-context=9 --num-frames=150,100,90 final.mdl \"$feats\" \
    \"ark,s,cs:gunzip -c lat.1.gz |\" scp:ali.scp ark:degs.1.ark")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods (should match the value used in training)
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    /// If true, modify the transition-ids on denominator lattice so that on each frame, there is just one with any given pdf-id.
    /// This allows us to determinize and minimize more completely.
    #[arg(long, default_value_t = true)]
    collapse_transition_ids: bool,
    /// If true, we determinize lattices (as Lattice) after splitting and possibly minimize
    #[arg(long, default_value_t = true)]
    determinize: bool,
    /// If true, we push and minimize lattices (as Lattice) after splitting
    #[arg(long, default_value_t = true)]
    minimize: bool,
    /// Remove output symbols from lattice (no effect: they are always removed)
    #[arg(long, default_value_t = true)]
    remove_output_symbols: bool,
    /// Remove epsilons from the split lattices (no effect: they are always removed)
    #[arg(long, default_value_t = true)]
    remove_epsilons: bool,
    #[command(flatten)]
    input: InputOptions,
    model: String,
    features_rspecifier: String,
    denominator_lattice_rspecifier: String,
    numerator_alignment_rspecifier: String,
    egs_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let split = SplitOptions {
        acoustic_scale: options.acoustic_scale,
        determinize: options.determinize,
        minimize: options.minimize,
        collapse_transition_ids: options.collapse_transition_ids,
    };
    split.check().map_err(of_option)?;
    let model: TransitionModel = read_object(&options.model)?;
    let chunks = DiscriminativeChunks { options: options.input.chunk_options(0)?, split, model: &model };
    let tables = [&*options.denominator_lattice_rspecifier, &*options.numerator_alignment_rspecifier];
    let mut lattices = RandomReader::<LatticeHolder>::open(tables[0])?;
    let mut alignments = RandomReader::<I32VectorHolder>::open(tables[1])?;
    let egs_loop = EgsLoop {
        input: &options.input,
        seed: None,
        features: &options.features_rspecifier,
        others: &tables,
        egs: &options.egs_wspecifier,
        process: Site::new("ProcessFile", "nnet3-discriminative-get-egs.cc", 60),
    };
    let status = egs_loop.run(|splitter, Inputs { key, features, ivectors }| {
        let Some(lattice) = lattices.get(key)? else {
            return Ok(Made::Rejected(Reason::Missing, format!("No denominator lattice for key {key}")));
        };
        let Some(alignment) = alignments.get(key)? else {
            return Ok(Made::Rejected(Reason::Missing, format!("No numerator alignment for key {key}")));
        };
        if let Some(message) = inputs_not_finite(key, features, ivectors) {
            return Ok(Made::NotFinite(message));
        }
        // The reference decompresses and compresses again.
        let features = &features.to_dense().into();
        let utterance = DiscriminativeUtterance { key, features, ivectors, lattice, alignment };
        Ok(match chunks.cut(splitter, utterance)? {
            DiscriminativeCut::Examples(examples) => Made::Examples(examples, Vec::new()),
            DiscriminativeCut::TooShort(message) => Made::TooShort(message),
            DiscriminativeCut::Rejected(message) => Made::Rejected(Reason::Mismatch, message),
        })
    })?;
    lattices.close()?;
    alignments.close()?;
    Ok(status)
}
