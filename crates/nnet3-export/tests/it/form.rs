//! The operators of exported models: only those, and in the forms, that small runtimes have too.

use crate::evaluator::{Evaluator, attribute};
use crate::modes::{LAYERS, RECURRENT, XVECTOR, network, options};
use nnet3_export::onnx::embedding::{Speaker, export_speaker};
use nnet3_export::onnx::proto::{FLOAT, NodeProto};
use nnet3_export::onnx::streaming::{Streaming, export_single_graph, export_streaming};
use nnet3_export::onnx::{Options, export_any_length, export_chunk};

/// Layers of which a third of the rows need not be computed if only every third output is wanted.
pub const TWO_OF_THREE: &str = "
component name=c1 type=AffineComponent input-dim=18 output-dim=6 param-stddev=0.5
component name=relu type=RectifiedLinearComponent dim=6
component name=c2 type=AffineComponent input-dim=12 output-dim=6 param-stddev=0.5
component name=c3 type=AffineComponent input-dim=12 output-dim=5 param-stddev=0.5
input-node name=input dim=5
input-node name=ivector dim=3
component-node name=c1 component=c1 input=Append(Offset(input, -1), input, Offset(input, 1), ReplaceIndex(ivector, t, 0))
component-node name=relu component=relu input=c1
component-node name=c2 component=c2 input=Append(Offset(relu, -1), relu)
component-node name=c3 component=c3 input=Append(Offset(c2, -3), Offset(c2, 3))
output-node name=output input=c3";

/// The same as components that want their rows evenly spaced, so that rows that are not computed are zeros.
pub const SPACED: &str = "
component name=c1 type=TdnnComponent input-dim=5 output-dim=6 time-offsets=-1,0,1
component name=relu type=RectifiedLinearComponent dim=6
component name=c2 type=TdnnComponent input-dim=6 output-dim=6 time-offsets=-1,0
component name=c3 type=TdnnComponent input-dim=6 output-dim=5 time-offsets=-3,3
input-node name=input dim=5
component-node name=c1 component=c1 input=input
component-node name=relu component=relu input=c1
component-node name=c2 component=c2 input=relu
component-node name=c3 component=c3 input=c2
output-node name=output input=c3";

/// Operators that candle-onnx 0.11, burn-onnx 0.23 or tract 0.23 lacks, or reads in another way than the standard has
/// it at opset 17.
const LACKING: [(&str, &str); 9] = [
    ("Max", "candle"),
    ("Mod", "candle"),
    ("GRU", "candle"),
    ("Loop", "candle, tract"),
    ("Scan", "candle"),
    ("If", "tract"),
    ("Range", "tract: with an open end"),
    ("Split", "tract: without sizes"),
    ("ReduceSum", "burn: axes as an input"),
];

fn name(node: &NodeProto) -> &str {
    node.name.as_deref().unwrap_or("")
}

/// Fails for a node that a runtime does not take.
fn check(model: &Evaluator) {
    let graph = &model.graph;
    for node in &graph.node {
        let op = node.op_type.as_deref().unwrap();
        let lacking = LACKING.iter().find(|(lacking, _)| *lacking == op);
        assert!(lacking.is_none(), "{}: {lacking:?}", name(node));
        match op {
            // candle takes the end as inclusive.
            "Shape" => assert!(node.attribute.is_empty(), "{}", name(node)),
            // burn infers no rank without axes, and candle keeps the first axis.
            "Squeeze" => assert_eq!(node.input.len(), 2, "{}", name(node)),
            // tract has no step along an open axis, and ncnn none at all.
            "Slice" => assert_eq!(node.input.len(), 4, "{}", name(node)),
            // tract computes shapes from shapes and constants only.
            "Expand" => assert!(comes_of_shapes(model, &node.input[1]), "{}", name(node)),
            // candle wants one dilation and one stride.
            "Conv" => {
                for list in ["dilations", "strides"] {
                    let list = &attribute(node, list).unwrap().ints;
                    assert_eq!(list[0], list[1], "{}", name(node));
                }
            }
            _ => {}
        }
    }
}

