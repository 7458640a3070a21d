//! The operations that normalise together with the steps around it, and their way back.

use super::{Executor, Model, Program};
use nnet3_base::index::ComponentId;
use nnet3_base::random::Random;
use nnet3_compiler::computation::{Command, SubmatrixId};
use nnet3_compiler::lower::{self, Mode, PartBack};
use nnet3_component::capabilities::Normalization;
use nnet3_matrix::View;
use nnet3_matrix::backend::{Bypass, DerivBeforeRelu, NormalizedDeriv, NormalizedSum};
use nnet3_network::Nnet;
use std::sync::Arc;

/// The parameters of the normalisation, if these components still are what they were when the program was made: in test mode
/// a normalisation has no memo.
fn normalization(
    nnet: &Nnet,
    normalize: ComponentId,
    masks: Option<ComponentId>,
    relu: Option<ComponentId>,
) -> Option<Normalization> {
    let as_before = masks.is_none_or(|masks| nnet.component(masks).as_masks().is_some())
        && relu.is_none_or(|relu| nnet.component(relu).rectifies());
    nnet.component(normalize).as_normalization().filter(|_| as_before)
}

impl Executor {
    pub(super) fn normalized_sum(
        &self,
        program: &Program,
        sum: &lower::NormalizedSum,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let (context, part) = (self.context(random), sum.normalize);
        let id = |part: lower::Part| part.args.component;
        let found = normalization(model.nnet(), id(part), sum.masks.map(id), sum.relu.map(id));
        let Some(normalization) = found else {
            for part in sum.parts() {
                let propagate = lower::Propagate { args: part.args, mode: Mode::Ordinary };
                self.propagate(program, part.command, &propagate, model, random);
            }
            let commands = sum.bypass.into_iter().flat_map(|bypass| [bypass.copy, bypass.add]);
            return commands.for_each(|command| self.execute_command(program, &command));
        };
        let view = |id: SubmatrixId| self.view(program, id);
        let src = sum.relu.unwrap_or(part).args.input.map_or(View::empty(), |input| view(input).as_view());
        let memo = self.memo(program, part.command);
        let (factor, epsilon) = (normalization.variance_factor(), normalization.epsilon);
        match sum.relu {
            None => self.device.moments(memo, src, factor, epsilon),
            Some(relu) => {
                let receiver = if relu.args.store_stats { self.receiver_of_statistics(model) } else { None };
                let receiver = receiver.and_then(|nnet| nnet.component_mut(id(relu)).as_rectification_mut());
                let sums = receiver.and_then(|relu| relu.begin_statistics(context, src.rows()));
                self.device.rectified_moments(memo, src, factor, epsilon, sums)
            }
        }
        let masks = sum.masks.and_then(|part| {
            let masks = model.nnet().component(id(part)).as_masks()?;
            let memo = self.memo(program, part.command);
            let numbers = masks.masks(context, program.precomputed(part.args.precomputed), memo)?;
            Some((memo.as_view(), numbers))
        });
        let bypass = sum.bypass.map(|bypass| {
            let (matrix, factor, rows) = match bypass.copy {
                Command::Copy { src, alpha, .. } => (src, alpha, None),
                Command::CopyRows { src, alpha, rows, .. } => (src, alpha, Some(program.index_table(rows))),
                _ => unreachable!("a bypass copies a matrix or its rows"),
            };
            Bypass { matrix: view(matrix).as_view(), factor, rows }
        });
        let rectifies = sum.relu.is_some();
        let terms = NormalizedSum { src, rectifies, moments: memo.as_view(), masks, bypass };
        let values = sum.keeps_values.then(|| view(part.args.output));
        self.device.normalized_sum(view(sum.dest), values, &terms);
        if part.args.store_stats {
            self.store(program, part.command, &part.args, model, random);
        }
    }

    pub(super) fn normalized_backprop(
        &self,
        program: &Arc<Program>,
        back: &lower::NormalizedBackprop,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let context = self.context(random);
        let id = |part: PartBack| part.args.component;
        let nnet = model.nnet();
        let found = normalization(nnet, id(back.normalize), back.masks.map(id), Some(id(back.relu)));
        let (Some(normalization), Some(input), Some(in_deriv)) =
            (found, back.relu.args.out_value, back.relu.args.in_deriv)
        else {
            back.copy.iter().for_each(|command| self.execute_command(program, command));
            for part in back.parts() {
                let backprop = lower::Backprop { args: part.args, mode: Mode::Ordinary, taps: None };
                self.backprop(program, part.command, &backprop, model, random);
            }
            return;
        };
        let view = |id: SubmatrixId| self.view(program, id);
        let masks = back.masks.and_then(|part| {
            let memo = self.memo(program, part.command).as_view();
            let indexes = program.precomputed(part.args.precomputed);
            let numbers = nnet.component(id(part)).as_masks()?.masks_left(indexes, memo)?;
            Some((memo, numbers))
        });
        let (out_deriv, input) = (view(back.out_deriv()).as_view(), view(input).as_view());
        let moments = self.memo(program, back.normalize.command).as_view();
        let terms = NormalizedDeriv { out_deriv, masks, input, moments };
        let copy = match back.copy {
            Some(Command::Copy { dest, alpha, .. }) => Some((view(dest), alpha)),
            _ => None,
        };
        // Mean of the derivative, factor of the output, terms of self-repair.
        let mut sums = self.workspace.take(3, input.cols());
        let sums = sums.view_mut();
        self.device.normalized_deriv_sums(sums, normalization.deriv_factor(input.rows()), &terms);
        self.with_update(program, &back.relu.args, model, |own, _, mut update| {
            let rest = match own.as_rectification_mut() {
                Some(relu) => relu.begin_backprop(context, input.rows(), sums.row(2), update.reborrow()),
                None => DerivBeforeRelu::default(),
            };
            let rest = DerivBeforeRelu { copy, ..rest };
            self.device.normalized_deriv(view(in_deriv), sums.as_view(), &terms, rest)
        });
    }
}
