//! Attention to a restricted number of places around a row.

use super::Use;
use super::elementwise::softmax_of;
use crate::error::Result;
use crate::graph::{Graph, Value};
use kaldi_io::reader::record::Entry;

pub(super) fn attention(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let fields = &run.fields;
    let [heads, key, value] = ["<NumHeads>", "<KeyDim>", "<ValueDim>"].map(|token| fields.size(token));
    let (heads, key, value) = (heads?, key?, value?);
    let context = fields.size("<NumLeftInputs>")? + 1 + fields.size("<NumRightInputs>")?;
    let with_context = fields.flag("<OutputContext>");
    let key_scale = fields.number("<KeyScale>")? as f32;

    let x = run.input()?;
    let rows = run.output_rows;
    let shift = (graph.rows(x) - rows) / (context - 1);
    let grid: Vec<i64> = run
        .indexes()?
        .entries()
        .iter()
        .filter_map(|entry| if let Entry::Int(value) = entry { Some(*value) } else { None })
        .collect();
    let [images, start_in, _, _, start_out, step, ..] = grid[..] else {
        return Err(fields.error("a grid of attention without sizes"));
    };
    let first = (images * (start_out - start_in) / step) as usize;
    let at =
        |graph: &mut Graph, x: Value, first: usize| graph.rows_of(x, first as u32..(first + rows) as u32);
    let present = at(graph, x, first);
    let per_head = 2 * key + value + context;
    let mut parts = Vec::new();
    for head in 0..heads {
        let column = head * per_head;
        let keys = graph.slice_cols(x, column, key);
        let values = graph.slice_cols(x, column + key, value);
        let query = graph.slice_cols(present, column + key + value, key);
        let bias = graph.slice_cols(present, column + 2 * key + value, context);
        let query = graph.scaled(query, key_scale);
        let dots: Vec<Value> = (0..context)
            .map(|place| {
                let keys = at(graph, keys, place * shift);
                let products = graph.binary("Mul", keys, query);
                graph.sum_cols(products)
            })
            .collect();
        let dots = graph.concat_cols(&dots);
        let scores = graph.binary("Add", dots, bias);
        let weights = softmax_of(graph, scores);
        let mut sum = None;
        for place in 0..context {
            let values = at(graph, values, place * shift);
            let weight = graph.slice_cols(weights, place, 1);
            let term = graph.binary("Mul", values, weight);
            sum = Some(match sum {
                None => term,
                Some(sum) => graph.binary("Add", sum, term),
            });
        }
        parts.extend(sum);
        if with_context {
            parts.push(weights);
        }
    }
    Ok(graph.concat_cols(&parts))
}
