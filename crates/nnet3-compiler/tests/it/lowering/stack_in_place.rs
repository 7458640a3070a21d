//! Matrices that are written where a stack of them is read.

use super::networks::STACKED;
use super::{assert_near, found, nnet_and_request};
use nnet3_compiler::compile::compile;
use nnet3_compiler::computation::MatrixInfo;
use nnet3_compiler::optimize::{OptimizeOptions, optimize, stack_in_place};
use nnet3_core::execute::{CachingCompiler, CompilerOptions, Executor, Program};
use std::sync::Arc;

#[test]
fn results_are_the_same() {
    let (nnet, request) = nnet_and_request(STACKED, 3, 5);
    let mut computation = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    optimize(&OptimizeOptions::default(), &nnet, 4, &mut computation).unwrap();
    let joined = stack_in_place::run(&nnet, &computation).unwrap().unwrap();
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    let mut run = |computation| {
        let program = Arc::new(Program::new(&nnet, computation).unwrap());
        found(&nnet, &request, &program, &mut executor)
    };
    assert_eq!(run(joined), run(computation));
}

/// Computations for more sequences are expanded from one that was run before with stacks in place.
#[test]
fn expanded_computations_have_stacks() {
    let (nnet, small) = nnet_and_request(STACKED, 2, 5);
    let (_, large) = nnet_and_request(STACKED, 6, 5);
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    let mut results = [true, false].map(|use_shortcut| {
        let options = CompilerOptions { use_shortcut, ..CompilerOptions::default() };
        let mut compiler = CachingCompiler::new(options, OptimizeOptions::default());
        compiler.program(&nnet, &small).unwrap();
        let program = compiler.program(&nnet, &large).unwrap();
        assert_eq!(compiler.num_cached(), 2);
        let joined = |m: &MatrixInfo| (m.rows, m.cols) == (30, 20);
        assert!(program.computation().matrices.iter().any(joined), "{use_shortcut}");
        found(&nnet, &large, &program, &mut executor)
    });
    let [expanded, compiled] = &mut results;
    assert_near(&expanded.0, &compiled.0);
    expanded.1.iter().zip(&compiled.1).for_each(|(found, expected)| assert_near(found, expected));
}
