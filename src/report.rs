//! Log lines about networks that several programs print.

use kaldi_io::log::Site;
use kaldi_io::{kaldi_log, kaldi_warn};
use nnet3_core::nnet::Nnet;

const CHECK: Site = Site::new("Check", "nnet-nnet.cc", 740);
const EDIT: Site = Site::new("ReadEditConfig", "nnet-utils.cc", 1300);

/// Warns about nodes and components that no output uses.
pub fn orphans(nnet: &Nnet) {
    for warning in nnet.orphan_warnings() {
        kaldi_warn!(CHECK, "{warning}");
    }
}

/// What each edit directive did.
pub fn edits(reports: &[String]) {
    for report in reports {
        kaldi_log!(EDIT, "{report}");
    }
}
