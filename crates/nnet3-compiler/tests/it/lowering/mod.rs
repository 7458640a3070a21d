//! Compares lowered operations with the commands, in numbers. (`lower/check` compares them on symbols.)

mod common_derivative;
#[allow(dead_code)]
#[path = "../../../src/lower/tests/networks.rs"]
mod networks;
mod normalized_backprop;
mod normalized_sum;
mod output_rows;
mod row_sums;
mod stack_in_place;
mod step_updates;
mod sum_statistics;

use kaldi_io::DenseMatrix;
use networks::{BYPASS, RECURRENT, SMALL, SPLICED};
use nnet3_base::config::parse_config;
use nnet3_base::random::Random;
use nnet3_compiler::compile::compile;
use nnet3_compiler::computation::{Command, Computation};
use nnet3_compiler::graph::FrameContext;
use nnet3_compiler::lower::{Affine, Backprop, Lowered, Mode, Op, Propagate, Watch};
use nnet3_compiler::optimize::{OptimizeOptions, optimize};
use nnet3_compiler::request::ComputationRequest;
use nnet3_core::execute::{Executor, Moment, Observer, Program};
use nnet3_core::run_request::{NamedMatrices, run_request};
use nnet3_network::Nnet;
use std::sync::Arc;
use std::time::Duration;

struct Literally;

