//! Chain examples get the costs of the normalization FST.

use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_warn};
use nnet3_chain::NnetChainExample;
use nnet3_chain::normalize::Normalization;
use nnet3_train::{EgsReader, Error, Result};

use super::Stage;

/// Adds costs, and leaves out examples without a remaining path.
pub struct NormalizeStage {
    normalization: Normalization,
    written: u64,
    errors: u64,
    site: Site,
}

impl NormalizeStage {
    pub fn new(normalization: Normalization, site: Site) -> NormalizeStage {
        NormalizeStage { normalization, written: 0, errors: 0, site }
    }
}

impl Stage<NnetChainExample> for NormalizeStage {
    fn next(&mut self, egs: &mut EgsReader<NnetChainExample>) -> Result<Option<(String, NnetChainExample)>> {
        while let Some((key, mut example)) = egs.next()? {
            let [output] = &mut example.outputs[..] else {
                return Err(egs.blame(Error::data("expected the example to have exactly one output")));
            };
            match self.normalization.apply(&output.supervision).map_err(|e| egs.blame(e))? {
                Ok(supervision) => {
                    output.supervision = supervision;
                    self.written += 1;
                    return Ok(Some((key, example)));
                }
                Err(rejection) => {
                    kaldi_warn!(self.site, "For example {key}: {rejection}");
                    self.errors += 1;
                }
            }
        }
        Ok(None)
    }

    fn summarize(&self, _: u64) -> u8 {
        let NormalizeStage { written, errors, .. } = self;
        kaldi_log!(self.site, "Added normalization to {written} egs; had errors on {errors}");
        u8::from(*written == 0)
    }
}
