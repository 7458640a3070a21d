//! Any length, chunks, and streams.

use crate::evaluator::{Array, Evaluator, Values};
use crate::form::{SPACED, TWO_OF_THREE};
use kaldi_io::DenseMatrix;
use nnet3_core::compile::compile;
use nnet3_core::config::parse_config;
use nnet3_core::execute::{Executor, Program};
use nnet3_core::forward::{Ivectors, LoopedForward, Streaming as Chunks};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::random::Random;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_core::run_request::{NamedMatrices, run_request};
use nnet3_export::onnx::embedding::{Speaker, export_speaker};
use nnet3_export::onnx::streaming::{Streaming, StreamingModels, export_single_graph, export_streaming};
use nnet3_export::onnx::{Options, export_any_length, export_chunk};

/// Two layers over time, with an i-vector.
pub const LAYERS: &str = "
component name=c1 type=AffineComponent input-dim=13 output-dim=6 param-stddev=0.5
component name=relu type=RectifiedLinearComponent dim=6
component name=c2 type=AffineComponent input-dim=12 output-dim=5 param-stddev=0.5
component name=softmax type=LogSoftmaxComponent dim=5
input-node name=input dim=5
input-node name=ivector dim=3
component-node name=c1 component=c1 input=Append(Offset(input, -1), Offset(input, 1), ReplaceIndex(ivector, t, 0))
component-node name=relu component=relu input=c1
component-node name=c2 component=c2 input=Append(Offset(relu, -3), Offset(relu, 3))
component-node name=softmax component=softmax input=c2
output-node name=output input=softmax";

/// A recurrence over three frames, seen through a dim-range node, between layers.
pub const RECURRENT: &str = "
component name=c1 type=AffineComponent input-dim=8 output-dim=6 param-stddev=0.5
component name=tanh type=TanhComponent dim=6
component name=c2 type=AffineComponent input-dim=12 output-dim=5 param-stddev=0.5
input-node name=input dim=5
component-node name=c1 component=c1 input=Append(Offset(input, 1), IfDefined(Offset(memory, -3)))
component-node name=tanh component=tanh input=c1
dim-range-node name=memory input-node=tanh dim-offset=2 dim=3
component-node name=c2 component=c2 input=Append(tanh, Offset(tanh, 2))
output-node name=output input=c2";

pub fn network(text: &str) -> Nnet {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("network", text.lines()).unwrap(), &Random::new(3)).unwrap();
    nnet
}

pub fn options(frames_per_chunk: i32, frame_subsampling_factor: i32) -> Options {
    Options {
        frames_per_chunk,
        frame_subsampling_factor,
        batch_size: None,
        log_priors: vec![],
        acoustic_scale: 1.0,
        outputs: vec!["output".to_string()],
    }
}

/// Numbers between -1 and 1 that look random.
pub fn features(rows: usize, cols: usize, seed: u32) -> DenseMatrix<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    DenseMatrix { rows, cols, data: (0..rows * cols).map(|_| next()).collect() }
}

const IVECTOR: [f32; 3] = [0.5, -1.0, 0.25];

/// Returns the outputs of this implementation, computed in chunks of another size, as rows.
pub fn expected(nnet: &Nnet, features: &DenseMatrix<f32>, factor: i32, extra: i32) -> DenseMatrix<f32> {
    let chunks =
        Chunks { frames_per_chunk: 12, frame_subsampling_factor: factor, extra_left_context_initial: extra };
    let ivector = match nnet.input_dim("ivector") {
        Some(_) => Ivectors::Utterance(&IVECTOR),
        None => Ivectors::None,
    };
    let device = nnet3_matrix::cpu();
    let forward = LoopedForward::new(nnet.clone(), &device, &chunks, 1.0, &OptimizeOptions::default());
    forward.unwrap().compute(features, ivector).unwrap()
}

/// Rows of several matrices from `begin` to `end`; those beyond the ends are the first and the last one.
pub fn rows(sequences: &[DenseMatrix<f32>], begin: i64, end: i64) -> Array {
    let cols = sequences[0].cols;
    let mut data = Vec::new();
    for matrix in sequences {
        for t in begin..end {
            let row = matrix.row(t.clamp(0, matrix.rows as i64 - 1) as usize);
            data.extend(row.iter().map(|&v| f64::from(v)));
        }
    }
    Array::floats(&[sequences.len(), (end - begin) as usize, cols], data)
}

pub fn feeds(model: &Evaluator, input: Array) -> Values {
    let sequences = input.dims[0];
    let mut values = Values::from([("input".to_string(), input)]);
    if model.inputs().iter().any(|name| name == "ivector") {
        let data = IVECTOR.map(f64::from).repeat(sequences);
        values.insert("ivector".to_string(), Array::floats(&[sequences, 1, 3], data));
    }
    values
}

