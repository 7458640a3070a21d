//! What a program does otherwise than its commands say, with the same results: it leaves out zeroing that nothing depends
//! on, adds and copies to a large matrix some rows at a time, sums statistics of frames where it extracts them, does at once
//! what several steps of a recurrence have in common, and reads the times that a product has spliced where they are.

use super::additions::additions;
use super::ahead::{Ahead, ahead};
use super::events::{Events, events};
use super::steps::{Steps, steps};
use super::summed::pairs;
use super::taps::{Splice, backward, splices};
use super::zeroing::{Part, needed};
use crate::component::winograd::Taps;
use crate::computation::{Command, Computation, MatrixId, PrecomputedId, SubmatrixId};
use crate::nnet::Nnet;

/// By command.
#[derive(Clone, Debug, Default)]
pub(super) enum Shortcut {
    /// As the command says.
    #[default]
    None,
    Nothing,
    /// Zero these only, of the matrix.
    Zero(Vec<Part>),
    /// A propagate or backprop that sets what it otherwise adds to.
    Sets,
    /// A backprop that adds its input derivative to this.
    AddsTo(SubmatrixId),
    /// A product that belongs to the steps of this number.
    Step(usize),
    /// A product, or a copy for one, of those of this number.
    Ahead(usize),
}

/// Commands, one after the other but for such that do nothing, that set and add to parts of one matrix and read no part of
/// it: row by row of that matrix, what they do is independent of the other rows.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub matrix: MatrixId,
    pub commands: Vec<usize>,
}

#[derive(Default)]
pub(super) struct Shortcuts {
    by_command: Vec<Shortcut>,
    steps: Vec<Steps>,
    ahead: Vec<Ahead>,
    /// For each command of a pair around a summed matrix the pooling's windows.
    windows: Vec<Option<PrecomputedId>>,
    splices: Vec<Splice>,
    /// For each propagate and each copy the splice that it belongs to.
    splice_of: Vec<Option<usize>>,
    /// For each backprop the taps that its input is made of.
    taps: Vec<Option<Taps>>,
    runs: Vec<Run>,
    /// For each command the run that it belongs to.
    run_of: Vec<Option<usize>>,
}

impl Shortcuts {
    pub fn of(nnet: &Nnet, computation: &Computation) -> Shortcuts {
        let commands = &computation.commands;
        let mut by_command = vec![Shortcut::None; commands.len()];
        let (mut steps, mut first) = (Vec::new(), Vec::new());
        let mut windows = vec![None; commands.len()];
        let (mut spliced, mut splice_of, mut taps) =
            (Vec::new(), vec![None; commands.len()], vec![None; commands.len()]);
        // A loop comes back to matrices that it has left.
        if !commands.iter().any(|c| matches!(c, Command::Goto { .. })) {
            let events = events(nnet, computation);
            leave_out(nnet, computation, &events, &mut by_command);
            steps = do_first(nnet, computation, &events, &mut by_command);
            first = ahead(nnet, computation, &events, |c| matches!(by_command[c], Shortcut::None));
            for (number, ahead) in first.iter().enumerate() {
                ahead.products.iter().for_each(|&(c, _)| by_command[c] = Shortcut::Ahead(number));
                ahead.copies.iter().for_each(|&c| by_command[c] = Shortcut::Ahead(number));
            }
            for pair in pairs(nnet, computation, &events) {
                pair.commands.iter().for_each(|&c| windows[c] = Some(pair.windows));
            }
            let is_free = |c: usize| matches!(by_command[c], Shortcut::None);
            spliced = splices(nnet, computation, &events, is_free);
            for (number, splice) in spliced.iter().enumerate() {
                splice.copies.iter().chain([&splice.propagate]).for_each(|&c| splice_of[c] = Some(number));
            }
            let is_additional = |c: usize| matches!(by_command[c], Shortcut::AddsTo(_));
            for (c, taps) in taps.iter_mut().enumerate().filter(|&(c, _)| !is_additional(c)) {
                *taps = backward(nnet, computation, &events, c);
            }
        }
        let (runs, run_of) = runs(computation, &by_command, &splice_of);
        Shortcuts {
            by_command,
            steps,
            ahead: first,
            windows,
            splices: spliced,
            splice_of,
            taps,
            runs,
            run_of,
        }
    }

    pub fn at(&self, command: usize) -> &Shortcut {
        &self.by_command[command]
    }

    /// What [`Shortcut::Step`] names.
    pub fn steps(&self, number: usize) -> &Steps {
        &self.steps[number]
    }

    /// What [`Shortcut::Ahead`] names.
    pub fn ahead(&self, number: usize) -> &Ahead {
        &self.ahead[number]
    }

    /// The windows to sum over or to take sums of, if this command can.
    pub fn windows(&self, command: usize) -> Option<PrecomputedId> {
        self.windows[command]
    }

