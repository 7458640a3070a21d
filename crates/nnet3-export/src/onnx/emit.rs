//! From a graph of values to the nodes of an ONNX graph.

use super::length::Lengths;
use super::lists::Lists;
use super::pattern::Affine;
use super::proto::{AttributeProto, Dimension, FLOAT, GraphProto, INT64, NodeProto, Tensor, ValueInfo};
use crate::error::{Error, Result};
use crate::graph::{Attribute, Constant, Graph, Item, Op, Value};
use std::collections::{HashMap, HashSet};

/// A graph, for one length or several of them, on the way to ONNX.
pub(crate) struct Emitter<'a> {
    /// The graph for each of the lengths.
    pub(super) graphs: Vec<&'a Graph>,
    pub(super) lengths: Option<&'a Lengths>,
    /// The graphs of further lengths, in units. They detect lengths for which the common pattern of the first graphs
    /// fails.
    pub(super) checks: Vec<(i64, &'a Graph)>,
    /// The largest length at which it does not.
    fails_at: i64,
    /// Sequences, if their number is fixed.
    batch_size: Option<usize>,
    pub(super) proto: GraphProto,
    taken: HashSet<String>,
    pub(super) names: HashMap<Value, String>,
    ints: HashMap<Vec<i64>, String>,
    pub(super) affine: HashMap<(i64, i64), String>,
    /// The tensor with rows that determine the length, if it is not the input itself.
    pub(super) padded: Option<String>,
    /// Nodes by operator, inputs and numbers of attributes; an operator always has the same attributes.
    nodes: HashMap<(String, Vec<String>, Vec<i64>), String>,
}

