//! Which zeroing a program can leave out: that of a derivative which a product then is added to, and could as well set.

use crate::computation::{Command, Computation, SubmatrixId};
use crate::nnet::Nnet;
use crate::optimize::analysis::submatrix_accesses;

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
        let mut accesses = Vec::new();
        // The next command that touches a matrix.
        let mut next = vec![None; computation.matrices.len()];
        for (c, command) in commands.iter().enumerate().rev() {
            if let Command::SetConst { dest, value: 0.0 } = *command
                && let Some(after) = next[computation.matrix_of(dest).index()]
                && sets_if_asked(nnet, &commands[after], dest)
            {
                (found.needless[c], found.sets[after]) = (true, true);
            }
            accesses.clear();
            submatrix_accesses(nnet, computation, command, &mut accesses);
            let sizing = match *command {
                Command::Swap { first, second } => [Some(first), Some(second)],
                Command::Allocate { matrix } | Command::Deallocate { matrix } => [Some(matrix), None],
                _ => [None, None],
            };
            for s in accesses.iter().map(|&(s, _)| s).chain(sizing.into_iter().flatten()) {
                next[computation.matrix_of(s).index()] = Some(c);
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
    use super::*;
    use crate::config::parse_config;
    use crate::random::Random;

    /// A layer's input derivative is set; one that two layers add to is zeroed.
    #[test]
    fn derivatives_of_one_use() {
        let config = "
            input-node name=input dim=4
            component name=a type=AffineComponent input-dim=4 output-dim=4
            component name=b type=AffineComponent input-dim=4 output-dim=4
            component name=c type=AffineComponent input-dim=4 output-dim=4
            component-node name=a component=a input=input
            component-node name=b component=b input=a
            component-node name=c component=c input=a
            output-node name=output input=Sum(b, c)";
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
        let mut request = nnet.ordinary_request(2, 3, 1, true).unwrap();
        request.inputs[0].has_deriv = true;
        let mut computation = crate::compile::compile(&nnet, &[request]).unwrap();
        crate::optimize::optimize(&Default::default(), &nnet, 10, &mut computation).unwrap();
        let zeroing = Zeroing::of(&nnet, &computation);
        let named = |c: usize| match computation.commands[c] {
            Command::Backprop { component, .. } => nnet.component_name(component),
            _ => panic!("not a backprop"),
        };
        let sets: Vec<&str> = (0..zeroing.sets.len()).filter(|&c| zeroing.sets[c]).map(named).collect();
        assert!(sets.contains(&"a") && sets.len() == 2, "{sets:?}");
        assert_eq!(zeroing.needless.iter().filter(|&&n| n).count(), 2);
    }
}
