//! ONNX models: opset 17, IR version 8, operators of the standard only.

pub mod embedding;
mod emit;
mod length;
mod lists;
mod pattern;
mod periodic;
pub mod proto;
mod rows;
pub mod streaming;
mod weights;

use self::emit::Emitter;
use self::length::Lengths;
use self::pattern::Affine;
use self::proto::{Dimension, Model, OperatorSetId, StringEntry};
use self::streaming::WEIGHTS_FILE;
use self::weights::Weights;
use crate::error::{Error, Result};
use crate::graph::{Graph, Op, Value};
use crate::hoist::hoisted;
use crate::trace::{Traced, Tracing, trace};
use nnet3_core::descriptor::eval::lcm;
use nnet3_core::graph::FrameContext;
use nnet3_core::graph::epochs::recurrent_nodes;
use nnet3_core::index::NodeId;
use nnet3_core::nnet::Nnet;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use prost::Message;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;

/// Larger files are not valid protocol buffers.
const LARGEST_FILE: usize = (1 << 31) - 1;

/// Lengths, in units, that graphs of any length are compared for.
const UNITS: [i64; 4] = [24, 25, 27, 32];

/// Shorter lengths, at which edges may meet; they check the pattern of the others.
const CHECKED: RangeInclusive<i64> = 1..=8;

/// Options of an export.
#[derive(Clone, Debug)]
pub struct Options {
    /// Frames of a chunk of fixed length, at least.
    pub frames_per_chunk: i32,
    pub frame_subsampling_factor: i32,
    /// The number of sequences, if it is to be fixed.
    pub batch_size: Option<usize>,
    /// Subtracted from the node `output`, if there are any: a value for each column.
    pub log_priors: Vec<f32>,
    /// The node `output` is multiplied by this at last.
    pub acoustic_scale: f32,
    /// Names of output nodes of a simple network.
    pub outputs: Vec<String>,
}

/// The bytes of a model that computes one request. Inputs and outputs have the request's rows.
pub fn export_request(nnet: &Nnet, request: &ComputationRequest, options: &Options) -> Result<Vec<u8>> {
    let mut traced = trace(nnet, std::slice::from_ref(request), &Tracing::default())?;
    finish_outputs(&mut traced, options)?;
    let outputs = &traced.outputs[0];
    let wanted: Vec<Value> = outputs.iter().map(|(_, value)| *value).collect();
    let (graph, new) = hoisted(&traced.graph, &wanted);
    let mut emitter = Emitter::new(vec![&graph], None, options.batch_size);
    let inputs = inputs(&graph);
    for (name, _) in inputs.iter().chain(outputs) {
        emitter.reserve(name)?;
    }
    let rows = |value: Value| Some(Dimension::fixed(graph.rows(value)));
    for (name, value) in &inputs {
        emitter.add_input(*value, name, rows(*value));
    }
    for (name, value) in outputs {
        emitter.add_output(new[value], name, rows(new[value]))?;
    }
    encode(emitter, metadata(nnet, options), None)
}

/// The request of a chunk: frames from the first output's left context to the last output's right context.
fn chunk_request(nnet: &Nnet, options: &Options, context: (i32, i32), outputs: i32) -> ComputationRequest {
    let subsampling = options.frame_subsampling_factor;
    let last = (outputs - 1) * subsampling;
    let times = -context.0..last + context.1 + 1;
    let mut inputs = vec![IoSpecification::new("input", 1, times, false)];
    if nnet.input_dim("ivector").is_some() {
        inputs.push(IoSpecification::new("ivector", 1, std::iter::once(0), false));
    }
    let times = (0..outputs).map(|i| i * subsampling);
    let output = |name: &String| IoSpecification::new(name, 1, times.clone(), false);
    let outputs = options.outputs.iter().map(output).collect();
    ComputationRequest { inputs, outputs, ..ComputationRequest::default() }
}

/// Checks the options for a simple network. Returns the unit of lengths, in output frames.
fn check_simple(nnet: &Nnet, options: &Options) -> Result<i32> {
    if options.frames_per_chunk < 1 || options.frame_subsampling_factor < 1 {
        return Err(Error::unsupported("frames of a chunk and the subsampling factor must be at least 1"));
    }
    for name in &options.outputs {
        if nnet.output_dim(name).is_none() {
            return Err(Error::unsupported(format!("the network has no output node '{name}'")));
        }
    }
    let (modulus, factor) = (i64::from(nnet.modulus()), i64::from(options.frame_subsampling_factor));
    let unit = lcm(modulus, factor) / factor;
    i32::try_from(unit).map_err(|_| {
        Error::unsupported(format!("its structure repeats only after {unit} frames, which is too many"))
    })
}

/// The bytes of a model for chunks of one length.
pub fn export_chunk(nnet: &Nnet, options: &Options) -> Result<Vec<u8>> {
    let unit = check_simple(nnet, options)?;
    let context = nnet.context()?;
    let wanted = options.frames_per_chunk.div_euclid(options.frame_subsampling_factor).max(1);
    let outputs = (wanted + unit - 1) / unit * unit;
    export_request(nnet, &chunk_request(nnet, options, context, outputs), options)
}

