//! Inputs whose rows are picked from a table, compared with the same rows copied by the caller.

use nnet3_core::config::parse_config;
use nnet3_core::execute::{CachingCompiler, CompilerOptions, Executor, Model, Moment, Observer};
use nnet3_core::learning::{Delta, SecondThread};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_core::{Index, Random};
use nnet3_matrix::Matrix;
use std::time::Duration;

const DIM: usize = 7;
const OUT: usize = 5;
const SEQUENCES: i32 = 6;
const FRAMES: i32 = 8;
const ROWS: usize = (SEQUENCES * FRAMES) as usize;
/// Enough for estimates of natural gradient to be made and used.
const MINIBATCHES: usize = 14;

fn network(first: &str, descriptor: &str, more: &str) -> Nnet {
    let config = format!(
        "input-node name=input dim={DIM}\ncomponent name=a type={first} output-dim=40\n\
         component-node name=a component=a input={descriptor}\ncomponent name=b type=TanhComponent dim=40\n\
         component-node name=b component=b input=a\ncomponent name=c type=AffineComponent input-dim=40 output-dim={OUT}\n\
         component-node name=c component=c input=b\n{more}"
    );
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
    nnet
}

/// Rows are sequences within times, if `by_time`; otherwise times within sequences.
fn request(by_time: bool, derivative: bool) -> ComputationRequest {
    let by_time_first = (0..FRAMES).flat_map(|t| (0..SEQUENCES).map(move |n| Index::new(n, t, 0)));
    let by_sequence = (0..SEQUENCES).flat_map(|n| (0..FRAMES).map(move |t| Index::new(n, t, 0)));
    let indexes: Vec<Index> = if by_time { by_time_first.collect() } else { by_sequence.collect() };
    let io =
        |name: &str, has_deriv| IoSpecification { name: name.into(), indexes: indexes.clone(), has_deriv };
    ComputationRequest {
        inputs: vec![io("input", derivative)],
        outputs: vec![io("output", true)],
        need_model_derivative: true,
        store_component_stats: true,
    }
}

/// Words of a minibatch; some come often.
fn words(minibatch: usize, vocabulary: usize) -> Vec<i32> {
    let mut random = fastrand::Rng::with_seed(minibatch as u64);
    (0..ROWS).map(|_| random.usize(0..vocabulary).min(random.usize(0..vocabulary)) as i32).collect()
}

struct Literally;

