//! Checks that no memory is allocated after the first step by a rule, in the whole process. (Matrix products in pure
//! Rust pack their factors into memory of their own.)

use nnet3_allocator::CountingAllocator;
use nnet3_core::Random;
use nnet3_core::component::Context;
use nnet3_core::config::parse_config;
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Workspace;
use nnet3_train::learn::learner::Pending;
use nnet3_train::learn::optimizer::type_names;
use nnet3_train::learn::{AverageOptions, Learner, LearnerOptions, Plan, Rules};
use nnet3_train::ledger::Ledger;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const STEPS: u64 = 4;

const NETWORK: &str = "\
input-node name=input dim=7
component name=a type=NaturalGradientAffineComponent input-dim=7 output-dim=20
component-node name=a component=a input=input
component name=b type=TdnnComponent input-dim=20 output-dim=5 time-offsets=-1,0
component-node name=b component=b input=a
component name=c type=ScaleAndOffsetComponent dim=5
component-node name=c component=c input=b
component name=d type=LinearComponent input-dim=5 output-dim=9
component-node name=d component=d input=c
output-node name=output input=d";

/// Rules for a whole network by one optimiser, with all further options.
fn lines(kind: &str) -> String {
    let rate = if kind == "sgd" { " learning-rate=.1 momentum=.9 nesterov=true" } else { "" };
    let decay = if kind == "kaldi" { "" } else { " weight-decay=.01" };
    let mut lines =
        format!("optimizer name=main type={kind}{rate}{decay}\nlearn components=* optimizer=main\n");
    if kind != "kaldi" {
        lines += "learn components=b max-change=.01\nclip norm=1 value=.5 parameter=2\nschedule type=cosine warm-up=.1\n";
    }
    lines
}

/// Allocations of each step after the first.
fn allocations(kind: &str) -> Vec<usize> {
    let (random, device) = (Random::new(1), nnet3_matrix::cpu());
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", NETWORK.lines()).unwrap(), &random).unwrap();
    let mut rules = Rules::default();
    for line in parse_config("rules", lines(kind).lines()).unwrap() {
        rules.push(line).unwrap();
    }
    let plan = Arc::new(Plan::new(&nnet, &rules).unwrap());
    let mut delta = Delta::collecting(&nnet, |id| plan.collected(id));
    let average = Some(AverageOptions { decay: 0.9, warm_up: true });
    let mut learner = Learner::new(plan, LearnerOptions { average, ..Default::default() }, &nnet, &device);
    let (workspace, mut ledger) = (Workspace::new(&device), Ledger::default());
    let context = Context { backend: &*device, workspace: &workspace, random: &random };
    let pending = Pending { minibatches: 1, weight: 32.0, sequences: 32.0 };
    (0..=STEPS)
        .map(|step| {
            for id in nnet.updatable_components() {
                for (k, parameter) in
                    delta.nnet_mut().component_mut(id).parameters_mut().into_iter().enumerate()
                {
                    device.fill_normal(
                        parameter.value.view_mut(),
                        100 * step + 10 * u64::from(id.0) + k as u64,
                    );
                }
            }
            let before = ALLOCATOR.allocations();
            learner.set_rates(&mut delta);
            learner.step(&mut nnet, &mut delta, context, pending, step, &mut ledger);
            learner.average(&nnet);
            let count = ALLOCATOR.allocations() - before;
            ledger.read();
            count
        })
        .skip(1)
        .collect()
}

/// One test a file: other threads would be counted too.
#[test]
fn nothing_is_allocated_after_the_first_step() {
    let before = ALLOCATOR.allocations();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATOR.allocations(), before + 1, "allocations are not counted");
    for kind in type_names() {
        let counts = allocations(kind);
        assert!(counts.iter().all(|&count| count == 0), "{kind}: {counts:?}");
    }
}
