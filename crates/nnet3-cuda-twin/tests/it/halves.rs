//! Computations that keep values and derivatives between layers in halves (`--gpu-math=bf16`).

use crate::transfers::{NETWORK, minibatch, network};
use nnet3_core::computation::Command;
use nnet3_core::execute::{CachingCompiler, CompilerOptions, Program};
use nnet3_core::nnet::{Nnet, Node};
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_cuda_twin::Twin;
use nnet3_matrix::cuda::{GpuBackend, GpuMath};
use nnet3_matrix::{Device, Element};
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};
use std::sync::Arc;

fn device(math: GpuMath) -> Device {
    Arc::new(GpuBackend::new(Twin::with_math(math)).expect("host memory"))
}

/// The program of a minibatch's training step.
fn program(nnet: &Nnet, device: &Device) -> Arc<Program> {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for io in minibatch().ios {
        let is_input = matches!(nnet.node(nnet.find_node(&io.name).unwrap()), Node::Input { .. });
        let to = if is_input { &mut inputs } else { &mut outputs };
        to.push(IoSpecification { name: io.name, indexes: io.indexes, has_deriv: true });
    }
    let request = ComputationRequest { inputs, outputs, need_model_derivative: true, ..Default::default() };
    let mut compiler =
        CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default()).for_device(device);
    compiler.program(nnet, &request).unwrap()
}

/// The form of each matrix, and if the user exchanges its memory.
fn forms(program: &Program) -> Vec<(Element, bool)> {
    let (computation, plan) = (program.computation(), program.plan());
    let mut exchanged = vec![false; computation.matrices.len()];
    // Memory is handed on by one swap at most.
    for _ in 0..2 {
        for command in &computation.commands {
            let of = |s| computation.matrix_of(s).index();
            match *command {
                Command::AcceptInput { matrix, .. } | Command::ProvideOutput { matrix, .. } => {
                    exchanged[of(matrix)] = true;
                }
                Command::Swap { first, second } => {
                    let either = exchanged[of(first)] || exchanged[of(second)];
                    (exchanged[of(first)], exchanged[of(second)]) = (either, either);
                }
                _ => {}
            }
        }
    }
    plan.forms.iter().copied().zip(exchanged).skip(1).collect()
}

#[test]
fn layers_are_kept_in_halves() {
    let nnet = network(NETWORK);
    let [floats, halves] = [GpuMath::Tf32, GpuMath::Bf16].map(|math| program(&nnet, &device(math)));
    assert!(forms(&floats).iter().all(|&(form, _)| form == Element::Float));
    let forms = forms(&halves);
    let count = |form| forms.iter().filter(|&&(found, _)| found == form).count();
    assert!(forms.iter().all(|&(form, exchanged)| (form == Element::Half) != exchanged), "{forms:?}");
    assert!(count(Element::Half) > count(Element::Float), "{forms:?}");
    let [before, after] = [&floats, &halves].map(|program| program.plan().arena_bytes());
    assert!(after < before * 3 / 4, "{before} bytes in floats, {after} with halves");
}

/// States of a recurrence are floats, also where they are copied from step to step; the layer before is not.
#[test]
fn states_are_kept_in_floats() {
    let nnet = network(
        "
        component name=a type=AffineComponent input-dim=4 output-dim=8
        component name=g type=AffineComponent input-dim=12 output-dim=16
        component name=l type=LstmNonlinearityComponent cell-dim=4
        component name=t type=BackpropTruncationComponent dim=4 recurrence-interval=1
        component name=o type=AffineComponent input-dim=4 output-dim=3
        component name=s type=LogSoftmaxComponent dim=3
        input-node name=input dim=4
        component-node name=a component=a input=input
        component-node name=g component=g input=Append(a, IfDefined(Offset(m, -1)))
        component-node name=l component=l input=Append(g, IfDefined(Offset(c, -1)))
        dim-range-node name=c0 input-node=l dim-offset=0 dim=4
        dim-range-node name=m input-node=l dim-offset=4 dim=4
        component-node name=c component=t input=c0
        component-node name=o component=o input=m
        component-node name=s component=s input=o
        output-node name=output input=s",
    );
    let program = program(&nnet, &device(GpuMath::Bf16));
    let (computation, plan) = (program.computation(), program.plan());
    let mut halves = 0;
    for command in &computation.commands {
        let Command::Propagate(args) = command else { continue };
        let form = |s| plan.forms[computation.matrix_of(s).index()];
        match nnet.component(args.component).type_name() {
            "LstmNonlinearityComponent" | "BackpropTruncationComponent" => {
                let sides = [args.input.map(form), Some(form(args.output))];
                assert!(sides.into_iter().flatten().all(|form| form == Element::Float), "{command:?}");
            }
            _ => halves += usize::from(form(args.output) == Element::Half),
        }
    }
    assert!(halves > 0, "no layer is kept in halves");
}

/// Objectives of a few minibatches are those in floats to two digits or so, and the same each time.
#[test]
fn trainings_are_near_those_in_floats() {
    let train = |math: GpuMath| {
        let options = TrainerOptions { print_interval: 1, ..Default::default() };
        let mut trainer = Trainer::new(network(NETWORK), options, &device(math), 3).unwrap();
        let (minibatch, mut objectives) = (minibatch(), Vec::new());
        for _ in 0..12 {
            trainer
                .train(&minibatch, &mut |event: Event| {
                    if let Event::Objective { value, .. } = event {
                        objectives.push(value.objective / value.weight);
                    }
                })
                .unwrap();
        }
        objectives
    };
    let [floats, halves, again] = [GpuMath::Fp32, GpuMath::Bf16, GpuMath::Bf16].map(train);
    assert_eq!(halves, again);
    assert!(halves != floats && halves.len() > 8, "{} objectives", halves.len());
    for (k, (half, float)) in halves.iter().zip(&floats).enumerate() {
        assert!((half - float).abs() < 0.02 * float.abs(), "minibatch {k}: {half}, in floats {float}");
    }
}
