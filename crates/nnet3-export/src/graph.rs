//! The graph of a computation on tensors [sequences, rows, columns]. It has standard operators, and a few row
//! operators. Row operators become standard operators when it is known if their rows depend on a length.

use crate::components::planes::Planes;
use crate::fields::Table;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// A tensor of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u32);

impl Value {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Numbers that do not depend on inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    Floats { dims: Vec<i64>, data: Rc<[f32]> },
    Ints(Vec<i64>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    Int(i64),
    Ints(Vec<i64>),
}

/// A row of one of several sources; `None` is a row of zeros.
pub(crate) type SourceRow = Option<(u32, u32)>;

#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// An input of the user: all rows of a request, or rows that an earlier graph has left.
    Input(String),
    Constant(Constant),
    Standard {
        op: &'static str,
        inputs: Vec<Value>,
        attributes: Vec<(&'static str, Attribute)>,
    },
    Rows {
        sources: Vec<Value>,
        rows: Vec<SourceRow>,
    },
    /// Equal rows.
    Fill(Vec<f32>),
    /// Row i is the sum of the rows from begin to end (without it) of ranges\[i\].
    SumRanges {
        source: Value,
        ranges: Vec<(u32, u32)>,
    },
}

impl Op {
    pub fn operands(&self) -> &[Value] {
        match self {
            Op::Standard { inputs, .. } => inputs,
            Op::Rows { sources, .. } => sources,
            Op::SumRanges { source, .. } => std::slice::from_ref(source),
            Op::Input(_) | Op::Constant(_) | Op::Fill(_) => &[],
        }
    }
}

impl Op {
    /// The same operation on other values.
    pub(crate) fn with_operands(&self, f: impl Fn(Value) -> Value) -> Op {
        let mut op = self.clone();
        match &mut op {
            Op::Standard { inputs: values, .. } | Op::Rows { sources: values, .. } => {
                values.iter_mut().for_each(|value| *value = f(*value));
            }
            Op::SumRanges { source, .. } => *source = f(*source),
            Op::Input(_) | Op::Constant(_) | Op::Fill(_) => {}
        }
        op
    }
}

/// The columns of a matrix of the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    pub matrix: u32,
    pub first_col: u32,
    pub cols: u32,
}

#[derive(Clone, Debug)]
pub struct Item {
    pub op: Op,
    pub rows: usize,
    pub cols: usize,
    /// Number of the request, of several that follow each other.
    pub segment: usize,
    /// The node that it belongs to.
    pub node: String,
    pub cell: Option<Cell>,
}

/// Lists of floats, each stored once for all graphs.
#[derive(Default)]
pub struct Pool {
    lists: HashMap<u64, Vec<Rc<[f32]>>>,
}

impl Pool {
    fn shared(&mut self, data: Vec<f32>) -> Rc<[f32]> {
        let mut hasher = DefaultHasher::new();
        data.iter().for_each(|v| v.to_bits().hash(&mut hasher));
        let known = self.lists.entry(hasher.finish()).or_default();
        let same = |list: &&Rc<[f32]>| {
            list.len() == data.len() && list.iter().zip(&data).all(|(a, b)| a.to_bits() == b.to_bits())
        };
        if let Some(list) = known.iter().find(same) {
            return list.clone();
        }
        let list: Rc<[f32]> = data.into();
        known.push(list.clone());
        list
    }
}

/// The operations that requests need.
#[derive(Default)]
pub struct Graph {
    pub items: Vec<Item>,
    /// The segment to which new items belong.
    pub segment: usize,
    pub node: String,
    /// True if it must serve all lengths; then no operator may have a constant for each row.
    pub any_length: bool,
    /// Values that are also there in the form that convolutions take.
    pub(crate) planes: HashMap<Value, (Value, Planes)>,
    pool: Rc<RefCell<Pool>>,
    /// The constants so far, by dimensions and address of the list.
    floats: HashMap<(Vec<i64>, *const f32), Value>,
    ints: HashMap<Vec<i64>, Value>,
}

impl Graph {
    pub fn new(any_length: bool, pool: Rc<RefCell<Pool>>) -> Graph {
        Graph { any_length, pool, ..Graph::default() }
    }

    pub fn pool(&self) -> Rc<RefCell<Pool>> {
        self.pool.clone()
    }

    pub fn item(&self, value: Value) -> &Item {
        &self.items[value.index()]
    }
    pub fn rows(&self, value: Value) -> usize {
        self.item(value).rows
    }
    pub fn cols(&self, value: Value) -> usize {
        self.item(value).cols
    }