    /// The splice that a propagate or a copy belongs to.
    pub fn splice(&self, command: usize) -> Option<&Splice> {
        self.splice_of[command].map(|splice| &self.splices[splice])
    }

    /// What is known of a backprop's input.
    pub fn taps(&self, command: usize) -> Option<Taps> {
        self.taps[command]
    }

    /// The run that a command belongs to, if it does.
    pub fn run(&self, command: usize) -> Option<&Run> {
        self.run_of[command].map(|run| &self.runs[run])
    }
}

fn leave_out(nnet: &Nnet, computation: &Computation, events: &Events, by_command: &mut [Shortcut]) {
    for found in additions(nnet, computation, events) {
        by_command[found.zeroing] = Shortcut::Nothing;
        by_command[found.backprop] = Shortcut::AddsTo(found.dest);
        by_command[found.addition] = Shortcut::Nothing;
    }
    for (c, command) in computation.commands.iter().enumerate() {
        let Command::SetConst { dest, value: 0.0 } = *command else { continue };
        if !matches!(by_command[c], Shortcut::None) {
            continue;
        }
        let events = events.of(computation.matrix_of(dest).index());
        let later = events.partition_point(|event| event.command() <= c);
        let Some(needed) = needed(nnet, computation, dest, &events[later..]) else { continue };
        for setter in needed.setters {
            by_command[setter] = Shortcut::Sets;
        }
        by_command[c] = match needed.parts {
            parts if parts.is_empty() => Shortcut::Nothing,
            parts if parts == [Part::of(computation, dest)] => Shortcut::None,
            parts => Shortcut::Zero(parts),
        };
    }
}

fn do_first(
    nnet: &Nnet,
    computation: &Computation,
    events: &Events,
    by_command: &mut [Shortcut],
) -> Vec<Steps> {
    let found = steps(nnet, computation, events, |c| matches!(by_command[c], Shortcut::None));
    for (number, steps) in found.iter().enumerate() {
        steps.products.iter().for_each(|&c| by_command[c] = Shortcut::Step(number));
        steps.copies.iter().for_each(|&c| by_command[c] = Shortcut::Nothing);
    }
    found
}

/// The runs, and for each command that belongs to one its number.
fn runs(
    computation: &Computation,
    by_command: &[Shortcut],
    splice_of: &[Option<usize>],
) -> (Vec<Run>, Vec<Option<usize>>) {
    let mut runs: Vec<Run> = Vec::new();
    // The command before this one with its matrix, if it could be part of a run, and whether it is.
    let (mut before, mut goes_on) = (None, false);
    for (c, command) in computation.commands.iter().enumerate() {
        if matches!(by_command[c], Shortcut::Nothing) || is_silent(command) {
            continue;
        }
        let to = match *command {
            Command::SetConst { dest, .. } => Some(computation.matrix_of(dest)),
            // That may be needless.
            Command::Copy { .. } if splice_of[c].is_some() => None,
            Command::Copy { .. } if matches!(by_command[c], Shortcut::Ahead(_)) => None,
            Command::Copy { dest, src, .. } | Command::Add { dest, src, .. } => {
                let to = computation.matrix_of(dest);
                (to != computation.matrix_of(src)).then_some(to)
            }
            _ => None,
        };
        let first = before.filter(|&(_, matrix)| to == Some(matrix));
        match (first, runs.last_mut().filter(|_| goes_on)) {
            (Some(_), Some(run)) => run.commands.push(c),
            (Some((first, matrix)), None) => runs.push(Run { matrix, commands: vec![first, c] }),
            (None, _) => {}
        }
        goes_on = first.is_some();
        before = to.map(|matrix| (c, matrix));
    }
    let mut run_of = vec![None; computation.commands.len()];
    for (number, run) in runs.iter().enumerate() {
        run.commands.iter().for_each(|&c| run_of[c] = Some(number));
    }
    (runs, run_of)
}