pub fn assert_close(found: &[f64], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - f64::from(*expected)).abs() < 1e-5, "{found} {expected}");
    }
}

#[test]
fn any_length_is_as_long_as_its_input() {
    for (text, factor, context) in [
        (LAYERS, 1, (4, 4)),
        (LAYERS, 3, (4, 4)),
        (TWO_OF_THREE, 3, (5, 4)),
        (SPACED, 1, (5, 4)),
        (SPACED, 3, (5, 4)),
    ] {
        let nnet = network(text);
        let bytes = export_any_length(&nnet, &options(1, factor)).unwrap();
        assert_eq!(bytes, export_any_length(&nnet, &options(1, factor)).unwrap());
        let model = Evaluator::new(&bytes, &[]);
        assert_eq!(model.dims("input"), [0, 0, 5]);
        let (left, right) = (model.fact("left_context") as i64, model.fact("right_context") as i64);
        assert_eq!((left, right), context);
        let fewest = model.fact("fewest_output_frames") as i64;
        for outputs in (fewest..12).chain([40]) {
            let frames = (outputs - 1) * i64::from(factor) + 1;
            let sequences = [1, 2].map(|seed| features(frames as usize, 5, seed));
            let found = model.run(&feeds(&model, rows(&sequences, -left, frames + right))).unwrap();
            let both = sequences.map(|sequence| expected(&nnet, &sequence, factor, 0).data).concat();
            assert_close(&found["output"].data, &both);
        }
    }
}

#[test]
fn frames_that_are_too_few_are_an_error_and_those_too_many_do_nothing() {
    let nnet = network(LAYERS);
    let model = Evaluator::new(&export_any_length(&nnet, &options(1, 3)).unwrap(), &[]);
    let least = 4 + 1 + 4 + 3 * (model.fact("fewest_output_frames") as i64 - 1);
    let sequences = [features(30, 5, 7)];
    let run = |frames: i64| model.run(&feeds(&model, rows(&sequences, 0, frames)));
    let whole = run(least).unwrap();
    assert_eq!(run(least + 1).unwrap(), whole);
    assert_eq!(run(least + 2).unwrap(), whole);
    assert_eq!(run(least + 3).unwrap()["output"].dims[1], whole["output"].dims[1] + 1);
    for frames in [1, least - 1] {
        assert_eq!(run(frames).unwrap_err(), format!("input/needs_at_least_{least}_frames"));
    }
}

#[test]
fn a_chunk_has_its_length() {
    let nnet = network(RECURRENT);
    let chunk = Options { batch_size: Some(2), ..options(7, 1) };
    let model = Evaluator::new(&export_chunk(&nnet, &chunk).unwrap(), &[]);
    assert_eq!((model.dims("input"), model.dims("output")), (vec![2, 7 + 3, 5], vec![2, 7, 5]));
    let sequences = [1, 2].map(|seed| features(7, 5, seed));
    let found = model.run(&feeds(&model, rows(&sequences, 0, 10))).unwrap();
    let both = sequences.map(|sequence| expected(&nnet, &sequence, 1, 0).data).concat();
    assert_close(&found["output"].data, &both);
}

/// Goes from chunk to chunk until there are outputs for all frames.
fn stream(
    first: Option<&Evaluator>,
    step: &Evaluator,
    sequences: &[DenseMatrix<f32>],
    factor: usize,
) -> Vec<Vec<f64>> {
    let frames = sequences[0].rows;
    let mut states = Values::new();
    let mut at = -(step.fact("left_context") as i64);
    let mut drop = 0;
    if first.is_none() {
        for name in step.inputs().iter().filter(|name| name.starts_with("state")) {
            let dims = [&[sequences.len()], &step.dims(name)[1..]].concat();
            states.insert(name.clone(), Array::floats(&dims, vec![0.0; dims.iter().product()]));
        }
        at = -(step.fact("warm_up_frames") as i64);
        drop = step.fact("warm_up_chunks");
    }
    let mut outputs = vec![Vec::new(); sequences.len()];
    let mut model = first.unwrap_or(step);
    while at < (frames + step.fact("right_context")) as i64 {
        let end = at + model.dims("input")[1] as i64;
        let mut given = feeds(model, rows(sequences, at, end));
        given.extend(states);
        let mut results = model.run(&given).unwrap();
        let output = results.remove("output").unwrap();
        if drop == 0 {
            let size = output.data.len() / sequences.len();
            outputs.iter_mut().zip(output.data.chunks(size)).for_each(|(all, new)| all.extend(new));
        }
        drop = drop.saturating_sub(1);
        states = results.into_iter().map(|(name, value)| (name.replace("_out", "_in"), value)).collect();
        (at, model) = (end, step);
    }
    let wanted = frames.div_ceil(factor) * 5;
    outputs.iter_mut().for_each(|all| all.truncate(wanted));
    outputs
}

