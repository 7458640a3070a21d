//! Log lines about changed numbers of Gaussians.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_gmm::AmDiagGmm;
use kaldi_gmm::sharing::{Resized, Sharing};
use nnet3::messages;
use nnet3_core::c_rand::CRand;

// Options of programs that change numbers of Gaussians.
#[derive(clap::Args)]
pub struct MixingOptions {
    /// Increase number of mixture components to this overall target.
    #[arg(long, default_value_t = 0)]
    mix_up: usize,
    /// If nonzero, merge mixture components to this target.
    #[arg(long, default_value_t = 0)]
    mix_down: usize,
    /// If mixing up, power to allocate Gaussians to states.
    #[arg(long, default_value_t = 0.2)]
    power: f32,
    /// Minimum per-Gaussian count enforced while mixing up and down.
    #[arg(long, default_value_t = 20.0)]
    min_count: f32,
    /// While mixing up, perturb means by standard deviation times this factor.
    #[arg(long, default_value_t = 0.01)]
    perturb_factor: f32,
}

impl MixingOptions {
    /// True if the options do not change the numbers of Gaussians.
    pub fn is_nothing(&self) -> bool {
        self.mix_up == 0 && self.mix_down == 0
    }

    /// Merges, then splits Gaussians, if the options say so.
    pub fn apply(&self, model: &mut AmDiagGmm, occupancies: &[f32]) -> Result<()> {
        let sharing = |target| Sharing { target, power: self.power, min_count: self.min_count };
        let (pdfs, power, min_count) =
            (model.pdfs().len(), num(self.power.into()), num(self.min_count.into()));
        if self.mix_down > 0 {
            let Resized { before, after, reached } = model.mix_down(occupancies, &sharing(self.mix_down))?;
            self.warn(self.mix_down, reached);
            messages::log(&format!(
                "Merged {pdfs} states with target = {}, power = {power} and min_count = {min_count}, merged from {before} to \
                 {after}",
                self.mix_down
            ));
        }
        if self.mix_up > 0 {
            let mut rand = CRand::default();
            let factor = self.perturb_factor;
            let resized = model.mix_up(occupancies, &sharing(self.mix_up), factor, &mut || rand.next())?;
            self.warn(self.mix_up, resized.reached);
            messages::log(&format!(
                "Split {pdfs} states with target = {}, power = {power}, perturb_factor = {} and min_count = {min_count}, split \
                 #Gauss from {} to {}",
                self.mix_up,
                num(factor.into()),
                resized.before,
                resized.after
            ));
        }
        Ok(())
    }

    fn warn(&self, target: usize, reached: bool) {
        if !reached {
            messages::warn(&format!(
                "Could not split up to {target} due to min-count = {} (or no counts at all)\n",
                num(self.min_count.into())
            ));
        }
    }
}