/// The bytes of a model for any valid number of output frames. Valid numbers are multiples of the period of the network's
/// structure (nearly always 1).
pub fn export_any_length(nnet: &Nnet, options: &Options) -> Result<Vec<u8>> {
    let unit = check_simple(nnet, options)?;
    let context = nnet.context()?;
    let request = |units: i64| chunk_request(nnet, options, context, unit * units as i32);
    let model = AnyLength::new(nnet, options, Shape::Rows, request).map_err(|e| match e {
        Error::Unsupported(message) if pools(nnet) => Error::Unsupported(format!(
            "{message}; a network that pools statistics over all frames of a recording, such as one for x-vectors, has a \
             form for any length with `sherpa`=speaker"
        )),
        other => other,
    })?;
    let mut entries = metadata(nnet, options);
    let fewest = i64::from(unit) * model.lengths.fewest;
    entries.push(StringEntry::new("output_frames_multiple", unit.to_string()));
    entries.push(StringEntry::new("fewest_output_frames", fewest.to_string()));
    encode(model.emit(options)?, entries, None)
}

fn pools(nnet: &Nnet) -> bool {
    nnet.components().any(|component| component.type_name() == "StatisticsPoolingComponent")
}

/// Treatment of the input's rows.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// Rows of outputs; an input that is too short is an error.
    Rows,
    /// A vector for each sequence; an input that is too short gets copies of its first and last row.
    Vector,
}

/// The computations of several lengths, from which a model for all lengths is made.
struct AnyLength {
    all: Vec<Traced>,
    checks: Vec<(i64, Traced)>,
    lengths: Lengths,
    shape: Shape,
}

impl AnyLength {
    /// Compiles the requests. `request` returns the request for a length in units.
    fn new(
        nnet: &Nnet,
        options: &Options,
        shape: Shape,
        request: impl Fn(i64) -> ComputationRequest,
    ) -> Result<AnyLength> {
        let tracing = Tracing { any_length: true, ..Tracing::default() };
        let traced = |units: i64| -> Result<Traced> {
            let mut traced = trace(nnet, &[request(units)], &tracing)?;
            finish_outputs(&mut traced, options)?;
            Ok(traced)
        };
        let mut all = vec![traced(UNITS[0])?];
        no_recurrence(nnet, &all[0])?;
        for units in &UNITS[1..] {
            all.push(traced(*units)?);
        }
        same_structure(&all)?;
        let mut checks = Vec::new();
        let mut fewest = 1;
        for units in CHECKED {
            let traced = traced(units)?;
            match differing(&all[0].graph, &traced.graph) {
                None => checks.push((units, traced)),
                Some(_) => fewest = units + 1,
            }
        }
        let rows = all.iter().map(|traced| {
            let input = inputs(&traced.graph).into_iter().find(|(name, _)| name == "input");
            input.map_or(0, |(_, value)| traced.graph.rows(value) as i64)
        });
        let Some(input_rows) = Affine::fit(&UNITS, rows) else {
            return Err(Error::unsupported("the rows of the input do not grow evenly with the length"));
        };
        let lengths = Lengths {
            input: "input".to_string(),
            units: UNITS.to_vec(),
            input_rows,
            longest_period: (input_rows.b as usize).clamp(1, 8),
            fewest,
        };
        let mut model = AnyLength { all, checks, lengths, shape };
        let failed = model.emit(options)?.fails_at();
        model.lengths.fewest = match fewest.max(failed + 1) {
            fewest if CHECKED.contains(&fewest) => fewest,
            _ => UNITS[0],
        };
        Ok(model)
    }

    /// A graph for all lengths, from those for some.
    fn emit(&self, options: &Options) -> Result<Emitter<'_>> {
        let AnyLength { all, checks, lengths, shape } = self;
        let graphs = all.iter().map(|traced| &traced.graph).collect();
        let checks = checks.iter().map(|(units, traced)| (*units, &traced.graph)).collect();
        let mut emitter = Emitter::new(graphs, Some(lengths), options.batch_size).with_checks(checks);
        let (inputs, outputs) = (inputs(&all[0].graph), &all[0].outputs[0]);
        for (name, _) in inputs.iter().chain(outputs) {
            emitter.reserve(name)?;
        }
        let dimension = |name: &str| match name {
            "ivector" => Dimension::fixed(1),
            "input" => Dimension::named("T"),
            _ => Dimension::named("T_out"),
        };
        for (name, value) in &inputs {
            emitter.add_input(*value, name, Some(dimension(name)));
        }
        for (_, value) in inputs.iter().filter(|(name, _)| *name == lengths.input) {
            if *shape == Shape::Vector {
                emitter.pad_input(lengths.input_rows.at(lengths.fewest));
            }
            emitter.cut_input(*value)?;
        }
        for (name, value) in outputs {
            match shape {
                Shape::Rows => emitter.add_output(*value, name, Some(dimension(name)))?,
                Shape::Vector => emitter.add_vector(*value, name)?,
            }
        }
        Ok(emitter)
    }
}

