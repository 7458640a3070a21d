//! Inputs whose rows are picked from a table, as embeddings of words are. If rows repeat often and an affine component
//! alone reads the input, its products are computed with the rows of the table ([`nnet3_compiler::lower::lower_picked`]). Otherwise
//! the rows are copied to the input's planned place.

use super::components::parameters;
use super::program::Place;
use super::{Executor, Model, Program};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::NodeId;
use nnet3_base::random::Random;
use nnet3_compiler::computation::Command;
use nnet3_compiler::lower::{PickedBackprop, PickedPropagate, PickedTerm};
use nnet3_component::gradient::{PickedRows, Piece, PieceRows};
use nnet3_component::{Products, Weights};
use nnet3_matrix::{Gemm, IndexTable, Matrix, Scratch, Start, View, ViewMut, Workspace};
use nnet3_network::Nnet;

/// Largest number of distinct rows for each hundred rows at which their products are faster.
const MOST_DISTINCT: usize = 60;

/// An input of the program that runs.
pub(super) struct PickedInput {
    node: NodeId,
    /// The row of the caller's table for each row of the input.
    numbers: Vec<i32>,
    /// `None` if the rows have been copied to the input.
    distinct: Option<Distinct>,
}

/// The rows of the table that occur.
struct Distinct {
    /// Their U numbers, in order.
    occurring: IndexTable,
    /// For each row of the input, its number among them.
    numbers: Vec<i32>,
    /// U × D.
    table: Matrix,
    /// U × D: the derivative of these rows, after the backprop.
    derivative: Option<Matrix>,
}

/// The rows of one term of a component's input.
struct Picks<'w> {
    numbers: IndexTable,
    /// U × 1.
    counts: Scratch<'w>,
}

impl Distinct {
    fn new(workspace: &Workspace, table: View<'_>, occurring: Vec<i32>, numbers: &[i32]) -> Distinct {
        let place = |number: &i32| occurring.partition_point(|own| own < number) as i32;
        let numbers = numbers.iter().map(place).collect();
        let occurring = IndexTable::new(occurring);
        let mut rows = workspace.hand_out(occurring.len(), table.cols());
        workspace.device().copy_rows(rows.view_mut(), 1.0, table, &occurring);
        Distinct { occurring, numbers, table: rows, derivative: None }
    }

    fn numbers_of(&self, term: &PickedTerm) -> IndexTable {
        let number = |&row: &i32| usize::try_from(row).map_or(-1, |row| self.numbers[row]);
        IndexTable::new(term.rows.iter().map(number).collect())
    }

    fn picks<'w>(&self, workspace: &'w Workspace, term: &PickedTerm) -> Picks<'w> {
        let numbers = self.numbers_of(term);
        let mut found = vec![0.0; self.table.rows()];
        numbers.values().iter().filter(|&&k| k >= 0).for_each(|&k| found[k as usize] += 1.0);
        let mut counts = workspace.take(found.len(), 1);
        workspace.device().upload(counts.view_mut(), &found);
        Picks { numbers, counts }
    }

    fn give_back(self, workspace: &Workspace) {
        workspace.take_back(self.table);
        self.derivative.into_iter().for_each(|derivative| workspace.take_back(derivative));
    }
}

