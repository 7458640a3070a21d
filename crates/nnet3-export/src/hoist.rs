//! Products that a recurrence computes step by step although they do not depend on its steps: they are computed for
//! all rows at once.
//!
//! A step multiplies rows of a layer's output and of the state before, side by side: [x h] W = x Wx + h Wh. So x Wx is
//! a product of all rows, and a step is left with the smaller product h Wh.

use crate::fields::Table;
use crate::graph::{Attribute, Constant, Graph, Item, Op, SourceRow, Value};
use std::collections::HashMap;

/// Products that are computed fewer times stay where they are.
const FEWEST: usize = 3;

/// A part of joined columns: rows of one source, as [first column, columns].
struct Part<'a> {
    part: Value,
    first: usize,
    source: Option<(Value, &'a [SourceRow])>,
}

/// A product of joined columns, with a row that is added to it.
struct Product<'a> {
    parts: Vec<Part<'a>>,
    weights: Value,
    bias: Option<Value>,
}

impl<'a> Product<'a> {
    fn of(graph: &'a Graph, value: Value) -> Option<Product<'a>> {
        let constant = |value: Value| match &graph.item(value).op {
            Op::Constant(Constant::Floats { dims, .. }) => Some(dims.len()),
            _ => None,
        };
        match &graph.item(value).op {
            Op::Standard { op: "Add", inputs, .. } if constant(inputs[1]) == Some(1) => {
                let product = Product::of(graph, inputs[0]).filter(|product| product.bias.is_none())?;
                Some(Product { bias: Some(inputs[1]), ..product })
            }
            Op::Standard { op: "MatMul", inputs, .. } if constant(inputs[1]) == Some(2) => {
                let Op::Standard { op: "Concat", inputs: parts, attributes } = &graph.item(inputs[0]).op
                else {
                    return None;
                };
                if attributes[..] != [("axis", Attribute::Int(2))] {
                    return None;
                }
                let mut first = 0;
                let part = |&part: &Value| {
                    let source = match &graph.item(part).op {
                        Op::Rows { sources, rows }
                            if sources.len() == 1 && rows.iter().all(Option::is_some) =>
                        {
                            Some((sources[0], rows.as_slice()))
                        }
                        _ => None,
                    };
                    first += graph.cols(part);
                    Part { part, first: first - graph.cols(part), source }
                };
                Some(Product { parts: parts.iter().map(part).collect(), weights: inputs[1], bias: None })
            }
            _ => None,
        }
    }

    /// For each part that has a source its key. The first of them gets the bias.
    fn keys(&self) -> Vec<Option<Key>> {
        let mut bias = self.bias;
        let key = |part: &Part<'_>| {
            let (source, _) = part.source?;
            Some(Key { weights: self.weights, first: part.first, source, bias: bias.take() })
        };
        self.parts.iter().map(key).collect()
    }
}

/// A product of all rows of a source with weights from a first row on, and a row that is added.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    weights: Value,
    first: usize,
    source: Value,
    bias: Option<Value>,
}

/// The products that are worth being computed at once.
fn frequent(graph: &Graph, needed: &[Value]) -> HashMap<Key, Option<Value>> {
    let mut uses: HashMap<Key, (usize, usize)> = HashMap::new();
    for product in needed.iter().filter_map(|&value| Product::of(graph, value)) {
        for (part, key) in product.parts.iter().zip(product.keys()) {
            let (Some(key), Some((_, rows))) = (key, part.source) else { continue };
            let (count, all) = uses.entry(key).or_default();
            (*count, *all) = (*count + 1, *all + rows.len());
        }
    }
    let worth = |(key, (count, all)): (Key, (usize, usize))| {
        (count >= FEWEST && 2 * all >= graph.rows(key.source)).then_some((key, None))
    };
    uses.into_iter().filter_map(worth).collect()
}

/// Rows of weights from `first` on.
fn rows_of(graph: &Graph, w: Value, first: usize, count: usize) -> Option<Table> {
    let Op::Constant(Constant::Floats { dims, data }) = &graph.item(w).op else { return None };
    let cols = dims[1] as usize;
    let rows = &data[first * cols..(first + count) * cols];
    // Graphs take the transposed matrix.
    let column = |j: usize| (0..count).map(move |i| f64::from(rows[i * cols + j]));
    Some(Table { rows: cols, cols: count, data: (0..cols).flat_map(column).collect() })
}

