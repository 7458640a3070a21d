//! Convolutions over time and height become operators Conv, with the results of this repository's convolutions.

use crate::evaluator::{Evaluator, attribute};
use crate::modes::{assert_close, expected, features, feeds, network, options, rows};
use nnet3_export::onnx::proto::NodeProto;
use nnet3_export::onnx::{export_any_length, export_chunk};

/// Two convolutions, with operators between them that are the same for all heights and that differ.
fn config(first: &str, second: &str, cols: [usize; 2]) -> String {
    let [middle, last] = cols;
    format!(
        "component name=c1 type=TimeHeightConvolutionComponent {first} num-filters-in=1 num-filters-out=2
         component name=relu type=RectifiedLinearComponent dim={middle}
         component name=scale type=ScaleAndOffsetComponent dim={middle} block-dim=2
         component name=offset type=PerElementOffsetComponent dim={middle} param-stddev=0.5
         component name=c2 type=TimeHeightConvolutionComponent {second} num-filters-in=2 num-filters-out=3
         component name=out type=AffineComponent input-dim={last} output-dim=5 param-stddev=0.5
         input-node name=input dim=6
         component-node name=c1 component=c1 input=input
         component-node name=relu component=relu input=c1
         component-node name=scale component=scale input=relu
         component-node name=offset component=offset input=scale
         component-node name=c2 component=c2 input=offset
         component-node name=out component=out input=c2
         output-node name=output input=out"
    )
}

fn operators(model: &Evaluator, name: &str) -> usize {
    model.graph.node.iter().filter(|node| node.op_type.as_deref() == Some(name)).count()
}

/// Compares any length, and a chunk of seven frames of output.
fn check(text: &str, factor: i32) -> Evaluator {
    let nnet = network(text);
    let any = Evaluator::new(&export_any_length(&nnet, &options(1, factor)).unwrap(), &[]);
    let chunk = Evaluator::new(&export_chunk(&nnet, &options(7 * factor, factor)).unwrap(), &[]);
    let (left, right) = (any.fact("left_context") as i64, any.fact("right_context") as i64);
    let fewest = any.fact("fewest_output_frames") as i64;
    for (model, outputs) in [(&any, fewest), (&any, 7), (&any, 12), (&chunk, 7)] {
        let frames = (outputs - 1) * i64::from(factor) + 1;
        let sequences = [1, 2].map(|seed| features(frames as usize, 6, seed));
        let found = model.run(&feeds(model, rows(&sequences, -left, frames + right))).unwrap();
        let both = sequences.map(|sequence| expected(&nnet, &sequence, factor, 0).data).concat();
        assert_close(&found["output"].data, &both);
    }
    any
}

const EVERY: &str = "height-in=6 height-out=6 time-offsets=-1,0,1 height-offsets=-1,0,1";

#[test]
fn kernels_strides_dilations_and_padding() {
    for (first, second, cols) in [
        (EVERY, EVERY, [12, 18]),
        // A stride that divides the height becomes filters of fewer heights.
        (
            EVERY,
            "height-in=6 height-out=3 height-subsample-out=2 time-offsets=-1,0,1 height-offsets=-1,0,1",
            [12, 9],
        ),
        (
            "height-in=6 height-out=2 height-subsample-out=3 time-offsets=0 height-offsets=-2,0,1,3",
            "height-in=2 height-out=1 height-subsample-out=2 time-offsets=-3,0 height-offsets=0,1",
            [4, 3],
        ),
        // A stride that does not.
        (
            "height-in=6 height-out=2 height-subsample-out=4 time-offsets=-2,0 height-offsets=0,1",
            "height-in=2 height-out=2 time-offsets=0,1 height-offsets=-1,0",
            [4, 6],
        ),
        // No padding; the first height is not read.
        (
            "height-in=6 height-out=4 time-offsets=-3,0,3 height-offsets=1,2",
            "height-in=4 height-out=2 time-offsets=0 height-offsets=0,2",
            [8, 6],
        ),
        // Offsets that differ from time to time.
        ("height-in=6 height-out=6 offsets=-2,-1;-2,0;0,0;1,1", EVERY, [12, 18]),
    ] {
        for factor in [1, 3] {
            let model = check(&config(first, second, cols), factor);
            assert_eq!(operators(&model, "Conv"), 2, "{first} {second}");
            let of_columns =
                |node: &&NodeProto| attribute(node, "axis").is_some_and(|axis| axis.i == Some(2));
            let gathers = model.graph.node.iter().filter(|node| node.op_type.as_deref() == Some("Gather"));
            assert_eq!(gathers.filter(of_columns).count(), 0, "{first} {second}");
        }
    }
}

#[test]
fn planes_are_not_reordered_between_convolutions() {
    let model = check(&config(EVERY, EVERY, [12, 18]), 1);
    // Behind the second convolution only: the input has one filter.
    assert_eq!(operators(&model, "Transpose"), 1);
}

#[test]
fn fewer_output_heights_than_the_input_has_room_for() {
    check(&config("height-in=6 height-out=3 time-offsets=-1,0 height-offsets=0,1", EVERY_OF_3, [6, 9]), 1);
}

const EVERY_OF_3: &str = "height-in=3 height-out=3 time-offsets=0,1 height-offsets=-1,0,1";
