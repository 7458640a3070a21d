//! Sequences of requests: values that one request writes and a later one reads, and a single request as a graph of its
//! own.

use crate::error::{Error, Result};
use crate::graph::{Attribute, Graph, Item, Op, SourceRow, Value};
use crate::hoist::hoisted;
use crate::trace::Traced;
use nnet3_core::index::{Index, NO_TIME, NodeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// Columns of a node's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Columns {
    pub node: NodeId,
    pub first_col: u32,
    pub cols: u32,
}

/// Live rows of one node at a splice: for each index, the value and the row in which it has been written.
pub type Rows = BTreeMap<Index, (Value, u32)>;

/// Live rows at a splice, node by node.
pub(crate) type Live = BTreeMap<Columns, Rows>;

/// Returns the live rows at the splices of traced requests. Entry s has the rows that requests before number s have
/// written and later requests read. Entry 0 is empty.
pub(crate) fn live_rows(traced: &Traced) -> Result<Vec<Live>> {
    let graph = &traced.graph;
    let requests = traced.outputs.len();
    let mut last_use: BTreeMap<(Value, u32), usize> = BTreeMap::new();
    let outputs = traced.outputs.iter().flatten().map(|(_, value)| *value);
    for value in graph.needed(outputs) {
        let item = graph.item(value);
        let Op::Rows { sources, rows } = &item.op else {
            check_operands(graph, item)?;
            continue;
        };
        for &(source, row) in rows.iter().flatten() {
            let source = sources[source as usize];
            if is_earlier(graph.item(source), item.segment) {
                let last = last_use.entry((source, row)).or_default();
                *last = item.segment.max(*last);
            }
        }
    }
    let mut live = vec![Live::new(); requests];
    for (&(value, row), &last) in &last_use {
        let (columns, index) = place(traced, value, row)?;
        for splice in &mut live[graph.item(value).segment + 1..=last] {
            splice.entry(columns).or_default().insert(index, (value, row));
        }
    }
    Ok(live)
}

/// True if a value belongs to an earlier request and must be kept for this one.
fn is_earlier(item: &Item, segment: usize) -> bool {
    item.segment < segment && !matches!(item.op, Op::Constant(_) | Op::Fill(_))
}

/// Fails if an item other than a list of rows reads values of other requests.
fn check_operands(graph: &Graph, item: &Item) -> Result<()> {
    match item.op.operands().iter().find(|&&operand| is_earlier(graph.item(operand), item.segment)) {
        None => Ok(()),
        Some(_) => Err(Error::unsupported(format!(
            "node '{}' reads state of an earlier chunk, but not row by row",
            item.node
        ))),
    }
}

/// Returns the meaning of a value's row: its node and columns, and its index.
fn place(traced: &Traced, value: Value, row: u32) -> Result<(Columns, Index)> {
    let item = traced.graph.item(value);
    let cell = item.cell;
    let cindex = cell.and_then(|cell| traced.cindexes.get(cell.matrix as usize)?.get(row as usize));
    let (Some(cell), Some(cindex)) = (cell, cindex) else {
        return Err(Error::unsupported(format!(
            "node '{}': a later chunk reads a value that belongs to no node",
            item.node
        )));
    };
    if cindex.index.t == NO_TIME {
        return Err(Error::unsupported(format!(
            "node '{}': a later chunk reads a row of padding",
            item.node
        )));
    }
    Ok((Columns { node: cindex.node, first_col: cell.first_col, cols: cell.cols }, cindex.index))
}

/// Returns the indexes of live rows at a splice that is `shift` frames later.
pub fn shifted(live: &Live, shift: i32) -> BTreeMap<Columns, BTreeSet<Index>> {
    let rows = |rows: &Rows| rows.keys().map(|&index| Index { t: index.t + shift, ..index }).collect();
    live.iter().map(|(&columns, list)| (columns, rows(list))).collect()
}

/// The form of states between graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum States {
    /// There is a tensor [sequences, rows, columns] for each node.
    Apart,
    /// One tensor [sequences, numbers]; in the graph it counts as one row.
    Packed,
}

/// A part of several requests as a graph of its own.
pub(crate) struct Extracted {
    pub graph: Graph,
    /// The given input: frames of all the requests, one after another.
    pub input: Value,
    /// One row, if the requests want i-vectors.
    pub ivector: Option<Value>,
    pub states_in: Vec<Value>,
    /// The outputs by name; the rows of all the requests are behind each other.
    pub outputs: Vec<(String, Value)>,
    pub states_out: Vec<Value>,
}

impl Extracted {
    /// The same with products of recurrences computed at once where they can be.
    pub(crate) fn hoisted(self) -> Extracted {
        let Extracted { graph, input, ivector, states_in, outputs, states_out } = self;
        let wanted: Vec<Value> =
            outputs.iter().map(|(_, value)| *value).chain(states_out.iter().copied()).collect();
        let (graph, new) = hoisted(&graph, &wanted);
        let all = |values: Vec<Value>| values.iter().map(|value| new[value]).collect();
        Extracted {
            input: new[&input],
            ivector: ivector.map(|value| new[&value]),
            states_in: all(states_in),
            outputs: outputs.into_iter().map(|(name, value)| (name, new[&value])).collect(),
            states_out: all(states_out),
            graph,
        }
    }
}

