//! Changes that are computed on a second thread beside the backward pass.

use nnet3_base::config::parse_config;
use nnet3_base::random::Random;
use nnet3_compiler::compile::compile;
use nnet3_compiler::graph::FrameContext;
use nnet3_compiler::optimize::{OptimizeOptions, optimize};
use nnet3_core::execute::{Executor, Model, Program};
use nnet3_learning::{Delta, SecondThread};
use nnet3_network::Nnet;
use std::sync::Arc;

/// A network of all types that work out their changes by themselves, one of them twice, and of others.
const CONFIG: &str = include_str!("second_thread.config");

fn nnet() -> Nnet {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", CONFIG.lines()).unwrap(), &Random::new(1)).unwrap();
    nnet
}

fn parameters(nnet: &Nnet) -> Vec<Vec<f32>> {
    nnet.components().filter_map(|c| c.as_updatable()).map(|c| c.vectorize()).collect()
}

/// The changes of twelve minibatches, and the derivatives of their inputs.
fn changes(nnet: &Nnet, program: &Arc<Program>, second_thread: bool) -> (Vec<Vec<f32>>, Vec<f32>) {
    let (mut nnet, mut delta, random) = (nnet.clone(), Delta::new(nnet), Random::new(3));
    let device = nnet3_matrix::cpu();
    let mut executor = Executor::new(&device);
    if second_thread {
        executor.update_on_second_thread(SecondThread::Always);
    }
    let mut derivs = Vec::new();
    for minibatch in 0..12 {
        executor.start(program).unwrap();
        device.fill_normal(executor.input(&nnet, "input").unwrap(), minibatch);
        let mut model = Model::Train { nnet: &mut nnet, delta: &mut delta };
        executor.run(&mut model, &random).unwrap();
        device.fill_normal(executor.input(&nnet, "output").unwrap(), 100 + minibatch);
        executor.run(&mut Model::Train { nnet: &mut nnet, delta: &mut delta }, &random).unwrap();
        derivs.extend(device.download(executor.output(&nnet, "input").unwrap()));
    }
    (parameters(delta.nnet()), derivs)
}

#[test]
fn results_are_those_of_one_thread() {
    let nnet = nnet();
    let mut request = nnet.ordinary_request(8, 12, 1, true).unwrap();
    request.inputs[0].has_deriv = true;
    let compiled = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    let mut optimized = compiled.clone();
    optimize(&OptimizeOptions::default(), &nnet, 2, &mut optimized).unwrap();
    for computation in [compiled, optimized] {
        let program = Arc::new(Program::new(&nnet, computation).unwrap());
        let expected = changes(&nnet, &program, false);
        assert!(expected.0.iter().all(|change| change.iter().any(|&x| x != 0.0)));
        for _ in 0..4 {
            assert!(changes(&nnet, &program, true) == expected);
        }
    }
}

/// Products are cut in halves; the thread takes one of them.
#[test]
fn large_products_are_those_of_one_thread() {
    let config = "
        input-node name=input dim=320
        component name=a type=NaturalGradientAffineComponent input-dim=320 output-dim=320
        component name=b type=TdnnComponent input-dim=320 output-dim=320 time-offsets=-1,1
        component name=c type=AffineComponent input-dim=320 output-dim=400
        component-node name=a component=a input=input
        component-node name=b component=b input=a
        component-node name=c component=c input=b
        output-node name=output input=c";
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
    let mut request = nnet.ordinary_request(32, 16, 1, true).unwrap();
    request.inputs[0].has_deriv = true;
    let mut computation = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    optimize(&OptimizeOptions::default(), &nnet, 2, &mut computation).unwrap();
    let program = Arc::new(Program::new(&nnet, computation).unwrap());
    let expected = changes(&nnet, &program, false);
    assert!(changes(&nnet, &program, true) == expected);
}
