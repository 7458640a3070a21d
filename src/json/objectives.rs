//! Objectives of networks on examples.

use nnet3_chain::training::ChainTraining;
use nnet3_train::diagnostics::{OutputTotals, ProbComputer};
use nnet3_train::objective::{FrameObjective, Objective};
use serde_json::{Map, Value, json};

use super::{Fields, fields};

/// The objectives that `nnet3-compute-prob` prints.
pub fn frame_objectives(computer: &ProbComputer<FrameObjective>) -> Value {
    let objective = computer.objective();
    let (wanted, sums) = objective.metrics();
    outputs(computer, |name, out| {
        let accuracy = objective.accuracy().get(name).filter(|accuracy| accuracy.weight > 0.0);
        let per_dim = accuracy.filter(|accuracy| !accuracy.per_dim.is_empty()).map(|accuracy| {
            let value = |dim: &nnet3_train::accuracy::DimAccuracy| (dim.weight != 0.0).then(|| dim.average());
            accuracy.per_dim.iter().map(value).collect::<Vec<_>>()
        });
        let metrics = sums.get(name).into_iter().flat_map(|sums| {
            wanted.iter().map(|&metric| (metric.to_string(), Value::from(sums.value(metric))))
        });
        out.insert("accuracy".to_owned(), json!(accuracy.map(|a| a.correct / a.weight)));
        out.insert("per-dim-accuracy".to_owned(), json!(per_dim));
        out.insert("metrics".to_owned(), Value::Object(metrics.collect()));
    })
}

/// The objectives that `nnet3-chain-compute-prob` prints.
pub fn chain_objectives(computer: &ProbComputer<ChainTraining>) -> Value {
    let mut document = outputs(computer, |_, _| ());
    let lwf = computer.objective().learned_without_forgetting();
    let lwf = (lwf.weight != 0.0).then(|| json!({"objective": lwf.average(), "frames": lwf.weight}));
    document["lwf"] = json!(lwf);
    document
}

fn outputs<O: Objective>(computer: &ProbComputer<O>, more: impl Fn(&str, &mut Fields)) -> Value {
    let output = |(name, totals): (&String, &OutputTotals)| {
        let value = totals.objective;
        let mut out = fields(json!({
            "title": totals.title,
            "objective": value.average(),
            "auxiliary": value.auxiliary / value.weight,
            "frames": value.weight,
        }));
        more(name, &mut out);
        (name.clone(), Value::Object(out))
    };
    json!({"outputs": computer.totals().iter().map(output).collect::<Map<_, _>>()})
}
