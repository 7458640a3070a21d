//! Log lines about networks that several programs print.

use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_warn};
use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::edit::Edited;

const CHECK: Site = Site::new("Check", "nnet-nnet.cc", 740);
const EDIT: Site = Site::new("ReadEditConfig", "nnet-utils.cc", 1300);

/// Warns about nodes and components that no output uses.
pub fn orphans(nnet: &Nnet) {
    for warning in nnet.orphan_warnings() {
        kaldi_warn!(CHECK, "{warning}");
    }
}

/// Logs the result of each edit directive, and warns about patterns without a match.
pub fn edits(reports: &[Edited]) {
    for Edited { done, warning } in reports {
        if let Some(warning) = warning {
            kaldi_warn!(EDIT, "{warning}");
        }
        kaldi_log!(EDIT, "{done}");
    }
}
