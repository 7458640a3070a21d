//! Makes a graph of values from the commands of an unoptimised computation. A matrix becomes a value: it is zeroed,
//! added to and then read.

use crate::components;
use crate::error::{Error, Result};
use crate::graph::{Cell, Graph, Pool, SourceRow, Value};
use nnet3_core::compile::compile;
use nnet3_core::computation::{Command, Computation, Propagate, SubmatrixId};
use nnet3_core::index::Cindex;
use nnet3_core::nnet::Nnet;
use nnet3_core::request::ComputationRequest;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A computation as a graph, with the outputs of the requests.
pub(crate) struct Traced {
    pub graph: Graph,
    /// For each request, the outputs by name.
    pub outputs: Vec<Vec<(String, Value)>>,
    /// The cindexes of the rows of each matrix of the computation.
    pub cindexes: Vec<Vec<Cindex>>,
}

/// State shared by graphs of the same network.
#[derive(Clone, Default)]
pub(crate) struct Tracing {
    /// Has the meaning that it has in [`Graph`].
    pub any_length: bool,
    /// True if each request gets one i-vector, for all its rows.
    pub one_ivector: bool,
    pub pool: Rc<RefCell<Pool>>,
}

/// The graph of one request, or of several that follow each other in time. Derivatives are not computed. The network is in
/// test mode.
pub fn trace(nnet: &Nnet, requests: &[ComputationRequest], how: &Tracing) -> Result<Traced> {
    let mut forward = requests.to_vec();
    for request in &mut forward {
        request.need_model_derivative = false;
        request.store_component_stats = false;
        request.inputs.iter_mut().chain(&mut request.outputs).for_each(|io| io.has_deriv = false);
    }
    let computation = compile(nnet, &forward)?;
    let mut tracer = Tracer {
        nnet,
        graph: Graph::new(how.any_length, how.pool.clone()),
        one_ivector: how.one_ivector,
        computation: &computation,
        parts: HashMap::new(),
        values: HashMap::new(),
        outputs: vec![Vec::new()],
    };
    for command in &computation.commands {
        tracer.command(command)?;
    }
    let Tracer { graph, mut outputs, .. } = tracer;
    outputs.truncate(requests.len());
    let cindexes = computation.debug_info.into_iter().map(|info| info.cindexes).collect();
    Ok(Traced { graph, outputs, cindexes })
}

struct Tracer<'a> {
    nnet: &'a Nnet,
    graph: Graph,
    one_ivector: bool,
    computation: &'a Computation,
    /// Columns of matrices that have been written, by first column.
    parts: HashMap<u32, BTreeMap<u32, Value>>,
    /// Values that have been read; later writes to them are not allowed.
    values: HashMap<Cell, Value>,
    outputs: Vec<Vec<(String, Value)>>,
}

