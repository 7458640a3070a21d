//! The check of single commands: indexes are in range, and shapes fit each other and the components.

use super::fail;
use crate::computation::{
    Backprop, Command, Compression, Computation, IndexesId, MultiIndexesId, PendingMemos, PrecomputedId,
    Propagate, RangesId, RowOf, Submatrix, SubmatrixId,
};
use nnet3_base::error::Result;
use nnet3_base::index::{ComponentId, NodeId};
use nnet3_component::{Component, Properties};
use nnet3_network::{Nnet, Node};

pub fn check(nnet: &Nnet, computation: &Computation) -> Result<()> {
    let mut memos = PendingMemos::default();
    for c in 0..computation.commands.len() {
        let one = One { nnet, computation, c };
        one.check_submatrix_ids()?;
        one.check()?;
        one.check_memo(&mut memos)?;
    }
    match memos.iter().map(|(_, (c, _))| c).min() {
        Some(c) => fail(nnet, computation, c, "no backprop uses the memo of this propagate"),
        None => Ok(()),
    }
}

/// One command, with the facts that its check needs.
struct One<'a> {
    nnet: &'a Nnet,
    computation: &'a Computation,
    c: usize,
}

impl One<'_> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        // Names cannot be printed if the command refers to missing items.
        let c = self.c;
        match self.is_printable() {
            true => fail(self.nnet, self.computation, c, message),
            false => Err(nnet3_base::error::Error::Computation {
                message: message.into(),
                command: format!("c{c}: {:?}", self.computation.commands[c]),
            }),
        }
    }

    fn is_printable(&self) -> bool {
        let computation = self.computation;
        let submatrices = computation.submatrices.len();
        let command = &computation.commands[self.c];
        let rows_exist = |id: MultiIndexesId| {
            let list = computation.multi_indexes.get(id.index());
            list.is_some_and(|list| list.iter().flatten().all(|(s, _)| s.index() < submatrices))
        };
        let named = match *command {
            Command::Propagate(Propagate { component, .. })
            | Command::Backprop(Backprop { component, .. }) => component.index() < self.nnet.num_components(),
            Command::AcceptInput { node, .. } | Command::ProvideOutput { node, .. } => {
                node.index() < self.nnet.num_nodes()
            }
            Command::CopyRows { rows, .. } | Command::AddRows { rows, .. } => {
                rows.index() < computation.indexes.len()
            }
            Command::CopyRowsMulti { rows, .. }
            | Command::AddRowsMulti { rows, .. }
            | Command::CopyToRowsMulti { rows, .. }
            | Command::AddToRowsMulti { rows, .. } => rows_exist(rows),
            Command::AddRowRanges { ranges, .. } => ranges.index() < computation.ranges.len(),
            _ => true,
        };
        named && command.submatrices().iter().all(|s| s.index() < submatrices)
    }

    fn require(&self, condition: bool, message: &str) -> Result<()> {
        if condition { Ok(()) } else { self.fail(message) }
    }

    fn sub(&self, s: SubmatrixId) -> &Submatrix {
        self.computation.submatrix(s)
    }

    fn check_submatrix_ids(&self) -> Result<()> {
        let mut command = self.computation.commands[self.c];
        let mut valid = true;
        let count = self.computation.submatrices.len();
        command.for_each_submatrix(|s| valid &= (1..count).contains(&s.index()));
        self.require(valid, "there is no such sub-matrix")
    }

    fn whole(&self, s: SubmatrixId) -> Result<()> {
        self.require(self.computation.is_whole(s), "the command needs a whole matrix")
    }

    fn check(&self) -> Result<()> {
        match self.computation.commands[self.c] {
            Command::Allocate { matrix }
            | Command::Deallocate { matrix }
            | Command::Decompress { matrix } => self.whole(matrix),
            Command::Compress { matrix, kind, range, .. } => {
                self.whole(matrix)?;
                let valid = (0.0..=1000.0).contains(&range) && (range > 0.0 || kind == Compression::Uint8);
                self.require(valid, "the range of a compression is between 0 and 1000, 0 only for uint8")
            }
            Command::Swap { first, second } => {
                self.whole(first)?;
                self.whole(second)?;
                self.same_shape(first, second)
            }
            Command::AcceptInput { matrix, node } | Command::ProvideOutput { matrix, node } => {
                self.whole(matrix)?;
                self.check_exchange(matrix, node)
            }
            Command::Propagate(Propagate { component, precomputed, input, output, .. }) => {
                self.check_propagate(component, precomputed, input, output)
            }
            Command::Backprop(Backprop { component, .. }) => self.check_backprop(component),
            Command::Copy { dest, src, alpha } => {
                self.same_shape(dest, src)?;
                // Scaling in place.
                if self.sub(dest) == self.sub(src) && alpha != 1.0 { Ok(()) } else { self.apart(dest, src) }
            }
            Command::Add { dest, src, .. } => {
                self.same_shape(dest, src)?;
                self.apart(dest, src)
            }
            Command::CopyRows { dest, src, rows, .. } | Command::AddRows { dest, src, rows, .. } => {
                self.check_rows(dest, src, rows)
            }
            Command::CopyRowsMulti { dest: s, rows, .. } | Command::AddRowsMulti { dest: s, rows, .. } => {
                self.check_multi(s, rows)?;
                Ok(())
            }
            Command::CopyToRowsMulti { src: s, rows } | Command::AddToRowsMulti { src: s, rows, .. } => {
                let list = self.check_multi(s, rows)?;
                self.check_no_repeats(list)
            }
            Command::AddRowRanges { dest, src, ranges, .. } => self.check_ranges(dest, src, ranges),
            Command::Goto { target } => {
                let commands = &self.computation.commands;
                let label = target < self.c && commands[target] == Command::Label;
                self.require(label, "a goto needs a label before it")?;
                self.require(self.c + 1 == commands.len(), "a goto must be the last command")
            }
            Command::SetConst { .. }
            | Command::NoOp
            | Command::NoOpPermanent
            | Command::Marker
            | Command::Label => Ok(()),
        }
    }

    fn check_exchange(&self, matrix: SubmatrixId, node: NodeId) -> Result<()> {
        let valid = node.index() < self.nnet.num_nodes()
            && matches!(self.nnet.node(node), Node::Input { .. } | Node::Output { .. });
        self.require(valid, "only input and output nodes exchange matrices with the user")?;
        self.require(
            self.sub(matrix).cols == self.nnet.node_dim(node),
            "the matrix has not as many columns as the node",
        )
    }

    fn same_shape(&self, a: SubmatrixId, b: SubmatrixId) -> Result<()> {
        let (a, b) = (self.sub(a), self.sub(b));
        if (a.rows, a.cols) == (b.rows, b.cols) {
            return Ok(());
        }
        self.fail(format!("shapes differ: {} × {} and {} × {}", a.rows, a.cols, b.rows, b.cols))
    }

    /// Checks that the two have no element in common.
    fn apart(&self, dest: SubmatrixId, src: SubmatrixId) -> Result<()> {
        let (d, s) = (self.sub(dest), self.sub(src));
        let meet = |o1: usize, n1: usize, o2: usize, n2: usize| o1 < o2 + n2 && o2 < o1 + n1;
        let overlap = d.matrix == s.matrix
            && meet(d.row_offset, d.rows, s.row_offset, s.rows)
            && meet(d.col_offset, d.cols, s.col_offset, s.cols);
        self.require(!overlap, "source and destination overlap")
    }

    fn component_properties(
        &self,
        component: ComponentId,
        precomputed: Option<PrecomputedId>,
    ) -> Result<Properties> {
        self.require(component.index() < self.nnet.num_components(), "there is no such component")?;
        let properties = self.nnet.component(component).properties();
        let count = self.computation.precomputed.len();
        let valid = precomputed.is_none_or(|p| (1..count).contains(&p.index()));
        self.require(valid, "there are no such precomputed indexes")?;
        let simple = properties.contains(Properties::SIMPLE);
        self.require(precomputed.is_none() || !simple, "a simple component has no precomputed indexes")?;
        Ok(properties)
    }

    fn check_propagate(
        &self,
        component: ComponentId,
        precomputed: Option<PrecomputedId>,
        input: Option<SubmatrixId>,
        output: SubmatrixId,
    ) -> Result<()> {
        let properties = self.component_properties(component, precomputed)?;
        let simple = properties.contains(Properties::SIMPLE);
        let component = self.nnet.component(component);
        self.columns(Some(output), component.output_dim(), "output")?;
        self.columns(input, component.input_dim(), "input")?;
        self.contiguous(properties, Properties::INPUT_CONTIGUOUS, input)?;
        self.contiguous(properties, Properties::OUTPUT_CONTIGUOUS, Some(output))?;
        if !simple {
            self.check_precomputed(component, precomputed, input, output, false)?;
        }
        let Some(input) = input else {
            return self.require(!simple, "a simple component needs an input");
        };
        self.require(
            !simple || self.sub(input).rows == self.sub(output).rows,
            "input and output of a simple component have different numbers of rows",
        )?;
        if self.sub(input) == self.sub(output) {
            return self.require(
                properties.contains(Properties::PROPAGATE_IN_PLACE),
                "the component cannot propagate in place",
            );
        }
        self.apart(output, input)
    }

    fn check_precomputed(
        &self,
        component: &dyn Component,
        precomputed: Option<PrecomputedId>,
        input: Option<SubmatrixId>,
        output: SubmatrixId,
        backprop: bool,
    ) -> Result<()> {
        let indexes = precomputed.and_then(|p| self.computation.precomputed[p.index()].data.as_deref());
        let rows = |s: SubmatrixId| self.sub(s).rows;
        let fit = component.check_precomputed(indexes, input.map_or(0, rows), rows(output), backprop);
        fit.or_else(|message| self.fail(message))
    }

    fn columns(&self, s: Option<SubmatrixId>, dim: usize, what: &str) -> Result<()> {
        match s.map(|s| self.sub(s).cols) {
            Some(cols) if cols != dim => self.fail(format!(
                "the component's {what} has dimension {dim}, but the matrix has {cols} columns"
            )),
            _ => Ok(()),
        }
    }

    /// Checks that rows follow each other without gaps, if the component has the property `which`.
    fn contiguous(&self, properties: Properties, which: Properties, s: Option<SubmatrixId>) -> Result<()> {
        let no_gaps = s
            .map(|s| self.sub(s))
            .is_none_or(|s| s.rows == 1 || s.cols == self.computation.matrix(s.matrix).cols);
        self.require(!properties.contains(which) || no_gaps, "the component needs all columns of a matrix")
    }

    fn check_backprop(&self, component: ComponentId) -> Result<()> {
        let Command::Backprop(Backprop { precomputed, in_value, out_value, out_deriv, in_deriv, .. }) =
            self.computation.commands[self.c]
        else {
            return Ok(());
        };
        let properties = self.component_properties(component, precomputed)?;
        let component = self.nnet.component(component);
        let has = |p| properties.contains(p);
        let rows = |s: SubmatrixId| self.sub(s).rows;
        let input_given = in_value.is_some() || !has(Properties::BACKPROP_NEEDS_INPUT);
        let output_given = out_value.is_some() || !has(Properties::BACKPROP_NEEDS_OUTPUT);
        let simple = has(Properties::SIMPLE);
        self.require(input_given, "backprop of this component needs its input value")?;
        self.require(output_given, "backprop of this component needs its output value")?;
        self.require(
            in_deriv.is_some() || has(Properties::UPDATABLE),
            "a backprop without input derivative of a component without parameters has no effect",
        )?;
        self.columns(in_value, component.input_dim(), "input")?;
        self.columns(in_deriv, component.input_dim(), "input")?;
        self.columns(out_value, component.output_dim(), "output")?;
        self.columns(Some(out_deriv), component.output_dim(), "output")?;
        for s in [in_value, in_deriv] {
            self.contiguous(properties, Properties::INPUT_CONTIGUOUS, s)?;
        }
        for s in [out_value, Some(out_deriv)] {
            self.contiguous(properties, Properties::OUTPUT_CONTIGUOUS, s)?;
        }
        if let (Some(value), Some(deriv)) = (in_value, in_deriv) {
            self.require(
                rows(value) == rows(deriv),
                "input value and input derivative have different numbers of rows",
            )?;
        }
        self.require(
            out_value.is_none_or(|value| rows(value) == rows(out_deriv)),
            "output value and output derivative have different numbers of rows",
        )?;
        self.require(
            !simple || in_value.is_none_or(|value| rows(value) == rows(out_deriv)),
            "input value and output derivative of a simple component have different numbers of rows",
        )?;
        if !simple && let Some(input) = in_value.or(in_deriv) {
            self.check_precomputed(component, precomputed, Some(input), out_deriv, true)?;
        }
        let Some(in_deriv) = in_deriv else {
            return Ok(());
        };
        self.require(
            !simple || rows(in_deriv) == rows(out_deriv),
            "input and output derivative of a simple component have different numbers of rows",
        )?;
        for value in in_value.into_iter().chain(out_value) {
            self.apart(in_deriv, value)?;
        }
        if self.sub(in_deriv) == self.sub(out_deriv) {
            return self
                .require(has(Properties::BACKPROP_IN_PLACE), "the component cannot backprop in place");
        }
        self.apart(in_deriv, out_deriv)
    }

    /// Checks that a memo is made once, and used once, by the same component.
    fn check_memo(&self, memos: &mut PendingMemos<(usize, ComponentId)>) -> Result<()> {
        match self.computation.commands[self.c] {
            Command::Propagate(Propagate { component, memo: Some(memo), .. }) => {
                let new = memos.add(memo, (self.c, component));
                self.require(new, "a memo of this number waits for its backprop already")
            }
            Command::Backprop(Backprop { component, memo: Some(memo), .. }) => {
                let Some((_, made_by)) = memos.take(memo) else {
                    return self.fail("no propagate has made this backprop's memo");
                };
                self.require(made_by == component, "the memo is another component's")?;
                self.require(self.uses_memo(component), "this component uses no memo")
            }
            Command::Backprop(Backprop { component, memo: None, .. }) => {
                self.require(!self.uses_memo(component), "this component needs the memo of its propagate")
            }
            _ => Ok(()),
        }
    }

    fn uses_memo(&self, component: ComponentId) -> bool {
        self.nnet.component(component).properties().contains(Properties::USES_MEMO)
    }

    fn check_rows(&self, dest: SubmatrixId, src: SubmatrixId, rows: IndexesId) -> Result<()> {
        let Some(list) = self.computation.indexes.get(rows.index()) else {
            return self.fail("there is no such list of rows");
        };
        self.same_columns(dest, src)?;
        self.list_length(dest, list.len())?;
        let source_rows = self.sub(src).rows as i32;
        self.apart(dest, src)?;
        self.require(list.iter().all(|r| (-1..source_rows).contains(r)), "a row number is out of range")
    }

    fn same_columns(&self, a: SubmatrixId, b: SubmatrixId) -> Result<()> {
        self.require(self.sub(a).cols == self.sub(b).cols, "numbers of columns differ")
    }

    fn list_length(&self, s: SubmatrixId, length: usize) -> Result<()> {
        let rows = self.sub(s).rows;
        match length == rows {
            true => Ok(()),
            false => self.fail(format!("a list of {length} for a matrix of {rows} rows")),
        }
    }

    fn check_multi(&self, s: SubmatrixId, rows: MultiIndexesId) -> Result<&[RowOf]> {
        let Some(list) = self.computation.multi_indexes.get(rows.index()) else {
            return self.fail("there is no such list of rows");
        };
        self.list_length(s, list.len())?;
        let mut last = SubmatrixId(0);
        for &(other, row) in list.iter().flatten() {
            if other != last {
                let exists = (1..self.computation.submatrices.len()).contains(&other.index());
                self.require(exists, "there is no such sub-matrix in the list")?;
                self.same_columns(s, other)?;
                self.apart(s, other)?;
                last = other;
            }
            if row as usize >= self.sub(other).rows {
                return self.fail("a row number is out of range");
            }
        }
        Ok(list)
    }

    fn check_no_repeats(&self, list: &[RowOf]) -> Result<()> {
        let place = |&(s, row): &(SubmatrixId, u32)| {
            let s = self.sub(s);
            (s.matrix, s.row_offset + row as usize, s.col_offset)
        };
        let mut places: Vec<_> = list.iter().flatten().map(place).collect();
        if !places.is_sorted() {
            places.sort_unstable();
        }
        self.require(places.windows(2).all(|w| w[0] != w[1]), "a row is written twice by one command")
    }

    fn check_ranges(&self, dest: SubmatrixId, src: SubmatrixId, ranges: RangesId) -> Result<()> {
        let Some(list) = self.computation.ranges.get(ranges.index()) else {
            return self.fail("there is no such list of ranges");
        };
        self.same_columns(dest, src)?;
        self.list_length(dest, list.len())?;
        let rows = self.sub(src).rows as i32;
        let valid = |&(begin, end): &(i32, i32)| {
            (begin, end) == (-1, -1) || (0 <= begin && begin < end && end <= rows)
        };
        self.apart(dest, src)?;
        self.require(list.iter().all(valid), "a range of rows is empty or out of range")
    }
}