#[test]
fn chunks_with_states_are_one_stream() {
    for (text, factor, extra) in [(LAYERS, 3, 0), (LAYERS, 1, 2), (RECURRENT, 1, 0), (RECURRENT, 1, 5)] {
        let nnet = network(text);
        for (chunk, pack_states) in [(3, false), (9, true)] {
            let streaming = Streaming { extra_left_context_initial: extra, pack_states };
            let options = options(chunk, factor);
            let StreamingModels { first, step, weights } =
                export_streaming(&nnet, &options, streaming).unwrap();
            let again = export_streaming(&nnet, &options, streaming).unwrap();
            assert!(first == again.first && step == again.step && weights == again.weights);
            let (first, step) = (Evaluator::new(&first, &weights), Evaluator::new(&step, &weights));
            let sequences = [1, 2, 3].map(|seed| features(50, 5, seed));
            let found = stream(Some(&first), &step, &sequences, factor as usize);
            for (found, sequence) in found.iter().zip(&sequences) {
                assert_close(found, &expected(&nnet, sequence, factor, extra).data);
            }
        }
    }
}

#[test]
fn states_have_names_and_times() {
    let nnet = network(RECURRENT);
    let models = export_streaming(&nnet, &options(4, 1), Streaming::default()).unwrap();
    let step = Evaluator::new(&models.step, &models.weights);
    // Frame t needs the memory of t - 3 (columns 2 to 4), and the last layer needs the values that are delayed by two
    // more frames.
    assert_eq!(step.metadata["state_0"], "tanh:0,1");
    assert_eq!(step.metadata["state_1"], "memory:-1,0,1");
    assert!(!step.metadata.contains_key("state_2"));
    assert_eq!((step.dims("state_in_0"), step.dims("state_out_1")), (vec![0, 2, 6], vec![0, 3, 3]));
    assert_eq!(Evaluator::new(&models.first, &models.weights).fact("first_chunk_frames"), 4 + 3);
}

#[test]
fn one_graph_begins_with_zeros() {
    let nnet = network(LAYERS);
    for (chunk, factor) in [(3, 3), (4, 1), (9, 3)] {
        let model = export_single_graph(&nnet, &options(chunk, factor), chunk == 4).unwrap();
        let model = Evaluator::new(&model, &[]);
        let sequences = [1, 2].map(|seed| features(40, 5, seed));
        let found = stream(None, &model, &sequences, factor as usize);
        for (found, sequence) in found.iter().zip(&sequences) {
            assert_close(found, &expected(&nnet, sequence, factor, 0).data);
        }
    }
}

#[test]
fn what_has_no_form_is_named() {
    let recurrent = network(RECURRENT);
    let error = |result: nnet3_export::Result<Vec<u8>>| result.unwrap_err().to_string();
    let message = error(export_any_length(&recurrent, &options(1, 1)));
    assert!(message.contains("node 'c1") && message.contains("`streaming`=true"), "{message}");
    assert!(!message.contains("sherpa"), "{message}");
    let xvector = XVECTOR.replace("\\\n", "").replace("name=embedding", "name=output");
    let message = error(export_any_length(&network(&xvector), &options(1, 1)));
    assert!(message.contains("node 'pooling'") && message.contains("`sherpa`=speaker"), "{message}");
    let message = error(export_single_graph(&recurrent, &options(4, 1), false));
    assert!(message.contains("node 'c1'") && message.contains("IfDefined"), "{message}");
    // Sums over all that has been: they grow.
    let growing = network(
        "component name=c type=AffineComponent input-dim=5 output-dim=4
         component name=extract type=StatisticsExtractionComponent input-dim=4 input-period=1 output-period=1
         component name=pool type=StatisticsPoolingComponent input-dim=9 left-context=1000 right-context=0
         input-node name=input dim=5
         component-node name=c component=c input=input
         component-node name=extract component=extract input=c
         component-node name=pool component=pool input=extract
         output-node name=output input=pool",
    );
    let result = export_streaming(&growing, &options(4, 1), Streaming::default());
    let message = result.err().expect("an error").to_string();
    assert!(message.contains("node 'extract'") && message.contains("rows after"), "{message}");
    assert!(message.contains("`fixed-frames`=true"), "{message}");
}

