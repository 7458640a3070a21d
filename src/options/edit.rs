//! Options for changing a network while it is copied.

use anyhow::{Result, bail};
use clap::Args;
use nnet3_core::Random;
use nnet3_core::config::{parse_config, read_config};
use nnet3_core::nnet::Nnet;

use crate::options::weights::{FLOAT, INT8};
use crate::report;

/// The value of the option that leaves learning rates unchanged.
const UNCHANGED: f32 = -1.0;

// In which order these are done differs between programs.
#[derive(Args, Clone, Debug)]
pub struct EditOptions {
    /// If supplied, all the learning rates of updatable components are set to this value times their
    /// learning-rate-factor
    #[arg(long, default_value_t = UNCHANGED)]
    pub learning_rate: f32,
    /// Name of an nnet3 config file that adds or replaces components or nodes of the neural network (the same as for
    /// nnet3-init)
    #[arg(long, default_value = "")]
    pub nnet_config: String,
    /// Name of edits-config file that can be used to modify the network (applied after nnet-config)
    #[arg(long, default_value = "")]
    pub edits_config: String,
    /// Edits as in --edits-config, several separated by ';'
    #[arg(long, default_value = "")]
    pub edits: String,
    /// Seed for random numbers of 'initialize' in edits
    #[arg(long, default_value_t = 0)]
    pub srand: i32,
    /// The parameters and stored statistics are multiplied by this
    #[arg(long, default_value_t = 1.0)]
    pub scale: f32,
    /// Prepare the network for test: sets batch-norm and dropout components to test mode and, if possible, merges
    /// components
    #[arg(long, default_value_t = false)]
    pub prepare_for_test: bool,
    /// float, or int8: rounds the weights that --weights=int8 of the programs that run networks rounds. It does so
    /// after all other changes. Rounded weights take a byte each in the file, and the reference does not read such
    /// files
    #[arg(long, default_value = FLOAT, value_parser = [FLOAT, INT8])]
    pub weights: String,
}

impl EditOptions {
    /// True to round weights to bytes; this needs a binary file.
    pub fn rounds(&self, binary: bool) -> Result<bool> {
        match (self.weights == INT8, binary) {
            (true, false) => bail!("--weights={INT8}: expected --binary=true, found --binary=false"),
            (rounds, _) => Ok(rounds),
        }
    }

    /// `--nnet-config`
    pub fn apply_config(&self, nnet: &mut Nnet) -> Result<()> {
        if !self.nnet_config.is_empty() {
            nnet.read_config(read_config(&self.nnet_config)?, &Random::new(0))?;
            report::orphans(nnet);
        }
        Ok(())
    }

    /// Checks the ranges of the numbers.
    pub fn check(&self) -> Result<()> {
        let (rate, scale) = (self.learning_rate, self.scale);
        if !rate.is_finite() || (rate < 0.0 && rate != UNCHANGED) {
            bail!(
                "--learning-rate={rate}: expected a number that is not negative, or {UNCHANGED} for no change"
            );
        }
        if !scale.is_finite() {
            bail!("--scale={scale}: expected a finite number");
        }
        Ok(())
    }

    /// `--learning-rate`
    pub fn apply_learning_rate(&self, nnet: &mut Nnet) {
        if self.learning_rate >= 0.0 {
            nnet.set_learning_rate(self.learning_rate);
        }
    }

    /// Applies `--edits-config`, then `--edits`.
    pub fn apply_edits(&self, nnet: &mut Nnet) -> Result<()> {
        let random = Random::new(self.srand);
        if !self.edits_config.is_empty() {
            report::edits(&nnet.edit_with(read_config(&self.edits_config)?, &random)?);
        }
        if !self.edits.is_empty() {
            report::edits(&nnet.edit_with(parse_config("--edits", self.edits.split(';'))?, &random)?);
        }
        Ok(())
    }
}
