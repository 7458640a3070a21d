//! Steps of a recurrence before the update of their component.

use super::{Executor, Model, Program};
use nnet3_base::random::Random;
use nnet3_compiler::computation;
use nnet3_compiler::lower::{Step, StepsUpdate};
use nnet3_component::{Backprop, Component, Stepwise, Update};
use nnet3_matrix::View;

impl Executor {
    pub(super) fn step(&self, program: &Program, step: Step, model: &mut Model<'_>, random: &Random) {
        let context = self.context(random);
        let args = computation::Backprop { update_model: true, ..step.args };
        self.with_update(program, &args, model, |own, name, mut update| {
            let own = stepwise(own);
            let mut all = self.step_sums.borrow_mut();
            if let Some(rows) = step.begins {
                let (height, cells) = own.step_sums();
                let mut sums = self.workspace.hand_out(height, cells);
                own.begin_steps(context, sums.view_mut(), rows, update.reborrow());
                all.push((step.update, sums));
            }
            let found = all.iter_mut().find(|(update, _)| *update == step.update);
            let Some((_, sums)) = found else { unreachable!("the first step has made the sums") };
            let update = if step.collects { update } else { Update::None };
            own.backprop_step(context, self.rows_of_step(program, &args, name), sums.view_mut(), update);
        });
    }

    pub(super) fn steps_update(
        &self,
        program: &Program,
        StepsUpdate { args, collected }: StepsUpdate,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let (context, command) = (self.context(random), self.list(program).command(self.next));
        let mut all = self.step_sums.borrow_mut();
        let Some(place) = all.iter().position(|&(update, _)| update == command) else {
            unreachable!("steps come before their update")
        };
        let (_, mut sums) = all.swap_remove(place);
        self.with_update(program, &args, model, |own, name, mut update| {
            let own = stepwise(own);
            let rows = self.rows_of_step(program, &args, name);
            let count = rows.out_deriv.rows();
            if !collected {
                own.backprop_step(context, rows, sums.view_mut(), update.reborrow());
            }
            own.end_steps(context, sums.view_mut(), count, update);
        });
        self.workspace.take_back(sums);
    }

    fn rows_of_step<'a>(
        &'a self,
        program: &'a Program,
        args: &computation::Backprop,
        name: &'a str,
    ) -> Backprop<'a> {
        Backprop {
            name,
            indexes: None,
            in_value: args.in_value.map_or(View::empty(), |value| self.view(program, value).as_view()),
            out_value: View::empty(),
            out_deriv: self.view(program, args.out_deriv).as_view(),
            memo: View::empty(),
            in_deriv: args.in_deriv.map(|deriv| self.view(program, deriv)),
            sets: false,
            taps: None,
        }
    }
}

fn stepwise(component: &mut dyn Component) -> &mut dyn Stepwise {
    component.as_stepwise_mut().unwrap_or_else(|| unreachable!("the pass has asked the component"))
}
