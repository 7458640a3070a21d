//! `gmm-est-basis-fmllr`: estimates transforms of speakers' features within a basis from posteriors.

use anyhow::Result;

use crate::transforms::basis::{BasisArgs, Files};
use crate::transforms::speakers::{OfTransitions, Tables};

/// Perform basis fMLLR adaptation in testing stage, either per utterance or for the supplied set of speakers (spk2utt
/// option). Reads posteriors. Writes to a table of matrices.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: gmm-est-basis-fmllr --spk2utt=ark:spk2utt 1.mdl 1.basis scp:feats.scp ark:1.post ark:1.trans"
)]
pub struct Options {
    /// rspecifier for speaker to utterance-list map
    #[arg(long, default_value = "")]
    spk2utt: String,
    /// File to write base weights to.
    #[arg(long, default_value = "")]
    write_weights: String,
    #[command(flatten)]
    basis: BasisArgs,
    model_in: String,
    basis_rxfilename: String,
    feature_rspecifier: String,
    posteriors_rspecifier: String,
    transform_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { spk2utt, feature_rspecifier: features, posteriors_rspecifier: posteriors, .. } = &options;
    let tables = Tables { spk2utt, features, posteriors };
    let files = Files {
        model: &options.model_in,
        basis: &options.basis_rxfilename,
        transforms: &options.transform_wspecifier,
        weights: &options.write_weights,
    };
    options.basis.run::<OfTransitions>(&files, &tables)
}
