//! Networks for computing without training.

use kaldi_cli::kaldi_log;
use kaldi_cli::log::Site;
use nnet3_core::Result;
use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::collapse::{CollapseOptions, CollapseReport};

const COLLAPSE: Site = Site::new("CollapseModel", "nnet-utils.cc", 2100);

/// Batch normalisation with its stored statistics, dropout off, components merged as the reference does: for networks that
/// are written.
pub fn for_test(nnet: &mut Nnet) -> Result<()> {
    test_mode(nnet);
    collapse(nnet, &CollapseOptions::default())
}

/// Prepares networks that are only run: all is merged that makes less work.
pub fn for_running(nnet: &mut Nnet) -> Result<()> {
    test_mode(nnet);
    collapse(nnet, &CollapseOptions::ALL)
}

/// Does the same as [`for_running`] for networks that are evaluated repeatedly, without log lines.
pub fn for_evaluation(nnet: &mut Nnet) -> Result<()> {
    test_mode(nnet);
    nnet.collapse(&CollapseOptions::ALL).map(drop)
}

fn test_mode(nnet: &mut Nnet) {
    nnet.set_batchnorm_test_mode(true);
    nnet.set_dropout_test_mode(true);
}

/// Merges components if that changes only roundings. Batch normalisation must be in test mode for that.
pub fn collapse(nnet: &mut Nnet, options: &CollapseOptions) -> Result<()> {
    let report = nnet.collapse(options)?;
    if !report.is_empty() {
        log_merged(&report);
    }
    Ok(())
}

/// Logs the numbers of merged and removed components.
pub fn log_merged(report: &CollapseReport) {
    kaldi_log!(COLLAPSE, "{report}");
}
