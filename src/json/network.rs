//! Description of networks and acoustic models.

use anyhow::Result;
use kaldi_io::KaldiWriter;
use nnet3_core::component::Component;
use nnet3_core::graph::FrameContext;
use nnet3_core::index::NodeId;
use nnet3_core::nnet::{Nnet, Node};
use nnet3_export::safetensors::ModelFile;
use nnet3_train::acoustic::AmNnet;
use serde_json::{Value, json};

use super::single;

/// Describes an acoustic model: the facts of `nnet3-am-info`.
pub fn acoustic(model: &AmNnet) -> Result<Value> {
    let priors = model.priors();
    let bound = |f: fn(f32, f32) -> f32| priors.iter().copied().reduce(f).map(single);
    Ok(json!({
        "input-dim": model.nnet().input_dim("input"),
        "ivector-dim": model.nnet().input_dim("ivector"),
        "num-pdfs": model.num_pdfs(),
        "prior-dimension": priors.len(),
        "prior-sum": (!priors.is_empty()).then(|| single(priors.iter().sum())),
        "prior-min": bound(f32::min),
        "prior-max": bound(f32::max),
        "nnet": network(model.nnet())?,
    }))
}

/// Describes a network: the facts of `nnet3-info`, with the settings of components in place of their lines.
pub fn network(nnet: &Nnet) -> Result<Value> {
    let context = if nnet.is_simple() { nnet.context().ok() } else { None };
    let names: Vec<String> = nnet.node_ids().map(|id| nnet.node_name(id).to_owned()).collect();
    let nodes: Vec<Value> = nnet.node_ids().filter_map(|id| node(nnet, &names, id)).collect();
    let mut w = KaldiWriter::in_memory(true);
    nnet.write(&mut w)?;
    let stored = ModelFile::read("network", [b"\0B", &w.into_bytes()[..]].concat())?;
    let components = nnet.components().zip(stored.components());
    Ok(json!({
        "left-context": context.map(|c| c.0),
        "right-context": context.map(|c| c.1),
        "num-parameters": nnet.num_parameters(),
        "modulus": nnet.modulus(),
        "nodes": nodes,
        "components": components.map(|(component, stored)| self::component(component, stored)).collect::<Vec<_>>(),
    }))
}

fn node(nnet: &Nnet, names: &[String], id: NodeId) -> Option<Value> {
    let name = nnet.node_name(id);
    Some(match nnet.node(id) {
        Node::Input { dim } => json!({"type": "input-node", "name": name, "dim": dim}),
        Node::ComponentInput { .. } => return None,
        Node::Component { component } => {
            let input = nnet.node(NodeId(id.0 - 1)).descriptor()?.print(names);
            let (name_of, component) = (nnet.component_name(*component), nnet.component(*component));
            json!({
                "type": "component-node", "name": name, "component": name_of, "input": input,
                "input-dim": component.input_dim(), "output-dim": component.output_dim(),
            })
        }
        Node::Output { descriptor, objective } => json!({
            "type": "output-node", "name": name, "input": descriptor.print(names),
            "dim": nnet.node_dim(id), "objective": objective.name(),
        }),
        Node::DimRange { source, dim, offset } => json!({
            "type": "dim-range-node", "name": name, "input-node": nnet.node_name(*source),
            "dim-offset": offset, "dim": dim,
        }),
    })
}

/// Describes a component. `stored` has the settings of its file form.
fn component(component: &dyn Component, stored: &Value) -> Value {
    let parameters = component.parameters();
    let parameters: Vec<Value> = parameters
        .iter()
        .map(|p| parameter(&p.name, p.value.rows(), p.value.cols(), &p.value.to_vec()))
        .collect();
    let parts = stored["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let parts: Vec<Value> =
        parts.iter().map(|part| json!({"type": part["type"], "settings": settings(part)})).collect();
    json!({
        "name": stored["name"],
        "type": component.type_name(),
        "input-dim": component.input_dim(),
        "output-dim": component.output_dim(),
        "settings": settings(stored),
        "parts": parts,
        "parameters": parameters,
    })
}

/// The fields of the file form, with names as in config lines: `<TimeOffsets>` is `time-offsets`.
fn settings(stored: &Value) -> Value {
    let fields = stored["fields"].as_object().into_iter().flatten();
    fields
        .map(|(key, value)| (key.replace('_', "-"), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Computes statistics of the elements, in double precision.
fn parameter(name: &str, rows: usize, cols: usize, values: &[f32]) -> Value {
    let n = values.len() as f64;
    let sum: f64 = values.iter().map(|&v| f64::from(v)).sum();
    let squares: f64 = values.iter().map(|&v| f64::from(v).powi(2)).sum();
    let variance: f64 = values.iter().map(|&v| (f64::from(v) - sum / n).powi(2)).sum::<f64>() / n;
    // If a value is NaN, minimum and maximum are undefined.
    let bound = |f: fn(f32, f32) -> f32| match values.iter().any(|v| v.is_nan()) {
        true => Value::Null,
        false => values.iter().copied().reduce(f).map_or(Value::Null, single),
    };
    json!({
        "name": name, "rows": rows, "cols": cols,
        "rms": (squares / n).sqrt(), "mean": sum / n, "stddev": variance.sqrt(),
        "min": bound(f32::min), "max": bound(f32::max),
    })
}
