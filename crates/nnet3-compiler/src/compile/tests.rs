//! Checks that a computation with one sequence in place of all equals that of a graph with every sequence.

use super::{compile, generate};
use crate::computation::Computation;
use crate::graph::{CindexId, ComputationGraph, in_all_ways, of_all_sequences, sequences};

use crate::request::ComputationRequest;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::index::{Cindex, Index};
use nnet3_network::Nnet;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/conformance");
    let below = |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let kinds = ["arch", "component", "random"].map(|kind| below(root.join(kind)).collect::<Vec<_>>());
    let mut out = kinds.concat();
    out.sort();
    out
}

fn stored(computation: &Computation) -> String {
    let mut w = KaldiWriter::in_memory(false);
    computation.write(&mut w).unwrap();
    String::from_utf8(w.into_bytes()).unwrap()
}

/// A request for one sequence several times, row by row or list by list.
fn repeated(request: &ComputationRequest, times: i32, interleaved: bool) -> ComputationRequest {
    let mut out = request.clone();
    for io in out.inputs.iter_mut().chain(&mut out.outputs) {
        let first = std::mem::take(&mut io.indexes);
        io.indexes = match interleaved {
            true => first.iter().flat_map(|&i| (0..times).map(move |n| Index { n, ..i })).collect(),
            false => (0..times).flat_map(|n| first.iter().map(move |&i| Index { n, ..i })).collect(),
        };
    }
    out
}

/// The original request and, if its sequences are alike, the same with other numbers of sequences.
fn variants(request: ComputationRequest) -> Vec<ComputationRequest> {
    let first = match sequences::reduce(&request, 1) {
        Some((first, _)) => first,
        None if request.outputs.iter().any(|io| io.indexes.iter().any(|i| i.n > 0)) => return vec![request],
        None => request.clone(),
    };
    let numbers = [(2, true), (2, false), (3, true), (5, false)];
    let mut out = numbers.map(|(times, interleaved)| repeated(&first, times, interleaved)).to_vec();
    out.push(request);
    out
}

#[test]
fn one_sequence_stands_for_all() {
    let mut compared = 0;
    for case in cases() {
        let file = |name: &str| case.join(name).to_str().unwrap().to_string();
        let nnet = Nnet::load(&file("model.raw")).unwrap();
        let request = ComputationRequest::load(&file("request.txt")).unwrap();
        for request in variants(request) {
            let requests = std::slice::from_ref(&request);
            if sequences::first_sequence(requests).is_none() {
                continue;
            }
            let (graph, steps) = of_all_sequences(&nnet, requests).unwrap();
            let all = generate(&nnet, requests, graph, steps, &mut |_| ()).unwrap();
            assert_eq!(stored(&compile(&nnet, requests).unwrap()), stored(&all), "{}", case.display());
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared}");
}

/// Returns for each cindex whether it is an input, and its dependencies.
fn contents(graph: &ComputationGraph) -> BTreeMap<Cindex, (bool, BTreeSet<Cindex>)> {
    let of = |&id: &CindexId| graph.cindexes[id as usize];
    (0..graph.cindexes.len() as CindexId)
        .map(|id| (of(&id), (graph.is_input[id as usize], graph.dependencies(id).iter().map(of).collect())))
        .collect()
}

/// Compares the graph builders on complete requests, and on requests with missing inputs or outputs.
#[test]
fn all_ways_lead_to_the_same_graph() {
    let (mut by_sweep, mut by_search, mut impossible) = (0, 0, 0);
    for case in cases() {
        let file = |name: &str| case.join(name).to_str().unwrap().to_string();
        let nnet = Nnet::load(&file("model.raw")).unwrap();
        let request = ComputationRequest::load(&file("request.txt")).unwrap();
        let mut requests = vec![request.clone()];
        requests.extend(sequences::reduce(&request, 1).map(|(first, _)| first));
        for i in 0..2 * requests.len() {
            let mut fewer = requests[i / 2].clone();
            let lists = if i % 2 == 0 { &mut fewer.inputs } else { &mut fewer.outputs };
            lists.iter_mut().for_each(|io| io.indexes.truncate(io.indexes.len().div_ceil(2)));
            requests.push(fewer);
        }
        for request in requests {
            let [by_level, sweep, search] = in_all_ways(&nnet, &request);
            let Some((expected, stays_in_sequence)) = by_level else {
                assert!(sweep.is_none() && search.is_none(), "{}", case.display());
                impossible += 1;
                continue;
            };
            for (count, found) in [(&mut by_sweep, sweep), (&mut by_search, search)] {
                if let Some((graph, stays)) = found {
                    assert_eq!(contents(&graph), contents(&expected), "{}", case.display());
                    assert_eq!(graph.segment_ends, expected.segment_ends);
                    assert!(stays == stays_in_sequence || !stays_in_sequence);
                    *count += 1;
                }
            }
        }
    }
    assert!(by_sweep > 50 && by_search > 100 && impossible > 20, "{by_sweep} {by_search} {impossible}");
}
