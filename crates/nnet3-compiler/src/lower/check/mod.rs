//! Checks that operations give the same results as the commands.
//!
//! Both lists run on symbols instead of numbers ([`symbols`]), through the components' structure only. A component that
//! treats its rows one by one makes the symbols of a row from its input's row. Other components make them from the
//! whole input. An affine function is a sum over columns, which can be formed in parts. Additions commute, since their
//! order shows in roundings only. Every element must be written before it is read, and its matrix must have memory at
//! that time. Three kinds of symbols must be the same as by the commands, in the same order: the results for the user,
//! statistics of components, and factors of their changes.

mod derivatives;
mod normalized;
mod ordered;
mod picked;
mod steps;
mod symbols;
#[cfg(test)]
mod tests;

use super::Lowered;
use super::op::{
    Affine, Backprop, FilterProduct, Mode, Op, PickedBackprop, PickedPropagate, PickedTerm, Propagate, Share,
    Step, StepsUpdate, SumRows,
};
use crate::computation::{self, Command, Computation, MatrixId, MemoId, SubmatrixId};
use derivatives::InputDerivatives;
use nnet3_base::fast_hash::FastMap;
use nnet3_base::index::{ComponentId, NodeId};
use nnet3_component::Properties;
use nnet3_component::summed::is_pooling;
use nnet3_component::winograd::Taps;
use nnet3_network::Nnet;
use std::ops::Range;
use std::sync::Arc;
use symbols::{Cells, Memory, Symbol, factor, mix};

type Done = Result<(), String>;

/// Sums over windows look like no other symbols.
const SUMMED: Symbol = 0x5ca1_ab1e_0ddb_a115;

/// Checks `lowered` for `computation`, which the checker of computations accepts. An error describes the fault.
pub fn check(nnet: &Nnet, computation: &Computation, lowered: &Lowered) -> Done {
    let extended = lowered.extended(computation);
    let links = ordered::links(lowered);
    let expected = Symbolic::of(nnet, &extended, &Lowered::literal(computation), &links)
        .map_err(|e| format!("as the commands say: {e}"))?;
    let found = Symbolic::of(nnet, &extended, lowered, &links)?;
    for (i, (node, symbol)) in expected.provided.iter().enumerate() {
        if found.provided.get(i) != Some(&(*node, *symbol)) {
            return Err(format!(
                "the operations give other values of '{}' than the commands",
                nnet.node_name(*node)
            ));
        }
    }
    let differs = expected.effects.iter().zip(&found.effects).position(|(expected, found)| expected != found);
    if let Some(c) = differs {
        let name = nnet.component_name(ComponentId::from(c));
        return Err(format!("the operations give other statistics or changes of {name} than the commands"));
    }
    Ok(())
}

/// A list that has run on symbols.
struct Symbolic<'a> {
    nnet: &'a Nnet,
    computation: &'a Computation,
    memory: Memory<'a>,
    memos: FastMap<MemoId, Symbol>,
    /// The component and a symbol for each row, by the number of the common share.
    shares: FastMap<usize, (ComponentId, Vec<Symbol>)>,
    /// Number of random draws.
    draws: u64,
    accepted: usize,
    /// The seed of each node's input, and the first column of each of its pieces.
    inputs: FastMap<NodeId, (u64, Vec<usize>)>,
    /// The rectifications that are parts of operations which leave their input unchanged, by its matrix.
    unrectified: FastMap<MatrixId, ComponentId>,
    /// For an input picked from a table, its reader's backprop and terms.
    picked: FastMap<NodeId, (InputDerivatives, Arc<[PickedTerm]>)>,
    /// For the update at this position, what its steps have read.
    steps: FastMap<usize, steps::Rows>,
    /// The symbols that the user gets.
    provided: Vec<(NodeId, Symbol)>,
    /// For each component, all that has been stored in it or has changed its parameters.
    effects: Vec<Symbol>,
}

