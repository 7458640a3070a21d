//! Steps of the embedding matrix (`RnnlmEmbeddingTrainer`).

use kaldi_io::log::num;
use nnet3_core::component::Context;
use nnet3_core::component::preconditioners::NaturalGradientSettings;
use nnet3_core::natural_gradient::NaturalGradient;
use nnet3_matrix::{Matrix, ViewMut};

use super::core::check_options;
use super::{Event, Pass};
use crate::embedding::{Active, Embedding};
use crate::error::{Error, Result};
use crate::tables::{places_in, rows_of};

/// Number of rows after which natural gradient forgets, where the number of minibatches does not say so.
const SAMPLES_HISTORY: f32 = 2000.0;

/// Options of the training of the embeddings.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingOptions {
    pub momentum: f32,
    /// Limit on the 2-norm of a minibatch's change; 0 is none.
    pub max_param_change: f32,
    pub l2_regularize: f32,
    pub learning_rate: f32,
    /// Strength of backstitch in minibatches for which the network does it.
    pub backstitch_training_scale: f32,
    pub backstitch_training_interval: i32,
    pub use_natural_gradient: bool,
    pub natural_gradient_alpha: f32,
    pub natural_gradient_rank: i32,
    pub natural_gradient_update_period: i32,
    /// Minibatches after which natural gradient forgets.
    pub natural_gradient_num_minibatches_history: f32,
}

impl Default for EmbeddingOptions {
    fn default() -> EmbeddingOptions {
        EmbeddingOptions {
            momentum: 0.0,
            max_param_change: 1.0,
            l2_regularize: 0.0,
            learning_rate: 0.01,
            backstitch_training_scale: 0.0,
            backstitch_training_interval: 1,
            use_natural_gradient: true,
            natural_gradient_alpha: 4.0,
            natural_gradient_rank: 80,
            natural_gradient_update_period: 4,
            natural_gradient_num_minibatches_history: 10.0,
        }
    }
}

impl EmbeddingOptions {
    /// `has_backstitch`: the network is trained with backstitch.
    ///
    /// # Errors
    /// An option is out of its range; the message names it.
    pub fn check(&self, has_backstitch: bool) -> Result<()> {
        check_options(
            "embedding",
            self.momentum,
            self.backstitch_training_scale,
            self.backstitch_training_interval,
        )?;
        if has_backstitch && self.momentum > 0.0 {
            return Err(Error::options(
                "`rnnlm.backstitch-training-scale` and `embedding.momentum` cannot both be above 0",
            ));
        }
        let wrong = |name: &str, found: f64, expected: &str| {
            Err(Error::options(format!("`embedding.{name}`={}: expected {expected}", num(found))))
        };
        let is_wrong = |value: f32| !value.is_finite() || value < 0.0;
        match self {
            o if is_wrong(o.learning_rate) || o.learning_rate == 0.0 => {
                wrong("learning-rate", o.learning_rate.into(), "a number above 0")
            }
            o if is_wrong(o.max_param_change) => {
                wrong("max-param-change", o.max_param_change.into(), "a number that is not negative")
            }
            o if is_wrong(o.l2_regularize) => {
                wrong("l2-regularize", o.l2_regularize.into(), "a number that is not negative")
            }
            o if is_wrong(o.natural_gradient_alpha) || o.natural_gradient_alpha == 0.0 => {
                wrong("natural-gradient-alpha", o.natural_gradient_alpha.into(), "a number above 0")
            }
            o if o.natural_gradient_rank <= 0 => {
                wrong("natural-gradient-rank", o.natural_gradient_rank.into(), "a number above 0")
            }
            o if o.natural_gradient_update_period <= 0 => wrong(
                "natural-gradient-update-period",
                o.natural_gradient_update_period.into(),
                "a number above 0",
            ),
            o if !(o.natural_gradient_num_minibatches_history > 1.0
                && o.natural_gradient_num_minibatches_history < 1e6) =>
            {
                wrong(
                    "natural-gradient-num-minibatches-history",
                    o.natural_gradient_num_minibatches_history.into(),
                    "a number above 1 and below 1000000",
                )
            }
            _ => Ok(()),
        }
    }

    fn natural_gradient(&self) -> NaturalGradient {
        let settings = NaturalGradientSettings::new(
            self.natural_gradient_rank as usize,
            self.natural_gradient_update_period as usize,
            SAMPLES_HISTORY,
            self.natural_gradient_alpha,
        );
        NaturalGradient::new(NaturalGradientSettings {
            num_minibatches_history: self.natural_gradient_num_minibatches_history,
            ..settings
        })
    }
}

/// Counts and norms of a training of the embeddings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmbeddingSummary {
    /// Steps as the reference counts them.
    pub steps: u64,
    /// Share of the steps with an active limit on the change, in per cent.
    pub limited: f64,
    /// The 2-norm of the difference between the trained matrix and the one before training.
    pub change: f64,
    pub initial: f64,
    pub trained: f64,
}

