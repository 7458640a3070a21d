//! Precomputed indexes of something else: another number of rows, another component, another network.

use super::*;
use kaldi_io::writer::KaldiWriter;
use nnet3_core::Index;
use nnet3_core::component::PrecomputedIndexes;
use nnet3_core::computation::{Backprop, Propagate};
use std::sync::Arc;

/// A network of one component between an affine one and the output.
struct Case {
    component: &'static str,
    /// The dimension of the component's input.
    dim: usize,
    /// Keys of the same type with other settings, and the error about its precomputed indexes; for types with a fit
    /// that depends on settings.
    other: Option<(&'static str, &'static str)>,
    input_times: std::ops::Range<i32>,
    output_times: std::ops::Range<i32>,
    /// Values of the output's x.
    xs: i32,
}

const CASES: &[Case] = &[
    Case {
        component: "TdnnComponent input-dim=4 output-dim=3 time-offsets=-1,0,1",
        dim: 4,
        other: Some((
            "TdnnComponent input-dim=4 output-dim=3 time-offsets=-1,1",
            "for 3 time offsets, but there are 2",
        )),
        input_times: -1..6,
        output_times: 0..5,
        xs: 1,
    },
    Case {
        component: "TimeHeightConvolutionComponent num-filters-in=2 num-filters-out=3 height-in=4 height-out=4 \
                    height-offsets=-1,0,1 time-offsets=-1,0,1",
        dim: 8,
        other: Some((
            "TimeHeightConvolutionComponent num-filters-in=2 num-filters-out=3 height-in=4 height-out=4 \
             height-offsets=0 time-offsets=-1,1",
            "beyond the 4 columns of parameters",
        )),
        input_times: -1..6,
        output_times: 0..5,
        xs: 1,
    },
    Case {
        component: "RestrictedAttentionComponent num-heads=1 key-dim=2 value-dim=2 time-stride=1 num-left-inputs=1 \
                    num-right-inputs=1 num-left-inputs-required=1 num-right-inputs-required=1",
        dim: 9,
        other: Some((
            "RestrictedAttentionComponent num-heads=1 key-dim=2 value-dim=2 time-stride=1 num-left-inputs=2 \
             num-right-inputs=0 num-left-inputs-required=1 num-right-inputs-required=0",
            "another context",
        )),
        input_times: -1..6,
        output_times: 0..5,
        xs: 1,
    },
    Case {
        component: "StatisticsExtractionComponent input-dim=4 input-period=1 output-period=2 include-variance=true",
        dim: 4,
        other: None,
        input_times: 0..2,
        output_times: 0..1,
        xs: 1,
    },
    Case {
        component: "StatisticsPoolingComponent input-dim=5 left-context=2 right-context=2 input-period=1",
        dim: 5,
        other: None,
        input_times: 0..6,
        output_times: 0..6,
        xs: 1,
    },
    Case {
        component: "DistributeComponent input-dim=6 output-dim=3",
        dim: 6,
        other: None,
        input_times: 0..4,
        output_times: 0..4,
        xs: 2,
    },
    Case {
        component: "GeneralDropoutComponent dim=4 block-dim=2 time-period=2 dropout-proportion=0.5",
        dim: 4,
        other: Some(("GeneralDropoutComponent dim=4 block-dim=4", "blocks of rows")),
        input_times: 0..4,
        output_times: 0..4,
        xs: 1,
    },
    Case {
        component: "SpecAugmentTimeMaskComponent dim=4 zeroed-proportion=0.3 time-mask-max-frames=3",
        dim: 4,
        other: None,
        input_times: 0..4,
        output_times: 0..4,
        xs: 1,
    },
    Case {
        component: "BackpropTruncationComponent dim=4 clipping-threshold=5 zeroing-threshold=2 zeroing-interval=2 \
                    recurrence-interval=1",
        dim: 4,
        other: None,
        input_times: 0..4,
        output_times: 0..4,
        xs: 1,
    },
];

impl Case {
    fn nnet(&self, component: &str) -> Nnet {
        let dim = self.dim;
        nnet(&format!(
            "component name=a type=AffineComponent input-dim=2 output-dim={dim}\n\
             component name=c type={component}\n\
             input-node name=input dim=2\n\
             component-node name=a component=a input=input\n\
             component-node name=c component=c input=a\n\
             output-node name=output input=c"
        ))
    }

