//! `lattice-lmrescore-const-arpa`: adds the costs of a language model in the ConstArpaLm format.

use anyhow::Result;
use kaldi_io::read_object;
use nnet3::lattices;
use nnet3_decode::rescore::LanguageModel;

/// Rescores lattice with the ConstArpaLm format language model.
///
/// Determinization will be applied on the rescored lattice.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-lmrescore-const-arpa --lm-scale=-1.0 ark:in.lats const_arpa ark:out.lats"
)]
pub struct Options {
    /// Scaling factor for language model costs; frequently 1.0 or -1.0
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    lattice_rspecifier: String,
    const_arpa_in: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let lm = LanguageModel::ConstArpa(read_object(&options.const_arpa_in)?);
    lattices::rescore(&options.lattice_rspecifier, &options.lattice_wspecifier, &lm, options.lm_scale)
}