/// Trains an embedding matrix.
pub(super) struct EmbeddingTrainer {
    options: EmbeddingOptions,
    initial: Matrix,
    momentum: Option<Matrix>,
    preconditioner: Option<NaturalGradient>,
    steps: u64,
    limited: u64,
}

impl EmbeddingTrainer {
    pub fn new(options: EmbeddingOptions, matrix: &Matrix) -> EmbeddingTrainer {
        let zeros = || Matrix::zeros(matrix.device(), matrix.rows(), matrix.cols());
        EmbeddingTrainer {
            initial: matrix.clone(),
            momentum: (options.momentum > 0.0).then(zeros),
            preconditioner: options.use_natural_gradient.then(|| options.natural_gradient()),
            options,
            steps: 0,
            limited: 0,
        }
    }

    /// Makes a step along the derivative by the embeddings of the words of a minibatch. Without features it may be changed; in the
    /// second step of backstitch it is then what the first step has left, and more.
    pub fn step(
        &mut self,
        context: Context<'_>,
        embedding: &mut Embedding,
        active: &Active,
        derivative: &mut Matrix,
        pass: Pass,
        report: &mut dyn FnMut(Event),
    ) {
        if !embedding.has_features() {
            self.update(
                context,
                &mut embedding.matrix,
                active.words.as_deref(),
                derivative.view_mut(),
                pass,
                report,
            );
            return;
        }
        let (rows, cols) = (embedding.matrix.rows(), embedding.matrix.cols());
        let mut of_features = context.workspace.take(rows, cols);
        embedding.of_features(context.workspace, active, of_features.view_mut(), derivative.view());
        self.update(context, &mut embedding.matrix, None, of_features.view_mut(), pass, report);
    }

    /// Changes the matrix, or these rows of it.
    fn update(
        &mut self,
        context: Context<'_>,
        matrix: &mut Matrix,
        rows: Option<&[i32]>,
        derivative: ViewMut<'_>,
        pass: Pass,
        report: &mut dyn FnMut(Event),
    ) {
        let (backend, options) = (context.backend, &self.options);
        let strength = options.backstitch_training_scale;
        let l2 = match pass {
            Pass::Conventional => options.l2_regularize,
            Pass::Back => 0.0,
            Pass::Forth => options.l2_regularize / (1.0 + strength),
        };
        if l2 > 0.0 {
            match rows {
                None => backend.add(derivative, -2.0 * l2, matrix.view()),
                Some(rows) => backend.add_rows(derivative, -2.0 * l2, matrix.view(), &rows_of(rows)),
            }
        }
        let mut scale = options.learning_rate;
        if let Some(preconditioner) = &mut self.preconditioner {
            preconditioner.freeze(pass == Pass::Back);
            scale *= preconditioner.precondition(context, derivative);
            preconditioner.freeze(false);
        }
        // (The reference counts so.)
        self.steps += match (pass, rows) {
            (Pass::Conventional, _) | (Pass::Forth, Some(_)) | (Pass::Back, None) => 1,
            (Pass::Forth, None) => 2,
            (Pass::Back, Some(_)) => 0,
        };
        let limit = options.max_param_change;
        if limit > 0.0 {
            let change = scale * backend.dot(derivative.as_view(), derivative.as_view()).sqrt() as f32;
            if change > limit {
                report(Event::EmbeddingMaxChange { scale: limit / change, change, limit });
                self.limited += 1;
                scale *= limit / change;
            }
        }
        scale *= match pass {
            Pass::Conventional => 1.0 - options.momentum,
            Pass::Back => -strength,
            Pass::Forth => 1.0 + strength,
        };
        let target = self.momentum.as_mut().map_or(matrix.view_mut(), |momentum| momentum.view_mut());
        match rows {
            None => backend.add(target, scale, derivative.as_view()),
            Some(rows) => {
                let places = places_in(rows, target.rows());
                backend.add_rows(target, scale, derivative.as_view(), &places)
            }
        }
        if let Some(momentum) = &mut self.momentum {
            matrix.add(1.0, momentum);
            momentum.scale(options.momentum);
        }
    }

    /// Returns counts and norms.
    pub fn summary(&self, matrix: &Matrix) -> EmbeddingSummary {
        let norm = |matrix: &Matrix| matrix.dot(matrix).sqrt();
        let mut difference = matrix.clone();
        difference.add(-1.0, &self.initial);
        let per_minibatch = match self.options.backstitch_training_scale {
            0.0 => 1.0,
            _ => 1.0 + 1.0 / f64::from(self.options.backstitch_training_interval),
        };
        EmbeddingSummary {
            steps: self.steps,
            limited: 100.0 * self.limited as f64 / (self.steps as f64 * per_minibatch),
            change: norm(&difference),
            initial: norm(&self.initial),
            trained: norm(matrix),
        }
    }
}
