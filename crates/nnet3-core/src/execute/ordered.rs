//! Steps of an output in the order of its rows in the request.

use super::{Executor, Model, Program};
use nnet3_base::random::Random;
use nnet3_compiler::computation::{self, Command};
use nnet3_compiler::lower::{self, Mode, Ordered};
use std::sync::Arc;

impl Executor {
    pub(super) fn ordered(
        &self,
        program: &Arc<Program>,
        ordered: &Ordered,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let command = self.list(program).command(self.next);
        let ordinary = |args| lower::Propagate { args, mode: Mode::Ordinary };
        match *ordered {
            Ordered::Propagate { affine, log_softmax, copy, input } => {
                let (Command::CopyRows { dest, rows, .. }, Some(src)) = (copy, affine.input) else {
                    unreachable!("the pass has looked at the copy")
                };
                self.execute_command(program, &Command::CopyRows { dest: input, src, rows, alpha: 1.0 });
                let output = log_softmax.map_or(dest, |softmax| softmax.output);
                let args = computation::Propagate { input: Some(input), output, ..affine };
                self.propagate(program, command, &ordinary(args), model, random);
                if let Some(softmax) = log_softmax {
                    let args = computation::Propagate { input: Some(output), output: dest, ..softmax };
                    self.propagate(program, command, &ordinary(args), model, random);
                }
            }
            Ordered::LogSoftmaxBackprop { copy, args, output, .. } => {
                let Command::CopyRows { src, .. } = copy else {
                    unreachable!("the pass has looked at the copy")
                };
                let args = computation::Backprop { out_value: Some(output), out_deriv: src, ..args };
                let backprop = lower::Backprop { args, mode: Mode::Ordinary, taps: None };
                self.backprop(program, command, &backprop, model, random);
            }
            Ordered::AffineBackprop { copy, args, rows, input, in_deriv, .. } => {
                let Some(src) = args.in_value else { unreachable!("the pass has looked at the input") };
                self.execute_command(program, &Command::CopyRows { dest: input, src, rows, alpha: 1.0 });
                let out_deriv = match copy {
                    Some(Command::CopyRows { src, .. }) => src,
                    _ => args.out_deriv,
                };
                let args = computation::Backprop { in_value: Some(input), out_deriv, in_deriv, ..args };
                let backprop = lower::Backprop { args, mode: Mode::Sets, taps: None };
                self.backprop(program, command, &backprop, model, random);
            }
        }
    }
}