/// What makes no difference to the order of commands around it: sizes are planned beforehand.
fn is_silent(command: &Command) -> bool {
    matches!(command, Command::Allocate { .. } | Command::Deallocate { .. } | Command::NoOp)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Executor, Moment, Observer, Program};
    use super::*;
    use crate::compile::compile;
    use crate::config::parse_config;
    use crate::optimize::{OptimizeOptions, optimize};
    use crate::random::Random;
    use crate::request::ComputationRequest;
    use crate::run_request::{NamedMatrices, run_request};
    use kaldi_io::DenseMatrix;
    use std::sync::Arc;
    use std::time::Duration;

    fn count(program: &Program, f: impl Fn(&Shortcut) -> bool) -> usize {
        program.shortcuts.by_command.iter().filter(|&s| f(s)).count()
    }

    struct Literally;

    impl Observer for Literally {
        fn before(&mut self, _: &Moment<'_>) {}
        fn after(&mut self, _: &Moment<'_>, _: Duration) {}
    }

    /// Products into derivatives of more than one reader.
    const SMALL: &str = "
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
    const BYPASS: &str = "
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

    /// A recurrence: affine functions of what is below, which differs in kind, and of what is one step before.
    const RECURRENT: &str = "
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

    /// Equal but for the rounding of sums.
    fn assert_near(found: &[f32], expected: &[f32]) {
        let size = expected.iter().fold(0.0f32, |size, x| size.max(x.abs()));
        assert!(size > 0.0 && found.len() == expected.len());
        for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() <= 2e-6 * size, "element {i}: {found}, literally {expected}");
        }
    }

    fn nnet_and_request(config: &str, sequences: i32, frames: i32) -> (Nnet, ComputationRequest) {
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
        let mut request = nnet.ordinary_request(sequences, frames, 1, true).unwrap();
        request.inputs[0].has_deriv = true;
        (nnet, request)
    }

    fn optimized(nnet: &Nnet, compiled: &Computation) -> Computation {
        let mut computation = compiled.clone();
        optimize(&OptimizeOptions::default(), nnet, 2, &mut computation).unwrap();
        computation
    }

    /// Seven steps of a recurrence, with this input to each.
    pub fn recurrent(input: &str) -> (Nnet, Computation) {
        let (nnet, request) = nnet_and_request(&RECURRENT.replace("INPUT", input), 3, 7);
        let computation = optimized(&nnet, &compile(&nnet, std::slice::from_ref(&request)).unwrap());
        (nnet, computation)
    }

    /// Time-spliced layers, of three and of two taps, wide and long enough for filters to pay.
    const SPLICED: &str = "
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

    /// The same, to be run forward only.
    pub fn recurrent_forward(input: &str) -> (Nnet, Computation) {
        let (nnet, _) = nnet_and_request(&RECURRENT.replace("INPUT", input), 3, 7);
        let request = nnet.ordinary_request(3, 7, 1, false).unwrap();
        let computation = optimized(&nnet, &compile(&nnet, std::slice::from_ref(&request)).unwrap());
        (nnet, computation)
    }

    /// Derivatives and gradients are the same whether all commands run as they are or with shortcuts, in an arena with the
    /// remains of an earlier run. `enough` looks at the shortcuts of the optimized program.
    pub fn compare(config: &str, sequences: i32, frames: i32, enough: impl Fn(&Program) -> bool) {
        let (nnet, request) = nnet_and_request(config, sequences, frames);
        let compiled = compile(&nnet, std::slice::from_ref(&request)).unwrap();
        let optimized = optimized(&nnet, &compiled);
        let matrix = |rows: usize, seed| DenseMatrix {
            rows,
            cols: 4,
            data: Random::new(seed).normal_vec(rows * 4, 0.0, 1.0),
        };
        let named = |name: &str, rows: usize| [(name.to_string(), matrix(rows, 7))].into();
        let inputs: NamedMatrices = named("input", request.inputs[0].indexes.len());
        let derivs: NamedMatrices = named("output", request.outputs[0].indexes.len());
        for (computation, is_optimized) in [(compiled, false), (optimized, true)] {
            let program = Arc::new(Program::new(&nnet, computation).unwrap());
            assert!(!is_optimized || enough(&program), "{:?}", program.shortcuts.by_command);
            let mut executor = Executor::new(&nnet3_matrix::cpu());
            let mut results = Vec::new();
            for run in 0..3 {
                if run == 2 {
                    executor.observe(Box::new(Literally));
                }
                let random = Random::new(0);
                let found = run_request(&nnet, &request, &program, &mut executor, &inputs, &derivs, &random);
                let found = found.unwrap();
                let gradient = found.gradient.unwrap();
                let updatable = gradient.components().filter_map(|c| c.as_updatable());
                results.push((
                    found.input_derivs["input"].data.clone(),
                    updatable.map(|c| c.vectorize()).collect(),
                ));
            }
            let (literal, results): (&(Vec<f32>, Vec<Vec<f32>>), _) = (&results[2], &results[..2]);
            assert_eq!(results[0], results[1]);
            assert_near(&results[0].0, &literal.0);
            for (found, expected) in results[0].1.iter().zip(&literal.1) {
                assert_near(found, expected);
            }
        }
    }

    /// As [`compare`] for a network that is only run forward, and its outputs.
    pub fn compare_forward(config: &str, sequences: i32, frames: i32, enough: impl Fn(&Program) -> bool) {
        let (nnet, _) = nnet_and_request(config, sequences, frames);
        let request = nnet.ordinary_request(sequences, frames, 1, false).unwrap();
        let computation = optimized(&nnet, &compile(&nnet, std::slice::from_ref(&request)).unwrap());
        let program = Arc::new(Program::new(&nnet, computation).unwrap());
        assert!(enough(&program), "{:?}", program.shortcuts.by_command);
        let rows = request.inputs[0].indexes.len();
        let data = Random::new(7).normal_vec(rows * 4, 0.0, 1.0);
        let inputs: NamedMatrices = [("input".to_string(), DenseMatrix { rows, cols: 4, data })].into();
        let mut executor = Executor::new(&nnet3_matrix::cpu());
        let mut outputs = || {
            let none = NamedMatrices::default();
            let found =
                run_request(&nnet, &request, &program, &mut executor, &inputs, &none, &Random::new(0));
            executor.observe(Box::new(Literally));
            found.unwrap().outputs["output"].data.clone()
        };
        let (found, literal) = (outputs(), outputs());
        assert_near(&found, &literal);
        assert_ne!(found, literal, "no shortcut rounds");
    }

    #[test]
    fn spliced_times_are_read_where_they_are() {
        let count = |program: &Program| {
            let shortcuts = &program.shortcuts;
            let copies: Vec<usize> = shortcuts.splices.iter().map(|s| s.copies.len()).collect();
            let taps = shortcuts.taps.iter().flatten().map(|taps| (taps.count, taps.step, taps.summed));
            (copies, taps.collect::<Vec<_>>())
        };
        compare(SPLICED, 7, 90, |program| {
            count(program) == (vec![0, 0], vec![(2, 3 * 7, true), (3, 7, true)])
        });
        compare_forward(SPLICED, 7, 90, |program| {
            let copies = count(program).0;
            copies.len() == 2 && copies.iter().all(|&copies| copies > 0)
        });
        // What is copied to a matrix of its own, as so many rows are not, is freed before the product.
        compare_forward(SPLICED, 128, 10, |program| count(program).0 == [2, 0]);
        // What is read elsewhere, too.
        let elsewhere = SPLICED.replace("input=d\n", "input=Sum(d, Offset(c, -1))\n");
        assert_ne!(elsewhere, SPLICED);
        compare(&elsewhere, 7, 90, |program| count(program).1.len() == 2);
        compare_forward(&elsewhere, 7, 90, |program| count(program).0.len() == 2);
    }

    #[test]
    fn what_is_known_before_is_worked_out_before() {
        for input in ["a, IfDefined(Offset(d, -1))", "IfDefined(Offset(d, -1)), a"] {
            compare_forward(&RECURRENT.replace("INPUT", input), 3, 7, |program| {
                let ahead = program.shortcuts.ahead.iter();
                let products: Vec<usize> = ahead.map(|a| a.products.len()).collect();
                products == [7] && count(program, |s| matches!(s, Shortcut::Ahead(0))) == 14
            });
        }
        // Known on both sides of what the step before has left: what more is known of counts.
        let config =
            RECURRENT.replace("INPUT", "a, IfDefined(Offset(d, -1)), e").replace("=44", "=84").replace(
                "component-node name=b ",
                "component name=e type=AffineComponent input-dim=4 output-dim=40
            component-node name=e component=e input=input
            component-node name=b ",
            );
        compare_forward(&config, 3, 7, |program| {
            let ahead: Vec<_> =
                program.shortcuts.ahead.iter().map(|a| (a.products.len(), a.known.len())).collect();
            ahead == [(7, 40)] && count(program, |s| matches!(s, Shortcut::Ahead(_))) == 14
        });
    }

    #[test]
    fn nothing_depends_on_what_is_left_out() {
        compare(SMALL, 2, 3, |program| {
            count(program, |s| matches!(s, Shortcut::Sets)) >= 1
                && count(program, |s| matches!(s, Shortcut::AddsTo(_))) >= 1
                && count(program, |s| matches!(s, Shortcut::Nothing)) >= 3
        });
    }

    #[test]
    fn what_steps_have_in_common_is_done_at_once() {
        for input in ["a, IfDefined(Offset(d, -1))", "IfDefined(Offset(d, -1)), a"] {
            compare(&RECURRENT.replace("INPUT", input), 3, 7, |program| {
                let steps = &program.shortcuts.steps;
                let copies: Vec<usize> = steps.iter().map(|s| s.copies.len()).collect();
                copies == [6] && count(program, |s| matches!(s, Shortcut::Step(0))) == 7
            });
        }
    }

    #[test]
    fn large_matrices_are_set_and_added_to_in_blocks() {
        compare(BYPASS, 4, 1100, |program| {
            let large = |run: &Run| program.computation().matrix(run.matrix).rows * 64 > 1 << 18;
            count(program, |s| matches!(s, Shortcut::Sets)) >= 4
                && count(program, |s| matches!(s, Shortcut::Zero(_))) >= 1
                && program.shortcuts.runs.iter().filter(|run| large(run)).count() >= 2
        });
    }
}
