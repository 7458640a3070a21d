//! Runs programs: a loop over operations with one `match`.
//!
//! A [`Program`] is a computation with a plan, index tables and the operations it has been lowered to. An [`Executor`]
//! owns the arena and runs one program at a time. The caller starts it, gives inputs, runs to the next exchange, reads
//! outputs, and so on. After the first run of a program no memory is allocated.

pub mod cache;
mod components;
mod normalized;
mod observe;
mod ordered;
mod picked;
mod program;
mod sparse;
mod state;
mod steps;
mod trace;

pub use cache::{CachingCompiler, CompilerOptions, Timing};
pub use observe::{Moment, Observer};
use picked::PickedInput;
use program::Place;
pub use program::Program;
pub use state::ExecutorState;
pub use trace::Trace;

use nnet3_base::error::{Error, MemoryError, Result};
use nnet3_base::index::NodeId;
use nnet3_base::random::Random;
use nnet3_compiler::computation::{Command, MatrixId, SubmatrixId};
use nnet3_compiler::lower::{Blocks, Lowered, Op, SumRows};
use nnet3_learning::second_thread::UpdateThread;
use nnet3_learning::{Delta, SecondThread};
use nnet3_matrix::sparse::SparseRows;
use nnet3_matrix::{Arena, Device, InHalves, Matrix, Memory, View, ViewMut, Workspace};
use nnet3_network::Nnet;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// The network that a program runs on, and its mutable part.
pub enum Model<'a> {
    /// The network runs forward only and does not change.
    Frozen(&'a Nnet),
    /// The network runs forward only; activation statistics go to it.
    Statistics(&'a mut Nnet),
    /// Training: activation statistics go to `nnet` (or to a delta that [collects](Delta::collect_statistics) them), parameter
    /// changes to `delta`.
    Train { nnet: &'a mut Nnet, delta: &'a mut Delta },
    /// Gradients: `nnet` does not change (it is borrowed mutably for scratch use only). Statistics and gradients, times
    /// the learning rate in `gradient`, go to `gradient`.
    Gradient { nnet: &'a mut Nnet, gradient: &'a mut Nnet },
}

impl Model<'_> {
    pub fn nnet(&self) -> &Nnet {
        match self {
            Model::Frozen(nnet) => nnet,
            Model::Statistics(nnet) | Model::Train { nnet, .. } | Model::Gradient { nnet, .. } => nnet,
        }
    }
}

/// Runs programs in one arena, from one thread.
pub struct Executor {
    device: Device,
    arena: Arena,
    workspace: Workspace,
    program: Option<Arc<Program>>,
    /// The operation that comes next.
    next: usize,
    /// Nodes of the present exchange with matrices that the user has supplied.
    supplied: RefCell<Vec<(SubmatrixId, NodeId)>>,
    observer: Option<Box<dyn Observer>>,
    /// True if the commands run one by one, unchanged; see [`Observer::literal`].
    literal: bool,
    updates: Option<UpdateThread>,
    /// Inputs of sparse rows that have not been made dense.
    sparse: RefCell<Vec<(MatrixId, SparseRows)>>,
    /// Inputs picked from tables.
    picked: RefCell<Vec<PickedInput>>,
    /// True if the operations for such an input run.
    by_table: bool,
    /// Shares of later products, computed early, by the number of the share ([`Op::Share`]).
    shares: RefCell<Vec<(usize, Matrix)>>,
    /// Sums that steps collect for updates to come, by the position of the update's command ([`Op::Step`]).
    step_sums: RefCell<Vec<(usize, Matrix)>>,
}

impl Executor {
    pub fn new(device: &Device) -> Executor {
        Executor {
            device: device.clone(),
            arena: Arena::new(device, 0),
            workspace: Workspace::new(device),
            program: None,
            next: 0,
            supplied: RefCell::default(),
            observer: None,
            literal: false,
            updates: None,
            sparse: RefCell::default(),
            picked: RefCell::default(),
            by_table: false,
            shares: RefCell::default(),
            step_sums: RefCell::default(),
        }
    }

