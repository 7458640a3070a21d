//! Models for streaming: chunk after chunk, with a chunk's states as outputs, and as inputs of later chunks.

use super::emit::Emitter;
use super::proto::{Dimension, StringEntry};
use super::weights::Weights;
use super::{Options, check_simple, encode, finish_outputs, metadata};
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::live::{Columns, Extracted, Live, States, extract, live_rows, shifted};
use crate::trace::{Traced, Tracing, trace};
use nnet3_core::compile::looped::{
    LoopedOptions, chunk_size, extrapolate, looped_requests, set_ivector_period,
};
use nnet3_core::descriptor::Sum;
use nnet3_core::graph::FrameContext;
use nnet3_core::index::{Index, NodeId};
use nnet3_core::nnet::{Nnet, Node};
use nnet3_core::request::{ComputationRequest, IoSpecification};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers of chunks to compile, tried in this order until the computation repeats itself.
const NUM_CHUNKS: [usize; 4] = [5, 10, 20, 40];

/// Advice for a network with chunks that cannot follow each other.
const INSTEAD: &str = "without `streaming`=true it may have a form for any length, and with `fixed-frames`=true it has one for a \
                       chunk that begins anew";

/// The file that both models have their large constants in.
pub const WEIGHTS_FILE: &str = "weights.onnx_data";

/// Options of models for streaming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streaming {
    /// Frames before the first one, besides the network's own left context.
    pub extra_left_context_initial: i32,
    /// True to put all states into one tensor [sequences, numbers].
    pub pack_states: bool,
}

/// Models that refer to [`WEIGHTS_FILE`] in their folder.
pub struct StreamingModels {
    /// The model for the first chunk, with the frames before it.
    pub first: Vec<u8>,
    /// The model for each later chunk.
    pub step: Vec<u8>,
    pub weights: Vec<u8>,
}

/// Chunks of a network, up to a chunk from which they repeat.
struct Chunks {
    traced: Traced,
    live: Vec<Live>,
    /// The number of chunks before the first that is like all later ones.
    begin: usize,
    /// New frames of each.
    size: i32,
    left_context: i32,
    right_context: i32,
    /// State names, for the metadata.
    states: Vec<StringEntry>,
}

/// A model for the first chunk, and one for all later chunks.
pub fn export_streaming(nnet: &Nnet, options: &Options, streaming: Streaming) -> Result<StreamingModels> {
    let chunks = Chunks::compile(nnet, options, streaming.extra_left_context_initial)?;
    let Chunks { live, begin, .. } = &chunks;
    let states = if streaming.pack_states { States::Packed } else { States::Apart };
    let first = extract(&chunks.traced, 0..*begin, [&Live::new(), &live[*begin]], states)?.hoisted();
    let step = chunks.step(*begin, states)?.hoisted();
    let mut weights = Weights::default();
    let mut entries = chunks.metadata(nnet, options);
    entries.push(StringEntry::new("first_chunk_frames", first.graph.rows(first.input).to_string()));
    let mut model =
        |extracted| encode(emitter(extracted, states, options)?, entries.clone(), Some(&mut weights));
    Ok(StreamingModels { first: model(&first)?, step: model(&step)?, weights: weights.into_bytes() })
}

/// Exports one model that begins with states of zeros, for networks with outputs that depend only on their context.
/// Callers discard the outputs of the first chunks, which depend on the zeros.
pub fn export_single_graph(nnet: &Nnet, options: &Options, pack_states: bool) -> Result<Vec<u8>> {
    let chunks = Chunks::compile(nnet, options, 0)?;
    if let Some((node, why)) = chunks.optional_inputs(nnet) {
        return Err(Error::unsupported(format!(
            "node '{node}' {why}, so that a graph that begins with states of zeros would compute something else; export the \
             two graphs of `streaming`=true, without `single-graph`=true"
        )));
    }
    let states = if pack_states { States::Packed } else { States::Apart };
    let step = chunks.step(chunks.begin, states)?.hoisted();
    let (left, right) = (chunks.left_context, chunks.right_context);
    let up = |frames: i32| (frames + chunks.size - 1).div_euclid(chunks.size);
    // An i-vector belongs to the chunk with a frame, so it may be needed earlier than the frame.
    let warm_up = if step.ivector.is_some() { up(left) + up(right) } else { up(left + right) };
    let mut entries = chunks.metadata(nnet, options);
    entries.push(StringEntry::new("warm_up_chunks", warm_up.to_string()));
    entries.push(StringEntry::new("warm_up_frames", (warm_up * chunks.size - right).to_string()));
    encode(emitter(&step, states, options)?, entries, None)
}

