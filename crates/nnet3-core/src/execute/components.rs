//! The commands that run components.

use super::shortcuts::Shortcut;
use super::{Executor, Model, Program};
use crate::component::{self, Backprop, Context, Update};
use crate::computation::{Command, Propagate, SubmatrixId, command};
use crate::index::ComponentId;
use crate::learning::Plain;
use crate::learning::second_thread::Handover;
use crate::nnet::Nnet;
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
                Model::Statistics(nnet) | Model::Train { nnet, .. } => nnet,
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
        let second_thread = self.second_thread();
        let (nnet, target, rules) = match model {
            Model::Frozen(nnet) => no_backward_pass(nnet, component),
            Model::Statistics(nnet) => no_backward_pass(nnet, component),
            Model::Train { nnet, delta } => {
                if let Some(thread) = second_thread {
                    thread.collect(&self.workspace, delta);
                }
                let (target, rules) = delta.component(component);
                (nnet, target, Some(rules))
            }
            Model::Gradient { nnet, gradient } => (nnet, gradient.component_mut(component), None),
        };
        let (own, name) = nnet.component_and_name(component);
        let updatable = own.as_updatable().is_some();
        let wanted = update_model && (!updatable || program.computation().need_model_derivative);
        let (mut plain, mut handover) = (Plain, None);
        let update = match (rules, second_thread) {
            _ if !wanted => Update::None,
            (Some(_), _) if !updatable => Update::Own,
            (Some(rules), None) => Update::to(target, rules),
            (Some(rules), Some(thread)) => {
                let workspace = &self.workspace;
                Update::to(target, handover.insert(Handover { thread, workspace, id: component, rules }))
            }
            (None, _) => Update::to(target, &mut plain),
        };
        let args = Backprop {
            name,
            indexes: program.precomputed(precomputed),
            in_value: optional(in_value),
            out_value: optional(out_value),
            out_deriv: self.view(program, out_deriv).as_view(),
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

fn no_backward_pass(nnet: &Nnet, component: ComponentId) -> ! {
    unreachable!(
        "backward pass of {} with a model that collects no gradients",
        nnet.component_name(component)
    )
}