/// Fails for a recurrence. Its number of steps is the number of frames, so it needs a loop.
fn no_recurrence(nnet: &Nnet, traced: &Traced) -> Result<()> {
    let used: BTreeSet<NodeId> = traced.cindexes.iter().flatten().map(|cindex| cindex.node).collect();
    match recurrent_nodes(nnet).into_iter().find(|id| used.contains(id)) {
        None => Ok(()),
        Some(id) => Err(Error::unsupported(format!(
            "node '{}' depends on its own values at other times, which has no form that serves every length; export it \
             chunk after chunk with `streaming`=true, or a chunk of a fixed length with `fixed-frames`=true",
            nnet.node_name(id)
        ))),
    }
}

/// Graphs for several lengths have the same items; the error names the first that differs.
fn same_structure(all: &[Traced]) -> Result<()> {
    match all[1..].iter().find_map(|traced| differing(&all[0].graph, &traced.graph)) {
        None => Ok(()),
        Some(node) => Err(emit::no_pattern(&node, "it has other operators for other lengths")),
    }
}

/// The node of the first item of another kind.
fn differing(a: &Graph, b: &Graph) -> Option<String> {
    let kind = |op: &Op| std::mem::discriminant(op);
    let differs =
        a.items.iter().zip(&b.items).position(|(a, b)| kind(&a.op) != kind(&b.op) || a.node != b.node);
    let (a, b) = (&a.items, &b.items);
    let place = differs.or_else(|| (a.len() != b.len()).then(|| a.len().min(b.len())))?;
    Some(a.get(place).or(b.get(place)).map_or(String::new(), |item| item.node.clone()))
}

fn inputs(graph: &Graph) -> Vec<(String, Value)> {
    let input = |(i, item): (usize, &crate::graph::Item)| match &item.op {
        Op::Input(name) => Some((name.clone(), Value(i as u32))),
        _ => None,
    };
    graph.items.iter().enumerate().filter_map(input).collect()
}

/// Subtracts priors from the output of the node `output` and scales it.
fn finish_outputs(traced: &mut Traced, options: &Options) -> Result<()> {
    let Traced { graph, outputs, .. } = traced;
    for (name, value) in outputs.iter_mut().flatten().filter(|(name, _)| name == "output") {
        graph.node = name.clone();
        graph.segment = graph.item(*value).segment;
        let (dim, priors) = (graph.cols(*value), &options.log_priors);
        if !priors.is_empty() {
            if priors.len() != dim {
                return Err(Error::unsupported(format!(
                    "the model has {} priors, and its output has {dim} columns",
                    priors.len()
                )));
            }
            let row = graph.row(priors.clone());
            *value = graph.binary("Sub", *value, row);
        }
        *value = graph.scaled(*value, options.acoustic_scale);
    }
    Ok(())
}

fn metadata(nnet: &Nnet, options: &Options) -> Vec<StringEntry> {
    let mut entries = vec![StringEntry::new("node_lines", nnet.node_lines(false).join("\n"))];
    let mut add = |key: &str, value: Option<String>| {
        entries.extend(value.map(|value| StringEntry::new(key, value)));
    };
    for (key, dim) in [
        ("input_dim", nnet.input_dim("input")),
        ("ivector_dim", nnet.input_dim("ivector")),
        ("output_dim", nnet.output_dim("output")),
    ] {
        add(key, dim.map(|dim| dim.to_string()));
    }
    if let Ok((left, right)) = nnet.context() {
        add("left_context", Some(left.to_string()));
        add("right_context", Some(right.to_string()));
    }
    add("frame_subsampling_factor", Some(options.frame_subsampling_factor.to_string()));
    let priors = if options.log_priors.is_empty() { "none" } else { "subtracted" };
    add("priors", Some(priors.to_string()));
    add("acoustic_scale", Some(options.acoustic_scale.to_string()));
    entries
}

/// The bytes of a model. Its large constants go into the file of `weights`, if it is given.
fn encode(
    emitter: Emitter<'_>,
    metadata_props: Vec<StringEntry>,
    weights: Option<&mut Weights>,
) -> Result<Vec<u8>> {
    let mut graph = emitter.finish();
    if let Some(weights) = weights {
        weights.take(&mut graph, WEIGHTS_FILE);
    }
    let model = Model {
        ir_version: Some(IR_VERSION),
        producer_name: Some("nnet3-export".to_string()),
        producer_version: Some(env!("CARGO_PKG_VERSION").to_string()),
        graph: Some(graph),
        opset_import: vec![OperatorSetId { domain: Some(String::new()), version: Some(OPSET) }],
        metadata_props,
    };
    let size = model.encoded_len();
    if size > LARGEST_FILE {
        return Err(Error::unsupported(format!(
            "the model has {size} bytes; an ONNX file has at most {LARGEST_FILE}"
        )));
    }
    Ok(model.encode_to_vec())
}
