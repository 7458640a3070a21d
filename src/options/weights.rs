//! `--weights`: in how many bits a network has its weights.

use anyhow::{Result, bail};
use clap::Args;
use nnet3_matrix::{Device, WeightForm};

// Of programs that only run a network.
#[derive(Args, Clone, Debug)]
pub struct WeightsOptions {
    /// float, or int8. int8 rounds the weights of affine, linear and TDNN components to 8 bits with a scale for each
    /// output, and their inputs row by row. Components that read an input of the network stay exact, and so do models of
    /// Gaussians. int8 is faster and less exact (on the CPU only)
    #[arg(long, default_value = FLOAT, value_parser = [FLOAT, INT8])]
    pub weights: String,
}

pub const FLOAT: &str = "float";
pub const INT8: &str = "int8";

impl Default for WeightsOptions {
    fn default() -> WeightsOptions {
        WeightsOptions { weights: FLOAT.to_owned() }
    }
}

impl WeightsOptions {
    /// The form for networks on this device.
    pub fn form(&self, device: &Device) -> Result<WeightForm> {
        if self.weights == FLOAT {
            return Ok(WeightForm::Float);
        }
        if device.panels().is_none() {
            bail!(
                "--weights={}: expected a network on the CPU (--use-gpu=no), found {}",
                self.weights,
                device.name()
            );
        }
        Ok(WeightForm::Int8)
    }
}