/// A graph with the same results, and the new values of `wanted` and of all inputs.
pub(crate) fn hoisted(old: &Graph, wanted: &[Value]) -> (Graph, HashMap<Value, Value>) {
    let needed = old.needed(wanted.iter().copied());
    let mut hoisting = Hoisting {
        old,
        graph: Graph::new(old.any_length, old.pool()),
        new: HashMap::new(),
        at_once: frequent(old, &needed),
    };
    let is_input = |value: &Value| matches!(old.item(*value).op, Op::Input(_));
    for value in (0..old.items.len() as u32).map(Value).filter(is_input) {
        hoisting.copy(value);
    }
    for value in needed.into_iter().filter(|value| !is_input(value)) {
        if hoisting.split(value).is_none() {
            hoisting.copy(value);
        }
    }
    (hoisting.graph, hoisting.new)
}

struct Hoisting<'a> {
    old: &'a Graph,
    graph: Graph,
    new: HashMap<Value, Value>,
    at_once: HashMap<Key, Option<Value>>,
}

impl Hoisting<'_> {
    fn copy(&mut self, value: Value) {
        let item = self.old.item(value);
        let op = match &item.op {
            Op::Constant(constant) => {
                self.graph.node.clone_from(&item.node);
                let new = self.graph.constant(constant);
                self.new.insert(value, new);
                return;
            }
            op => op.with_operands(|operand| self.new[&operand]),
        };
        self.graph.items.push(Item { op, ..item.clone() });
        self.new.insert(value, Value(self.graph.items.len() as u32 - 1));
    }

    /// Writes a product as a sum of rows of products, if it has parts that are computed at once.
    fn split(&mut self, value: Value) -> Option<()> {
        let (old, item) = (self.old, self.old.item(value));
        let product = Product::of(old, value)?;
        let keys: Vec<_> =
            product.keys().into_iter().map(|key| key.filter(|key| self.at_once.contains_key(key))).collect();
        // A bias belongs to the first part, so that it must be one of them.
        let with_bias = keys.iter().flatten().any(|key| key.bias == product.bias);
        if !with_bias {
            return None;
        }
        (self.graph.node, self.graph.segment) = (item.node.clone(), item.segment);
        let (mut terms, mut rest, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (part, key) in product.parts.iter().zip(keys) {
            let cols = old.cols(part.part);
            match (key, part.source) {
                (Some(key), Some((_, rows))) => {
                    let whole = self.whole(key, cols)?;
                    terms.push(self.graph.select(vec![whole], rows.to_vec()));
                }
                _ if is_zero(old, part.part) => {}
                _ => {
                    rest.push(self.new[&part.part]);
                    weights.push(rows_of(old, product.weights, part.first, cols)?);
                }
            }
        }
        if !rest.is_empty() {
            let rest = self.graph.concat_cols(&rest);
            let product = self.graph.matmul(rest, &side_by_side(&weights));
            terms.insert(0, product);
        }
        let first = terms[0];
        let sum = terms[1..].iter().fold(first, |sum, &term| self.graph.binary("Add", sum, term));
        let sum_item = &mut self.graph.items[sum.index()];
        sum_item.cell = item.cell.or(sum_item.cell);
        self.new.insert(value, sum);
        Some(())
    }

    /// The product of all rows of a source.
    fn whole(&mut self, key: Key, cols: usize) -> Option<Value> {
        if let Some(known) = self.at_once[&key] {
            return Some(known);
        }
        let weights = rows_of(self.old, key.weights, key.first, cols)?;
        let mut whole = self.graph.matmul(self.new[&key.source], &weights);
        if let Some(bias) = key.bias {
            whole = self.graph.binary("Add", whole, self.new[&bias]);
        }
        self.at_once.insert(key, Some(whole));
        Some(whole)
    }
}

fn is_zero(graph: &Graph, value: Value) -> bool {
    matches!(&graph.item(value).op, Op::Fill(row) if row.iter().all(|&x| x == 0.0))
}

/// The columns of tables with the same rows.
fn side_by_side(tables: &[Table]) -> Table {
    let row = |i: usize| tables.iter().flat_map(move |t| &t.data[i * t.cols..(i + 1) * t.cols]);
    let rows = tables[0].rows;
    Table {
        rows,
        cols: tables.iter().map(|t| t.cols).sum(),
        data: (0..rows).flat_map(row).copied().collect(),
    }
}
