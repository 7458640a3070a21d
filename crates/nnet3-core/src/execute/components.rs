//! The commands that run components.

use super::shortcuts::Shortcut;
use super::{Executor, Model, Program};
use crate::component::{self, Backprop, Context, Update};
use crate::computation::{Command, Propagate, SubmatrixId, command};
use crate::index::ComponentId;
use crate::random::Random;
use nnet3_matrix::View;
use std::sync::Arc;

impl Executor {
    pub(super) fn context<'c>(&'c self, random: &'c Random) -> Context<'c> {
        Context { backend: &*self.device, workspace: &self.workspace, random }
    }

    pub(super) fn propagate(
        &self,
        program: &Program,
        c: usize,
        component: ComponentId,
        present: &Command,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let &Command::Propagate(Propagate { precomputed, input, output, store_stats, .. }) = present else {
            return;
        };
        let context = self.context(random);
        let indexes = program.precomputed(precomputed);
        let in_value = input.map_or(View::empty(), |i| self.view(program, i).as_view());
        let out_value = self.view(program, output);
        let memo = self.memo(program, c);
        let run = model.nnet().component(component);
        match (self.windows(program, c), self.shortcut(program, c)) {
            (Some(windows), _) => {
                component::summed::propagate(run, context, indexes, windows, in_value, out_value)
            }
            (None, Shortcut::Sets) => run.propagate_setting(context, indexes, in_value, out_value, memo),
            _ if self.product(context, program, c, run) => {}
            _ => run.propagate(context, indexes, in_value, out_value, memo),
        }
        if store_stats {
            let in_value = if input == Some(output) { View::empty() } else { in_value };
            let target = match model {
                Model::Frozen(_) => return,
                Model::Train { nnet, .. } => nnet,
                Model::Gradient { gradient, .. } => gradient,
            };
            target.component_mut(component).store_stats(
                context,
                in_value,
                out_value.as_view(),
                memo.as_view(),
            );
        }
    }

    pub(super) fn backprop(
        &self,
        program: &Arc<Program>,
        c: usize,
        component: ComponentId,
        present: &Command,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let &Command::Backprop(command::Backprop {
            precomputed,
            in_value,
            out_value,
            out_deriv,
            in_deriv,
            update_model,
            ..
        }) = present
        else {
            return;
        };
        let shortcut = self.shortcut(program, c);
        let in_deriv = match *shortcut {
            Shortcut::AddsTo(dest) => Some(dest),
            _ => in_deriv,
        };
        let optional =
            |id: Option<SubmatrixId>| id.map_or(View::empty(), |i| self.view(program, i).as_view());
        let (nnet, other, statistics_stay) = match model {
            Model::Frozen(nnet) => {
                unreachable!("backward pass of {} with a frozen model", nnet.component_name(component))
            }
            Model::Train { nnet, delta } => (nnet, delta, true),
            Model::Gradient { nnet, gradient } => (nnet, gradient, false),
        };
        let (own, name) = nnet.component_and_name(component);
        let updatable = own.as_updatable().is_some();
        let wanted = update_model && (!updatable || program.computation().need_model_derivative);
        let matrices = [optional(in_value), self.view(program, out_deriv).as_view()];
        let given_away = wanted
            && statistics_stay
            && own.updates_by_itself()
            && self.second_thread().is_some_and(|updates| {
                updates.give(&self.workspace, other, component, (program, c), matrices)
            });
        let update = match () {
            () if !wanted || given_away => Update::None,
            () if updatable || !statistics_stay => Update::Other(other.component_mut(component)),
            () => Update::Own,
        };
        let args = Backprop {
            name,
            indexes: program.precomputed(precomputed),
            in_value: matrices[0],
            out_value: optional(out_value),
            out_deriv: matrices[1],
            memo: self.memo(program, c).as_view(),
            in_deriv: in_deriv.map(|d| self.view(program, d)),
            sets: matches!(shortcut, Shortcut::Sets),
            taps: program.shortcuts.taps(c).filter(|_| !self.literal),
        };
        match self.windows(program, c) {
            Some(windows) => component::summed::backprop(own, self.context(random), args, windows),
            None => own.backprop(self.context(random), args, update),
        }
    }
}
