//! Options of a trainer, and their ranges.

use nnet3_core::learning::SecondThread;

use crate::error::{Error, Result};
use crate::minibatch::CompileOptions;

/// Options of a trainer.
#[derive(Debug, Clone)]
pub struct TrainerOptions {
    /// Begin with activation and batch-norm statistics of zero.
    pub zero_component_stats: bool,
    pub store_component_stats: bool,
    /// Make simple steps, as the reference does in discriminative training. Components' own max-change and constraints have
    /// no effect. Random numbers are drawn for components, for compiling and for the model's context. With a limit or
    /// momentum, statistics are part of the change, with its factor. (l2 constants have `l2_regularize_factor`.)
    pub simple_steps: bool,
    /// Minibatches of a phase, after which averages are reported.
    pub print_interval: u64,
    /// Limit on the 2-norm of a minibatch's change of all parameters; 0 for no limit.
    pub max_param_change: f32,
    pub momentum: f32,
    /// Multiplies the l2 constants of components.
    pub l2_regularize_factor: f32,
    /// Batch-norm statistics are multiplied by this after each minibatch, so that they follow the parameters.
    pub batchnorm_stats_scale: f32,
    /// Strength of backstitch; 0 for none.
    pub backstitch_training_scale: f32,
    /// Number of minibatches between backstitch steps.
    pub backstitch_training_interval: u64,
    /// Use of a second thread for changes of parameters, if the device is the host. The results are the same.
    pub second_thread: SecondThread,
    /// So many minibatches make one step.
    pub accumulate: u64,
    pub compile: CompileOptions,
}

impl Default for TrainerOptions {
    fn default() -> Self {
        TrainerOptions {
            zero_component_stats: true,
            store_component_stats: true,
            simple_steps: false,
            print_interval: 100,
            max_param_change: 2.0,
            momentum: 0.0,
            l2_regularize_factor: 1.0,
            batchnorm_stats_scale: 0.8,
            backstitch_training_scale: 0.0,
            backstitch_training_interval: 1,
            second_thread: SecondThread::Never,
            accumulate: 1,
            compile: CompileOptions::default(),
        }
    }
}

impl TrainerOptions {
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |name: &str, found: f64, expected: &str| {
            Err(Error::options(format!("`{name}`={found}: expected {expected}")))
        };
        match self {
            o if o.accumulate == 0 => wrong("accumulate", 0.0, "a number above 0"),
            o if o.accumulate > 1 && o.backstitch_training_scale > 0.0 => Err(Error::options(
                "`accumulate` above 1 and `backstitch-training-scale` cannot be used together",
            )),
            o if o.print_interval == 0 => wrong("print-interval", 0.0, "a number above 0"),
            o if o.backstitch_training_interval == 0 => {
                wrong("backstitch-training-interval", 0.0, "a number above 0")
            }
            o if o.max_param_change < 0.0 || o.max_param_change.is_nan() => {
                wrong("max-param-change", o.max_param_change.into(), "a number that is not negative")
            }
            o if !o.l2_regularize_factor.is_finite() || o.l2_regularize_factor < 0.0 => {
                wrong("l2-regularize-factor", o.l2_regularize_factor.into(), "a number that is not negative")
            }
            o if !(0.0..1.0).contains(&o.momentum) => {
                wrong("momentum", o.momentum.into(), "a number from 0 to below 1")
            }
            o if !(0.0..=1.0).contains(&o.batchnorm_stats_scale) => {
                wrong("batchnorm-stats-scale", o.batchnorm_stats_scale.into(), "a number from 0 to 1")
            }
            o if o.backstitch_training_scale < 0.0 || o.backstitch_training_scale.is_nan() => wrong(
                "backstitch-training-scale",
                o.backstitch_training_scale.into(),
                "a number that is not negative",
            ),
            o if o.backstitch_training_scale > 0.0 && o.momentum > 0.0 => {
                Err(Error::options("`backstitch-training-scale` and `momentum` cannot both be above 0"))
            }
            _ => Ok(()),
        }
    }
}
