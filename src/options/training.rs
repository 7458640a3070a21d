//! Options of the training programs.

use anyhow::{Result, bail};
use clap::Args;
use kaldi_cli::Group;
use nnet3_core::learning::SecondThread;
use nnet3_train::minibatch::CompileOptions;
use nnet3_train::trainer::TrainerOptions;

use super::compute::{CachingOptions, ComputationOptions, OptimizationOptions};
use super::device;

// Options of every program that trains.
#[derive(Args, Clone, Debug)]
pub struct TrainArgs {
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    pub srand: i32,
    #[command(flatten)]
    pub mode: crate::options::OutputMode,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = device::USE_GPU)]
    pub use_gpu: String,
    #[command(flatten)]
    pub device: device::DeviceOptions,
    #[command(flatten)]
    pub replicas: ReplicaOptions,
    #[command(flatten)]
    pub training: TrainingOptions,
    #[command(flatten)]
    pub allocator: AllocatorOptions,
}

// [TRAIN]
#[derive(Args, Clone, Debug)]
pub struct TrainingOptions {
    /// If true, set the component statistics (such as average activations) to zero at the start
    #[arg(long, default_value_t = true)]
    pub zero_component_stats: bool,
    /// If true, store activations and derivatives for nonlinear components during training
    #[arg(long, default_value_t = true)]
    pub store_component_stats: bool,
    /// Interval, in minibatches, after which the objective function is logged
    #[arg(long, default_value_t = 100)]
    pub print_interval: i32,
    /// The maximum change in parameters allowed per minibatch, measured in the Euclidean norm over the entire model; 0
    /// means no limit
    #[arg(long, default_value_t = 2.0)]
    pub max_param_change: f32,
    /// Momentum constant, e.g. 0.9; each step is multiplied by (1 - momentum), so that the learning rate means the same
    #[arg(long, default_value_t = 0.0)]
    pub momentum: f32,
    /// Multiplies the l2 constants (l2-regularize) of all components
    #[arg(long, default_value_t = 1.0)]
    pub l2_regularize_factor: f32,
    /// Batch normalization statistics are multiplied by this after each minibatch, so that they follow the parameters
    #[arg(long, default_value_t = 0.8)]
    pub batchnorm_stats_scale: f32,
    /// Strength of backstitch training; 0 means conventional training
    #[arg(long, default_value_t = 0.0)]
    pub backstitch_training_scale: f32,
    /// Do backstitch training only on each n-th minibatch
    #[arg(long, default_value_t = 1)]
    pub backstitch_training_interval: i32,
    /// File from which to read compiled computations; a warning if it is not there
    #[arg(long, default_value = "")]
    pub read_cache: String,
    /// File to which to write compiled computations at the end
    #[arg(long, default_value = "")]
    pub write_cache: String,
    /// Write the compiled computations in binary mode
    #[arg(long, default_value_t = true)]
    pub binary_write_cache: bool,
    /// Number of threads that train on the CPU, 1 or 2. A second one computes changes of parameters beside the rest of
    /// the backward pass, with the same results. (If not set: 2 while a processor is idle, 1 with --num-replicas)
    #[arg(long, default_value_t = -1)]
    pub num_threads: i32,
    /// Make simple steps (`TrainerOptions::simple_steps`).
    #[arg(skip)]
    pub simple_steps: bool,
    #[command(flatten)]
    pub optimization: Group<OptimizationOptions>,
    #[command(flatten)]
    pub caching: CachingOptions,
    #[command(flatten)]
    pub computation: ComputationOptions,
}

fn positive(name: &str, value: i32) -> Result<u64> {
    match u64::try_from(value) {
        Ok(value) if value > 0 => Ok(value),
        _ => bail!("--{name}={value}: expected a number above 0"),
    }
}

impl TrainingOptions {
    /// Returns the options in the library's form, for each of `replicas` replicas.
    pub fn trainer_options(&self, replicas: usize) -> Result<TrainerOptions> {
        let second_thread = match self.num_threads {
            1 => SecondThread::Never,
            2 => SecondThread::Always,
            threads if threads > 2 => bail!("--num-threads={threads}: expected 1 or 2"),
            _ if replicas == 1 && super::threads::processors() > 1 => SecondThread::WhereIdle,
            _ => SecondThread::Never,
        };
        Ok(TrainerOptions {
            zero_component_stats: self.zero_component_stats,
            store_component_stats: self.store_component_stats,
            simple_steps: self.simple_steps,
            print_interval: positive("print-interval", self.print_interval)?,
            max_param_change: self.max_param_change,
            momentum: self.momentum,
            l2_regularize_factor: self.l2_regularize_factor,
            batchnorm_stats_scale: self.batchnorm_stats_scale,
            backstitch_training_scale: self.backstitch_training_scale,
            backstitch_training_interval: positive(
                "backstitch-training-interval",
                self.backstitch_training_interval,
            )?,
            second_thread,
            accumulate: 1,
            compile: CompileOptions {
                compiler: self.caching.compiler_options(),
                optimize: self.optimization.optimize_options()?,
            },
        })
    }
}

// Training on several devices at once.
#[derive(Args, Clone, Debug)]
pub struct ReplicaOptions {
    /// Train this number of copies of the network side by side in this process, and average them. Each gets its share
    /// of the minibatches and a device: GPUs from --device-id on, or a thread of the CPU (--use-gpu=no). As with
    /// parallel jobs, multiply the learning rate by the number of copies
    #[arg(long, default_value_t = 1)]
    pub num_replicas: i32,
    /// With --num-replicas, average the parameters after every copy has had this number of minibatches. 0 means only at
    /// the end, as with jobs and nnet3-average
    #[arg(long, default_value_t = 100)]
    pub average_period: u64,
}

impl ReplicaOptions {
    pub fn count(&self) -> Result<usize> {
        match usize::try_from(self.num_replicas) {
            Ok(count) if count > 0 => Ok(count),
            _ => bail!("--num-replicas={}: expected a number above 0", self.num_replicas),
        }
    }
}

// Options of the reference's training programs for the memory of a GPU.
#[derive(Args, Clone, Debug)]
pub struct AllocatorOptions {
    /// Keep freed GPU memory for later use (no effect: memory is planned before a computation runs)
    #[arg(long, default_value_t = true)]
    pub cuda_cache_memory: bool,
    /// Proportion of GPU memory to take at the start, at least 0.05 and below 0.99 (no effect: memory is planned before a
    /// computation runs)
    #[arg(long, default_value_t = 0.5)]
    pub cuda_memory_proportion: f32,
}

impl AllocatorOptions {
    pub fn check(&self) -> Result<()> {
        let proportion = self.cuda_memory_proportion;
        if !(0.05..0.99).contains(&proportion) {
            bail!("--cuda-memory-proportion={proportion}: expected a number from 0.05 to below 0.99");
        }
        Ok(())
    }
}
