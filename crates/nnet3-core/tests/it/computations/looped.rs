//! Computations that loop for ever must give the results of one computation of the whole utterance.

use crate::computations::conformance::cases;
use crate::computations::support::*;
use kaldi_io::matrix::DenseMatrix;
use nnet3_core::check::{CheckOptions, check};
use nnet3_core::compile::compile;
use nnet3_core::compile::looped::{
    LoopedOptions, chunk_size, compile_looped, looped_requests, set_ivector_period,
};
use nnet3_core::computation::{Command, Computation};
use nnet3_core::execute::{Executor, Model, Program};
use nnet3_core::graph::FrameContext;
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_core::run_request::NamedMatrices;
use nnet3_core::{Index, Random};
use std::sync::Arc;

const CHUNKS: usize = 9;

/// A value for every index of an input.
fn values(nnet: &Nnet, io: &IoSpecification) -> DenseMatrix<f32> {
    let cols = nnet.input_dim(&io.name).unwrap();
    let row = |&Index { n, t, .. }: &Index| {
        let seed = (io.name.len() as u64) << 40 | (n as u64) << 32 | (t as u32) as u64;
        random_matrix(&mut fastrand::Rng::with_seed(seed), 1, cols).data
    };
    DenseMatrix { rows: io.indexes.len(), cols, data: io.indexes.iter().flat_map(row).collect() }
}

fn give(executor: &mut Executor, nnet: &Nnet, request: &ComputationRequest) {
    for io in &request.inputs {
        let m = values(nnet, io);
        executor.accept_input(nnet, &io.name, m.rows, m.cols, &m.data).unwrap();
    }
}

/// The rows of output `output`, chunk after chunk.
fn run_looped(
    nnet: &Nnet,
    requests: &[ComputationRequest; 3],
    computation: &Computation,
    chunk: i32,
) -> Vec<f32> {
    let device = nnet3_matrix::cpu();
    let program = Arc::new(Program::new(nnet, computation.clone()).unwrap());
    let mut executor = Executor::new(&device);
    executor.start(&program).unwrap();
    let mut out = Vec::new();
    for i in 0..CHUNKS {
        let mut request = requests[i.min(2)].clone();
        for io in &mut request.inputs {
            io.indexes.iter_mut().for_each(|index| index.t += chunk * (i as i32 - 2).max(0));
        }
        give(&mut executor, nnet, &request);
        executor.run(&mut Model::Frozen(nnet), &Random::new(0)).unwrap();
        out.extend(device.download(executor.output(nnet, "output").unwrap()));
    }
    out
}

fn run_whole(nnet: &Nnet, requests: &[ComputationRequest; 3], chunk: i32) -> Vec<f32> {
    let mut whole = requests[0].clone();
    for i in 1..CHUNKS as i32 {
        let later = &requests[(i as usize).min(2)];
        let shift = chunk * (i - 2).max(0);
        let append = |to: &mut Vec<IoSpecification>, from: &[IoSpecification]| {
            for io in from {
                let shifted = io.indexes.iter().map(|&index| Index { t: index.t + shift, ..index });
                match to.iter_mut().find(|known| known.name == io.name) {
                    Some(known) => known.indexes.extend(shifted),
                    None => to.push(IoSpecification { indexes: shifted.collect(), ..io.clone() }),
                }
            }
        };
        append(&mut whole.inputs, &later.inputs);
        append(&mut whole.outputs, &later.outputs);
    }
    let mut computation = compile(nnet, std::slice::from_ref(&whole)).unwrap();
    optimize(&OptimizeOptions::default(), nnet, whole.max_output_time().unwrap(), &mut computation).unwrap();
    let inputs: NamedMatrices = whole.inputs.iter().map(|io| (io.name.clone(), values(nnet, io))).collect();
    run(nnet, &whole, &computation, &(inputs, NamedMatrices::new())).unwrap().outputs["output"].data.clone()
}