/// Statistics of all frames between layers.
pub const XVECTOR: &str = "
component name=c1 type=AffineComponent input-dim=160 output-dim=6
component name=relu type=RectifiedLinearComponent dim=6
component name=extraction type=StatisticsExtractionComponent input-dim=6 input-period=1 output-period=1 include-variance=true
component name=pooling type=StatisticsPoolingComponent input-dim=13 input-period=1 left-context=0 right-context=10000 \
num-log-count-features=0 output-stddevs=true
component name=c2 type=AffineComponent input-dim=12 output-dim=4
input-node name=input dim=80
component-node name=c1 component=c1 input=Append(Offset(input, -3), Offset(input, 2))
component-node name=relu component=relu input=c1
component-node name=extraction component=extraction input=relu
component-node name=pooling component=pooling input=extraction
component-node name=c2 component=c2 input=pooling
output-node name=embedding input=c2";

/// Returns the output of this implementation for all rows.
fn embedding(nnet: &Nnet, features: &DenseMatrix<f32>) -> Vec<f32> {
    let io = |name: &str, rows: i32| IoSpecification::new(name, 1, 0..rows, false);
    let request = ComputationRequest {
        inputs: vec![io("input", features.rows as i32)],
        outputs: vec![io("embedding", 1)],
        ..ComputationRequest::default()
    };
    let device = nnet3_matrix::cpu();
    let computation = compile(nnet, std::slice::from_ref(&request)).unwrap();
    let program = std::sync::Arc::new(Program::new(nnet, computation).unwrap());
    let inputs: NamedMatrices = [("input".to_string(), features.clone())].into();
    let (mut executor, none, random) = (Executor::new(&device), NamedMatrices::new(), Random::new(0));
    let results = run_request(nnet, &request, &program, &mut executor, &inputs, &none, &random).unwrap();
    results.outputs["embedding"].data.clone()
}

#[test]
fn a_recording_has_one_embedding() {
    let nnet = network(&XVECTOR.replace("\\\n", ""));
    let options = Options { outputs: vec!["embedding".to_string()], ..options(1, 1) };
    let speaker = Speaker { sample_rate: 16000, language: "Latin".to_string(), subtract_mean: true };
    let bytes = export_speaker(&nnet, &options, &speaker).unwrap();
    assert_eq!(bytes, export_speaker(&nnet, &options, &speaker).unwrap());
    let model = Evaluator::new(&bytes, &[]);
    assert_eq!((model.dims("input"), model.dims("embedding")), (vec![0, 0, 80], vec![0, 4]));
    for (key, value) in [
        ("framework", "wespeaker"),
        ("output_dim", "4"),
        ("sample_rate", "16000"),
        ("normalize_samples", "0"),
        ("language", "Latin"),
        ("feature_normalize_type", "global-mean"),
    ] {
        assert_eq!(model.metadata[key], value);
    }
    let fewest = model.fact("fewest_frames");
    assert!(fewest >= 6, "{fewest}");
    for frames in [1, 2, 5, 6, 7, 8, fewest, fewest + 1, 100] {
        let sequences = [1, 2].map(|seed| features(frames, 80, seed));
        let found = model.run(&feeds(&model, rows(&sequences, 0, frames as i64))).unwrap();
        assert_eq!(found["embedding"].dims, [2, 4]);
        // Too short ones get copies of the first and the last row.
        let missing = fewest.saturating_sub(frames) as i64;
        let (begin, end) = (-(missing / 2), frames as i64 + missing - missing / 2);
        let whole = |sequence: &DenseMatrix<f32>| {
            let data = rows(std::slice::from_ref(sequence), begin, end).data;
            DenseMatrix {
                rows: (end - begin) as usize,
                cols: 80,
                data: data.iter().map(|&x| x as f32).collect(),
            }
        };
        let both = sequences.each_ref().map(|sequence| embedding(&nnet, &whole(sequence))).concat();
        assert_close(&found["embedding"].data, &both);
    }
}

#[test]
fn networks_that_give_no_embedding_are_refused() {
    let speaker = Speaker { sample_rate: 16000, language: "Latin".to_string(), subtract_mean: false };
    let refused = |text: &str, outputs: &[&str], expected: &str| {
        let outputs = outputs.iter().map(|name| name.to_string()).collect();
        let options = Options { outputs, ..options(1, 1) };
        let error = export_speaker(&network(text), &options, &speaker).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let xvector = XVECTOR.replace("\\\n", "");
    refused(&xvector, &["output"], "no output node 'output'");
    refused(&xvector, &["embedding", "embedding"], "one output");
    refused(LAYERS, &["output"], "i-vectors");
    refused(RECURRENT, &["output"], "5 columns");
    // A window that does not end with the recording.
    let narrow = xvector.replace("input=pooling", "input=Offset(pooling, 5000)");
    refused(&narrow, &["embedding"], "rows cannot be computed");
}