impl Observer for Literally {
    fn before(&mut self, _: &Moment<'_>) {}
    fn literal(&self) -> bool {
        true
    }
    fn after(&mut self, _: &Moment<'_>, _: Duration) {}
}

/// Number of operations that satisfy `is_such`, including those in blocks.
pub fn count(lowered: &Lowered, is_such: impl Fn(&Op) -> bool) -> usize {
    let of = |op: &Op| match op {
        Op::Blocks(blocks) => {
            let commands = blocks.commands.iter().filter(|command| is_such(&Op::Command(**command)));
            usize::from(is_such(op)) + commands.count()
        }
        op => usize::from(is_such(op)),
    };
    lowered.ops().iter().map(of).sum()
}

fn checked(nnet: &Nnet, computation: Computation) -> Arc<Program> {
    let mut watch = Watch { check: true, ..Watch::default() };
    Arc::new(Program::for_device(nnet, computation, &nnet3_matrix::cpu(), &mut watch).unwrap())
}

/// Equal up to the rounding of sums.
pub fn assert_near(found: &[f32], expected: &[f32]) {
    let size = expected.iter().fold(0.0f32, |size, x| size.max(x.abs()));
    assert!(size > 0.0 && found.len() == expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 2e-6 * size, "element {i}: {found}, literally {expected}");
    }
}

pub fn nnet_and_request(config: &str, sequences: i32, frames: i32) -> (Nnet, ComputationRequest) {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
    let mut request = nnet.ordinary_request(sequences, frames, 1, true).unwrap();
    request.inputs[0].has_deriv = true;
    request.store_component_stats = true;
    (nnet, request)
}

fn optimized(nnet: &Nnet, compiled: &Computation) -> Computation {
    let mut computation = compiled.clone();
    optimize(&OptimizeOptions::default(), nnet, 2, &mut computation).unwrap();
    computation
}

/// Derivatives of the input, changes of each component's parameters, and all components' descriptions.
pub type Found = (Vec<f32>, Vec<Vec<f32>>, Vec<String>);

/// Runs a program of a request from [`nnet_and_request`], with the same numbers each time.
pub fn found(
    nnet: &Nnet,
    request: &ComputationRequest,
    program: &Arc<Program>,
    executor: &mut Executor,
) -> Found {
    let named = |name: &str, rows: usize| -> NamedMatrices {
        let data = Random::new(7).normal_vec(rows * 4, 0.0, 1.0);
        [(name.to_string(), DenseMatrix { rows, cols: 4, data })].into()
    };
    let inputs = named("input", request.inputs[0].indexes.len());
    let derivs = named("output", request.outputs[0].indexes.len());
    let random = Random::new(0);
    let found = run_request(nnet, request, program, executor, &inputs, &derivs, &random).unwrap();
    let gradient = found.gradient.unwrap();
    let updatable = gradient.components().filter_map(|c| c.as_updatable());
    let statistics = gradient.components().map(|c| c.info(false)).collect();
    (found.input_derivs["input"].data.clone(), updatable.map(|c| c.vectorize()).collect(), statistics)
}

/// Derivatives and gradients must be the same for literal and lowered operations, in an arena with the remains of an
/// earlier run. `enough` checks the optimized program.
pub fn compare(config: &str, sequences: i32, frames: i32, enough: impl Fn(&Program) -> bool) {
    compare_changed(config, sequences, frames, |_| (), enough)
}

/// As [`compare`], with a network that is changed after the programs have been made.
pub fn compare_changed(
    config: &str,
    sequences: i32,
    frames: i32,
    change: impl Fn(&mut Nnet),
    enough: impl Fn(&Program) -> bool,
) {
    let (nnet, request) = nnet_and_request(config, sequences, frames);
    let mut changed = nnet.clone();
    change(&mut changed);
    let compiled = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    let optimized = optimized(&nnet, &compiled);
    for (computation, is_optimized) in [(compiled, false), (optimized, true)] {
        let program = checked(&nnet, computation);
        assert!(
            !is_optimized || enough(&program),
            "{}",
            program.lowered().text(&nnet, program.computation())
        );
        let mut executor = Executor::new(&nnet3_matrix::cpu());
        let mut results: Vec<Found> = Vec::new();
        for run in 0..3 {
            if run == 2 {
                executor.observe(Box::new(Literally));
            }
            results.push(found(&changed, &request, &program, &mut executor));
        }
        let (literal, results) = (&results[2], &results[..2]);
        assert_eq!(results[0], results[1]);
        assert_near(&results[0].0, &literal.0);
        let stored = |statistics: &[String]| -> Vec<String> {
            statistics.iter().filter(|info| info.contains("count=")).cloned().collect()
        };
        assert_eq!(stored(&results[0].2), stored(&literal.2));
        for (found, expected) in results[0].1.iter().zip(&literal.1) {
            assert_near(found, expected);
        }
    }
}

/// As [`compare`], for a network that only runs forward; returns its outputs.
pub fn compare_forward(config: &str, sequences: i32, frames: i32, enough: impl Fn(&Program) -> bool) {
    let (nnet, _) = nnet_and_request(config, sequences, frames);
    let request = nnet.ordinary_request(sequences, frames, 1, false).unwrap();
    let computation = optimized(&nnet, &compile(&nnet, std::slice::from_ref(&request)).unwrap());
    let program = checked(&nnet, computation);
    assert!(enough(&program), "{}", program.lowered().text(&nnet, program.computation()));
    let rows = request.inputs[0].indexes.len();
    let data = Random::new(7).normal_vec(rows * 4, 0.0, 1.0);
    let inputs: NamedMatrices = [("input".to_string(), DenseMatrix { rows, cols: 4, data })].into();
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    let mut outputs = || {
        let none = NamedMatrices::default();
        let found = run_request(&nnet, &request, &program, &mut executor, &inputs, &none, &Random::new(0));
        executor.observe(Box::new(Literally));
        found.unwrap().outputs["output"].data.clone()
    };
    let (found, literal) = (outputs(), outputs());
    assert_near(&found, &literal);
    assert_ne!(found, literal, "nothing is rounded otherwise");
}

fn is_copy(op: &Op) -> bool {
    matches!(op, Op::Command(Command::Copy { .. }))
}

/// Number of copies that became needless.
fn left_out(program: &Program) -> usize {
    count(program.literal(), is_copy) - count(program.lowered(), is_copy)
}

#[test]
fn spliced_times_are_read_where_they_are() {
    let filters = |program: &Program| count(program.lowered(), |op| matches!(op, Op::Filter(_)));
    let taps = |program: &Program| -> Vec<(usize, usize, bool)> {
        let taps = program.lowered().ops().iter().filter_map(|op| match op {
            Op::Backprop(backprop) => backprop.taps,
            _ => None,
        });
        taps.map(|taps| (taps.count, taps.step, taps.summed)).collect()
    };
    compare(SPLICED, 7, 90, |program| {
        filters(program) == 1 && left_out(program) == 0 && taps(program) == [(2, 3 * 7, true), (3, 7, true)]
    });
    compare_forward(SPLICED, 7, 90, |program| filters(program) == 1 && left_out(program) == 2);
    // A copy to a matrix of its own, because there are fewer rows, is freed before the product.
    compare_forward(SPLICED, 128, 10, |program| filters(program) >= 1 && left_out(program) == 2);
    // The copied matrix also has another reader.
    let elsewhere = SPLICED.replace("input=d\n", "input=Sum(d, Offset(c, -1))\n");
    assert_ne!(elsewhere, SPLICED);
    compare(&elsewhere, 7, 90, |program| taps(program).len() == 2);
    compare_forward(&elsewhere, 7, 90, |program| filters(program) == 1);
}

#[test]
fn what_is_known_before_is_worked_out_before() {
    let shares = |program: &Program| -> Vec<usize> {
        let shares = program.lowered().ops().iter().filter_map(|op| match op {
            Op::Share(share) => Some(share.columns.len()),
            _ => None,
        });
        shares.collect()
    };
    let copies = |program: &Program| count(program.lowered(), |op| matches!(op, Op::CopyShare { .. }));
    for input in ["a, IfDefined(Offset(d, -1))", "IfDefined(Offset(d, -1)), a"] {
        compare_forward(&RECURRENT.replace("INPUT", input), 3, 7, |program| {
            shares(program) == [40] && copies(program) == 7 && left_out(program) == 7
        });
    }
    // Known columns lie on both sides of the previous step's result. The larger known part is used.
    let config = RECURRENT.replace("INPUT", "a, IfDefined(Offset(d, -1)), e").replace("=44", "=84").replace(
        "component-node name=b ",
        "component name=e type=AffineComponent input-dim=4 output-dim=40
        component-node name=e component=e input=input
        component-node name=b ",
    );
    compare_forward(&config, 3, 7, |program| {
        shares(program) == [40] && copies(program) == 7 && left_out(program) == 7
    });
}

fn sets(op: &Op) -> bool {
    matches!(
        op,
        Op::Propagate(Propagate { mode: Mode::Sets, .. }) | Op::Backprop(Backprop { mode: Mode::Sets, .. })
    )
}

#[test]
fn nothing_depends_on_what_is_left_out() {
    compare(SMALL, 2, 3, |program| {
        let (lowered, literal) = (program.lowered(), program.literal());
        let elsewhere = |(i, op): (usize, &Op)| match (op, &literal.ops()[lowered.command(i)]) {
            (Op::Backprop(own), Op::Backprop(other)) => own.args.in_deriv != other.args.in_deriv,
            _ => false,
        };
        let zeroings =
            |lowered| count(lowered, |op| matches!(op, Op::Command(Command::SetConst { value: 0.0, .. })));
        count(lowered, sets) >= 1
            && lowered.ops().iter().enumerate().filter(|&item| elsewhere(item)).count() == 2
            && zeroings(literal) >= zeroings(lowered) + 2
    });
}

#[test]
fn what_steps_have_in_common_is_done_at_once() {
    for input in ["a, IfDefined(Offset(d, -1))", "IfDefined(Offset(d, -1)), a"] {
        compare(&RECURRENT.replace("INPUT", input), 3, 7, |program| {
            let lowered = program.lowered();
            let is_share = |op: &Op| matches!(op, Op::Affine(Affine { adds: false, .. }));
            let share = lowered.ops().iter().position(is_share).unwrap();
            let turn = lowered.at_turn(lowered.command(share));
            lowered.ops()[turn.clone()].iter().filter(|op| is_copy(op)).count() == 6
                && share + 2 == turn.end
                && count(lowered, |op| matches!(op, Op::Affine(Affine { adds: true, .. }))) == 7
        });
    }
}

#[test]
fn large_matrices_are_set_and_added_to_in_blocks() {
    compare(BYPASS, 4, 1100, |program| {
        let own = program.computation().submatrices.len();
        let is_part = |op: &Op| matches!(op, Op::Command(Command::SetConst { dest, value: 0.0 }) if dest.index() >= own);
        count(program.lowered(), sets) >= 4
            && count(program.lowered(), is_part) >= 1
            && count(program.lowered(), |op| matches!(op, Op::Blocks(_))) >= 2
    });
}
