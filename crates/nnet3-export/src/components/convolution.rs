//! Convolutions as products of gathered columns.

use super::Use;
use super::affine::floats;
use crate::error::Result;
use crate::fields::{Fields, Table};
use crate::graph::{Attribute, Graph, Value};
use kaldi_io::reader::record::Entry;

/// First columns of windows on the axes x, y and z, and the places within a window, both with z fastest.
fn windows(fields: &Fields, kind: &str, order_yzx: bool) -> Result<(Vec<usize>, Vec<usize>)> {
    let dim = |axis: char| fields.size(&format!("<Input{axis}Dim>"));
    let (x, y, z) = (dim('X')?, dim('Y')?, dim('Z')?);
    let axis = |axis: char, whole: usize| -> Result<(usize, usize)> {
        match kind {
            "Pool" => {
                Ok((fields.size(&format!("<Pool{axis}Size>"))?, fields.size(&format!("<Pool{axis}Step>"))?))
            }
            // A filter has the whole of the last axis.
            _ if axis == 'Z' => Ok((whole, 1)),
            _ => Ok((fields.size(&format!("<Filt{axis}Dim>"))?, fields.size(&format!("<Filt{axis}Step>"))?)),
        }
    };
    let (wx, sx) = axis('X', x)?;
    let (wy, sy) = axis('Y', y)?;
    let (wz, sz) = axis('Z', z)?;
    let at = |i: usize, j: usize, k: usize| match order_yzx {
        true => (i * z + k) * y + j,
        false => (i * y + j) * z + k,
    };
    let places = |[a, b, c]: [Vec<usize>; 3]| -> Vec<usize> {
        let (b, c) = (&b, &c);
        a.iter().flat_map(|&i| b.iter().flat_map(move |&j| c.iter().map(move |&k| at(i, j, k)))).collect()
    };
    let firsts =
        |dim: usize, window: usize, step: usize| (0..=dim - window).step_by(step).collect::<Vec<_>>();
    let starts = places([firsts(x, wx, sx), firsts(y, wy, sy), firsts(z, wz, sz)]);
    let inside = places([(0..wx).collect(), (0..wy).collect(), (0..wz).collect()]);
    Ok((starts, inside))
}

fn columns(starts: &[usize], inside: &[usize]) -> Vec<i64> {
    starts.iter().flat_map(|&start| inside.iter().map(move |&place| (start + place) as i64)).collect()
}

fn add_row(graph: &mut Graph, x: Value, bias: &Table) -> Value {
    let row = graph.row(floats(&bias.data));
    graph.binary("Add", x, row)
}

pub(super) fn spatial(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let yzx = run.fields.sizes("<InputVectorization>", 1)?[0] == 0;
    let (starts, inside) = windows(&run.fields, "Filt", yzx)?;
    let patches = graph.gather_cols(run.input()?, &columns(&starts, &inside));
    let patches = graph.reshaped(patches, inside.len());
    let product = graph.matmul(patches, &run.fields.table("<FilterParams>")?);
    let sum = add_row(graph, product, &run.fields.table("<BiasParams>")?);
    Ok(graph.reshaped(sum, run.component.output_dim()))
}

pub(super) fn maxpooling(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (starts, inside) = windows(&run.fields, "Pool", false)?;
    let boxes = graph.gather_cols(run.input()?, &columns(&starts, &inside));
    let boxes = graph.reshaped(boxes, inside.len());
    let shape = (graph.rows(boxes), 1);
    let attributes = [("axes", Attribute::Ints(vec![2])), ("keepdims", Attribute::Int(1))];
    let largest = graph.standard("ReduceMax", &[boxes], &attributes, shape);
    Ok(graph.reshaped(largest, run.component.output_dim()))
}

/// One step of a convolution over time and height.
struct Step {
    time_shift: usize,
    first_param: usize,
    height_map: Vec<i32>,
}

fn steps(indexes: &Fields) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut time_shift, mut first_param) = (0, 0);
    for pair in indexes.entries().windows(2) {
        match (&pair[0], &pair[1]) {
            (Entry::Token(token), Entry::Int(value)) if token == "<TimeShift>" => {
                time_shift = *value as usize
            }
            (Entry::Token(token), Entry::Int(value)) if token == "<ParamsStartCol>" => {
                first_param = *value as usize;
            }
            (Entry::Token(token), Entry::Ints(map)) if token == "<HeightMap>" => {
                steps.push(Step { time_shift, first_param, height_map: map.clone() });
            }
            _ => {}
        }
    }
    steps
}

/// Computes a product for each distinct time offset. The rows of an image that belong to one output are adjacent.
pub(super) fn time_height(graph: &mut Graph, run: &Use<'_>) -> Result<Value> {
    let (indexes, linear) = (run.indexes()?, run.fields.table("<LinearParams>")?);
    let filters_in = indexes.sizes("<NumFiltersInOut>", 2)?[0];
    let heights = indexes.sizes("<HeightInOut>", 2)?;
    let images = indexes.size("<NumImages>")?;
    let input = graph.reshaped(run.input()?, heights[0] * filters_in);
    let rows = run.output_rows as u32;
    let mut sum = None;
    for Step { time_shift, first_param, height_map } in steps(indexes) {
        let first = (time_shift * images) as u32;
        let source = graph.rows_of(input, first..first + rows);
        // A column of zeros stands for heights outside.
        let padded = height_map.iter().any(|&height| height < 0);
        let source = if padded {
            let zeros = graph.fill(vec![0.0], rows as usize);
            graph.concat_cols(&[source, zeros])
        } else {
            source
        };
        let zero = (heights[0] * filters_in) as i64;
        let columns: Vec<i64> = height_map
            .iter()
            .flat_map(|&height| (0..filters_in as i64).map(move |f| (height, f)))
            .map(|(height, f)| if height < 0 { zero } else { i64::from(height) * filters_in as i64 + f })
            .collect();
        let gathered = match columns.iter().copied().eq(0..zero) {
            true => source,
            false => graph.gather_cols(source, &columns),
        };
        let cols = height_map.len() / heights[1] * filters_in;
        let gathered = graph.reshaped(gathered, cols);
        let weights = (0..linear.rows)
            .flat_map(|o| linear.data[o * linear.cols + first_param..][..cols].iter().copied())
            .collect();
        let product = graph.matmul(gathered, &Table { rows: linear.rows, cols, data: weights });
        sum = Some(match sum {
            None => product,
            Some(sum) => graph.binary("Add", sum, product),
        });
    }
    let sum = sum.ok_or_else(|| run.fields.error("a convolution without steps"))?;
    let sum = add_row(graph, sum, &run.fields.table("<BiasParams>")?);
    Ok(graph.reshaped(sum, run.component.output_dim()))
}
