//! Convolutions within a row as products of gathered columns.

use super::Use;
use super::affine::floats;
use crate::error::Result;
use crate::fields::{Fields, Table};
use crate::graph::{Attribute, Graph, Value};

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

pub(super) fn add_row(graph: &mut Graph, x: Value, bias: &Table) -> Value {
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
