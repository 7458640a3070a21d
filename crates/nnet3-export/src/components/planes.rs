//! Rows of heights and filters as planes, [sequences, filters, rows, heights], which convolutions of the standard take.
//!
//! Operators between two convolutions are written for planes, so that their rows need not be reordered.

use crate::graph::{Attribute, Constant, Graph, Op, SourceRow, Value};

/// The columns of a row: column = height · filters + filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    pub heights: usize,
    pub filters: usize,
}

fn reshape(graph: &mut Graph, x: Value, dims: &[i64], shape: (usize, usize)) -> Value {
    let dims = graph.ints(dims);
    graph.standard("Reshape", &[x, dims], &[], shape)
}

fn transpose(graph: &mut Graph, x: Value, order: &[i64], shape: (usize, usize)) -> Value {
    graph.standard("Transpose", &[x], &[("perm", Attribute::Ints(order.to_vec()))], shape)
}

/// Planes of rows with `frames` frames side by side. Frames, and `group` heights, become one with so many times the
/// filters; frames change most slowly.
pub(super) fn of(graph: &mut Graph, x: Value, planes: Planes, frames: usize, group: usize) -> Value {
    let shape = (graph.rows(x), graph.cols(x));
    let (heights, filters) = ((planes.heights / group) as i64, planes.filters as i64);
    let (whole, frames) = (group as i64 * filters, frames as i64);
    if frames > 1 {
        let y = reshape(graph, x, &[0, 0, frames, heights, whole], shape);
        let y = transpose(graph, y, &[0, 2, 4, 1, 3], shape);
        return reshape(graph, y, &[0, frames * whole, -1, heights], shape);
    }
    match found(graph, x, planes) {
        Some(y) if group == 1 => y,
        Some(y) => {
            let y = reshape(graph, y, &[0, 0, 0, heights, group as i64], shape);
            let y = transpose(graph, y, &[0, 4, 1, 2, 3], shape);
            reshape(graph, y, &[0, whole, -1, heights], shape)
        }
        None if whole == 1 => reshape(graph, x, &[0, 1, -1, heights], shape),
        None => {
            let y = reshape(graph, x, &[0, 0, heights, whole], shape);
            transpose(graph, y, &[0, 3, 1, 2], shape)
        }
    }
}

/// Rows of planes.
pub(super) fn rows(graph: &mut Graph, x: Value, planes: Planes) -> Value {
    let shape = (graph.rows(x), graph.cols(x));
    let y = transpose(graph, x, &[0, 2, 3, 1], shape);
    let y = reshape(graph, y, &[0, 0, (planes.heights * planes.filters) as i64], shape);
    graph.planes.insert(y, (x, planes));
    y
}

/// The planes of a value that has been computed from planes.
fn found(graph: &mut Graph, x: Value, planes: Planes) -> Option<Value> {
    if let Some(&(y, known)) = graph.planes.get(&x) {
        return (known == planes).then_some(y);
    }
    let item = graph.item(x);
    let shape = (item.rows, item.cols);
    let y = match item.op.clone() {
        Op::Rows { sources, rows } if sources.len() == 1 && is_all(graph, sources[0], &rows) => {
            found(graph, sources[0], planes)?
        }
        Op::Standard { op: op @ ("Relu" | "Sigmoid" | "Tanh"), inputs, .. } => {
            let y = found(graph, inputs[0], planes)?;
            graph.standard(op, &[y], &[], shape)
        }
        Op::Standard { op: op @ ("Add" | "Sub" | "Mul"), inputs, .. } => {
            let y = found(graph, inputs[0], planes)?;
            let z = match &graph.item(inputs[1]).op {
                Op::Constant(constant) => {
                    let constant = constant.clone();
                    constant_planes(graph, &constant, planes)?
                }
                _ => found(graph, inputs[1], planes)?,
            };
            graph.standard(op, &[y, z], &[], shape)
        }
        _ => return None,
    };
    graph.planes.insert(x, (y, planes));
    Some(y)
}

fn is_all(graph: &Graph, source: Value, rows: &[SourceRow]) -> bool {
    rows.len() == graph.rows(source) && rows.iter().zip(0..).all(|(&row, i)| row == Some((0, i)))
}

/// A row of constants as [filters, 1 or rows, 1 or heights].
fn constant_planes(graph: &mut Graph, constant: &Constant, planes: Planes) -> Option<Value> {
    let Planes { heights, filters } = planes;
    let Constant::Floats { dims, data } = constant else { return None };
    match dims[..] {
        [] => Some(graph.floats(&[], data.to_vec())),
        [cols] if cols as usize == heights * filters => {
            let same = data.chunks(filters).all(|row| *row == data[..filters]);
            let kept = if same { 1 } else { heights };
            let at = |filter: usize| (0..kept).map(move |h| h * filters + filter);
            let values = (0..filters).flat_map(at).map(|at| data[at]).collect();
            Some(graph.floats(&[filters, 1, kept], values))
        }
        _ => None,
    }
}
