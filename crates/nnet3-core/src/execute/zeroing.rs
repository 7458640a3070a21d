//! Which zeroing a program can leave out: that of a derivative which a product then is added to, and could as well set.

use crate::computation::{Command, Computation, SubmatrixId};
use crate::nnet::Nnet;
use crate::optimize::renumber::{List, list_of};

/// For each command whether it is such a zeroing, and whether it is a backprop that has to set its input derivative
/// instead of adding to it.
#[derive(Default)]
pub(super) struct Zeroing {
    pub needless: Vec<bool>,
    pub sets: Vec<bool>,
}

impl Zeroing {
    pub fn of(nnet: &Nnet, computation: &Computation) -> Zeroing {
        let commands = &computation.commands;
        let mut found = Zeroing { needless: vec![false; commands.len()], sets: vec![false; commands.len()] };
        if commands.iter().any(|c| matches!(c, Command::Goto { .. })) {
            return found;
        }
        // The next command that touches a matrix.
        let mut next = vec![None; computation.matrices.len()];
        for (c, command) in commands.iter().enumerate().rev() {
            if let Command::SetConst { dest, value: 0.0 } = *command
                && let Some(after) = next[computation.matrix_of(dest).index()]
                && sets_if_asked(nnet, &commands[after], dest)
            {
                (found.needless[c], found.sets[after]) = (true, true);
            }
            let mut touch = |s: SubmatrixId| next[computation.matrix_of(s).index()] = Some(c);
            let mut command = *command;
            command.for_each_submatrix(|s| touch(*s));
            if let Some(List::MultiIndexes(rows)) = list_of(&mut command) {
                computation.for_each_source(*rows, touch);
            }
        }
        found
    }
}

/// Whether this is a backprop to the whole of `dest` whose component can set the derivative.
fn sets_if_asked(nnet: &Nnet, command: &Command, dest: SubmatrixId) -> bool {
    match *command {
        Command::Backprop { component, in_deriv, in_value, out_value, out_deriv, .. } => {
            in_deriv == Some(dest)
                && in_value != Some(dest)
                && out_value != Some(dest)
                && out_deriv != dest
                && nnet.component(component).sets_in_deriv()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Executor, Moment, Observer, Program};
    use crate::compile::compile;
    use crate::config::parse_config;
    use crate::nnet::Nnet;
    use crate::optimize::{OptimizeOptions, optimize};
    use crate::random::Random;
    use crate::run_request::{NamedMatrices, run_request};
    use kaldi_io::DenseMatrix;
    use std::sync::Arc;
    use std::time::Duration;

    struct Literally;

    impl Observer for Literally {
        fn before(&mut self, _: &Moment<'_>) {}
        fn after(&mut self, _: &Moment<'_>, _: Duration) {}
    }

    const CONFIG: &str = "
        input-node name=input dim=4
        component name=a type=AffineComponent input-dim=4 output-dim=4
        component name=b type=LinearComponent input-dim=4 output-dim=4
        component name=c type=AffineComponent input-dim=4 output-dim=4
        component name=d type=RectifiedLinearComponent dim=4
        component-node name=a component=a input=Offset(input, 1)
        component-node name=b component=b input=a
        component-node name=c component=c input=a
        component-node name=d component=d input=Sum(b, c, Offset(a, 1))
        output-node name=output input=d";

    /// Derivatives, and the gradient in the text form of files, are the same whether all commands run or only the needed
    /// ones, in an arena with the remains of an earlier run.
    #[test]
    fn nothing_depends_on_what_is_left_out() {
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("test", CONFIG.lines()).unwrap(), &Random::new(1)).unwrap();
        let mut request = nnet.ordinary_request(2, 3, 1, true).unwrap();
        request.inputs[0].has_deriv = true;
        let compiled = compile(&nnet, std::slice::from_ref(&request)).unwrap();
        let mut optimized = compiled.clone();
        optimize(&OptimizeOptions::default(), &nnet, 2, &mut optimized).unwrap();
        let matrix = |rows: usize, seed| DenseMatrix {
            rows,
            cols: 4,
            data: Random::new(seed).normal_vec(rows * 4, 0.0, 1.0),
        };
        let named = |name: &str, rows: usize| [(name.to_string(), matrix(rows, 7))].into();
        let inputs: NamedMatrices = named("input", request.inputs[0].indexes.len());
        let derivs: NamedMatrices = named("output", request.outputs[0].indexes.len());
        for computation in [compiled, optimized] {
            let program = Arc::new(Program::new(&nnet, computation).unwrap());
            assert!(program.zeroing.sets.iter().filter(|&&sets| sets).count() >= 2);
            let mut executor = Executor::new(&nnet3_matrix::cpu());
            let mut results = Vec::new();
            for run in 0..3 {
                if run == 2 {
                    executor.observe(Box::new(Literally));
                }
                let random = Random::new(0);
                let found = run_request(&nnet, &request, &program, &mut executor, &inputs, &derivs, &random);
                let found = found.unwrap();
                let gradient: Vec<Vec<f32>> = found
                    .gradient
                    .unwrap()
                    .components()
                    .filter_map(|c| c.as_updatable().map(|c| c.vectorize()))
                    .collect();
                results.push((found.input_derivs["input"].data.clone(), gradient));
            }
            assert!(results[0].0.iter().any(|&x| x != 0.0));
            assert_eq!(results[0], results[1]);
            assert_eq!(results[0], results[2]);
        }
    }
}