/// Compares with `sequences` at a time, and about `advised` frames a chunk.
fn check_looped(nnet: &Nnet, advised: i32, subsampling: i32, sequences: i32) -> Result<(), String> {
    let mut nnet = nnet.clone();
    nnet.set_dropout_test_mode(true);
    nnet.set_batchnorm_test_mode(true);
    let chunk = chunk_size(&nnet, subsampling, advised).unwrap();
    set_ivector_period(&mut nnet, chunk).unwrap();
    let (left_context, right_context) = nnet.context().map_err(|e| e.to_string())?;
    let options = LoopedOptions {
        chunk_size: chunk,
        frame_subsampling_factor: subsampling,
        ivector_period: chunk,
        left_context,
        right_context,
        num_sequences: sequences,
    };
    let requests = looped_requests(&nnet, &options).map_err(|e| e.to_string())?;
    let computation =
        compile_looped(&nnet, &OptimizeOptions::default(), &requests).map_err(|e| e.to_string())?;
    assert!(matches!(computation.commands.last(), Some(Command::Goto { .. })));
    check(&nnet, &computation, CheckOptions::default()).map_err(|e| e.to_string())?;
    let found = run_looped(&nnet, &requests, &computation, chunk);
    compare("looped output", &found, &run_whole(&nnet, &requests, chunk), 1e-4, 1e-5)
}

const TDNN: &str = "
component name=a type=AffineComponent input-dim=9 output-dim=5
component name=relu type=RectifiedLinearComponent dim=5
component name=b type=TdnnComponent input-dim=5 output-dim=5 time-offsets=-3,0,3
component name=bn type=NormalizeComponent dim=5
component name=c type=AffineComponent input-dim=5 output-dim=4
input-node name=input dim=3
component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 2))
component-node name=relu component=relu input=a
component-node name=b component=b input=relu
component-node name=bn component=bn input=Sum(Scale(0.66, relu), b)
component-node name=c component=c input=bn
output-node name=output input=c";

const LSTM: &str = "
component name=W type=AffineComponent input-dim=8 output-dim=20
component name=cell type=LstmNonlinearityComponent cell-dim=5
component name=out type=AffineComponent input-dim=5 output-dim=4
input-node name=input dim=3
component-node name=W component=W input=Append(Offset(input, 1), IfDefined(Offset(m, -3)))
component-node name=cell component=cell input=Append(W, IfDefined(Offset(c, -3)))
dim-range-node name=c input-node=cell dim=5 dim-offset=0
dim-range-node name=m input-node=cell dim=5 dim-offset=5
component-node name=out component=out input=m
output-node name=output input=out";

const WITH_IVECTOR: &str = "
component name=a type=AffineComponent input-dim=8 output-dim=5
component name=relu type=RectifiedLinearComponent dim=5
component name=c type=AffineComponent input-dim=10 output-dim=4
input-node name=input dim=3
input-node name=ivector dim=2
component-node name=a component=a input=Append(Offset(input, -1), Offset(input, 1), ReplaceIndex(ivector, t, 0))
component-node name=relu component=relu input=a
component-node name=c component=c input=Append(relu, Offset(relu, 4))
output-node name=output input=c";

#[test]
fn small_networks() {
    for (name, config) in [("tdnn", TDNN), ("lstm", LSTM), ("ivector", WITH_IVECTOR)] {
        let nnet = nnet(config);
        for (advised, subsampling, sequences) in [(6, 1, 1), (9, 3, 1), (6, 1, 3), (1, 1, 2), (21, 1, 1)] {
            check_looped(&nnet, advised, subsampling, sequences)
                .unwrap_or_else(|e| panic!("{name}, chunk {advised}: {e}"));
        }
    }
}

/// Checks the architectures with recurrences that all go forward in time.
#[test]
fn architectures() {
    for case in cases().filter(|case| case.name.starts_with("arch/")) {
        let forward_only = ["tdnn", "tdnnf", "lstmp", "gru", "cnntdnnf"];
        if !forward_only.iter().any(|name| case.name == format!("arch/{name}")) {
            continue;
        }
        for (advised, subsampling, sequences) in [(20, 1, 1), (21, 3, 1), (21, 3, 2), (1, 1, 1)] {
            if let Err(e) = check_looped(&case.nnet, advised, subsampling, sequences) {
                panic!("{} with chunks of {advised}: {e}", case.name);
            }
        }
    }
}

#[test]
fn requests_that_do_not_continue_each_other_are_refused() {
    let nnet = nnet(TDNN);
    let options = LoopedOptions {
        chunk_size: 6,
        frame_subsampling_factor: 1,
        ivector_period: 6,
        left_context: 4,
        right_context: 5,
        num_sequences: 1,
    };
    let mut requests = looped_requests(&nnet, &options).unwrap();
    requests[2].outputs[0].indexes.pop();
    let error = compile_looped(&nnet, &OptimizeOptions::default(), &requests).unwrap_err().to_string();
    assert!(error.contains("the same but for a shift in time"), "{error}");
    assert!(
        looped_requests(&nnet, &LoopedOptions { chunk_size: 7, frame_subsampling_factor: 2, ..options })
            .is_err()
    );
}
