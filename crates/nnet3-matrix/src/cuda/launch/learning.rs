//! `learning.cu`.

use super::GpuBackend;
use crate::backend::LearningSteps;
use crate::cuda::engine::Engine;
use crate::cuda::op::Arg;
use crate::learning_step::{Learned, LearningStep};

impl<E: Engine> LearningSteps for GpuBackend<E> {
    fn learn(&self, learned: Learned<'_>, step: LearningStep<'_>) {
        let [parameter, gradient, first, second] =
            learned.views(step.rule).map(|view| self.mat(view.as_view()));
        let [times, element] = self.element(step.factor);
        let (rule, constants) = step.rule.constants();
        let mut args = vec![
            Arg::Mat(parameter),
            Arg::Mat(gradient),
            Arg::Mat(first),
            Arg::Mat(second),
            times,
            element,
            Arg::Float(step.rate),
            Arg::Float(step.decay),
            Arg::Float(step.keep),
            Arg::Float(step.clip),
            Arg::Float(step.bound),
            Arg::Int(rule),
        ];
        args.extend(constants.map(Arg::Float));
        self.each("learn", parameter, &args);
    }
}