impl Tracer<'_> {
    fn cell(&self, id: SubmatrixId) -> Result<Cell> {
        let s = self.computation.submatrix(id);
        if s.row_offset != 0 || s.rows != self.computation.matrix(s.matrix).rows {
            return Err(Error::unsupported("the computation uses rows of a matrix before it is complete"));
        }
        Ok(Cell { matrix: s.matrix.0, first_col: s.col_offset as u32, cols: s.cols as u32 })
    }

    fn num_rows(&self, id: SubmatrixId) -> usize {
        self.computation.submatrix(id).rows
    }

    /// The node whose value a matrix is.
    fn node_of(&self, matrix: u32) -> String {
        let info = self.computation.debug_info.get(matrix as usize);
        let node = info.and_then(|info| info.cindexes.first()).map(|cindex| cindex.node);
        node.map_or_else(|| format!("m{matrix}"), |node| self.nnet.node_name(node).to_string())
    }

    fn read(&mut self, id: SubmatrixId) -> Result<Value> {
        let cell = self.cell(id)?;
        if let Some(&value) = self.values.get(&cell) {
            return Ok(value);
        }
        let info = self.computation.matrix(self.computation.submatrix(id).matrix);
        let whole = Cell { first_col: 0, cols: info.cols as u32, ..cell };
        let value = match self.values.get(&whole) {
            Some(&value) => value,
            None => {
                let value = self.assemble(whole, info.rows);
                self.remember(whole, value)
            }
        };
        if cell == whole {
            return Ok(value);
        }
        let value = self.graph.slice_cols(value, cell.first_col as usize, cell.cols as usize);
        Ok(self.remember(cell, value))
    }

    fn remember(&mut self, cell: Cell, value: Value) -> Value {
        // Columns of another matrix, with the same rows, may be this value already.
        self.graph.items[value.index()].cell.get_or_insert(cell);
        self.values.insert(cell, value);
        value
    }

    /// Ends a request: its written values belong to it, even if only later requests read them.
    fn end_request(&mut self) {
        let mut written: Vec<u32> = self.parts.keys().copied().collect();
        written.sort_unstable();
        for matrix in written {
            let info = self.computation.matrices[matrix as usize];
            self.graph.node = self.node_of(matrix);
            let whole = Cell { matrix, first_col: 0, cols: info.cols as u32 };
            let value = self.assemble(whole, info.rows);
            self.remember(whole, value);
        }
        self.graph.segment += 1;
        self.outputs.push(Vec::new());
    }

    /// Joins all columns of a matrix. Unwritten columns are zero.
    fn assemble(&mut self, whole: Cell, rows: usize) -> Value {
        let written = self.parts.remove(&whole.matrix).unwrap_or_default();
        let mut columns = Vec::new();
        let mut next = 0;
        for (first, value) in written {
            if first > next {
                columns.push(self.graph.fill(vec![0.0; (first - next) as usize], rows));
            }
            next = first + self.graph.cols(value) as u32;
            columns.push(value);
        }
        if next < whole.cols {
            columns.push(self.graph.fill(vec![0.0; (whole.cols - next) as usize], rows));
        }
        self.graph.concat_cols(&columns)
    }

    fn write(&mut self, id: SubmatrixId, value: Value, alpha: f32) -> Result<()> {
        let cell = self.cell(id)?;
        let value = self.graph.scaled(value, alpha);
        let parts = self.parts.entry(cell.matrix).or_default();
        let overlaps = |(&first, &other): (&u32, &Value)| {
            let cols = self.graph.cols(other) as u32;
            let same = (first, cols) == (cell.first_col, cell.cols);
            !same && first < cell.first_col + cell.cols && cell.first_col < first + cols
        };
        let whole = Cell { first_col: 0, cols: u32::MAX, ..cell };
        let was_read = self.values.keys().any(|read| read.matrix == whole.matrix);
        if was_read || parts.iter().any(overlaps) {
            return Err(Error::unsupported(format!(
                "node '{}': the computation writes to rows after it has read them",
                self.node_of(cell.matrix)
            )));
        }
        match parts.get(&cell.first_col) {
            None => parts.insert(cell.first_col, value),
            Some(&before) => {
                let sum = self.graph.binary("Add", before, value);
                parts.insert(cell.first_col, sum)
            }
        };
        Ok(())
    }

    fn add_rows(&mut self, dest: SubmatrixId, alpha: f32, rows: &[Option<(SubmatrixId, u32)>]) -> Result<()> {
        let mut sources: Vec<SubmatrixId> = Vec::new();
        let mut list: Vec<SourceRow> = Vec::with_capacity(rows.len());
        for row in rows {
            list.push(row.map(|(source, row)| {
                let known = sources.iter().position(|&s| s == source);
                let place = known.unwrap_or_else(|| {
                    sources.push(source);
                    sources.len() - 1
                });
                (place as u32, row)
            }));
        }
        if sources.is_empty() {
            return Ok(());
        }
        let sources = sources.into_iter().map(|source| self.read(source)).collect::<Result<Vec<_>>>()?;
        let value = self.graph.select(sources, list);
        self.write(dest, value, alpha)
    }

    fn command(&mut self, command: &Command) -> Result<()> {
        if let Some(&id) = command.submatrices().last() {
            self.graph.node = self.node_of(self.computation.submatrix(id).matrix.0);
        }
        match *command {
            Command::Allocate { .. }
            | Command::Deallocate { .. }
            | Command::NoOp
            | Command::NoOpPermanent => {}
            Command::Marker => self.end_request(),
            Command::SetConst { value: 0.0, .. } => {}
            Command::SetConst { dest, value } => {
                self.graph.node = self.node_of(self.computation.submatrix(dest).matrix.0);
                let cell = self.cell(dest)?;
                let filled = self.graph.fill(vec![value; cell.cols as usize], self.num_rows(dest));
                self.write(dest, filled, 1.0)?;
            }
            Command::AcceptInput { matrix, node } => {
                let cell = self.cell(matrix)?;
                let (name, rows) = (self.nnet.node_name(node), self.num_rows(matrix));
                let given = if self.one_ivector && name == "ivector" { 1 } else { rows };
                let mut value = self.graph.input(name, given, cell.cols as usize);
                if given != rows {
                    value = self.graph.rows_of(value, std::iter::repeat_n(0, rows));
                }
                self.remember(cell, value);
            }
            Command::ProvideOutput { matrix, node } => {
                let value = self.read(matrix)?;
                let name = self.nnet.node_name(node).to_string();
                self.outputs[self.graph.segment].push((name, value));
            }
            Command::Add { dest, src, alpha } => {
                let rows: Vec<_> = (0..self.num_rows(src) as u32).map(|row| Some((src, row))).collect();
                self.graph.node = self.node_of(self.computation.submatrix(dest).matrix.0);
                self.add_rows(dest, alpha, &rows)?;
            }
            Command::AddRows { dest, src, rows, alpha } => {
                let rows: Vec<_> = self.computation.indexes[rows.index()]
                    .iter()
                    .map(|&row| u32::try_from(row).ok().map(|row| (src, row)))
                    .collect();
                self.graph.node = self.node_of(self.computation.submatrix(dest).matrix.0);
                self.add_rows(dest, alpha, &rows)?;
            }
            Command::AddRowsMulti { dest, rows, alpha } => {
                let computation = self.computation;
                self.add_rows(dest, alpha, &computation.multi_indexes[rows.index()])?;
            }
            Command::Propagate(Propagate { component, precomputed, input, output, .. }) => {
                let indexes =
                    precomputed.and_then(|id| self.computation.precomputed[id.index()].data.as_deref());
                let input = input.map(|input| self.read(input)).transpose()?;
                let output_rows = self.num_rows(output);
                let component = self.nnet.component(component);
                let result = components::propagate(&mut self.graph, component, indexes, input, output_rows);
                let value = result.map_err(|e| match e {
                    Error::Unsupported(message) => {
                        Error::Unsupported(format!("node '{}': {message}", self.graph.node))
                    }
                    other => other,
                })?;
                self.write(output, value, 1.0)?;
            }
            _ => {
                return Err(Error::unsupported(format!(
                    "the computation has a command that has no ONNX form: {command:?}"
                )));
            }
        }
        Ok(())
    }
}