/// Extracts the requests of these numbers as a graph. Its inputs include the values that are live before the first of
/// them; its outputs include those live after the last one. Requests have one sequence and inputs named `input` and
/// maybe `ivector`.
pub fn extract(
    traced: &Traced,
    requests: Range<usize>,
    [before, after]: [&Live; 2],
    states: States,
) -> Result<Extracted> {
    let mut copy = Copier::new(traced, requests.clone(), before, states);
    let kept = after.values().flat_map(BTreeMap::values).map(|&(value, _)| value);
    let kept = kept.filter(|&value| traced.graph.item(value).segment >= requests.start);
    let given = traced.outputs[requests.clone()].iter().flatten().map(|(_, value)| *value);
    for value in traced.graph.needed(given.chain(kept)) {
        if traced.graph.item(value).segment >= requests.start {
            copy.item(value)?;
        }
    }
    let mut outputs = Vec::new();
    for (place, (name, _)) in traced.outputs[requests.start].iter().enumerate() {
        let parts: Vec<Value> =
            traced.outputs[requests.clone()].iter().map(|list| copy.new[&list[place].1]).collect();
        copy.graph.node = name.clone();
        outputs.push((name.clone(), joined(&mut copy.graph, &parts)));
    }
    let mut states_out = Vec::new();
    for (columns, rows) in after {
        let mut list = RowList::default();
        for &(value, row) in rows.values() {
            list.push(copy.row(value, row).ok_or_else(|| {
                Error::unsupported(format!("{columns:?}: a row is live that nothing has kept"))
            })?);
        }
        copy.graph.node = "state".to_string();
        states_out.push(list.select(&mut copy.graph));
    }
    if states == States::Packed && !states_out.is_empty() {
        states_out = vec![pack(&mut copy.graph, &states_out)];
    }
    let Copier { graph, input, ivector, states_in, .. } = copy;
    Ok(Extracted { graph, input, ivector, states_in, outputs, states_out })
}

/// All numbers of several values, behind each other.
fn pack(graph: &mut Graph, values: &[Value]) -> Value {
    let dims = graph.ints(&[0, -1]);
    let mut flat = Vec::new();
    for &value in values {
        let numbers = graph.rows(value) * graph.cols(value);
        flat.push(graph.standard("Reshape", &[value, dims], &[], (1, numbers)));
    }
    let numbers = flat.iter().map(|&value| graph.cols(value)).sum();
    graph.standard("Concat", &flat, &[("axis", Attribute::Int(1))], (1, numbers))
}

/// The reverse of [`pack`]: values of these rows and columns.
fn unpack(graph: &mut Graph, packed: Value, shapes: &[(usize, usize)]) -> Vec<Value> {
    let mut next = 0;
    let mut part = |&(rows, cols): &(usize, usize)| {
        let [start, end, axis] = [next, next + rows * cols, 1].map(|i| graph.ints(&[i as i64]));
        next += rows * cols;
        let slice = graph.standard("Slice", &[packed, start, end, axis], &[], (1, rows * cols));
        let dims = graph.ints(&[0, rows as i64, cols as i64]);
        graph.standard("Reshape", &[slice, dims], &[], (rows, cols))
    };
    shapes.iter().map(&mut part).collect()
}

/// All rows of several values, behind each other.
fn joined(graph: &mut Graph, parts: &[Value]) -> Value {
    if let [only] = parts {
        return *only;
    }
    let rows = parts
        .iter()
        .enumerate()
        .flat_map(|(i, &part)| (0..graph.rows(part) as u32).map(move |row| Some((i as u32, row))));
    let rows = rows.collect();
    graph.select(parts.to_vec(), rows)
}

/// Rows of values that are found one after another.
#[derive(Default)]
struct RowList {
    sources: Vec<Value>,
    rows: Vec<SourceRow>,
}

impl RowList {
    fn push(&mut self, (value, row): (Value, u32)) {
        let known = self.sources.iter().position(|&source| source == value);
        let place = known.unwrap_or_else(|| {
            self.sources.push(value);
            self.sources.len() - 1
        });
        self.rows.push(Some((place as u32, row)));
    }

    fn select(self, graph: &mut Graph) -> Value {
        graph.select(self.sources, self.rows)
    }
}

/// Copies items of some requests into a graph.
struct Copier<'a> {
    traced: &'a Traced,
    requests: Range<usize>,
    graph: Graph,
    input: Value,
    ivector: Option<Value>,
    states_in: Vec<Value>,
    /// Place of earlier requests' rows in the given states.
    kept: HashMap<(Value, u32), (Value, u32)>,
    new: HashMap<Value, Value>,
    /// Rows of the input that requests before have taken.
    taken: usize,
}

