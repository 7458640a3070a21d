//! Compares lowered operations with the commands, on the checker's symbols and in numbers.

use super::*;
use crate::compile::compile;
use crate::computation::Command;
use crate::config::parse_config;
use crate::execute::{Executor, Moment, Observer, Program};
use crate::optimize::{OptimizeOptions, optimize};
use crate::random::Random;
use crate::request::ComputationRequest;
use crate::run_request::{NamedMatrices, run_request};
use kaldi_io::DenseMatrix;
use std::sync::Arc;

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

/// Products into derivatives of more than one reader.
pub const SMALL: &str = "
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

/// A bypass around products of several offsets, in matrices that are worked on in blocks; statistics of windows.
pub(crate) const BYPASS: &str = "
    input-node name=input dim=4
    component name=a type=LinearComponent input-dim=4 output-dim=64
    component name=b type=TdnnComponent input-dim=64 output-dim=8 time-offsets=-1,0 use-bias=false
    component name=c type=TdnnComponent input-dim=8 output-dim=64 time-offsets=0,1
    component name=d type=NoOpComponent dim=64
    component name=e type=AffineComponent input-dim=64 output-dim=2
    component name=f type=StatisticsExtractionComponent input-dim=2
    component name=g type=StatisticsPoolingComponent input-dim=5 left-context=2 right-context=2
    component name=h type=LinearComponent input-dim=4 output-dim=4
    component-node name=a component=a input=input
    component-node name=b component=b input=a
    component-node name=c component=c input=b
    component-node name=d component=d input=Sum(Scale(0.66, a), c, Offset(c, 2))
    component-node name=e component=e input=d
    component-node name=f component=f input=e
    component-node name=g component=g input=f
    component-node name=h component=h input=g
    output-node name=output input=h";

/// A recurrence: affine functions of the input from below (several kinds) and of the previous step.
pub const RECURRENT: &str = "
    input-node name=input dim=4
    component name=a type=AffineComponent input-dim=4 output-dim=40
    component name=b type=AffineComponent input-dim=44 output-dim=8
    component name=c type=AffineComponent input-dim=8 output-dim=4
    component name=d type=TanhComponent dim=4
    component-node name=a component=a input=Sum(input, Offset(input, 1))
    component-node name=b component=b input=Append(INPUT)
    component-node name=c component=c input=b
    component-node name=d component=d input=c
    output-node name=output input=d";

/// Equal up to the rounding of sums.
pub(crate) fn assert_near(found: &[f32], expected: &[f32]) {
    let size = expected.iter().fold(0.0f32, |size, x| size.max(x.abs()));
    assert!(size > 0.0 && found.len() == expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 2e-6 * size, "element {i}: {found}, literally {expected}");
    }
}

pub(crate) fn nnet_and_request(config: &str, sequences: i32, frames: i32) -> (Nnet, ComputationRequest) {
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

/// A network, and the computation of a training.
pub fn training(config: &str, sequences: i32, frames: i32) -> (Nnet, Computation) {
    let (nnet, request) = nnet_and_request(config, sequences, frames);
    let computation = optimized(&nnet, &compile(&nnet, std::slice::from_ref(&request)).unwrap());
    (nnet, computation)
}

/// Lowers a network that is only run forward.
pub fn forward(config: &str, sequences: i32, frames: i32) -> (Nnet, Computation) {
    let (nnet, _) = nnet_and_request(config, sequences, frames);
    let request = nnet.ordinary_request(sequences, frames, 1, false).unwrap();
    let computation = optimized(&nnet, &compile(&nnet, std::slice::from_ref(&request)).unwrap());
    (nnet, computation)
}

/// Seven steps of a recurrence, with this input to each.
pub fn recurrent(input: &str) -> (Nnet, Computation) {
    training(&RECURRENT.replace("INPUT", input), 3, 7)
}

/// Time-spliced layers, of three and of two taps, wide and long enough for filters to pay.
pub(crate) const SPLICED: &str = "
    input-node name=input dim=4
    component name=a type=AffineComponent input-dim=4 output-dim=64
    component name=b type=AffineComponent input-dim=192 output-dim=64
    component name=c type=TanhComponent dim=64
    component name=d type=AffineComponent input-dim=128 output-dim=64
    component name=e type=AffineComponent input-dim=64 output-dim=4
    component-node name=a component=a input=input
    component-node name=b component=b input=Append(Offset(a, -1), a, Offset(a, 1))
    component-node name=c component=c input=b
    component-node name=d component=d input=Append(Offset(c, -3), c)
    component-node name=e component=e input=d
    output-node name=output input=e";

/// A recurrent network that is only run forward.
pub(crate) fn recurrent_forward(input: &str) -> (Nnet, Computation) {
    forward(&RECURRENT.replace("INPUT", input), 3, 7)
}

/// Derivatives of the input, changes of each component's parameters, and all components' descriptions.
pub(crate) type Found = (Vec<f32>, Vec<Vec<f32>>, Vec<String>);

/// Runs a program of a request from [`nnet_and_request`], with the same numbers each time.
pub(crate) fn found(
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
pub(crate) fn compare_forward(config: &str, sequences: i32, frames: i32, enough: impl Fn(&Program) -> bool) {
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