impl Executor {
    /// Supplies the input of this node: row i is row `numbers[i]` of `table`. Rows are in the request's order. The
    /// derivative of such an input is fetched by [`Executor::add_picked_derivative`].
    ///
    /// # Errors
    /// The computation does not expect the input, or the shape is not the request's, or the table has no such row.
    pub fn pick_input(&mut self, nnet: &Nnet, node: &str, table: View<'_>, numbers: &[i32]) -> Result<()> {
        let program = self.program()?.clone();
        let wanted = self.wanted(&program).find(|&(_, n)| nnet.node_name(n) == node);
        let Some((matrix, node_id)) = wanted else {
            return Err(Error::Execution(format!("the computation does not expect '{node}' at this point")));
        };
        let Place { rows, cols, .. } = program.place(self.list(&program), matrix);
        if (rows, cols) != (numbers.len(), table.cols()) {
            return Err(Error::Execution(format!(
                "the computation expects {rows} rows of {cols} columns for '{node}', found {} numbers of rows of {} columns",
                numbers.len(),
                table.cols()
            )));
        }
        let is_row = |k: i32| usize::try_from(k).is_ok_and(|k| k < table.rows());
        if let Some(wrong) = numbers.iter().find(|&&k| !is_row(k)) {
            let count = table.rows();
            return Err(Error::Execution(format!("'{node}' has row {wrong} of a table of {count} rows")));
        }
        let mut occurring = numbers.to_vec();
        occurring.sort_unstable();
        occurring.dedup();
        let pays = 100 * occurring.len() <= MOST_DISTINCT * numbers.len();
        let is_first = self.next == 0 && !self.literal && !self.by_table;
        if pays && is_first {
            self.by_table = program.picked(nnet, &self.device, node_id)?.is_some();
        }
        let distinct = match pays && is_first && self.by_table {
            true => Some(Distinct::new(&self.workspace, table, occurring, numbers)),
            false => {
                let rows = IndexTable::new(numbers.to_vec());
                self.device.copy_rows(self.view(&program, matrix), 1.0, table, &rows);
                None
            }
        };
        self.supplied.borrow_mut().push((matrix, node_id));
        self.picked.borrow_mut().push(PickedInput { node: node_id, numbers: numbers.to_vec(), distinct });
        Ok(())
    }

    /// Adds the derivative of an input that was picked from a table to that of the table, `dst`: for each row i of the input,
    /// its derivative to row `numbers[i]`.
    ///
    /// # Errors
    /// The input was not picked from a table, or the computation does not provide its derivative at this point.
    ///
    /// # Panics
    /// If `dst` has not the shape of the table.
    pub fn add_picked_derivative(&self, nnet: &Nnet, node: &str, dst: ViewMut<'_>) -> Result<()> {
        let picked = self.picked.borrow();
        let Some(input) = picked.iter().find(|input| nnet.node_name(input.node) == node) else {
            return Err(Error::Execution(format!("the input '{node}' was not picked from a table")));
        };
        let provided = self.provided(nnet, node)?;
        match &input.distinct {
            None => {
                let derivative = self.view(self.program()?, provided).as_view();
                add_by_number(&self.workspace, dst, &input.numbers, derivative);
            }
            Some(Distinct { occurring, derivative: Some(derivative), .. }) => {
                self.device.add_to_picked_rows(dst, 1.0, derivative.view(), occurring);
            }
            Some(_) => unreachable!("the backprop comes before the derivative is provided"),
        }
        Ok(())
    }

    /// True if the derivative of this node's input is kept by rows of a table.
    pub(super) fn has_table(&self, node: NodeId) -> bool {
        self.picked.borrow().iter().any(|input| input.node == node && input.distinct.is_some())
    }

    /// True if products of an input that was picked from a table are computed with the rows of the table.
    pub fn computes_by_table(&self) -> bool {
        self.by_table
    }

    pub(super) fn forget_picked(&mut self) {
        self.by_table = false;
        for distinct in self.picked.borrow_mut().drain(..).filter_map(|input| input.distinct) {
            distinct.give_back(&self.workspace);
        }
    }

    /// Copies inputs picked from tables to their places, for operations that read them there.
    pub(super) fn copy_picked(&mut self) -> Result<()> {
        self.by_table = false;
        let program = self.program()?.clone();
        for input in self.picked.borrow_mut().iter_mut() {
            let Some(distinct) = input.distinct.take() else { continue };
            let place = program.computation().commands.iter().find_map(|command| match *command {
                Command::AcceptInput { matrix, node } if node == input.node => Some(matrix),
                _ => None,
            });
            if let Some(matrix) = place {
                let rows = IndexTable::new(distinct.numbers.clone());
                self.device.copy_rows(self.view(&program, matrix), 1.0, distinct.table.view(), &rows);
            }
            distinct.give_back(&self.workspace);
        }
        Ok(())
    }

    fn with_distinct(&self, node: NodeId, f: impl FnOnce(&mut Distinct)) {
        let mut picked = self.picked.borrow_mut();
        let input = picked.iter_mut().find(|input| input.node == node);
        let Some(distinct) = input.and_then(|input| input.distinct.as_mut()) else {
            unreachable!("these operations run only with a table")
        };
        f(distinct);
    }