    fn computation(&self, nnet: &Nnet, sequences: i32) -> Computation {
        let mut output = IoSpecification::new("output", sequences, self.output_times.clone(), true);
        let all = |index: &Index| (0..self.xs).map(|x| Index { x, ..*index }).collect::<Vec<_>>();
        output.indexes = output.indexes.iter().flat_map(all).collect();
        let request = ComputationRequest {
            inputs: vec![IoSpecification::new("input", sequences, self.input_times.clone(), false)],
            outputs: vec![output],
            need_model_derivative: true,
            store_component_stats: false,
        };
        compile(nnet, std::slice::from_ref(&request)).unwrap_or_else(|e| panic!("{}: {e}", self.component))
    }
}

/// Gives the computation the precomputed indexes of `from`.
fn transplanted(mut computation: Computation, from: &Computation) -> Computation {
    assert_eq!((computation.precomputed.len(), from.precomputed.len()), (2, 2));
    computation.precomputed[1].data = from.precomputed[1].data.clone();
    computation
}

#[derive(Debug)]
struct Foreign;

impl PrecomputedIndexes for Foreign {
    fn write(&self, _: &mut KaldiWriter) -> nnet3_core::Result<()> {
        Ok(())
    }
}

/// The first command of the kind that uses the precomputed indexes.
fn keep_only(mut computation: Computation, propagate: bool) -> Computation {
    for command in &mut computation.commands {
        let unused = match command {
            Command::Propagate(_) => !propagate,
            Command::Backprop(_) => propagate,
            _ => false,
        };
        if unused {
            *command = Command::NoOp;
        }
    }
    computation
}

/// Propagate and backprop are checked separately.
fn both_refused(nnet: &Nnet, computation: &Computation, message: &str) {
    refused(nnet, computation, CheckOptions::default(), message);
    for propagate in [true, false] {
        refused(nnet, &keep_only(computation.clone(), propagate), CheckOptions::default(), message);
    }
}

#[test]
fn of_more_or_fewer_rows() {
    for case in CASES {
        let nnet = case.nnet(case.component);
        let right = case.computation(&nnet, 3);
        check(&nnet, &right, CheckOptions::default()).unwrap();
        // The indexes of a Tdnn do not tell the number of rows; those of fewer sequences fit more.
        let fewer = (!case.component.starts_with("Tdnn")).then_some(2);
        for sequences in fewer.into_iter().chain([4]) {
            let wrong = transplanted(right.clone(), &case.computation(&nnet, sequences));
            both_refused(&nnet, &wrong, "precomputed indexes ");
        }
    }
}

#[test]
fn none_or_of_another_type() {
    for case in CASES {
        let nnet = case.nnet(case.component);
        let mut computation = case.computation(&nnet, 2);
        computation.precomputed[1].data = Some(Arc::new(Foreign));
        both_refused(&nnet, &computation, "are those of another type of component");
        computation.precomputed[1].data = None;
        both_refused(&nnet, &computation, "needs precomputed indexes");
        for command in &mut computation.commands {
            if let Command::Propagate(Propagate { precomputed, .. })
            | Command::Backprop(Backprop { precomputed, .. }) = command
            {
                *precomputed = None;
            }
        }
        both_refused(&nnet, &computation, "needs precomputed indexes");
    }
}

#[test]
fn of_other_settings() {
    let mut count = 0;
    for case in CASES {
        let Some((other, message)) = case.other else { continue };
        let nnet = case.nnet(case.component);
        let computation = case.computation(&nnet, 2);
        refused(&case.nnet(other), &computation, CheckOptions::default(), message);
        count += 1;
    }
    assert_eq!(count, 4);
}

/// A component that treats row by row must get as many rows as it gives.
#[test]
fn rows_of_components_that_treat_row_by_row() {
    for case in CASES.iter().filter(|case| case.component.contains(" dim=4")) {
        let nnet = case.nnet(case.component);
        let mut computation = case.computation(&nnet, 2);
        let input = computation.new_matrix(5, 4, false);
        computation.debug_info.clear();
        let at = computation.commands.iter().position(|command| {
            matches!(command, Command::Propagate(Propagate { precomputed: Some(_), .. }))
        });
        let Command::Propagate(Propagate { input: place, .. }) = &mut computation.commands[at.unwrap()]
        else {
            unreachable!()
        };
        *place = Some(input);
        refused(&nnet, &computation, CheckOptions::default(), "treats row by row");
    }
}