impl Chunks {
    fn compile(nnet: &Nnet, options: &Options, extra_left_context: i32) -> Result<Chunks> {
        check_simple(nnet, options)?;
        let mut nnet = nnet.clone();
        let factor = options.frame_subsampling_factor;
        let size = chunk_size(&nnet, factor, options.frames_per_chunk)?;
        let (left, right_context) = nnet.context()?;
        set_ivector_period(&mut nnet, size)?;
        let left_context = left + extra_left_context;
        let looped = LoopedOptions {
            chunk_size: size,
            frame_subsampling_factor: factor,
            ivector_period: size,
            left_context,
            right_context,
            num_sequences: 1,
        };
        let mut requests = looped_requests(&nnet, &looped)?;
        requests.iter_mut().for_each(|request| want(request, &options.outputs));
        let mut message = String::new();
        for count in NUM_CHUNKS {
            let all = extrapolate(&requests, count)?;
            let (traced, live) = trace_chunks(&nnet, &all, options).map_err(|e| match e {
                Error::Unsupported(message) => Error::Unsupported(format!("{message}; {INSTEAD}")),
                other => other,
            })?;
            let chunks =
                Chunks { traced, live, begin: 0, size, left_context, right_context, states: Vec::new() };
            match chunks.repetition(&nnet)? {
                Ok(begin) => {
                    let states = chunks.state_entries(&nnet, begin);
                    return Ok(Chunks { begin, states, ..chunks });
                }
                Err(why) => message = why,
            }
        }
        Err(Error::unsupported(format!("{message}; {INSTEAD}")))
    }

    /// Returns the live rows before a chunk, in times relative to its first frame.
    fn before(&self, chunk: usize) -> BTreeMap<Columns, BTreeSet<Index>> {
        shifted(&self.live[chunk], -(chunk as i32) * self.size)
    }

    fn step(&self, chunk: usize, states: States) -> Result<Extracted> {
        extract(&self.traced, chunk..chunk + 1, [&self.live[chunk], &self.live[chunk + 1]], states)
    }

    /// Returns the number of the first chunk that has the same live rows at its beginning and end as the next chunk,
    /// and the same computation. If there is no such chunk, it returns a description of the difference.
    fn repetition(&self, nnet: &Nnet) -> Result<std::result::Result<usize, String>> {
        for chunk in 1..self.live.len() - 2 {
            let sets = [0, 1, 2].map(|i| self.before(chunk + i));
            if sets[0] == sets[1] && sets[1] == sets[2] {
                let steps = [self.step(chunk, States::Apart)?, self.step(chunk + 1, States::Apart)?];
                return Ok(match differing(&steps[0], &steps[1]) {
                    None => Ok(chunk),
                    Some(node) => Err(format!(
                        "node '{node}': chunks do not come to be computed alike, though they leave the same rows"
                    )),
                });
            }
        }
        // The last splices do not see all that is read later.
        let middle = self.live.len() / 2;
        let sets = [0, 1].map(|i| self.before(middle + i));
        let columns = sets[0].keys().chain(sets[1].keys()).find(|&key| sets[0].get(key) != sets[1].get(key));
        let node = columns.map_or(String::new(), |columns| name_of(nnet, columns));
        let rows = [0, 1].map(|i| columns.and_then(|key| sets[i].get(key)).map_or(0, BTreeSet::len));
        Ok(Err(format!(
            "node '{node}': what later chunks need of it does not come to be the same from chunk to chunk ({} rows after \
             {middle} chunks, {} after {})",
            rows[0],
            rows[1],
            middle + 1
        )))
    }

    fn state_entries(&self, nnet: &Nnet, begin: usize) -> Vec<StringEntry> {
        let entry = |(i, (columns, rows)): (usize, (&Columns, &BTreeSet<Index>))| {
            let times = rows.iter().map(|index| match index.x {
                0 => index.t.to_string(),
                x => format!("{}/{x}", index.t),
            });
            let times: Vec<String> = times.collect();
            StringEntry::new(&format!("state_{i}"), format!("{}:{}", name_of(nnet, columns), times.join(",")))
        };
        self.before(begin).iter().enumerate().map(entry).collect()
    }

    fn metadata(&self, nnet: &Nnet, options: &Options) -> Vec<StringEntry> {
        let mut entries = metadata(nnet, options);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key.as_deref() == Some("left_context")) {
            entry.value = Some(self.left_context.to_string());
        }
        entries.push(StringEntry::new("chunk_size", self.size.to_string()));
        entries.extend(self.states.iter().cloned());
        entries
    }

    /// Returns a node whose result changes if a part of its input is missing, and a description of the change.
    fn optional_inputs(&self, nnet: &Nnet) -> Option<(String, &'static str)> {
        let used: BTreeSet<NodeId> =
            self.traced.cindexes.iter().flatten().map(|cindex| cindex.node).collect();
        used.into_iter().find_map(|id| {
            let name = nnet.node_name(id);
            match nnet.node(id) {
                Node::Component { component } if nnet.component(*component).has_optional_inputs() => {
                    Some((name.to_string(), "does with less input where its input begins"))
                }
                Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                    let optional = descriptor.parts.iter().any(has_optional_terms);
                    let name = name.strip_suffix("_input").unwrap_or(name);
                    optional.then(|| (name.to_string(), "has IfDefined or Failover in its input"))
                }
                _ => None,
            }
        })
    }
}