impl<'a> Copier<'a> {
    fn new(traced: &'a Traced, requests: Range<usize>, before: &Live, states: States) -> Copier<'a> {
        let old = &traced.graph;
        let mut graph = Graph::new(old.any_length, old.pool());
        let given = |wanted: &str| {
            let items = old.items.iter().filter(|item| requests.contains(&item.segment));
            items.filter(|item| matches!(&item.op, Op::Input(name) if name == wanted)).collect::<Vec<_>>()
        };
        let frames = given("input");
        let rows = frames.iter().map(|item| item.rows).sum();
        let input = graph.input("input", rows, frames.first().map_or(0, |item| item.cols));
        let ivector = given("ivector").first().map(|item| graph.input("ivector", 1, item.cols));
        graph.node = "state".to_string();
        let shapes: Vec<(usize, usize)> =
            before.iter().map(|(columns, rows)| (rows.len(), columns.cols as usize)).collect();
        let (states_in, apart) = match states {
            States::Packed if !shapes.is_empty() => {
                let packed = graph.input("state_in", 1, shapes.iter().map(|(rows, cols)| rows * cols).sum());
                (vec![packed], unpack(&mut graph, packed, &shapes))
            }
            _ => {
                let names = (0..shapes.len()).map(|i| format!("state_in_{i}"));
                let values: Vec<Value> =
                    names.zip(&shapes).map(|(name, &(rows, cols))| graph.input(&name, rows, cols)).collect();
                (values.clone(), values)
            }
        };
        let mut kept = HashMap::new();
        for (rows, &state) in before.values().zip(&apart) {
            kept.extend(rows.values().zip(0..).map(|(&place, row)| (place, (state, row))));
        }
        let new = HashMap::new();
        Copier { traced, requests, graph, input, ivector, states_in, kept, new, taken: 0 }
    }

    /// Place of the computation's row in the new graph.
    fn row(&self, value: Value, row: u32) -> Option<(Value, u32)> {
        match self.traced.graph.item(value).segment < self.requests.start {
            true => self.kept.get(&(value, row)).copied(),
            false => self.new.get(&value).map(|&value| (value, row)),
        }
    }

    /// Constants have no place in time: one is copied when it is first used, and so are equal rows.
    fn operand(&mut self, value: Value) -> Result<Value> {
        if let Some(&new) = self.new.get(&value) {
            return Ok(new);
        }
        let item = self.traced.graph.item(value);
        let new = match &item.op {
            Op::Constant(constant) => self.graph.constant(constant),
            Op::Fill(row) => self.graph.fill(row.clone(), item.rows),
            _ => {
                return Err(Error::unsupported(format!("node '{}' is read before it is written", item.node)));
            }
        };
        self.new.insert(value, new);
        Ok(new)
    }

    fn item(&mut self, value: Value) -> Result<()> {
        let item = self.traced.graph.item(value);
        (self.graph.node, self.graph.segment) = (item.node.clone(), 0);
        let new = match &item.op {
            Op::Constant(_) => return Ok(()),
            Op::Fill(_) => self.operand(value)?,
            Op::Input(name) if name == "ivector" => self
                .ivector
                .ok_or_else(|| Error::unsupported("the network reads an i-vector, which was not given"))?,
            Op::Input(_) => {
                let first = self.taken as u32;
                self.taken += item.rows;
                match item.rows == self.graph.rows(self.input) {
                    true => self.input,
                    false => self.graph.rows_of(self.input, first..first + item.rows as u32),
                }
            }
            Op::Standard { op, inputs, attributes } => {
                let inputs = inputs.iter().map(|&input| self.operand(input)).collect::<Result<Vec<_>>>()?;
                self.graph.standard(op, &inputs, attributes, (item.rows, item.cols))
            }
            Op::SumRanges { source, ranges } => {
                let source = self.operand(*source)?;
                self.graph.sum_ranges(source, ranges)
            }
            Op::Rows { sources, rows } => self.rows(sources, rows)?,
        };
        self.graph.items[new.index()].cell = item.cell;
        self.new.insert(value, new);
        Ok(())
    }

    fn rows(&mut self, sources: &[Value], rows: &[SourceRow]) -> Result<Value> {
        let mut list = RowList::default();
        for row in rows {
            let Some((source, row)) = *row else {
                list.rows.push(None);
                continue;
            };
            let source = sources[source as usize];
            if let Op::Fill(_) = self.traced.graph.item(source).op {
                self.operand(source)?;
            }
            let found = match self.new.get(&source) {
                Some(&value) => Some((value, row)),
                None => self.row(source, row),
            };
            let unknown =
                || Error::unsupported(format!("node '{}' reads a row that is not kept", self.graph.node));
            list.push(found.ok_or_else(unknown)?);
        }
        Ok(list.select(&mut self.graph))
    }
}
