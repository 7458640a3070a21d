//! Runs programs: the loop with a match.
//!
//! A [`Program`] is a computation bound to a plan and to index tables. An [`Executor`] owns the arena and runs one
//! program at a time: start, give inputs, run to the next exchange with the user, read outputs, and so on. After the
//! first run of a program nothing is allocated.

mod additions;
mod ahead;
mod components;
mod events;
mod observe;
mod products;
mod program;
mod shortcuts;
mod steps;
mod summed;
mod taps;
mod trace;
mod zeroing;

pub use observe::{Moment, Observer};
pub use program::Program;
pub use trace::Trace;

use crate::component::PrecomputedIndexes;
use crate::computation::{Backprop, Command, Computation, Propagate, SubmatrixId};
use crate::error::{Error, MemoryError, Result};
use crate::index::NodeId;
use crate::learning::second_thread::UpdateThread;
use crate::learning::{Delta, SecondThread};
use crate::nnet::Nnet;
use crate::random::Random;
use nnet3_matrix::{Arena, Device, Matrix, Memory, View, ViewMut, Workspace};
use shortcuts::{Run, Shortcut};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use zeroing::Part;

/// The network that a program runs on, and what may change in it.
pub enum Model<'a> {
    /// Forward only; nothing changes.
    Frozen(&'a Nnet),
    /// Forward only; activation statistics go to the network.
    Statistics(&'a mut Nnet),
    /// Training: activation statistics go to `nnet`, parameter changes to `delta`.
    Train { nnet: &'a mut Nnet, delta: &'a mut Delta },
    /// Gradients: `nnet` stays as it is (it is borrowed mutably for scratch use only); statistics and
    /// gradients, times the learning rate in `gradient`, go to `gradient`.
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

/// Whether a command may do other work in the next run: statistics are stored now and then, updates depend on learning
/// rates and on earlier statistics.
fn varies(command: &Command) -> bool {
    matches!(
        command,
        Command::Propagate(Propagate { store_stats: true, .. })
            | Command::Backprop(Backprop { update_model: true, .. })
    )
}

/// Runs programs in one arena, from one thread.
pub struct Executor {
    device: Device,
    arena: Arena,
    workspace: Workspace,
    program: Option<Arc<Program>>,
    next: usize,
    /// Nodes of the present exchange whose matrices the user has supplied.
    supplied: RefCell<Vec<(SubmatrixId, NodeId)>>,
    observer: Option<Box<dyn Observer>>,
    /// See [`Observer::literal`].
    literal: bool,
    observed: bool,
    updates: Option<UpdateThread>,
    /// What has been worked out for products to come, by its number in the program.
    ahead: RefCell<Vec<(usize, Matrix)>>,
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
            observed: false,
            updates: None,
            ahead: RefCell::default(),
        }
    }

    /// Whether changes of parameters are worked out on a second thread from now on, beside the rest of the backward pass; the
    /// results are the same. On the host only, and not while somebody observes.
    pub fn update_on_second_thread(&mut self, when: SecondThread) {
        self.updates = if self.device.id() == 0 { UpdateThread::start(&self.device, when) } else { None };
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

    /// Makes `program` the one to run, from its beginning. A program that the device has no memory for is an error.
    pub fn start(&mut self, program: &Arc<Program>) -> Result<()> {
        let plan = program.plan();
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
        self.program = Some(program.clone());
        self.ahead.borrow_mut().drain(..).for_each(|(_, matrix)| self.workspace.take_back(matrix));
        self.next = 0;
        self.supplied.borrow_mut().clear();
        Ok(())
    }

    fn program(&self) -> Result<&Arc<Program>> {
        self.program.as_ref().ok_or_else(|| Error::Execution("no program has been started".to_string()))
    }

    /// The commands of the present exchange: those at the counter that wait for the user.
    fn exchange<'p>(&self, computation: &'p Computation) -> &'p [Command] {
        let rest = &computation.commands[self.next.min(computation.commands.len())..];
        let waits = |c: &Command| {
            matches!(c, Command::AcceptInput { .. } | Command::ProvideOutput { .. } | Command::Marker)
        };
        let count = rest.iter().position(|c| !waits(c)).unwrap_or(rest.len());
        &rest[..count]
    }

    /// An input node whose value (or output node whose derivative) has to be given before the next [`Executor::run`].
    pub fn wants(&self) -> Option<NodeId> {
        let program = self.program.as_ref()?;
        self.exchange(program.computation()).iter().find_map(|c| match *c {
            Command::AcceptInput { matrix, node } if !self.supplied.borrow().contains(&(matrix, node)) => {
                Some(node)
            }
            _ => None,
        })
    }

    /// Whether all has been run: what is left can only be fetched.
    pub fn finished(&self) -> bool {
        self.program.as_ref().is_none_or(|program| {
            let computation = program.computation();
            self.next + self.exchange(computation).len() >= computation.commands.len()
        })
    }

    /// Where the input of this node (or the derivative of this output node) is to be written, rows in the request's
    /// order. The caller fills it before [`Executor::run`].
    pub fn input(&self, nnet: &Nnet, node: &str) -> Result<ViewMut<'_>> {
        let program = self.program()?.clone();
        let wanted = self.exchange(program.computation()).iter().find_map(|c| match *c {
            Command::AcceptInput { matrix, node: n }
                if nnet.node_name(n) == node && !self.supplied.borrow().contains(&(matrix, n)) =>
            {
                Some((matrix, n))
            }
            _ => None,
        });
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
    /// the next run.
    pub fn output(&self, nnet: &Nnet, node: &str) -> Result<View<'_>> {
        let program = self.program()?;
        let found = self.exchange(program.computation()).iter().find_map(|c| match *c {
            Command::ProvideOutput { matrix, node: n } if nnet.node_name(n) == node => Some(matrix),
            _ => None,
        });
        match found {
            Some(matrix) => Ok(self.view(program, matrix).as_view()),
            None => Err(Error::Execution(format!("the computation does not provide '{node}' at this point"))),
        }
    }

    /// Executes up to the next exchange, or to the end.
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
        self.literal = observer.as_ref().is_some_and(|observer| observer.literal());
        self.observed = observer.is_some();
        let program = self.program()?.clone();
        let computation = program.computation();
        if self.next >= computation.commands.len() {
            return Err(Error::Execution("the computation has already finished".to_string()));
        }
        let exchange = self.exchange(computation);
        for command in exchange {
            if let Command::AcceptInput { matrix, node } = *command
                && !self.supplied.borrow().contains(&(matrix, node))
            {
                let name = model.nnet().node_name(node);
                return Err(Error::Execution(format!("'{name}' has not been given to the computation")));
            }
        }
        self.next += exchange.len();
        self.supplied.borrow_mut().clear();
        self.device.mark();
        while let Some(command) = computation.commands.get(self.next) {
            let varies = varies(command);
            if varies {
                self.device.mark();
            }
            match *command {
                Command::AcceptInput { .. } | Command::ProvideOutput { .. } => break,
                Command::Goto { target } => self.next = target,
                _ => match &mut observer {
                    None => self.execute(&program, self.next, command, model, random),
                    Some(observer) => self.execute_observed(&program, model, random, &mut **observer),
                },
            }
            if varies {
                self.device.mark();
            }
            self.next += 1;
        }
        if let (Some(updates), Model::Train { delta, .. }) = (self.second_thread(), model) {
            updates.finish(self.context(random), delta);
        }
        self.device.mark();
        Ok(())
    }

    fn execute_observed(
        &self,
        program: &Arc<Program>,
        model: &mut Model<'_>,
        random: &Random,
        observer: &mut dyn Observer,
    ) {
        let command = self.next;
        observer.before(&Moment { program, command, nnet: model.nnet(), executor: self });
        self.device.synchronize();
        let start = Instant::now();
        self.execute(program, command, &program.computation().commands[command], model, random);
        self.device.synchronize();
        let time = start.elapsed();
        observer.after(&Moment { program, command, nnet: model.nnet(), executor: self }, time);
    }

    /// Where changes of parameters may be worked out: with [`Executor::update_on_second_thread`], and not while observed.
    fn second_thread(&self) -> Option<&UpdateThread> {
        self.updates.as_ref().filter(|_| !self.observed)
    }

    fn view(&self, program: &Program, id: SubmatrixId) -> ViewMut<'_> {
        let (offset, rows, cols, stride) = program.place(id);
        self.arena.view(offset, rows, cols, stride)
    }

    fn memo(&self, program: &Program, command: usize) -> ViewMut<'_> {
        match program.plan().memo(command) {
            Some(memo) => self.arena.view(memo.offset, memo.rows, memo.cols, memo.cols),
            None => self.arena.view(0, 0, 0, 0),
        }
    }

    fn execute(
        &self,
        program: &Arc<Program>,
        c: usize,
        command: &Command,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let backend = &*self.device;
        let view = |id: SubmatrixId| self.view(program, id);
        let source = |id: SubmatrixId| view(id).as_view();
        let arena = self.arena.whole();
        if let Some((run, step)) = self.run_in_blocks(program, c) {
            if run.commands[0] == c {
                self.execute_run(program, run, step);
            }
            return;
        }
        let is_copy = matches!(command, Command::Copy { .. });
        if matches!(self.shortcut(program, c), Shortcut::Nothing)
            || is_copy && self.is_read_in_place(program, c)
        {
            return;
        }
        match *command {
            Command::SetConst { .. } | Command::Add { .. } => self.execute_on(program, c, 0..usize::MAX),
            Command::Copy { .. } | Command::CopyRows { .. } => self.copy(program, command, c),
            Command::Propagate(Propagate { component, .. }) => {
                self.propagate(program, c, component, command, model, random)
            }
            Command::Backprop(Backprop { component, .. }) => {
                self.backprop(program, c, component, command, model, random)
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
            Command::Swap { first, second } if program.is_looped() => {
                backend.copy(view(first), source(second))
            }
            // The plan has given both matrices their place; compression would save memory that the arena does not need.
            Command::Swap { .. }
            | Command::Allocate { .. }
            | Command::Deallocate { .. }
            | Command::Compress { .. }
            | Command::Decompress { .. }
            | Command::NoOp
            | Command::NoOpPermanent
            | Command::Marker
            | Command::Label => {}
            Command::AcceptInput { .. } | Command::ProvideOutput { .. } | Command::Goto { .. } => {
                unreachable!("handled by the loop")
            }
        }
    }

    fn shortcut<'p>(&self, program: &'p Program, c: usize) -> &'p Shortcut {
        if self.literal { &Shortcut::None } else { program.shortcuts.at(c) }
    }

    /// The windows of a summed matrix that a command reads or writes. Elsewhere than on the host it is not summed: there a
    /// call for each window is what takes time.
    fn windows<'p>(&self, program: &'p Program, c: usize) -> Option<&'p dyn PrecomputedIndexes> {
        let windows = program.shortcuts.windows(c).filter(|_| !self.literal)?;
        self.device.cached_elements().and(program.precomputed(Some(windows)))
    }

    /// The run that a command belongs to, and how many rows of it to do at a time, if that is what pays.
    fn run_in_blocks<'p>(&self, program: &'p Program, c: usize) -> Option<(&'p Run, usize)> {
        let run = program.shortcuts.run(c).filter(|_| !self.literal)?;
        // The matrix, and about as much of what is added to it.
        let block = self.device.cached_elements()? / 4;
        let matrix = program.computation().matrix(run.matrix);
        let pays = matrix.rows * matrix.cols > 4 * block;
        pays.then(|| (run, (block / matrix.cols).max(1)))
    }

    fn execute_run(&self, program: &Program, run: &Run, step: usize) {
        let rows = program.computation().matrix(run.matrix).rows;
        for first in (0..rows).step_by(step) {
            for &c in &run.commands {
                self.execute_on(program, c, first..rows.min(first + step));
            }
        }
    }

    /// A command that sets, copies to or adds to rows, for those rows of the destination's matrix only.
    fn execute_on(&self, program: &Program, c: usize, rows: Range<usize>) {
        let (backend, computation) = (&*self.device, program.computation());
        let chosen = |s: SubmatrixId, of: SubmatrixId| {
            let to = computation.submatrix(of);
            let first = rows.start.clamp(to.row_offset, to.row_offset + to.rows);
            let end = rows.end.clamp(first, to.row_offset + to.rows);
            self.view(program, s).row_range(first - to.row_offset..end - to.row_offset)
        };
        match (&computation.commands[c], self.shortcut(program, c)) {
            (&Command::SetConst { dest, value }, Shortcut::Zero(parts)) => {
                let part = Part::of(computation, dest);
                let rows = Part { rows, cols: part.cols.clone() };
                for zero in parts.iter().map(|zero| zero.common(&rows)).filter(|zero| !zero.is_empty()) {
                    let shift = |range: &Range<usize>, by: usize| range.start - by..range.end - by;
                    let view = self.view(program, dest).row_range(shift(&zero.rows, part.rows.start));
                    backend.set(view.col_range(shift(&zero.cols, part.cols.start)), value);
                }
            }
            (&Command::SetConst { dest, value }, _) => backend.set(chosen(dest, dest), value),
            (&Command::Copy { dest, src, alpha: 1.0 }, _) => {
                backend.copy(chosen(dest, dest), chosen(src, dest).as_view())
            }
            (&Command::Copy { dest, src, alpha }, _) => {
                backend.copy_scaled(chosen(dest, dest), alpha, chosen(src, dest).as_view())
            }
            (&Command::Add { dest, src, alpha }, _) => {
                backend.add(chosen(dest, dest), alpha, chosen(src, dest).as_view())
            }
            (command, _) => unreachable!("{command:?} in a run"),
        }
    }

    fn copy(&self, program: &Program, command: &Command, c: usize) {
        match *command {
            Command::CopyRows { dest, src, rows, alpha } => {
                let (dest, src) = (self.view(program, dest), self.view(program, src).as_view());
                self.device.copy_rows(dest, alpha, src, program.index_table(rows))
            }
            _ => self.execute_on(program, c, 0..usize::MAX),
        }
    }
}