    /// Returns `wanted` and its dependencies, in the order of the graph.
    pub fn needed(&self, wanted: impl IntoIterator<Item = Value>) -> Vec<Value> {
        let mut needed = vec![false; self.items.len()];
        wanted.into_iter().for_each(|value| needed[value.index()] = true);
        for i in (0..self.items.len()).rev() {
            if needed[i] {
                self.items[i].op.operands().iter().for_each(|operand| needed[operand.index()] = true);
            }
        }
        (0..self.items.len() as u32).map(Value).filter(|value| needed[value.index()]).collect()
    }

    fn push(&mut self, op: Op, rows: usize, cols: usize) -> Value {
        self.push_in(self.segment, op, rows, cols)
    }

    fn push_in(&mut self, segment: usize, op: Op, rows: usize, cols: usize) -> Value {
        self.items.push(Item { op, rows, cols, segment, node: self.node.clone(), cell: None });
        Value(self.items.len() as u32 - 1)
    }

    pub fn input(&mut self, name: &str, rows: usize, cols: usize) -> Value {
        self.push(Op::Input(name.to_string()), rows, cols)
    }

    /// The operands of an operator that the standard calls `op`; the result has `rows` rows and `cols` columns.
    pub fn standard(
        &mut self,
        op: &'static str,
        inputs: &[Value],
        attributes: &[(&'static str, Attribute)],
        (rows, cols): (usize, usize),
    ) -> Value {
        let op = Op::Standard { op, inputs: inputs.to_vec(), attributes: attributes.to_vec() };
        self.push(op, rows, cols)
    }

    pub fn floats(&mut self, dims: &[usize], data: Vec<f32>) -> Value {
        let dims = dims.iter().map(|&d| d as i64).collect();
        let data = self.pool.borrow_mut().shared(data);
        self.shared_floats(dims, data)
    }

    fn shared_floats(&mut self, dims: Vec<i64>, data: Rc<[f32]>) -> Value {
        let key = (dims.clone(), data.as_ptr());
        if let Some(&known) = self.floats.get(&key) {
            return known;
        }
        let value = self.push(Op::Constant(Constant::Floats { dims, data }), 0, 0);
        self.floats.insert(key, value);
        value
    }

    /// A constant of a graph with the same pool.
    pub fn constant(&mut self, constant: &Constant) -> Value {
        match constant {
            Constant::Ints(data) => self.ints(data),
            Constant::Floats { dims, data } => self.shared_floats(dims.clone(), data.clone()),
        }
    }

    pub fn ints(&mut self, data: &[i64]) -> Value {
        if let Some(&known) = self.ints.get(data) {
            return known;
        }
        let value = self.push(Op::Constant(Constant::Ints(data.to_vec())), 0, 0);
        self.ints.insert(data.to_vec(), value);
        value
    }

    pub fn scalar(&mut self, value: f32) -> Value {
        self.floats(&[], vec![value])
    }

    /// One row, for operators that repeat it.
    pub fn row(&mut self, data: Vec<f32>) -> Value {
        self.floats(&[data.len()], data)
    }

    pub fn unary(&mut self, op: &'static str, x: Value) -> Value {
        let shape = (self.rows(x), self.cols(x));
        self.standard(op, &[x], &[], shape)
    }

    /// The larger of each element and a number.
    pub fn floored(&mut self, x: Value, floor: f32) -> Value {
        let floor = self.scalar(floor);
        self.binary("Clip", x, floor)
    }

    /// Element by element. `y` may be a constant that is repeated.
    pub fn binary(&mut self, op: &'static str, x: Value, y: Value) -> Value {
        let shape = (self.rows(x), self.cols(x));
        self.standard(op, &[x, y], &[], shape)
    }

    pub fn scaled(&mut self, x: Value, factor: f32) -> Value {
        if factor == 1.0 {
            return x;
        }
        let factor = self.scalar(factor);
        self.binary("Mul", x, factor)
    }

    pub fn matmul(&mut self, x: Value, weights: &Table) -> Value {
        let w = self.floats(&[weights.cols, weights.rows], weights.transposed());
        let shape = (self.rows(x), weights.rows);
        self.standard("MatMul", &[x, w], &[], shape)
    }

    pub(crate) fn concat_cols(&mut self, parts: &[Value]) -> Value {
        if let [only] = parts {
            return *only;
        }
        let cols = parts.iter().map(|&p| self.cols(p)).sum();
        let shape = (self.rows(parts[0]), cols);
        self.standard("Concat", parts, &[("axis", Attribute::Int(2))], shape)
    }

    /// Columns `first` to `first + cols` of `x`; they belong where `x` belongs.
    pub(crate) fn slice_cols(&mut self, x: Value, first: usize, cols: usize) -> Value {
        if (first, cols) == (0, self.cols(x)) {
            return x;
        }
        if let Some((part, first)) = self.part_with(x, first, cols) {
            return self.slice_cols(part, first, cols);
        }
        let [start, end, axis] = [first as i64, (first + cols) as i64, 2].map(|i| self.ints(&[i]));
        let op = Op::Standard { op: "Slice", inputs: vec![x, start, end, axis], attributes: vec![] };
        let (segment, rows) = (self.item(x).segment, self.rows(x));
        self.push_in(segment, op, rows, cols)
    }

    /// The part of joined columns that has these columns, and the first of them in it.
    fn part_with(&self, x: Value, mut first: usize, cols: usize) -> Option<(Value, usize)> {
        let item = self.item(x);
        let Op::Standard { op: "Concat", inputs, attributes } = &item.op else { return None };
        if attributes[..] != [("axis", Attribute::Int(2))] {
            return None;
        }
        for &part in inputs {
            let width = self.cols(part);
            if first < width {
                let here = first + cols <= width && self.item(part).segment == item.segment;
                return here.then_some((part, first));
            }
            first -= width;
        }
        None
    }

    pub(crate) fn gather_cols(&mut self, x: Value, columns: &[i64]) -> Value {
        let list = self.ints(columns);
        let shape = (self.rows(x), columns.len());
        self.standard("Gather", &[x, list], &[("axis", Attribute::Int(2))], shape)
    }

    /// The numbers of a tensor in rows of `cols` columns.
    pub fn reshaped(&mut self, x: Value, cols: usize) -> Value {
        if cols == self.cols(x) {
            return x;
        }
        let rows = self.rows(x) * self.cols(x) / cols;
        let dims = self.ints(&[0, -1, cols as i64]);
        self.standard("Reshape", &[x, dims], &[], (rows, cols))
    }

    /// One column: for each row the sum of all columns.
    pub fn sum_cols(&mut self, x: Value) -> Value {
        let cols = self.cols(x);
        self.matmul(x, &Table { rows: 1, cols, data: vec![1.0; cols] })
    }

    pub fn fill(&mut self, row: Vec<f32>, rows: usize) -> Value {
        let cols = row.len();
        self.push(Op::Fill(row), rows, cols)
    }

    /// Rows of several sources with the same columns.
    pub fn select(&mut self, sources: Vec<Value>, rows: Vec<SourceRow>) -> Value {
        let cols = self.cols(sources[0]);
        if rows.iter().all(Option::is_none) {
            return self.fill(vec![0.0; cols], rows.len());
        }
        let count = rows.len();
        self.push(Op::Rows { sources, rows }, count, cols)
    }

    pub fn rows_of(&mut self, x: Value, rows: impl Iterator<Item = u32>) -> Value {
        self.select(vec![x], rows.map(|row| Some((0, row))).collect())
    }

    /// Sums of ranges of rows.
    pub(crate) fn sum_ranges(&mut self, x: Value, ranges: &[(u32, u32)]) -> Value {
        /// Longer sums of a fixed length are not written out for graphs of any length.
        const LONGEST: u32 = 64;
        let (rows, cols) = (self.rows(x) as u32, self.cols(x));
        if ranges.iter().all(|&range| range == (0, rows)) {
            let ones = self.fill(vec![1.0], rows as usize);
            let perm = [("perm", Attribute::Ints(vec![0, 2, 1]))];
            let ones = self.standard("Transpose", &[ones], &perm, (1, rows as usize));
            let sum = self.standard("MatMul", &[ones, x], &[], (1, cols));
            return self.rows_of(sum, (0..ranges.len()).map(|_| 0));
        }
        let longest = ranges.iter().map(|&(begin, end)| end - begin).max().unwrap_or(0);
        if !self.any_length || longest > LONGEST {
            return self.push(Op::SumRanges { source: x, ranges: ranges.to_vec() }, ranges.len(), cols);
        }
        let term = |k: u32| move |&(begin, end): &(u32, u32)| (begin + k < end).then_some((0, begin + k));
        let mut sum = self.select(vec![x], ranges.iter().map(term(0)).collect());
        for k in 1..longest {
            let next = self.select(vec![x], ranges.iter().map(term(k)).collect());
            sum = self.binary("Add", sum, next);
        }
        sum
    }
}