impl<'a> Symbolic<'a> {
    /// Runs once, up to the jump of a loop. `computation` has all sub-matrices that operations name. `links` are those between
    /// which operations copy.
    fn of(
        nnet: &'a Nnet,
        computation: &'a Computation,
        list: &Lowered,
        links: &[(SubmatrixId, SubmatrixId)],
    ) -> Result<Symbolic<'a>, String> {
        let mut run = Symbolic {
            nnet,
            computation,
            memory: Memory::new(nnet, computation, links),
            memos: FastMap::default(),
            shares: FastMap::default(),
            draws: 0,
            accepted: 0,
            inputs: FastMap::default(),
            unrectified: FastMap::default(),
            picked: FastMap::default(),
            steps: FastMap::default(),
            provided: Vec::new(),
            effects: vec![0; nnet.num_components()],
        };
        let looped = computation.is_looped();
        let mut passed = 0;
        for (i, op) in list.ops.iter().enumerate() {
            let turn = list.command(i);
            for command in computation.commands[passed..turn.max(passed)].iter().filter(|_| !looped) {
                run.size(command);
            }
            passed = passed.max(turn);
            run.operation(list, turn, op).map_err(|e| format!("at the turn of command {turn}: {e}"))?;
        }
        Ok(run)
    }

    fn size(&mut self, command: &Command) {
        match *command {
            Command::Allocate { matrix } => self.memory.set_memory(matrix, true),
            Command::Deallocate { matrix } => self.memory.set_memory(matrix, false),
            _ => {}
        }
    }

    fn operation(&mut self, list: &Lowered, turn: usize, op: &Op) -> Done {
        match *op {
            Op::Nothing | Op::Goto { .. } => Ok(()),
            Op::Command(ref command) => self.command(command),
            Op::Blocks(ref blocks) => {
                let rows = self.computation.matrix(blocks.matrix).rows;
                for first in (0..rows).step_by(blocks.rows) {
                    let rows = first..first + blocks.rows;
                    blocks.commands.iter().try_for_each(|command| self.rows(command, rows.clone()))?;
                }
                Ok(())
            }
            Op::SumRows(SumRows { dest, src, alpha, lists, adds }) => {
                for (i, rows) in list.row_lists()[lists].iter().enumerate() {
                    if !adds {
                        self.row(dest, i, None, alpha, false)?;
                    }
                    rows.iter().try_for_each(|&j| self.row(dest, i, Some((src, j as u32)), alpha, true))?;
                }
                Ok(())
            }
            Op::NormalizedSum(ref sum) => self.normalized_sum(sum),
            Op::NormalizedBackprop(ref back) => self.normalized_backprop(back),
            Op::Ordered(ref ordered) => self.ordered(ordered),
            Op::Propagate(ref propagate) => self.propagate(propagate),
            Op::Backprop(ref backprop) => self.backprop(backprop),
            Op::Affine(Affine { component, ref columns, input, output, adds }) => {
                let mut sums = self.linear(component, input, columns.start)?;
                if !adds {
                    sums.iter_mut().for_each(|sum| *sum = sum.wrapping_add(bias(component)));
                }
                self.affine_rows(component, &sums, output, adds)
            }
            Op::InputDerivative(ref product) => self.input_derivative(list, product),
            Op::Filter(FilterProduct { component, ref sources, output, .. }) => {
                let mut sums = vec![bias(component); self.computation.submatrix(output).rows];
                let dim = self.computation.submatrix(sources[0]).cols;
                for (k, &source) in sources.iter().enumerate() {
                    let own = self.linear(component, source, k * dim)?;
                    sums.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.wrapping_add(own));
                }
                self.affine_rows(component, &sums, output, false)
            }
            Op::PickedPropagate(ref picked) => self.picked_propagate(picked),
            Op::PickedBackprop(ref picked) => self.picked_backprop(picked),
            Op::Step(ref step) => self.step(step),
            Op::StepsUpdate(ref update) => self.steps_update(turn, update),
            Op::Share(Share { share, component, ref columns, source }) => {
                let sums = self.linear(component, source, columns.start)?;
                let sums = sums.into_iter().map(|sum| sum.wrapping_add(bias(component))).collect();
                self.shares.insert(share, (component, sums));
                Ok(())
            }
            Op::CopyShare { share, ref rows, dest, last } => {
                let absent = || format!("share {share} is not there");
                let (component, sums) = self.shares.get(&share).ok_or_else(absent)?;
                let (component, sums) = (*component, sums[rows.clone()].to_vec());
                if last {
                    self.shares.remove(&share);
                }
                self.affine_rows(component, &sums, dest, false)
            }
        }
    }

    fn command(&mut self, command: &Command) -> Done {
        match *command {
            Command::AcceptInput { matrix, node } => self.accept(matrix, node),
            Command::ProvideOutput { matrix, node } => {
                let symbol = match self.picked.get(&node) {
                    Some((derivs, terms)) => self.picked_derivative(matrix, derivs, terms),
                    None => self.whole(matrix, |_, symbol| Some(symbol))?,
                };
                self.provided.push((node, symbol));
                Ok(())
            }
            Command::SetConst { .. } | Command::Copy { .. } | Command::Add { .. } => {
                self.rows(command, 0..usize::MAX)
            }
            Command::CopyRows { dest, src, rows, alpha } => self.gather(dest, src, rows, alpha, false),
            Command::AddRows { dest, src, rows, alpha } => self.gather(dest, src, rows, alpha, true),
            Command::CopyRowsMulti { dest, rows, alpha } => {
                let list = &self.computation.multi_indexes[rows.index()];
                list.iter().enumerate().try_for_each(|(i, row)| self.row(dest, i, *row, alpha, false))
            }
            Command::AddRowsMulti { dest, rows, alpha } => {
                let list = &self.computation.multi_indexes[rows.index()];
                let mut present = list.iter().enumerate().filter(|(_, row)| row.is_some());
                present.try_for_each(|(i, row)| self.row(dest, i, *row, alpha, true))
            }
            Command::CopyToRowsMulti { src, rows } => self.scatter(src, rows, 1.0, false),
            Command::AddToRowsMulti { src, rows, alpha } => self.scatter(src, rows, alpha, true),
            Command::AddRowRanges { dest, src, ranges, alpha } => {
                let list = &self.computation.ranges[ranges.index()];
                list.iter().enumerate().try_for_each(|(i, &(begin, end))| {
                    (begin.max(0)..end.max(0))
                        .try_for_each(|j| self.row(dest, i, Some((src, j as u32)), alpha, true))
                })
            }
            Command::Marker => Ok(()),
            _ => Err(format!("{command:?} is no operation")),
        }
    }

    fn accept(&mut self, matrix: SubmatrixId, node: NodeId) -> Done {
        if !self.computation.is_looped() {
            self.memory.set_memory(matrix, true);
        }
        self.accepted += 1;
        let cells = self.memory.cells(matrix);
        let seed = mix(u64::from(node.0), self.accepted as u64);
        self.inputs.insert(node, (seed, cells.starts.clone()));
        self.fill(&cells, |i, start| given(seed, i, start))
    }

    /// Sets every cell to `symbol(row, first column)`.
    fn fill(&mut self, cells: &Cells, symbol: impl Fn(usize, usize) -> Symbol) -> Done {
        for i in 0..cells.rows {
            for (k, &start) in cells.starts.iter().enumerate() {
                self.memory.write(cells, i, k, symbol(i, start))?;
            }
        }
        Ok(())
    }

    // ---- rows ------------------------------------------------------------------------------------------------------

    /// Runs a set, copy or addition for these rows of the destination's matrix only.
    fn rows(&mut self, command: &Command, rows: Range<usize>) -> Done {
        let (Command::SetConst { dest, .. } | Command::Copy { dest, .. } | Command::Add { dest, .. }) =
            *command
        else {
            return Err(format!("{command:?} cannot go by rows"));
        };
        let to = *self.computation.submatrix(dest);
        let chosen = (0..to.rows).filter(|i| rows.contains(&(i + to.row_offset)));
        for i in chosen {
            match *command {
                Command::SetConst { value, .. } => {
                    let symbol = if value == 0.0 { 0 } else { mix(u64::from(value.to_bits()), 2) };
                    let cells = self.memory.cells(dest);
                    (0..cells.starts.len()).try_for_each(|k| self.memory.write(&cells, i, k, symbol))?;
                }
                Command::Copy { src, alpha, .. } => self.row(dest, i, Some((src, i as u32)), alpha, false)?,
                Command::Add { src, alpha, .. } => self.row(dest, i, Some((src, i as u32)), alpha, true)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets row `i` of `dest` to alpha times a row, or zero, or adds to it.
    fn row(&mut self, dest: SubmatrixId, i: usize, src: computation::RowOf, alpha: f32, adds: bool) -> Done {
        let to = self.memory.cells(dest);
        let from = src.map(|(s, j)| (self.memory.cells(s), j as usize));
        for k in 0..to.starts.len() {
            let symbol = match &from {
                Some((cells, j)) => self.memory.read(cells, *j, k)?.wrapping_mul(factor(alpha)),
                None => 0,
            };
            match adds {
                true => self.memory.add(&to, i, k, symbol)?,
                false => self.memory.write(&to, i, k, symbol)?,
            }
        }
        Ok(())
    }

    fn gather(
        &mut self,
        dest: SubmatrixId,
        src: SubmatrixId,
        rows: computation::IndexesId,
        alpha: f32,
        adds: bool,
    ) -> Done {
        let list = self.computation.indexes[rows.index()].clone();
        for (i, &j) in list.iter().enumerate().filter(|&(_, &j)| !adds || j >= 0) {
            self.row(dest, i, u32::try_from(j).ok().map(|j| (src, j)), alpha, adds)?;
        }
        Ok(())
    }

    fn scatter(
        &mut self,
        src: SubmatrixId,
        rows: computation::MultiIndexesId,
        alpha: f32,
        adds: bool,
    ) -> Done {
        let list = &self.computation.multi_indexes[rows.index()];
        for (i, &(to, j)) in list.iter().enumerate().filter_map(|(i, row)| Some((i, row.as_ref()?))) {
            self.row(to, j as usize, Some((src, i as u32)), alpha, adds)?;
        }
        Ok(())
    }

    // ---- components ------------------------------------------------------------------------------------------------

    fn has(&self, component: ComponentId, property: Properties) -> bool {
        self.nnet.component(component).properties().contains(property)
    }

    /// Returns a symbol for all of a sub-matrix, or for those of its symbols that `use_of` keeps, given the first
    /// column.
    fn whole(
        &self,
        s: SubmatrixId,
        use_of: impl Fn(usize, Symbol) -> Option<Symbol>,
    ) -> Result<Symbol, String> {
        let cells = self.memory.cells(s);
        let mut all = mix(cells.rows as u64, 3);
        for i in 0..cells.rows {
            for (k, &start) in cells.starts.iter().enumerate() {
                if let Some(symbol) = use_of(start, self.memory.read(&cells, i, k)?) {
                    all = mix(all, mix(symbol, start as u64));
                }
            }
        }
        Ok(all)
    }

    /// Returns for each row the sum over the columns of an affine component's input; `first` is the first of them.
    fn linear(
        &self,
        component: ComponentId,
        input: SubmatrixId,
        first: usize,
    ) -> Result<Vec<Symbol>, String> {
        let cells = self.memory.cells(input);
        let sum = |i: usize| {
            cells.starts.iter().enumerate().try_fold(0, |sum: Symbol, (k, start)| {
                let symbol = self.memory.read(&cells, i, k)?;
                Ok(sum.wrapping_add(symbol.wrapping_mul(weight(component, first + start))))
            })
        };
        (0..cells.rows).map(sum).collect()
    }

    /// The output rows of an affine function from the sums over its input.
    fn affine_rows(
        &mut self,
        component: ComponentId,
        sums: &[Symbol],
        output: SubmatrixId,
        adds: bool,
    ) -> Done {
        let cells = self.memory.cells(output);
        for (i, sum) in sums.iter().enumerate() {
            for (k, &start) in cells.starts.iter().enumerate() {
                let symbol = sum.wrapping_mul(mix(u64::from(component.0), mix(start as u64, 5)) | 1);
                match adds {
                    true => self.memory.add(&cells, i, k, symbol)?,
                    false => self.memory.write(&cells, i, k, symbol)?,
                }
            }
        }
        Ok(())
    }

    /// Returns a new number for each random draw.
    fn chance(&mut self, component: ComponentId) -> u64 {
        let random = self.has(component, Properties::RANDOM);
        self.draws += u64::from(random);
        if random { self.draws } else { 0 }
    }

    fn propagate(&mut self, &Propagate { args, mode }: &Propagate) -> Done {
        let computation::Propagate { component, input, output, memo, store_stats, .. } = args;
        let run = self.nnet.component(component);
        let seed = mix(mix(u64::from(component.0), 6), self.chance(component));
        let takes_sums = matches!(mode, Mode::Summed { .. }) && is_pooling(run);
        let unmasked = |start: usize, symbol: Symbol| {
            Some(if takes_sums && start > 0 { symbol.wrapping_sub(SUMMED) } else { symbol })
        };
        let all = input.map_or(Ok(0), |input| self.whole(input, unmasked))?;
        if run.as_affine().is_some()
            && let Some(input) = input
        {
            let sums = self.linear(component, input, 0)?;
            let sums: Vec<Symbol> = sums.into_iter().map(|sum| sum.wrapping_add(bias(component))).collect();
            self.affine_rows(component, &sums, output, false)?;
        } else {
            let by_row = match input {
                Some(input) if self.has(component, Properties::SIMPLE) => {
                    Some(self.linear(component, input, 0)?)
                }
                _ => None,
            };
            let adds = mode == Mode::Ordinary && self.has(component, Properties::PROPAGATE_ADDS);
            let gives_sums = matches!(mode, Mode::Summed { .. }) && !is_pooling(run);
            let cells = self.memory.cells(output);
            self.results(&cells, adds, |i, start| {
                let of_row = by_row.as_ref().map_or(mix(all, i as u64), |rows| rows[i]);
                let mask = if gives_sums && start > 0 { SUMMED } else { 0 };
                mix(mix(seed, of_row), start as u64).wrapping_add(mask)
            })?;
        }
        if let Some(memo) = memo {
            self.memos.insert(memo, mix(seed, all));
        }
        if store_stats {
            let result = self.whole(output, |_, symbol| Some(symbol))?;
            self.affect(component, mix(all, result));
        }
        Ok(())
    }

    /// Writes results, or adds them.
    fn results(&mut self, cells: &Cells, adds: bool, result: impl Fn(usize, usize) -> Symbol) -> Done {
        for i in 0..cells.rows {
            for (k, &start) in cells.starts.iter().enumerate() {
                match adds {
                    true => self.memory.add(cells, i, k, result(i, start))?,
                    false => self.memory.write(cells, i, k, result(i, start))?,
                }
            }
        }
        Ok(())
    }

    fn affect(&mut self, component: ComponentId, by: Symbol) {
        let effects = &mut self.effects[component.index()];
        *effects = mix(*effects, by);
    }

    fn backprop(&mut self, backprop: &Backprop) -> Done {
        let out_value = backprop.args.out_value;
        let out_value = out_value.map_or(Ok(0), |s| self.whole(s, |_, symbol| Some(symbol)))?;
        self.backprop_with(backprop, out_value)
    }

    /// A backprop with a symbol for all of its output's value.
    fn backprop_with(&mut self, &Backprop { args, mode, taps }: &Backprop, out_value: Symbol) -> Done {
        let computation::Backprop { component, in_value, out_deriv, in_deriv, memo, .. } = args;
        let run = self.nnet.component(component);
        let pools = is_pooling(run);
        let summed = matches!(mode, Mode::Summed { .. });
        // Of statistics, pooling backward reads only counts.
        let counts = |start: usize, symbol: Symbol| (!pools || start == 0).then_some(symbol);
        let deriv = self.values(&self.memory.cells(out_deriv))?;
        let unmasked = |start: usize, symbol: Symbol| {
            Some(if summed && !pools && start > 0 { symbol.wrapping_sub(SUMMED) } else { symbol })
        };
        let parts = [
            in_value.map_or(Ok(0), |s| self.whole(s, counts))?,
            out_value,
            self.whole(out_deriv, unmasked)?,
            memo.and_then(|memo| self.memos.get(&memo).copied()).unwrap_or(0),
            self.chance(component),
        ];
        let all = parts.into_iter().fold(mix(u64::from(component.0), 7), mix);
        if let (Some(taps), Some(in_value)) = (taps, in_value) {
            self.check_taps(taps, in_value)?;
        }
        if let Some(in_deriv) = in_deriv {
            let adds = mode == Mode::Ordinary && self.has(component, Properties::BACKPROP_ADDS);
            let derivs = self.input_derivatives(&args, all, &deriv);
            let cells = self.memory.cells(in_deriv);
            let free = taps.filter(|taps| taps.summed).map(|taps| Free {
                taps,
                rows: cells.rows,
                dim: run.input_dim() / taps.count,
            });
            self.results(&cells, adds, |i, start| {
                let mask = if summed && pools && start > 0 { SUMMED } else { 0 };
                let free = free.as_ref().map_or(0, |free| free.symbol(i, start));
                derivs.at(i, start).wrapping_add(mask).wrapping_add(free)
            })?;
        }
        if args.update_model {
            self.affect(component, all);
        }
        Ok(())
    }

    /// Checks that row i of each tap equals row i + step of the tap before.
    fn check_taps(&self, taps: Taps, in_value: SubmatrixId) -> Done {
        let cells = self.memory.cells(in_value);
        let pieces = cells.starts.len() / taps.count;
        for i in taps.step..cells.rows {
            for k in pieces..cells.starts.len() {
                let own = self.memory.read(&cells, i - taps.step, k)?;
                if own != self.memory.read(&cells, i, k - pieces)? {
                    return Err(format!("row {i} of the input is not made of taps"));
                }
            }
        }
        Ok(())
    }
}

/// Free terms in the derivatives of taps. Only the sums over taps that hold the same row matter.
struct Free {
    taps: Taps,
    rows: usize,
    /// Columns of a tap.
    dim: usize,
}

impl Free {
    fn symbol(&self, i: usize, start: usize) -> Symbol {
        let (tap, column) = (start / self.dim, start % self.dim);
        let row = i + tap * self.taps.step;
        let holds = |k: &usize| row >= k * self.taps.step && row - k * self.taps.step < self.rows;
        let mut holding = (0..self.taps.count).filter(holds);
        let any = mix(mix(row as u64, 8), column as u64);
        match (holding.next(), holding.next()) {
            (Some(first), Some(_)) if first == tap => any,
            (Some(_), Some(second)) if second == tap => any.wrapping_neg(),
            _ => 0,
        }
    }
}

/// The symbol of an element of an input.
fn given(seed: u64, row: usize, start: usize) -> Symbol {
    mix(seed, mix(row as u64, start as u64))
}

/// The factor of a column of an affine component's input.
fn weight(component: ComponentId, column: usize) -> Symbol {
    mix(u64::from(component.0), mix(column as u64, 4)) | 1
}

fn bias(component: ComponentId) -> Symbol {
    mix(u64::from(component.0), 9)
}