impl<'a> Emitter<'a> {
    pub fn new(
        graphs: Vec<&'a Graph>,
        lengths: Option<&'a Lengths>,
        batch_size: Option<usize>,
    ) -> Emitter<'a> {
        let proto = GraphProto { name: Some("nnet3".to_string()), ..GraphProto::default() };
        Emitter {
            graphs,
            lengths,
            checks: Vec::new(),
            fails_at: 0,
            batch_size,
            proto,
            taken: HashSet::new(),
            names: HashMap::new(),
            ints: HashMap::new(),
            affine: HashMap::new(),
            padded: None,
            nodes: HashMap::new(),
        }
    }

    /// Also examines the graphs of other lengths. Their items are the same as in the first graphs.
    pub(crate) fn with_checks(mut self, checks: Vec<(i64, &'a Graph)>) -> Emitter<'a> {
        self.checks = checks;
        self
    }

    /// Returns the largest length, in units, for which the written part is wrong.
    pub(crate) fn fails_at(&self) -> i64 {
        self.fails_at
    }

    /// Notes the lengths for which a written part is wrong.
    pub(super) fn check(&mut self, holds: impl Fn(i64, &Graph) -> bool) {
        let failing = self.checks.iter().filter(|(units, graph)| !holds(*units, graph));
        self.fails_at = failing.map(|&(units, _)| units).chain([self.fails_at]).max().unwrap_or(0);
    }

    pub fn item(&self, value: Value) -> &'a Item {
        self.graphs[0].item(value)
    }

    /// Returns the result of `f` for a value in each graph.
    pub(super) fn in_each<T>(&self, value: Value, f: impl Fn(&'a Item) -> T) -> Vec<T> {
        self.graphs.iter().map(|graph| f(graph.item(value))).collect()
    }

    /// Returns an unused name.
    pub(super) fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_string();
        let mut count = 1;
        while !self.taken.insert(name.clone()) {
            count += 1;
            name = format!("{base}.{count}");
        }
        name
    }

    /// Keeps a name for an input or output.
    pub fn reserve(&mut self, name: &str) -> Result<()> {
        match self.taken.insert(name.to_string()) {
            true => Ok(()),
            false => Err(Error::unsupported(format!("two inputs or outputs would have the name '{name}'"))),
        }
    }

    /// Writes a node, or finds one that computes the same, and returns the name of its result.
    pub(super) fn node(
        &mut self,
        base: &str,
        op: &str,
        inputs: &[&str],
        attribute: Vec<AttributeProto>,
    ) -> String {
        let integers = attribute.iter().flat_map(|a| [&a.ints[..], a.i.as_slice(), &[i64::MIN]].concat());
        let key =
            (op.to_string(), inputs.iter().map(|input| input.to_string()).collect(), integers.collect());
        if let Some(known) = self.nodes.get(&key) {
            return known.clone();
        }
        let output = self.fresh(base);
        self.node_to(&output, op, inputs, attribute);
        self.nodes.insert(key, output.clone());
        output
    }

    fn node_to(&mut self, output: &str, op: &str, inputs: &[&str], attribute: Vec<AttributeProto>) {
        self.proto.node.push(NodeProto {
            input: inputs.iter().map(|&input| input.to_string()).collect(),
            output: vec![output.to_string()],
            name: Some(output.to_string()),
            op_type: Some(op.to_string()),
            attribute,
        });
    }

    fn initializer(&mut self, base: &str, dims: Vec<i64>, data_type: i32, raw: Vec<u8>) -> String {
        let name = self.fresh(base);
        self.proto.initializer.push(Tensor {
            dims,
            data_type: Some(data_type),
            name: Some(name.clone()),
            raw_data: Some(raw),
            ..Tensor::default()
        });
        name
    }

    pub(super) fn ints(&mut self, values: &[i64]) -> String {
        if let Some(name) = self.ints.get(values) {
            return name.clone();
        }
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let name = self.initializer("ints", vec![values.len() as i64], INT64, raw);
        self.ints.insert(values.to_vec(), name.clone());
        name
    }

    pub(super) fn floats(&mut self, base: &str, dims: &[i64], values: &[f32]) -> String {
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.initializer(base, dims.to_vec(), FLOAT, raw)
    }

    /// Fits a number of rows to its values in each graph.
    pub(super) fn fit(&self, node: &str, values: impl Iterator<Item = i64> + Clone) -> Result<Affine> {
        let units = self.lengths.map_or(&[0][..], |lengths| &lengths.units);
        Affine::fit(units, values.clone()).ok_or_else(|| {
            let found: Vec<String> = values.map(|v| v.to_string()).collect();
            no_pattern(node, &format!("its rows are {} for lengths that grow evenly", found.join(", ")))
        })
    }

    /// Adds an input. Without `rows` the tensor is [sequences, columns].
    pub(crate) fn add_input(&mut self, value: Value, name: &str, rows: Option<Dimension>) {
        let info = self.info(value, name, rows);
        self.proto.input.push(info);
        self.names.insert(value, name.to_string());
    }

    /// Adds an output, as [`add_input`](Self::add_input) adds an input.
    pub(crate) fn add_output(&mut self, value: Value, name: &str, rows: Option<Dimension>) -> Result<()> {
        let source = self.emit(value)?;
        self.node_to(name, "Identity", &[&source], vec![]);
        let info = self.info(value, name, rows);
        self.proto.output.push(info);
        Ok(())
    }

    /// The only row of a value as an output [sequences, columns].
    pub fn add_vector(&mut self, value: Value, name: &str) -> Result<()> {
        let (source, shape) = (self.emit(value)?, self.ints(&[0, -1]));
        self.node_to(name, "Reshape", &[&source, &shape], vec![]);
        let info = self.info(value, name, None);
        self.proto.output.push(info);
        Ok(())
    }

    fn info(&self, value: Value, name: &str, rows: Option<Dimension>) -> ValueInfo {
        let dims = [Some(self.batch_dimension()), rows, Some(Dimension::fixed(self.item(value).cols))];
        ValueInfo::floats(name, dims.into_iter().flatten().collect())
    }

    fn batch_dimension(&self) -> Dimension {
        match self.batch_size {
            Some(size) => Dimension::fixed(size),
            None => Dimension::named("N"),
        }
    }

    pub fn finish(self) -> GraphProto {
        self.proto
    }

    /// Returns the name of a value, and writes its operators if they are not written yet. Operands come before their
    /// users, in the order of the graph; unused values are left out.
    pub fn emit(&mut self, wanted: Value) -> Result<String> {
        for value in self.graphs[0].needed([wanted]) {
            if !self.names.contains_key(&value) {
                let name = self.emit_one(value)?;
                self.names.insert(value, name);
            }
        }
        Ok(self.names[&wanted].clone())
    }

    /// Returns the base of a value's name: the node's name if it is the value of a node.
    pub(super) fn base_name(&self, value: Value) -> String {
        let item = self.item(value);
        match (&item.op, item.cell) {
            (_, Some(_)) => item.node.clone(),
            (Op::Standard { op, .. }, None) => format!("{}/{op}", item.node),
            _ => format!("{}/rows", item.node),
        }
    }

    fn emit_one(&mut self, value: Value) -> Result<String> {
        let item = self.item(value);
        let same = |other: &Item| match (&item.op, &other.op) {
            (Op::Rows { sources: a, .. }, Op::Rows { sources: b, .. }) => a == b,
            (Op::SumRanges { source: a, .. }, Op::SumRanges { source: b, .. }) => a == b,
            (a, b) => a == b,
        };
        if !self.graphs[1..].iter().all(|graph| same(graph.item(value))) {
            return Err(no_pattern(&item.node, "its computation differs from length to length"));
        }
        self.check(|_, graph| same(graph.item(value)));
        match &item.op {
            Op::Input(name) => Err(Error::unsupported(format!("no value is given for the input '{name}'"))),
            Op::Constant(Constant::Ints(values)) => Ok(self.ints(values)),
            Op::Constant(Constant::Floats { dims, data }) => {
                let base = format!("{}/constant", item.node);
                Ok(self.floats(&base, dims, data))
            }
            Op::Standard { op, inputs, attributes } => {
                let inputs: Vec<String> = inputs.iter().map(|input| self.names[input].clone()).collect();
                let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
                let attributes = attributes.iter().map(|(name, attribute)| match attribute {
                    Attribute::Int(value) => AttributeProto::int(name, *value),
                    Attribute::Ints(values) => AttributeProto::ints(name, values),
                });
                Ok(self.node(&self.base_name(value), op, &inputs, attributes.collect()))
            }
            Op::Fill(row) => self.fill(value, row),
            Op::Rows { sources, .. } => {
                let names = sources.iter().map(|source| self.names[source].clone()).collect();
                Lists { emitter: self, value, sources, names }.emit()
            }
            Op::SumRanges { source, ranges } => {
                if self.lengths.is_some() {
                    let what = "it sums ranges of rows that are not all rows, and that are long";
                    return Err(no_pattern(&item.node, what));
                }
                let (rows, cols) = (ranges.len(), self.item(*source).rows);
                let mut matrix = vec![0.0; rows * cols];
                for (row, &(begin, end)) in ranges.iter().enumerate() {
                    matrix[row * cols + begin as usize..row * cols + end as usize].fill(1.0);
                }
                let base = format!("{}/ranges", item.node);
                let matrix = self.floats(&base, &[rows as i64, cols as i64], &matrix);
                let source = self.names[source].clone();
                Ok(self.node(&self.base_name(value), "MatMul", &[&matrix, &source], vec![]))
            }
        }
    }

    /// Repeats a row for each sequence.
    fn fill(&mut self, value: Value, row: &[f32]) -> Result<String> {
        let node = &self.item(value).node;
        let rows = self.in_each(value, |item| item.rows as i64);
        let rows = self.fit(node, rows.into_iter())?;
        self.check(|units, graph| graph.rows(value) as i64 == rows.at(units));
        self.filled(&self.base_name(value), row, rows)
    }

    /// The number of sequences.
    fn batch(&mut self) -> String {
        let input = self.proto.input.first().and_then(|input| input.name.clone());
        match (self.batch_size, input) {
            (Some(size), _) => self.ints(&[size as i64]),
            (None, Some(input)) => self.dimension("batch", &input, 0),
            (None, None) => self.ints(&[1]),
        }
    }

    /// The size of a tensor along an axis, as a tensor of one number. Shape has no attributes, which some runtimes
    /// read in their own way.
    pub(super) fn dimension(&mut self, base: &str, tensor: &str, axis: i64) -> String {
        let shape = self.node(base, "Shape", &[tensor], vec![]);
        let [start, end, zero] = [axis, axis + 1, 0].map(|i| self.ints(&[i]));
        self.node(base, "Slice", &[&shape, &start, &end, &zero], vec![])
    }

    pub(super) fn filled(&mut self, base: &str, row: &[f32], rows: Affine) -> Result<String> {
        let constant = self.floats(&format!("{base}/constant"), &[row.len() as i64], row);
        let cols = row.len() as i64;
        let batch = self.batch();
        let (rows, cols) = (self.affine(rows)?, self.ints(&[cols]));
        let axis = vec![AttributeProto::int("axis", 0)];
        let shape = self.node("batch", "Concat", &[&batch, &rows, &cols], axis);
        Ok(self.node(base, "Expand", &[&constant, &shape], vec![]))
    }
}

/// The error about a node that has no form for all lengths.
pub(super) fn no_pattern(node: &str, what: &str) -> Error {
    Error::unsupported(format!(
        "node '{node}' has no form that serves every length: {what}; export a chunk of a fixed length with \
         `fixed-frames`=true, or chunk after chunk with `streaming`=true"
    ))
}