/// True if a number is computed by arithmetic from sizes of tensors.
fn comes_of_shapes(model: &Evaluator, wanted: &str) -> bool {
    let graph = &model.graph;
    if graph.initializer.iter().any(|tensor| tensor.name.as_deref() == Some(wanted)) {
        return graph
            .initializer
            .iter()
            .all(|t| t.name.as_deref() != Some(wanted) || t.data_type != Some(FLOAT));
    }
    let node = graph.node.iter().find(|node| node.output[0] == wanted);
    node.is_some_and(|node| match node.op_type.as_deref().unwrap() {
        "Shape" => true,
        "Slice" | "Concat" | "Add" | "Sub" | "Mul" | "Div" | "Min" => {
            node.input.iter().all(|input| comes_of_shapes(model, input))
        }
        _ => false,
    })
}

#[test]
fn every_mode_has_operators_that_all_runtimes_have() {
    for text in [LAYERS, RECURRENT, TWO_OF_THREE, SPACED] {
        let nnet = network(text);
        for factor in [1, 3] {
            let options = options(6, factor);
            check(&Evaluator::new(&export_chunk(&nnet, &options).unwrap(), &[]));
            let models = export_streaming(&nnet, &options, Streaming::default()).unwrap();
            for bytes in [&models.first, &models.step] {
                check(&Evaluator::new(bytes, &models.weights));
            }
            if text != RECURRENT {
                check(&Evaluator::new(&export_any_length(&nnet, &options).unwrap(), &[]));
                check(&Evaluator::new(&export_single_graph(&nnet, &options, true).unwrap(), &[]));
            }
        }
    }
}

#[test]
fn models_of_speakers_have_operators_that_all_runtimes_have() {
    let speaker = Speaker { sample_rate: 16000, language: "Latin".to_string(), subtract_mean: false };
    let options = Options { outputs: vec!["embedding".to_string()], ..options(1, 1) };
    let nnet = network(&XVECTOR.replace("\\\n", ""));
    let bytes = export_speaker(&nnet, &options, &speaker).unwrap();
    check(&Evaluator::new(&bytes, &[]));
}

#[test]
fn convolutions_have_one_stride_and_one_dilation() {
    let nnet = network(
        "component name=c type=TimeHeightConvolutionComponent height-in=6 height-out=3 height-subsample-out=2 \
         time-offsets=-1,0,1 height-offsets=-1,0,1 num-filters-in=1 num-filters-out=2
         input-node name=input dim=6
         component-node name=c component=c input=input
         output-node name=output input=c",
    );
    for factor in [1, 3] {
        check(&Evaluator::new(&export_any_length(&nnet, &options(1, factor)).unwrap(), &[]));
    }
}

#[test]
fn a_step_of_a_recurrence_multiplies_its_state_only() {
    let nnet = network(RECURRENT);
    let model = Evaluator::new(&export_chunk(&nnet, &options(30, 1)).unwrap(), &[]);
    let rows_of = |name: &str| {
        let weights = model.graph.initializer.iter().find(|tensor| tensor.name.as_deref() == Some(name));
        weights.map(|tensor| tensor.dims[0])
    };
    let products = model.graph.node.iter().filter(|node| node.op_type.as_deref() == Some("MatMul"));
    let rows: Vec<i64> = products.map(|node| rows_of(&node.input[1]).unwrap()).collect();
    // Once the input's columns, and step by step the memory's, but not in the first step.
    assert_eq!(rows.iter().filter(|&&rows| rows == 5).count(), 1, "{rows:?}");
    assert_eq!(rows.iter().filter(|&&rows| rows == 3).count(), 30 / 3, "{rows:?}");
    assert_eq!(rows.iter().filter(|&&rows| rows == 8).count(), 0, "{rows:?}");
    // A sum with the rows of the product, which have the bias, in each step but the first one, and for the bias itself;
    // and one of the last layer.
    let sums = model.graph.node.iter().filter(|node| node.op_type.as_deref() == Some("Add"));
    assert_eq!(sums.count(), 30 / 3 + 2);
}
