//! Inputs of sparse rows. If only affine components read such an input, they multiply by its nonzero elements. For
//! other readers it is made dense, in its planned place.

use super::{Executor, Program};
use kaldi_io::SparseMatrix;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::ComponentId;
use nnet3_compiler::analysis::CommandAccesses;
use nnet3_compiler::computation::{Command, Computation, MatrixId, SubmatrixId};
use nnet3_compiler::lower::Mode;
use nnet3_component::gradient::{Piece, PieceRows};
use nnet3_component::{Component, Context, Products, Update, as_sparse_affine};
use nnet3_matrix::View;
use nnet3_matrix::sparse::SparseRows;
use nnet3_network::Nnet;

/// Smallest number of elements for each nonzero one at which a sparse product is faster: it reads a parameter matrix in
/// large steps.
const LEAST_ELEMENTS: usize = 50;

/// The matrices that a user supplies whole and that only affine components read, by whole rows.
pub(super) fn takers(nnet: &Nnet, computation: &Computation) -> Vec<MatrixId> {
    let wholes = |s: SubmatrixId| computation.is_whole(s).then(|| computation.matrix_of(s));
    let (mut takers, mut swapped) = (Vec::new(), Vec::new());
    for command in &computation.commands {
        match *command {
            Command::AcceptInput { matrix, .. } => takers.extend(wholes(matrix)),
            Command::Swap { first, second } => {
                swapped.extend([first, second].map(|s| computation.matrix_of(s)));
            }
            // A loop runs the command again, so the matrix has more than one content.
            Command::Goto { .. } => return Vec::new(),
            _ => {}
        }
    }
    takers.retain(|taker| !swapped.contains(taker));
    if takers.is_empty() {
        return takers;
    }
    CommandAccesses::new(nnet, computation).for_each(|c, s, _| {
        let matrix = computation.matrix_of(s);
        let is_taker = |id: ComponentId| as_sparse_affine(nnet.component(id)).is_some();
        let fits = computation.submatrix(s).cols == computation.matrix(matrix).cols
            && match &computation.commands[c] {
                Command::AcceptInput { .. } => true,
                Command::Propagate(args) => is_taker(args.component) && args.output != s,
                Command::Backprop(args) => {
                    let others = [args.out_value, Some(args.out_deriv), args.in_deriv];
                    is_taker(args.component) && !others.contains(&Some(s))
                }
                _ => false,
            };
        if !fits {
            takers.retain(|&taker| taker != matrix);
        }
    });
    takers
}

impl Executor {
    /// Takes sparse rows as the input of this node. Returns false and leaves the input unset if the computation or the
    /// device needs dense rows. It does the same if the rows are not sparse enough to be faster. The shape must be the
    /// request's.
    pub fn accept_sparse_input(&mut self, nnet: &Nnet, node: &str, rows: &SparseMatrix) -> Result<bool> {
        let program = self.program()?.clone();
        if self.literal || self.device.sparse().is_none() {
            return Ok(false);
        }
        let wanted = self.wanted(&program).find(|&(_, n)| nnet.node_name(n) == node);
        let Some((matrix, node_id)) = wanted else { return Ok(false) };
        let id = program.computation().matrix_of(matrix);
        let view = self.view(&program, matrix);
        let elements: usize = rows.rows.iter().map(|row| row.pairs.len()).sum();
        let is_sparse = elements.saturating_mul(LEAST_ELEMENTS) <= view.rows() * view.cols();
        if !program.sparse_takers().contains(&id) || !is_sparse || rows.rows.len() != view.rows() {
            return Ok(false);
        }
        let mut sparse = SparseRows::new(view.cols());
        for row in &rows.rows {
            let column = |&(col, value): &(i32, f32)| {
                let col = usize::try_from(col).ok().filter(|&col| col < view.cols());
                col.map(|col| (col, value))
            };
            let Some(elements) = row.pairs.iter().map(column).collect::<Option<Vec<_>>>() else {
                return Err(Error::Execution(format!(
                    "'{node}' has elements beyond the {} columns that the computation expects",
                    view.cols()
                )));
            };
            sparse.push(elements);
        }
        self.sparse.borrow_mut().push((id, sparse));
        self.supplied.borrow_mut().push((matrix, node_id));
        Ok(true)
    }

    /// True if a sub-matrix is an input of sparse rows.
    pub(super) fn is_sparse(&self, program: &Program, id: SubmatrixId) -> bool {
        let sparse = self.sparse.borrow();
        !sparse.is_empty() && {
            let matrix = self.list(program).submatrix(program.computation(), id).matrix;
            sparse.iter().any(|&(sparse, _)| sparse == matrix)
        }
    }

    /// Writes sparse rows, if the matrix has them, to its planned place.
    pub(super) fn make_dense(&self, program: &Program, id: SubmatrixId) {
        if !self.is_sparse(program, id) {
            return;
        }
        let matrix = self.list(program).submatrix(program.computation(), id).matrix;
        let mut sparse = self.sparse.borrow_mut();
        let Some(place) = sparse.iter().position(|&(sparse, _)| sparse == matrix) else { return };
        let (_, rows) = sparse.swap_remove(place);
        let whole = program.plan().matrix_offsets[matrix.index()];
        let view = self.arena.view(whole, rows.rows(), rows.cols(), rows.cols());
        self.device.upload(view, &rows.to_dense(0..rows.rows()));
    }

    /// Propagates an affine component with sparse rows. Returns false if its input is not sparse.
    pub(super) fn propagate_sparse(
        &self,
        program: &Program,
        (input, output): (SubmatrixId, SubmatrixId),
        component: &dyn Component,
        mode: Mode,
    ) -> bool {
        if !self.is_sparse(program, input) {
            return false;
        }
        let parts = as_sparse_affine(component).filter(|_| matches!(mode, Mode::Ordinary | Mode::Sets));
        let (Some((linear, bias)), Some(device)) = (parts, self.device.sparse()) else {
            self.make_dense(program, input);
            return false;
        };
        let output = self.view(program, output);
        match bias {
            Some(bias) => self.device.set_rows(output, bias),
            None if mode == Mode::Sets => self.device.set(output, 0.0),
            None => {}
        }
        self.with_sparse(program, input, |rows, first| device.add_product(output, rows, first, linear));
        true
    }

    /// Reports the gradients of an affine component's parameters, with sparse rows. Returns false without effect if the
    /// input is not sparse.
    pub(super) fn update_sparse(
        &self,
        program: &Program,
        (input, deriv): (SubmatrixId, View<'_>),
        context: Context<'_>,
        update: &mut Update<'_>,
    ) -> bool {
        if !self.is_sparse(program, input) {
            return false;
        }
        self.with_sparse(program, input, |x, first| {
            let rows = PieceRows::Sparse { x, first, count: deriv.rows() };
            let pieces = [Piece { columns: 0..rows.cols(), x: rows }];
            update.products(context, Products::Pieces { pieces: &pieces, deriv });
        });
        true
    }

    /// Calls `f` with the sparse rows that a sub-matrix is part of, and the number of its first one.
    fn with_sparse(&self, program: &Program, id: SubmatrixId, f: impl FnOnce(&SparseRows, usize)) {
        let part = self.list(program).submatrix(program.computation(), id);
        let sparse = self.sparse.borrow();
        if let Some((_, rows)) = sparse.iter().find(|(sparse, _)| *sparse == part.matrix) {
            f(rows, part.row_offset);
        }
    }
}