    /// output = bias + Σ over the terms of (table · linearᵀ).row(numbers\[i\])
    pub(super) fn picked_propagate(&self, program: &Program, picked: &PickedPropagate, nnet: &Nnet) {
        let (weights, bias) = parameters(nnet, picked.component);
        let (backend, output) = (&*self.device, self.view(program, picked.output));
        self.with_distinct(picked.node, |distinct| {
            let mut products = self.workspace.take(distinct.table.rows(), output.cols());
            for (k, term) in picked.terms.iter().enumerate() {
                let numbers = distinct.numbers_of(term);
                let sets = k == 0 && !numbers.values().contains(&-1);
                let start = if sets { Start::Row(bias) } else { Start::Zero };
                let weights = weights.term_range(term.columns.clone());
                weights.multiply(backend, products.view_mut(), start, std::iter::once(distinct.table.view()));
                if sets {
                    backend.copy_rows(output, 1.0, products.view(), &numbers);
                    continue;
                }
                if k == 0 {
                    backend.set_rows(output, bias);
                }
                backend.add_rows(output, 1.0, products.view(), &numbers);
            }
        });
    }

    /// Reports the gradients of the parameters, and keeps the derivative of the table: Σ over the terms of S · linear, where S
    /// has the sums of the output derivatives for each row of the table.
    pub(super) fn picked_backprop(
        &self,
        program: &Program,
        picked: &PickedBackprop,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let PickedBackprop { args, node, terms } = picked;
        let (context, workspace) = (self.context(random), &self.workspace);
        let deriv = self.view(program, args.out_deriv).as_view();
        self.with_update(program, args, model, |own, _, mut update| {
            self.with_distinct(*node, |distinct| {
                let picks: Vec<Picks<'_>> =
                    terms.iter().map(|term| distinct.picks(workspace, term)).collect();
                let table = distinct.table.view();
                let pieces: Vec<Piece<'_>> = terms
                    .iter()
                    .zip(&picks)
                    .map(|(term, Picks { numbers, counts })| {
                        let x = PieceRows::Picked(PickedRows { table, numbers, counts: counts.view() });
                        Piece { x, columns: term.columns.clone() }
                    })
                    .collect();
                update.products(context, Products::Pieces { pieces: &pieces, deriv });
                let Some((Weights::Plain(linear), _)) = own.as_affine().filter(|_| args.in_deriv.is_some())
                else {
                    return;
                };
                let mut derivative = workspace.hand_out(table.rows(), table.cols());
                for (k, (term, picks)) in terms.iter().zip(&picks).enumerate() {
                    let mut sums = workspace.zeros(table.rows(), deriv.cols());
                    context.backend.add_to_picked_rows(sums.view_mut(), 1.0, deriv, &picks.numbers);
                    let (linear, beta) =
                        (linear.col_range(term.columns.clone()), if k == 0 { 0.0 } else { 1.0 });
                    context
                        .backend
                        .gemm(Gemm { beta, ..Gemm::set(derivative.view_mut(), sums.view(), linear) });
                }
                distinct.derivative = Some(derivative);
            });
        });
    }
}

/// dst.row(numbers\[i\]) += src.row(i); a number may come several times.
fn add_by_number(workspace: &Workspace, dst: ViewMut<'_>, numbers: &[i32], src: View<'_>) {
    let backend = &**workspace.device();
    let mut order: Vec<i32> = (0..numbers.len() as i32).collect();
    order.sort_by_key(|&row| numbers[row as usize]);
    let mut ranges = vec![-1; 2 * dst.rows()];
    for (place, &row) in order.iter().enumerate() {
        let number = numbers[row as usize] as usize;
        if ranges[2 * number] < 0 {
            ranges[2 * number] = place as i32;
        }
        ranges[2 * number + 1] = place as i32 + 1;
    }
    let mut sorted = workspace.take(src.rows(), src.cols());
    backend.copy_rows(sorted.view_mut(), 1.0, src, &IndexTable::new(order));
    backend.add_row_ranges(dst, 1.0, sorted.view(), &IndexTable::new(ranges));
}