impl Observer for Literally {
    fn before(&mut self, _: &Moment<'_>) {}
    fn literal(&self) -> bool {
        true
    }
    fn after(&mut self, _: &Moment<'_>, _: Duration) {}
}

#[derive(Clone, Copy)]
struct Case {
    picks: bool,
    plain: bool,
    derivative: bool,
    by_time: bool,
    threads: SecondThread,
    literal: bool,
}

const CASE: Case = Case {
    picks: true,
    plain: false,
    derivative: true,
    by_time: true,
    threads: SecondThread::Never,
    literal: false,
};

struct Run {
    outputs: Vec<f32>,
    changes: Vec<f32>,
    derivatives: Vec<f32>,
    by_table: bool,
}

fn run(nnet: &Nnet, vocabulary: usize, case: Case) -> Run {
    let mut nnet = nnet.clone();
    let mut delta = Delta::new(&nnet);
    if case.plain {
        delta.nnet_mut().set_as_gradient();
        delta.restart();
    }
    let request = request(case.by_time, case.derivative);
    let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    let program = compiler.program(&nnet, &request).unwrap();
    let device = nnet3_matrix::cpu();
    let mut executor = Executor::new(&device);
    executor.update_on_second_thread(case.threads);
    if case.literal {
        executor.observe(Box::new(Literally));
    }
    let random = Random::new(1);
    let values = Random::new(2).normal_vec(vocabulary * DIM, 0.0, 1.0);
    let table = Matrix::from_slice(&device, vocabulary, DIM, &values);
    let mut found = Run { outputs: vec![], changes: vec![], derivatives: vec![], by_table: false };
    for minibatch in 0..MINIBATCHES {
        let words = words(minibatch, vocabulary);
        executor.start(&program).unwrap();
        if case.picks {
            executor.pick_input(&nnet, "input", table.view(), &words).unwrap();
        } else {
            let rows = words.iter().flat_map(|&word| &values[word as usize * DIM..][..DIM]);
            let rows: Vec<f32> = rows.copied().collect();
            executor.accept_input(&nnet, "input", ROWS, DIM, &rows).unwrap();
        }
        let mut model = Model::Train { nnet: &mut nnet, delta: &mut delta };
        executor.run(&mut model, &random).unwrap();
        found.by_table |= executor.computes_by_table();
        let output = device.download(executor.output(model.nnet(), "output").unwrap());
        executor.accept_input(model.nnet(), "output", ROWS, OUT, &output).unwrap();
        executor.run(&mut model, &random).unwrap();
        found.outputs.extend(output);
        if !case.derivative {
            continue;
        }
        let mut derivative = Matrix::zeros(&device, vocabulary, DIM);
        if case.picks {
            executor.add_picked_derivative(model.nnet(), "input", derivative.view_mut()).unwrap();
        } else {
            let of_rows = device.download(executor.output(model.nnet(), "input").unwrap());
            let mut sums = vec![0.0; vocabulary * DIM];
            for (row, &word) in of_rows.chunks(DIM).zip(&words) {
                sums[word as usize * DIM..].iter_mut().zip(row).for_each(|(sum, d)| *sum += d);
            }
            derivative = Matrix::from_slice(&device, vocabulary, DIM, &sums);
        }
        found.derivatives.extend(derivative.to_vec());
    }
    for id in nnet.updatable_components() {
        let parameters = delta.nnet().component(id).parameters();
        found.changes.extend(parameters.iter().flat_map(|p| p.value.to_vec()));
    }
    found
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(0.0f32, |size, x| size.max(x.abs()));
    let error = found.iter().zip(expected).fold(0.0f32, |error, (a, b)| error.max((a - b).abs()));
    assert!(error <= 2e-5 * size, "{what}: {error} of {size}");
}

fn compare(nnet: &Nnet, vocabulary: usize, case: Case, by_table: bool, what: &str) {
    let found = run(nnet, vocabulary, case);
    let expected = run(nnet, vocabulary, Case { picks: false, ..case });
    assert_eq!(found.by_table, by_table, "{what}");
    assert!(expected.changes.iter().any(|&x| x != 0.0));
    assert_near(&found.outputs, &expected.outputs, what);
    assert_near(&found.changes, &expected.changes, what);
    assert_near(&found.derivatives, &expected.derivatives, what);
}

const OUTPUT: &str = "output-node name=output input=c objective=linear";
const SPLICED: &str = "Append(input, IfDefined(Offset(input, -1)))";

#[test]
fn rows_of_a_table_are_copied_rows() {
    let natural = |dims: usize| format!("NaturalGradientAffineComponent input-dim={} rank-in=3", dims * DIM);
    let plain = |dims: usize| format!("AffineComponent input-dim={}", dims * DIM);
    for (first, descriptor) in [
        (plain(1), "input"),
        (natural(1), "input"),
        (natural(1), "IfDefined(Offset(input, 1))"),
        (plain(2), SPLICED),
        (natural(2), SPLICED),
        (natural(3), "Append(IfDefined(Offset(input, -2)), input, IfDefined(Offset(input, 1)))"),
    ] {
        let nnet = network(&first, descriptor, OUTPUT);
        for case in [CASE, Case { derivative: false, threads: SecondThread::Always, ..CASE }] {
            compare(&nnet, 9, case, true, &format!("{first}, {descriptor}"));
        }
    }
}

/// If most words come once, or an observer wants literal commands, the rows are copied.
#[test]
fn rows_are_copied() {
    let first = format!("NaturalGradientAffineComponent input-dim={} rank-in=3", 2 * DIM);
    let nnet = network(&first, SPLICED, OUTPUT);
    compare(&nnet, 5000, CASE, false, "a large vocabulary");
    compare(&nnet, 9, Case { literal: true, ..CASE }, false, "literal commands");
}

/// Whatever the order of the rows: then the rows of times are not ranges.
#[test]
fn times_within_sequences() {
    let first = format!("NaturalGradientAffineComponent input-dim={} rank-in=3", 2 * DIM);
    let nnet = network(&first, SPLICED, OUTPUT);
    compare(&nnet, 9, Case { by_time: false, ..CASE }, true, SPLICED);
}

/// Lists of rows are numbered in each list of operations by itself: with a table, the input's derivative is no sum of rows.
#[test]
fn beside_sums_of_rows() {
    let more = format!(
        "component name=d type=AffineComponent input-dim=80 output-dim={OUT}\n\
         component-node name=d component=d input=Append(b, Round(b, 4))\noutput-node name=output input=Sum(c, d)"
    );
    let nnet =
        network(&format!("AffineComponent input-dim={}", 2 * DIM), "Append(input, Round(input, 4))", &more);
    let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    let program = compiler.program(&nnet, &request(true, true)).unwrap();
    assert!(program.lowered().row_lists().len() > 1);
    compare(&nnet, 9, CASE, true, "sums of rows");
}

/// Networks that need the rows themselves.
#[test]
fn other_readers() {
    let plain = |dims: usize| format!("AffineComponent input-dim={}", dims * DIM);
    let second = format!(
        "component name=d type=AffineComponent input-dim={DIM} output-dim={OUT}\n\
         component-node name=d component=d input=input\noutput-node name=output input=Sum(c, d)"
    );
    for (first, descriptor, more) in [
        (plain(1), "Scale(0.5, input)", OUTPUT),
        (plain(1), "Sum(input, IfDefined(Offset(input, -1)))", OUTPUT),
        (plain(1), "input", &second),
        (format!("LinearComponent input-dim={DIM}"), "input", OUTPUT),
    ] {
        compare(&network(&first, descriptor, more), 9, Case { plain: true, ..CASE }, false, descriptor);
    }
}

#[test]
fn refused() {
    let nnet = network(&format!("AffineComponent input-dim={DIM}"), "input", OUTPUT);
    let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    let program = compiler.program(&nnet, &request(true, true)).unwrap();
    let device = nnet3_matrix::cpu();
    let mut executor = Executor::new(&device);
    executor.start(&program).unwrap();
    let table = Matrix::zeros(&device, 3, DIM);
    let mut error = |node: &str, numbers: &[i32]| {
        executor.pick_input(&nnet, node, table.view(), numbers).unwrap_err().to_string()
    };
    let text = error("output", &[0; ROWS]);
    assert!(text.contains("does not expect 'output'"), "{text}");
    let text = error("input", &[0]);
    assert!(text.contains("48 rows of 7 columns") && text.contains("1 numbers"), "{text}");
    for wrong in [-1, 3] {
        let text = error("input", &[wrong; ROWS]);
        assert!(text.contains(&format!("row {wrong} of a table of 3 rows")), "{text}");
    }
    executor.pick_input(&nnet, "input", table.view(), &[2; ROWS]).unwrap();
    let mut delta = Delta::new(&nnet);
    let (mut nnet, random) = (nnet.clone(), Random::new(1));
    let mut model = Model::Train { nnet: &mut nnet, delta: &mut delta };
    executor.run(&mut model, &random).unwrap();
    assert!(executor.computes_by_table() && executor.state().is_err());
    let zeros = vec![0.0; ROWS * OUT];
    executor.accept_input(model.nnet(), "output", ROWS, OUT, &zeros).unwrap();
    executor.run(&mut model, &random).unwrap();
    let text = executor.output(model.nnet(), "input").unwrap_err().to_string();
    assert!(text.contains("that of a table"), "{text}");
}