    /// Chooses if changes of parameters are computed on a second thread from now on, beside the rest of the backward
    /// pass. Results are the same. Only the host does so, and not for an observer that wants literal commands.
    pub fn update_on_second_thread(&mut self, when: SecondThread) {
        self.updates = if self.device.is_host() { UpdateThread::start(&self.device, when) } else { None };
    }

    /// From now on `observer` sees every run.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    pub fn device(&self) -> &Device {
        &self.device
    }
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Starts `program` from its beginning. Errors: the device has too little memory, or the program is for another
    /// kind of device.
    pub fn start(&mut self, program: &Arc<Program>) -> Result<()> {
        let plan = program.plan();
        if !program.is_for(&*self.device) {
            let name = self.device.name();
            return Err(Error::Execution(format!("the program was made for another device than '{name}'")));
        }
        if self.arena.len() < plan.elements {
            self.program = None;
            self.arena = Arena::new(&self.device, 0);
            if let Some(Memory { free, total }) = self.device.memory()
                && plan.arena_bytes() as u64 > free
            {
                let needed = plan.arena_bytes() as u64;
                return Err(MemoryError { needed, free, total, sequences: None }.into());
            }
            self.arena = Arena::new(&self.device, plan.elements);
        }
        self.check_device()?;
        self.program = Some(program.clone());
        for left in [&self.shares, &self.step_sums] {
            left.borrow_mut().drain(..).for_each(|(_, matrix)| self.workspace.take_back(matrix));
        }
        self.next = 0;
        self.literal = self.observer.as_ref().is_some_and(|observer| observer.literal());
        self.supplied.borrow_mut().clear();
        self.sparse.borrow_mut().clear();
        self.forget_picked();
        Ok(())
    }

    fn program(&self) -> Result<&Arc<Program>> {
        self.program.as_ref().ok_or_else(|| Error::Execution("no program has been started".to_string()))
    }

    /// The operations that run.
    fn list<'p>(&self, program: &'p Program) -> &'p Lowered {
        match program.made_picked().filter(|_| self.by_table) {
            Some(list) => list,
            None if self.literal => program.literal(),
            None => program.lowered(),
        }
    }

    /// The operations of the present exchange: those at the counter that wait for the user.
    fn exchange<'p>(&self, program: &'p Program) -> &'p [Op] {
        let ops = self.list(program).ops();
        let rest = &ops[self.next.min(ops.len())..];
        let count = rest.iter().position(|op| !op.waits()).unwrap_or(rest.len());
        &rest[..count]
    }

    /// Iterates over the matrices that the user has yet to supply in the present exchange.
    fn wanted(&self, program: &Program) -> impl Iterator<Item = (SubmatrixId, NodeId)> {
        self.exchange(program).iter().filter_map(|op| match *op {
            Op::Command(Command::AcceptInput { matrix, node })
                if !self.supplied.borrow().contains(&(matrix, node)) =>
            {
                Some((matrix, node))
            }
            _ => None,
        })
    }

    /// Returns an input node that needs its value (or output node that needs its derivative) before the next
    /// [`Executor::run`].
    pub fn wants(&self) -> Option<NodeId> {
        self.wanted(self.program.as_ref()?).next().map(|(_, node)| node)
    }

    /// True if all operations have run. The remaining outputs can only be fetched.
    pub fn finished(&self) -> bool {
        self.program
            .as_ref()
            .is_none_or(|program| self.next + self.exchange(program).len() >= self.list(program).ops().len())
    }

    /// Returns the matrix for the input of this node (or the derivative of this output node), rows in the request's
    /// order. The caller fills it before [`Executor::run`].
    pub fn input(&self, nnet: &Nnet, node: &str) -> Result<ViewMut<'_>> {
        let program = self.program()?.clone();
        let wanted = self.wanted(&program).find(|&(_, n)| nnet.node_name(n) == node);
        let Some((matrix, node_id)) = wanted else {
            return Err(Error::Execution(format!("the computation does not expect '{node}' at this point")));
        };
        self.supplied.borrow_mut().push((matrix, node_id));
        Ok(self.view(&program, matrix))
    }

    /// Copies row-major host data to the input of this node. The shape must be the request's.
    pub fn accept_input(
        &mut self,
        nnet: &Nnet,
        node: &str,
        rows: usize,
        cols: usize,
        data: &[f32],
    ) -> Result<()> {
        let device = self.device.clone();
        let view = self.input(nnet, node)?;
        if (view.rows(), view.cols()) != (rows, cols) {
            return Err(Error::Execution(format!(
                "the computation expects a matrix of {} rows and {} columns for '{node}', found {rows} rows and {cols} \
                 columns",
                view.rows(),
                view.cols()
            )));
        }
        device.upload(view, data);
        Ok(())
    }

    /// The value of this output node (or the derivative of this input node), rows in the request's order. Valid until
    /// the next run. The derivative of an input that was picked from a table may be unknown by rows of the input.
    pub fn output(&self, nnet: &Nnet, node: &str) -> Result<View<'_>> {
        let matrix = self.provided(nnet, node)?;
        if self.by_table && nnet.node_ids().any(|id| nnet.node_name(id) == node && self.has_table(id)) {
            return Err(Error::Execution(format!("the derivative of '{node}' is that of a table")));
        }
        Ok(self.view(self.program()?, matrix).as_view())
    }

    /// The matrix with the value of this output node, or the derivative of this input node.
    fn provided(&self, nnet: &Nnet, node: &str) -> Result<SubmatrixId> {
        let program = self.program()?;
        let found = self.exchange(program).iter().find_map(|op| match *op {
            Op::Command(Command::ProvideOutput { matrix, node: n }) if nnet.node_name(n) == node => {
                Some(matrix)
            }
            _ => None,
        });
        found.ok_or_else(|| {
            Error::Execution(format!("the computation does not provide '{node}' at this point"))
        })
    }

    /// Returns an error if the device has failed; numbers read from it are then wrong. A device runs beside the host,
    /// so a failure may become known only after a read.
    pub fn check_device(&self) -> Result<()> {
        Ok(nnet3_matrix::check(&self.device)?)
    }

    /// Executes up to the next exchange, or to the end. Fails if the device is known to have failed.
    pub fn run(&mut self, model: &mut Model<'_>, random: &Random) -> Result<()> {
        let mut observer = self.observer.take();
        let done = match &mut observer {
            Some(observer) => self.run_observed(model, random, &mut **observer),
            None => self.advance(model, random, None),
        };
        self.observer = observer;
        done
    }

    /// As [`Executor::run`], watched by `observer` (and by no other).
    pub fn run_observed(
        &mut self,
        model: &mut Model<'_>,
        random: &Random,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.advance(model, random, Some(observer))
    }

    fn advance(
        &mut self,
        model: &mut Model<'_>,
        random: &Random,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        if let Some(observer) = &observer {
            self.be_literal(observer.literal())?;
        }
        self.check_device()?;
        let program = self.program()?.clone();
        let ops = self.list(&program).ops();
        if self.next >= ops.len() {
            return Err(Error::Execution("the computation has already finished".to_string()));
        }
        if let Some((_, node)) = self.wanted(&program).next() {
            let name = model.nnet().node_name(node);
            return Err(Error::Execution(format!("the computation needs '{name}', which was not given")));
        }
        self.next += self.exchange(&program).len();
        self.supplied.borrow_mut().clear();
        self.device.mark();
        let _halves = matches!(model, Model::Train { .. }).then(|| self.in_halves());
        while let Some(op) = ops.get(self.next) {
            match op {
                op if op.is_exchange() => break,
                Op::Goto { target } => {
                    self.next = *target;
                    continue;
                }
                _ => {}
            }
            let varies = op.varies();
            if varies {
                self.device.mark();
            }
            match &mut observer {
                None => self.execute(&program, op, model, random),
                Some(observer) => self.execute_observed(&program, op, model, random, &mut **observer),
            }
            if varies {
                self.device.mark();
            }
            self.next += 1;
        }
        if let Model::Train { delta, .. } = model {
            if let Some(updates) = self.second_thread() {
                updates.finish(self.context(random), delta);
            }
            self.device.mark();
            delta.update_estimates(self.context(random));
        }
        self.device.mark();
        self.check_device()
    }

    /// Settles which operations run; this is done when a program begins.
    fn be_literal(&mut self, literal: bool) -> Result<()> {
        if literal != self.literal && self.next > 0 {
            let what = "whether the commands run as they are cannot change while a program runs";
            return Err(Error::Execution(what.to_string()));
        }
        self.literal = literal;
        if literal {
            self.copy_picked()?;
        }
        Ok(())
    }

    fn execute_observed(
        &self,
        program: &Arc<Program>,
        op: &Op,
        model: &mut Model<'_>,
        random: &Random,
        observer: &mut dyn Observer,
    ) {
        observer.before(&Moment { program, op: self.next, nnet: model.nnet(), executor: self });
        self.device.synchronize();
        let start = Instant::now();
        self.execute(program, op, model, random);
        self.device.synchronize();
        let time = start.elapsed();
        observer.after(&Moment { program, op: self.next, nnet: model.nnet(), executor: self }, time);
    }

    /// The thread for changes of parameters, after [`Executor::update_on_second_thread`]; `None` if the commands run
    /// literally.
    fn second_thread(&self) -> Option<&UpdateThread> {
        self.updates.as_ref().filter(|_| !self.literal)
    }

    /// While this lives, this thread does large products in halves, with one thread as with two, so that there is one
    /// result.
    pub fn in_halves(&self) -> InHalves {
        InHalves::with(self.second_thread().and_then(UpdateThread::helper))
    }

    fn view(&self, program: &Program, id: SubmatrixId) -> ViewMut<'_> {
        let Place { form, offset, rows, cols, stride } = program.place(self.list(program), id);
        self.arena.view_of(form, offset, rows, cols, stride)
    }

    /// The memo of a propagate or backprop.
    fn memo(&self, program: &Program, command: usize) -> ViewMut<'_> {
        match program.plan().memo(command) {
            Some(memo) => self.arena.view(memo.offset, memo.rows, memo.cols, memo.cols),
            None => self.arena.view(0, 0, 0, 0),
        }
    }

    fn execute(&self, program: &Arc<Program>, op: &Op, model: &mut Model<'_>, random: &Random) {
        match *op {
            Op::Nothing => {}
            Op::Command(ref command) => self.execute_command(program, command),
            Op::Blocks(ref blocks) => self.execute_blocks(program, blocks),
            Op::Propagate(ref propagate) => {
                let command = self.list(program).command(self.next);
                self.propagate(program, command, propagate, model, random)
            }
            Op::NormalizedSum(ref sum) => self.normalized_sum(program, sum, model, random),
            Op::NormalizedBackprop(ref back) => self.normalized_backprop(program, back, model, random),
            Op::Ordered(ref ordered) => self.ordered(program, ordered, model, random),
            Op::Backprop(ref backprop) => {
                let command = self.list(program).command(self.next);
                self.backprop(program, command, backprop, model, random)
            }
            Op::Affine(ref affine) => self.affine(program, affine, model.nnet()),
            Op::InputDerivative(ref product) => self.input_derivative(program, product, model.nnet()),
            Op::PickedPropagate(ref picked) => self.picked_propagate(program, picked, model.nnet()),
            Op::PickedBackprop(ref picked) => self.picked_backprop(program, picked, model, random),
            Op::Filter(ref filter) => self.filter(program, filter, model.nnet(), random),
            Op::Step(step) => self.step(program, step, model, random),
            Op::StepsUpdate(update) => self.steps_update(program, update, model, random),
            Op::Share(ref share) => self.share(program, share, model.nnet()),
            Op::CopyShare { share, ref rows, dest, last } => {
                self.copy_share(share, rows.clone(), self.view(program, dest), last)
            }
            Op::SumRows(SumRows { dest, src, alpha, lists, adds }) => {
                let (dest, src) = (self.view(program, dest), self.view(program, src).as_view());
                self.device.sum_row_lists(dest, alpha, src, &self.list(program).row_lists()[lists], adds)
            }
            Op::Goto { .. } => unreachable!("handled by the loop"),
        }
    }

    fn execute_command(&self, program: &Program, command: &Command) {
        let backend = &*self.device;
        let view = |id: SubmatrixId| self.view(program, id);
        let source = |id: SubmatrixId| view(id).as_view();
        let arena = self.arena.whole();
        match *command {
            Command::Marker => {}
            Command::SetConst { .. } | Command::Copy { .. } | Command::Add { .. } => {
                self.execute_on(program, command, 0..usize::MAX)
            }
            Command::CopyRows { dest, src, rows, alpha } => {
                backend.copy_rows(view(dest), alpha, source(src), program.index_table(rows))
            }
            Command::AddRows { dest, src, rows, alpha } => {
                backend.add_rows(view(dest), alpha, source(src), program.index_table(rows))
            }
            Command::CopyRowsMulti { dest, rows, alpha } => {
                backend.copy_rows_multi(view(dest), alpha, arena.as_view(), program.offset_table(rows))
            }
            Command::AddRowsMulti { dest, rows, alpha } => {
                backend.add_rows_multi(view(dest), alpha, arena.as_view(), program.offset_table(rows))
            }
            Command::CopyToRowsMulti { src, rows } => {
                backend.copy_to_rows_multi(arena, source(src), program.offset_table(rows))
            }
            Command::AddToRowsMulti { src, rows, alpha } => {
                backend.add_to_rows_multi(arena, alpha, source(src), program.offset_table(rows))
            }
            Command::AddRowRanges { dest, src, ranges, alpha } => {
                backend.add_row_ranges(view(dest), alpha, source(src), program.range_table(ranges))
            }
            _ => unreachable!("{command:?} is no operation, or handled by the loop"),
        }
    }

    fn execute_blocks(&self, program: &Program, blocks: &Blocks) {
        let rows = program.computation().matrix(blocks.matrix).rows;
        for first in (0..rows).step_by(blocks.rows) {
            for command in &blocks.commands {
                self.execute_on(program, command, first..rows.min(first + blocks.rows));
            }
        }
    }

    /// Executes a command that sets, copies to or adds to rows, for these rows of the destination's matrix only.
    fn execute_on(&self, program: &Program, command: &Command, rows: Range<usize>) {
        let backend = &*self.device;
        let (Command::SetConst { dest, .. } | Command::Copy { dest, .. } | Command::Add { dest, .. }) =
            *command
        else {
            unreachable!("{command:?} by rows")
        };
        let to = self.list(program).submatrix(program.computation(), dest);
        let first = rows.start.clamp(to.row_offset, to.row_offset + to.rows);
        let end = rows.end.clamp(first, to.row_offset + to.rows);
        let rows = first - to.row_offset..end - to.row_offset;
        let chosen = |s: SubmatrixId| self.view(program, s).row_range(rows.clone());
        match *command {
            Command::Copy { dest, src, alpha: 1.0 } => backend.copy(chosen(dest), chosen(src).as_view()),
            Command::Copy { dest, src, alpha } => {
                backend.copy_scaled(chosen(dest), alpha, chosen(src).as_view())
            }
            Command::Add { dest, src, alpha } => backend.add(chosen(dest), alpha, chosen(src).as_view()),
            Command::SetConst { dest, value } => backend.set(chosen(dest), value),
            _ => {}
        }
    }
}
