//! Options of the programs that combine models.

use anyhow::{Result, bail};
use clap::Args;
use nnet3_matrix::Device;
use nnet3_train::combine::CombineOptions;

use super::prob::prob_defaults;
use super::{device, threads};

#[derive(Args, Clone, Debug)]
pub struct CombineArgs {
    #[command(flatten)]
    pub mode: crate::options::OutputMode,
    /// The maximum number of objective evaluations in order to figure out the best number of models to combine
    #[arg(long, default_value_t = 30)]
    pub max_objective_evaluations: i32,
    /// If true, set test-mode to true on any BatchNormComponents while evaluating objectives.
    #[arg(long, default_value_t = false)]
    pub batchnorm_test_mode: bool,
    /// If true, set test-mode to true on any DropoutComponents and DropoutMaskComponents while evaluating objectives.
    #[arg(long, default_value_t = true)]
    pub dropout_test_mode: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = device::USE_GPU)]
    pub use_gpu: String,
    #[command(flatten)]
    pub device: device::DeviceOptions,
    /// Number of threads that evaluate examples on the CPU (if not set: the number of processors, at most 4)
    #[arg(long, default_value_t = -1)]
    pub num_threads: i32,
}

impl CombineArgs {
    /// The device that is to compute.
    pub fn select_device(&self) -> Result<Device> {
        self.device.select(&self.use_gpu)
    }

    /// The options as the library takes them.
    pub fn combine_options(&self, device: &Device) -> Result<CombineOptions> {
        let Some(evaluations) = usize::try_from(self.max_objective_evaluations).ok().filter(|&n| n > 0)
        else {
            bail!(
                "--max-objective-evaluations={}: expected a number above 0",
                self.max_objective_evaluations
            );
        };
        Ok(CombineOptions {
            max_objective_evaluations: evaluations,
            batchnorm_test_mode: self.batchnorm_test_mode,
            dropout_test_mode: self.dropout_test_mode,
            prob: prob_defaults(),
            threads: if device.is_host() { threads::count(self.num_threads, 4)? } else { 1 },
        })
    }
}