/// Returns the graph of chunks, and the live rows between them.
fn trace_chunks(
    nnet: &Nnet,
    requests: &[ComputationRequest],
    options: &Options,
) -> Result<(Traced, Vec<Live>)> {
    let mut traced = trace(nnet, requests, &Tracing { one_ivector: true, ..Tracing::default() })?;
    finish_outputs(&mut traced, options)?;
    let live = live_rows(&traced)?;
    Ok((traced, live))
}

/// Asks for these outputs instead of the node `output`.
fn want(request: &mut ComputationRequest, names: &[String]) {
    let Some(output) = request.outputs.first().cloned() else { return };
    let named = |name: &String| IoSpecification { name: name.clone(), ..output.clone() };
    request.outputs = names.iter().map(named).collect();
}

fn has_optional_terms(sum: &Sum) -> bool {
    match sum {
        Sum::Failover(..) | Sum::IfDefined(_) => true,
        Sum::Sum(a, b) => has_optional_terms(a) || has_optional_terms(b),
        Sum::Simple(_) | Sum::Const { .. } => false,
    }
}

/// The dim-range node with these columns, or the node that has them.
fn name_of(nnet: &Nnet, columns: &Columns) -> String {
    let (first_col, cols) = (columns.first_col as usize, columns.cols as usize);
    if cols == nnet.node_dim(columns.node) {
        return nnet.node_name(columns.node).to_string();
    }
    let same = |id: &NodeId| match *nnet.node(*id) {
        Node::DimRange { source, dim, offset } => (source, offset, dim) == (columns.node, first_col, cols),
        _ => false,
    };
    match nnet.node_ids().find(same) {
        Some(id) => nnet.node_name(id).to_string(),
        None => format!("{}[{first_col}:{}]", nnet.node_name(columns.node), first_col + cols),
    }
}

/// The node of the first item in which two graphs differ.
fn differing(a: &Extracted, b: &Extracted) -> Option<String> {
    let (left, right) = (&a.graph.items, &b.graph.items);
    let same = left
        .iter()
        .zip(right)
        .position(|(a, b)| (&a.op, a.rows, a.cols, &a.node) != (&b.op, b.rows, b.cols, &b.node));
    let place = same.or_else(|| (left.len() != right.len()).then(|| left.len().min(right.len())));
    let node =
        |place: usize| left.get(place).or(right.get(place)).map_or(String::new(), |item| item.node.clone());
    match place {
        Some(place) => Some(node(place)),
        None => ((&a.outputs, &a.states_out) != (&b.outputs, &b.states_out)).then(|| "output".to_string()),
    }
}

/// An input or output of a model.
struct Port {
    name: String,
    value: Value,
    /// `None`: the value is a tensor [sequences, columns].
    rows: Option<Dimension>,
}

fn emitter<'a>(extracted: &'a Extracted, states: States, options: &Options) -> Result<Emitter<'a>> {
    let graph = &extracted.graph;
    let port =
        |name: String, value: Value| Port { name, value, rows: Some(Dimension::fixed(graph.rows(value))) };
    let state = |name: &str, i: usize, value: Value| match states {
        States::Apart => port(format!("{name}_{i}"), value),
        States::Packed => Port { name: name.to_string(), value, rows: None },
    };
    let mut inputs = vec![port("input".to_string(), extracted.input)];
    inputs.extend(extracted.ivector.map(|value| port("ivector".to_string(), value)));
    inputs.extend(extracted.states_in.iter().enumerate().map(|(i, &value)| state("state_in", i, value)));
    let mut outputs: Vec<Port> =
        extracted.outputs.iter().map(|(name, value)| port(name.clone(), *value)).collect();
    outputs.extend(extracted.states_out.iter().enumerate().map(|(i, &value)| state("state_out", i, value)));
    let mut emitter = Emitter::new(vec![graph], None, options.batch_size);
    for port in inputs.iter().chain(&outputs) {
        emitter.reserve(&port.name)?;
    }
    for Port { name, value, rows } in inputs {
        emitter.add_input(value, &name, rows);
    }
    for Port { name, value, rows } in outputs {
        emitter.add_output(value, &name, rows)?;
    }
    Ok(emitter)
}
