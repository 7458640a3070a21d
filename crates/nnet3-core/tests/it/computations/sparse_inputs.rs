//! Inputs of sparse rows, compared with the same rows dense.

use kaldi_io::{SparseMatrix, SparseVector};
use nnet3_core::Random;
use nnet3_core::config::parse_config;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::execute::{Executor, Model};
use nnet3_core::learning::{Delta, SecondThread};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::request::{ComputationRequest, IoSpecification};

const DIM: usize = 300;
const FRAMES: i32 = 6;
/// Enough for estimates of natural gradient to be made and used.
const MINIBATCHES: usize = 14;

fn network(first: &str, descriptor: &str) -> Nnet {
    let config = format!(
        "input-node name=input dim={DIM}\ncomponent name=a type={first} output-dim=5\n\
         component-node name=a component=a input={descriptor}\ncomponent name=b type=TanhComponent dim=5\n\
         component-node name=b component=b input=a\ncomponent name=c type=AffineComponent input-dim=5 output-dim=5\n\
         component-node name=c component=c input=b\ncomponent name=d type=LogSoftmaxComponent dim=5\n\
         component-node name=d component=d input=c\noutput-node name=output input=d objective=quadratic"
    );
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
    nnet
}

/// Rows with one or two elements, and one without.
fn rows() -> SparseMatrix {
    let pairs = |t: i32| match t {
        2 => vec![],
        3 => vec![(7, -0.5), (299, 2.0)],
        _ => vec![(t * 31, 1.0)],
    };
    SparseMatrix { rows: (0..FRAMES).map(|t| SparseVector::new(DIM, pairs(t)).unwrap()).collect() }
}

/// Output, from the `first` frame on, and changes of parameters after some minibatches, and whether sparse rows were taken.
fn run(
    nnet: &Nnet,
    first: i32,
    plain: bool,
    sparse: bool,
    threads: SecondThread,
) -> (Vec<f32>, Vec<f32>, bool) {
    let mut nnet = nnet.clone();
    let mut delta = Delta::new(&nnet);
    if plain {
        delta.nnet_mut().set_as_gradient();
        delta.restart();
    }
    let request = ComputationRequest {
        inputs: vec![IoSpecification::new("input", 1, 0..FRAMES, false)],
        outputs: vec![IoSpecification::new("output", 1, first..FRAMES, true)],
        need_model_derivative: true,
        store_component_stats: true,
    };
    let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    let program = compiler.program(&nnet, &request).unwrap();
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    executor.update_on_second_thread(threads);
    let (random, matrix) = (Random::new(1), rows());
    let (mut output, mut taken) = (Vec::new(), false);
    for _ in 0..MINIBATCHES {
        executor.start(&program).unwrap();
        taken = sparse && executor.accept_sparse_input(&nnet, "input", &matrix).unwrap();
        if !taken {
            let dense = kaldi_io::GeneralMatrix::Sparse(matrix.clone()).to_dense();
            executor.accept_input(&nnet, "input", dense.rows, dense.cols, &dense.data).unwrap();
        }
        let mut model = Model::Train { nnet: &mut nnet, delta: &mut delta };
        executor.run(&mut model, &random).unwrap();
        output = executor.device().download(executor.output(model.nnet(), "output").unwrap());
        executor.accept_input(model.nnet(), "output", output.len() / 5, 5, &output).unwrap();
        executor.run(&mut model, &random).unwrap();
    }
    let changes = nnet.updatable_components().into_iter().flat_map(|id| {
        let component = delta.nnet().component(id);
        component.parameters().iter().flat_map(|p| p.value.to_vec()).collect::<Vec<_>>()
    });
    (output, changes.collect(), taken)
}

#[test]
fn sparse_rows_are_dense_rows() {
    let inputs = format!("input-dim={DIM}");
    for (first, descriptor, taken) in [
        (format!("LinearComponent {inputs} use-natural-gradient=false"), "input", true),
        (format!("AffineComponent {inputs}"), "input", true),
        (format!("NaturalGradientAffineComponent {inputs} rank-in=3"), "input", true),
        (format!("AffineComponent input-dim={}", 2 * DIM), "Append(Offset(input, -1), input)", false),
        (format!("TdnnComponent {inputs} time-offsets=-1,0"), "input", false),
        (format!("AffineComponent {inputs}"), "Scale(0.5, input)", false),
    ] {
        let nnet = network(&first, descriptor);
        for (plain, threads) in
            [(true, SecondThread::Never), (true, SecondThread::Always), (false, SecondThread::Never)]
        {
            // If a component reads the previous frame, the first output cannot be computed.
            let start = i32::from(!taken);
            let run = |sparse| run(&nnet, start, plain, sparse, threads);
            let (expected, found) = (run(false), run(true));
            assert_eq!(found.2, taken, "{first}, {descriptor}");
            let near = |a: &[f32], b: &[f32]| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6 * (1.0 + b.abs()))
            };
            assert!(near(&found.0, &expected.0), "{first}, {descriptor}: outputs");
            assert!(expected.1.iter().any(|&x| x != 0.0), "{first}: no changes");
            assert!(near(&found.1, &expected.1), "{first}, {descriptor}, {plain}, {threads:?}: changes");
        }
    }
}

#[test]
fn rows_that_do_not_fit() {
    let nnet = network(&format!("AffineComponent input-dim={DIM}"), "input");
    let request = ComputationRequest {
        inputs: vec![IoSpecification::new("input", 1, 0..FRAMES, false)],
        outputs: vec![IoSpecification::new("output", 1, 0..FRAMES, false)],
        need_model_derivative: false,
        store_component_stats: false,
    };
    let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    let program = compiler.program(&nnet, &request).unwrap();
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    executor.start(&program).unwrap();
    let mut too_few = rows();
    too_few.rows.pop();
    let full = SparseMatrix {
        rows: vec![
            SparseVector::new(DIM, (0..DIM as i32).map(|k| (k, 1.0)).collect()).unwrap();
            FRAMES as usize
        ],
    };
    for other in [&too_few, &full] {
        assert!(!executor.accept_sparse_input(&nnet, "input", other).unwrap());
    }
    let mut beyond = rows();
    beyond.rows[0].pairs[0].0 = DIM as i32;
    let error = executor.accept_sparse_input(&nnet, "input", &beyond).unwrap_err().to_string();
    assert!(error.contains("beyond the 300 columns"), "{error}");
    assert!(executor.accept_sparse_input(&nnet, "input", &rows()).unwrap());
}
