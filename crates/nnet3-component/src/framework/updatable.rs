//! Parts shared by all components with parameters: rates, limits, and the prefix of their file form and info text.

use crate::fields::key;
use crate::named::{Parameter, same_parameters};
use crate::preconditioners::Preconditioning;
use crate::{Component, Key, Kind};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::config::ConfigLine;
use nnet3_base::error::Result;
use nnet3_base::random::Random;
use nnet3_base::text::number;
use nnet3_matrix::Accumulator;

/// The keys that every updatable type takes.
pub const KEYS: &[Key] = &[
    key("learning-rate", Kind::Float, "0.001", "rate until training sets another"),
    key("learning-rate-factor", Kind::Float, "1", "multiplies rates set by training"),
    key("max-change", Kind::Float, "0", "limit on the 2-norm of a minibatch's change; 0 is none"),
    key("l2-regularize", Kind::Float, "0", "l2 constant"),
];

/// Learning rate and limits of one component.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdatableSettings {
    /// The actual rate, factor included.
    pub learning_rate: f32,
    pub learning_rate_factor: f32,
    pub l2_regularize: f32,
    /// Parameters hold a gradient: natural gradient is bypassed.
    pub is_gradient: bool,
    /// Limit on the 2-norm of one minibatch's parameter change; 0 means none.
    pub max_change: f32,
}

impl Default for UpdatableSettings {
    fn default() -> Self {
        UpdatableSettings {
            learning_rate: 0.001,
            learning_rate_factor: 1.0,
            l2_regularize: 0.0,
            is_gradient: false,
            max_change: 0.0,
        }
    }
}

impl UpdatableSettings {
    pub fn from_config(line: &mut ConfigLine) -> Result<UpdatableSettings> {
        let defaults = UpdatableSettings::default();
        let mut get = |key: &str, default: f32| -> Result<f32> {
            let value = line.get_f32(key)?.unwrap_or(default);
            if value >= 0.0 {
                Ok(value)
            } else {
                Err(line.error(format!("{key} must not be negative, found {value}")))
            }
        };
        Ok(UpdatableSettings {
            learning_rate: get("learning-rate", defaults.learning_rate)?,
            learning_rate_factor: get("learning-rate-factor", defaults.learning_rate_factor)?,
            max_change: get("max-change", defaults.max_change)?,
            l2_regularize: get("l2-regularize", defaults.l2_regularize)?,
            is_gradient: false,
        })
    }

    /// Reads the optional tokens in their order; the opening `<Type>` has been consumed.
    /// A missing `<LearningRate>` gives the default rate (older files of some types).
    pub fn read(r: &mut KaldiReader) -> Result<UpdatableSettings> {
        let mut s = UpdatableSettings::default();
        if r.accept_token("<LearningRateFactor>")? {
            s.learning_rate_factor = r.read_f32()?;
        }
        if r.accept_token("<IsGradient>")? {
            s.is_gradient = r.read_bool()?;
        }
        if r.accept_token("<MaxChange>")? {
            s.max_change = r.read_f32()?;
        }
        if r.accept_token("<L2Regularize>")? {
            s.l2_regularize = r.read_f32()?;
        }
        if r.accept_token("<LearningRate>")? {
            s.learning_rate = r.read_f32()?;
        }
        Ok(s)
    }

    /// Writes the tokens; the opening `<Type>` has been written.
    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        if self.learning_rate_factor != 1.0 {
            w.write_token("<LearningRateFactor>")?;
            w.write_f32(self.learning_rate_factor)?;
        }
        if self.is_gradient {
            w.write_token("<IsGradient>")?;
            w.write_bool(true)?;
        }
        if self.max_change > 0.0 {
            w.write_token("<MaxChange>")?;
            w.write_f32(self.max_change)?;
        }
        if self.l2_regularize > 0.0 {
            w.write_token("<L2Regularize>")?;
            w.write_f32(self.l2_regularize)?;
        }
        w.write_token("<LearningRate>")?;
        w.write_f32(self.learning_rate)?;
        Ok(())
    }

    /// `<Type>, input-dim=…, output-dim=…, learning-rate=…`, and the settings that differ from the defaults.
    pub fn info(&self, component: &dyn Component) -> String {
        let mut out = format!(
            "{}, input-dim={}, output-dim={}, learning-rate={}",
            component.type_name(),
            component.input_dim(),
            component.output_dim(),
            number(self.learning_rate as f64)
        );
        if self.is_gradient {
            out += ", is-gradient=true";
        }
        for (key, value, default) in [
            ("l2-regularize", self.l2_regularize, 0.0),
            ("learning-rate-factor", self.learning_rate_factor, 1.0),
            ("max-change", self.max_change, 0.0),
        ] {
            if value != default {
                out += &format!(", {key}={}", number(value as f64));
            }
        }
        out
    }

    /// Sets the rate to `rate` × factor.
    pub fn set_underlying_learning_rate(&mut self, rate: f32) {
        self.learning_rate = rate * self.learning_rate_factor;
    }

    /// Rate 1 and plain gradients from now on.
    pub fn set_as_gradient(&mut self) {
        self.learning_rate = 1.0;
        self.is_gradient = true;
    }
}

/// A component with parameters.
pub trait Updatable: Component {
    fn settings(&self) -> &UpdatableSettings;
    fn settings_mut(&mut self) -> &mut UpdatableSettings;

    /// The natural gradient that the component's settings ask for.
    fn preconditioning(&self) -> Preconditioning {
        Preconditioning::None
    }

    fn num_parameters(&self) -> usize {
        self.parameters().iter().map(|p| p.value.len()).sum()
    }
    /// Returns all parameters in the file's order: the linear part row by row, then the bias.
    fn vectorize(&self) -> Vec<f32> {
        self.parameters().iter().flat_map(|p| p.value.to_vec()).collect()
    }
    /// The inverse of [`Updatable::vectorize`]; `values` has [`Updatable::num_parameters`] elements.
    fn unvectorize(&mut self, mut values: &[f32]) {
        for Parameter { value, .. } in self.parameters_mut() {
            let (own, rest) = values.split_at(value.len());
            let device = value.device().clone();
            device.upload(value.view_mut(), own);
            values = rest;
        }
        assert!(values.is_empty(), "{} parameters too many", values.len());
    }
    /// Sum of products of corresponding parameters.
    fn dot_product(&self, other: &dyn Component) -> f64 {
        same_parameters(self.parameters(), other.parameters()).map(|(own, other)| own.dot(other)).sum()
    }
    /// Adds the sum of squares of all parameters to `sums[index]`, on their device.
    fn accumulate_square(&self, sums: &mut Accumulator, index: usize) {
        self.parameters().iter().for_each(|p| p.value.accumulate_square(sums, index));
    }
    /// Adds `stddev` × N(0, 1) to every parameter.
    fn perturb(&mut self, stddev: f32, random: &Random) {
        let mut parameters = self.vectorize();
        for p in &mut parameters {
            *p += stddev * random.normal();
        }
        self.unvectorize(&parameters);
    }
    fn set_underlying_learning_rate(&mut self, rate: f32) {
        self.settings_mut().set_underlying_learning_rate(rate);
    }
    fn set_as_gradient(&mut self) {
        self.settings_mut().set_as_gradient();
    }
}
