//! Gradients of a small TDNN-F with products in bf16, beside those in floats.

use super::support::{nnet, training_request};
use nnet3_core::Random;
use nnet3_core::execute::{CachingCompiler, CompilerOptions, Executor, Model};
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_matrix::cpu::cpu_with_plain_bf16;
use nnet3_matrix::{CpuMath, Device, cpu, cpu_with};

/// Its functions are smooth: a rectifier whose input is near zero may change the gradient of an element from all to nothing.
const NETWORK: &str = "
    input-node name=input dim=40
    component name=linear1 type=TdnnComponent input-dim=40 output-dim=48 time-offsets=-1,0 use-bias=false
    component-node name=linear1 component=linear1 input=input
    component name=affine1 type=TdnnComponent input-dim=48 output-dim=96 time-offsets=0,1
    component-node name=affine1 component=affine1 input=linear1
    component name=tanh1 type=TanhComponent dim=96
    component-node name=tanh1 component=tanh1 input=affine1
    component name=linear2 type=LinearComponent input-dim=96 output-dim=48
    component-node name=linear2 component=linear2 input=tanh1
    component name=affine2 type=AffineComponent input-dim=48 output-dim=96
    component-node name=affine2 component=affine2 input=linear2
    component name=tanh2 type=TanhComponent dim=96
    component-node name=tanh2 component=tanh2 input=affine2
    component name=affine3 type=AffineComponent input-dim=96 output-dim=64
    component-node name=affine3 component=affine3 input=Sum(tanh2, Scale(0.66, tanh1))
    output-node name=output input=affine3";

/// The gradient of a minibatch.
fn gradient(nnet: &Nnet, device: &Device) -> Nnet {
    let request = training_request(8, -2..32, 0..30);
    let mut compiler =
        CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default()).for_device(device);
    let program = compiler.program(nnet, &request).unwrap();
    let mut executor = Executor::new(device);
    let mut nnet = nnet.clone();
    let mut delta = Delta::new(&nnet);
    delta.nnet_mut().set_as_gradient();
    delta.restart();
    let random = Random::new(1);
    executor.start(&program).unwrap();
    for _ in 0..2 {
        while let Some(node) = executor.wants() {
            let to = executor.input(&nnet, nnet.node_name(node)).unwrap();
            device.fill_normal(to, 5);
        }
        let mut model = Model::Gradient { nnet: &mut nnet, gradient: delta.nnet_mut() };
        executor.run(&mut model, &random).unwrap();
    }
    delta.nnet_mut().clone()
}

#[test]
fn gradients_in_bf16_are_near_those_in_floats() {
    let nnet = nnet(NETWORK);
    let floats = gradient(&nnet, &cpu());
    let devices = [Some(cpu_with_plain_bf16()), cpu_with(CpuMath::Bf16).ok()];
    for device in devices.into_iter().flatten() {
        let halves = gradient(&nnet, &device);
        let squares = [&floats, &halves].map(|gradient| gradient.component_dot_products(gradient));
        let products = floats.component_dot_products(&halves);
        assert_eq!(products.len(), 5);
        for (k, product) in products.into_iter().enumerate() {
            let (one, other) = (squares[0][k], squares[1][k]);
            // ‖a - b‖² / ‖a‖²
            let distance = (one + other - 2.0 * product).max(0.0) / one;
            assert!(one > 0.0 && distance.sqrt() < 0.03, "{}: parameter {k}: {distance:e}", device.kernel());
            assert!(one != other, "{}: parameter {k} is that of floats", device.kernel());
        }
    }
}
