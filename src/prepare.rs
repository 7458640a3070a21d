//! Networks as they are used for computing, not training.

use kaldi_io::kaldi_log;
use kaldi_io::log::Site;
use nnet3_core::Result;
use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::collapse::CollapseOptions;

const COLLAPSE: Site = Site::new("CollapseModel", "nnet-utils.cc", 2100);

/// Batch normalisation with its stored statistics, dropout off, components merged where that changes nothing.
pub fn for_test(nnet: &mut Nnet) -> Result<()> {
    nnet.set_batchnorm_test_mode(true);
    nnet.set_dropout_test_mode(true);
    collapse(nnet)
}

/// Merges components where that changes nothing.
pub fn collapse(nnet: &mut Nnet) -> Result<()> {
    let report = nnet.collapse(&CollapseOptions::default())?;
    if !report.is_empty() {
        kaldi_log!(COLLAPSE, "{report}");
    }
    Ok(())
}
