//! Parts shared by the programs that change acoustic models.

use kaldi_cli::kaldi_warn;
use kaldi_cli::log::Site;
use nnet3_train::acoustic::PriorsRemoved;

const SET_NNET: Site = Site::new("SetNnet", "am-nnet-simple.cc", 60);

/// Warns that a changed network's priors have been removed.
pub fn warn_of_removed_priors(removed: Option<PriorsRemoved>) {
    if let Some(PriorsRemoved { num_priors, num_pdfs }) = removed {
        kaldi_warn!(
            SET_NNET,
            "Removing priors since there is a dimension mismatch after changing the nnet: {num_priors} vs. {num_pdfs}"
        );
    }
}
