//! Accesses: the commands that read and write each variable or matrix, in order. The passes and the checker use these
//! lists.

mod accesses;
mod by_matrix;
mod lives;
mod variables;

pub use accesses::{Access, AccessKind};
pub use by_matrix::SubmatricesByMatrix;
pub use lives::{Life, lives};
pub use variables::Variables;

use crate::computation::{Backprop, Command, Computation, MatrixId, Propagate, SubmatrixId};
use accesses::{AccessLists, Recorder};
use nnet3_base::error::Result;
use nnet3_component::Properties;
use nnet3_network::Nnet;

/// Appends the sub-matrices that a command reads and writes. Those in lists of rows come once each (unless they
/// alternate).
#[inline]
pub fn submatrix_accesses(
    nnet: &Nnet,
    computation: &Computation,
    command: &Command,
    out: &mut Vec<(SubmatrixId, AccessKind)>,
) {
    use AccessKind::{Read, ReadWrite, Write};
    match *command {
        Command::SetConst { dest, .. } => out.push((dest, Write)),
        Command::Copy { dest, src, .. } => out.extend([(src, Read), (dest, Write)]),
        Command::Add { dest, src, .. } => out.extend([(src, Read), (dest, ReadWrite)]),
        Command::Allocate { .. } | Command::Deallocate { .. } | Command::NoOp => {}
        _ => accesses_of_others(nnet, computation, command, out),
    }
}

/// Appends the accesses of rarer commands, which [`submatrix_accesses`] does not handle itself.
fn accesses_of_others(
    nnet: &Nnet,
    computation: &Computation,
    command: &Command,
    out: &mut Vec<(SubmatrixId, AccessKind)>,
) {
    use AccessKind::{Read, ReadWrite, Write};
    let mut push = |s, kind| out.push((s, kind));
    match *command {
        Command::Propagate(Propagate { component, input, output, .. }) => {
            let adds = nnet.component(component).properties().contains(Properties::PROPAGATE_ADDS);
            input.into_iter().for_each(|s| push(s, Read));
            push(output, if adds { ReadWrite } else { Write });
        }
        Command::Backprop(Backprop { component, in_value, out_value, out_deriv, in_deriv, .. }) => {
            let adds = nnet.component(component).properties().contains(Properties::BACKPROP_ADDS);
            in_value.into_iter().chain(out_value).for_each(|s| push(s, Read));
            push(out_deriv, Read);
            in_deriv.into_iter().for_each(|s| push(s, if adds { ReadWrite } else { Write }));
        }
        Command::AddRows { dest, src, .. } | Command::AddRowRanges { dest, src, .. } => {
            push(src, Read);
            push(dest, ReadWrite);
        }
        Command::CopyRows { dest, src, rows, .. } => {
            let partial = computation.indexes[rows.index()].contains(&-1);
            push(src, Read);
            push(dest, if partial { ReadWrite } else { Write });
        }
        Command::CopyRowsMulti { dest, rows, .. } => {
            push(dest, Write);
            computation.for_each_source(rows, |s| push(s, Read));
        }
        Command::AddRowsMulti { dest, rows, .. } => {
            push(dest, ReadWrite);
            computation.for_each_source(rows, |s| push(s, Read));
        }
        Command::CopyToRowsMulti { src, rows } | Command::AddToRowsMulti { src, rows, .. } => {
            push(src, Read);
            computation.for_each_source(rows, |s| push(s, ReadWrite));
        }
        Command::Compress { matrix, .. } => push(matrix, ReadWrite),
        Command::Decompress { matrix } | Command::AcceptInput { matrix, .. } => push(matrix, Write),
        Command::ProvideOutput { matrix, .. } => push(matrix, Read),
        Command::SetConst { .. }
        | Command::Copy { .. }
        | Command::Add { .. }
        | Command::Allocate { .. }
        | Command::Deallocate { .. }
        | Command::Swap { .. }
        | Command::NoOp
        | Command::NoOpPermanent
        | Command::Marker
        | Command::Label
        | Command::Goto { .. } => {}
    }
}

/// The results of [`submatrix_accesses`] for all commands.
#[derive(Clone, Debug, Default)]
pub struct CommandAccesses {
    /// For each command the end of its items.
    ends: Vec<u32>,
    items: Vec<(SubmatrixId, AccessKind)>,
}

impl CommandAccesses {
    pub fn new(nnet: &Nnet, computation: &Computation) -> CommandAccesses {
        let count = computation.commands.len();
        let mut out =
            CommandAccesses { ends: Vec::with_capacity(count), items: Vec::with_capacity(3 * count) };
        for command in &computation.commands {
            submatrix_accesses(nnet, computation, command, &mut out.items);
            out.ends.push(out.items.len() as u32);
        }
        out
    }

    /// Calls `f` with command, sub-matrix and kind of every access, command by command.
    pub fn for_each(&self, mut f: impl FnMut(usize, SubmatrixId, AccessKind)) {
        let mut start = 0;
        for (c, &end) in self.ends.iter().enumerate() {
            self.items[start..end as usize].iter().for_each(|&(s, kind)| f(c, s, kind));
            start = end as usize;
        }
    }
}

/// The accesses of each command to whole matrices (all parts together). They describe the computation as it was when
/// analysed.
#[derive(Clone, Debug)]
pub(crate) struct MatrixAnalysis {
    /// The life of each matrix.
    pub lives: Vec<Life>,
    accesses: AccessLists,
}

impl MatrixAnalysis {
    /// Analyses only the marked matrices; the lists of others stay empty. The errors are those of [`Analysis::new`].
    pub(crate) fn of_matrices(
        nnet: &Nnet,
        computation: &Computation,
        marked: &[bool],
    ) -> Result<MatrixAnalysis> {
        let mut recorder = Recorder::new(computation.matrices.len(), 0);
        CommandAccesses::new(nnet, computation).for_each(|c, s, kind| {
            let matrix = computation.matrix_of(s).index();
            if marked[matrix] {
                let partial_write = kind.writes() && !computation.is_whole(s);
                let kind = if partial_write { AccessKind::ReadWrite } else { kind };
                recorder.record(matrix, c, kind);
            }
        });
        Ok(MatrixAnalysis { lives: lives(computation)?, accesses: recorder.finish() })
    }

    /// The accesses of a matrix, in order, one a command. Allocation, deallocation and swaps are no accesses; exchanges
    /// with the user are. Writing to a part counts as reading, too.
    pub(crate) fn accesses(&self, m: MatrixId) -> &[Access] {
        self.accesses.of(m.index())
    }
}

/// The accesses of each command to variables. They describe the computation as it was when analysed.
#[derive(Clone, Debug)]
pub(crate) struct Analysis {
    pub variables: Variables,
    /// The life of each matrix.
    pub lives: Vec<Life>,
    accesses: AccessLists,
    is_zeroing: Vec<bool>,
}

impl Analysis {
    /// Fails if a matrix is allocated or freed twice, or by a sub-matrix that is not the whole of it.
    pub fn new(nnet: &Nnet, computation: &Computation) -> Result<Analysis> {
        let accesses = CommandAccesses::new(nnet, computation);
        Ok(Analysis::with(computation, &accesses, Variables::new(computation), lives(computation)?))
    }

    /// Analyses only the marked matrices; others get no variables. `accesses` and `lives` cover all matrices. Some
    /// commands may have become no-ops since the accesses were collected.
    pub(crate) fn of_matrices(
        computation: &Computation,
        accesses: &CommandAccesses,
        marked: &[bool],
        lives: Vec<Life>,
    ) -> Analysis {
        Analysis::with(computation, accesses, Variables::of_matrices(computation, marked), lives)
    }

    fn with(
        computation: &Computation,
        accesses: &CommandAccesses,
        variables: Variables,
        lives: Vec<Life>,
    ) -> Analysis {
        let mut recorder = Recorder::new(variables.count(), 3 * computation.commands.len());
        accesses.for_each(|c, s, kind| {
            if !matches!(computation.commands[c], Command::NoOp) {
                variables.for_each(s, |v| recorder.record(v, c, kind));
            }
        });
        let is_zeroing = computation.commands.iter().map(is_zeroing).collect();
        Analysis { variables, lives, accesses: recorder.finish(), is_zeroing }
    }

    /// The accesses of a variable, in order, one a command.
    pub(crate) fn accesses(&self, variable: usize) -> &[Access] {
        self.accesses.of(variable)
    }

    /// The first command that does more to some part of `s` than set it to zero.
    pub(crate) fn first_nontrivial_access(&self, s: SubmatrixId) -> Option<usize> {
        self.variables.of(s).filter_map(|v| self.first_nontrivial(self.accesses(v))).min()
    }

    /// The last command that touches some part of `s`.
    pub(crate) fn last_access(&self, s: SubmatrixId) -> Option<usize> {
        self.variables.of(s).filter_map(|v| self.accesses(v).last()).map(|a| a.command()).max()
    }

    /// The last command that writes to some part of `s`. For outputs that the user may fetch, the end of the
    /// computation.
    pub(crate) fn last_write_access(&self, computation: &Computation, s: SubmatrixId) -> Option<usize> {
        if self.lives[computation.matrix_of(s).index()].is_output {
            return Some(self.is_zeroing.len());
        }
        let last_write = |v: usize| self.accesses(v).iter().rev().find(|a| a.kind.writes());
        self.variables.of(s).filter_map(last_write).map(|a| a.command()).max()
    }

    /// The first command after `command` that changes or frees some part of `s`, or the number of commands.
    pub(crate) fn data_invalidated(
        &self,
        computation: &Computation,
        command: usize,
        s: SubmatrixId,
    ) -> usize {
        let next_write = |v: usize| {
            let accesses = self.accesses(v);
            let later = accesses.partition_point(|a| a.command() <= command);
            accesses[later..].iter().find(|a| a.kind.writes())
        };
        let write = self.variables.of(s).filter_map(next_write).map(|a| a.command()).min();
        let free = self.lives[computation.matrix_of(s).index()].deallocate;
        write.into_iter().chain(free).min().unwrap_or(self.is_zeroing.len())
    }

    /// The first command that touches some part of the matrix.
    pub(crate) fn first_matrix_access(&self, m: MatrixId) -> Option<usize> {
        let first = |v| self.accesses(v).first().map(Access::command);
        self.variables.of_matrix(m).filter_map(first).min()
    }

    fn first_nontrivial(&self, accesses: &[Access]) -> Option<usize> {
        accesses.iter().map(|a| a.command()).find(|&c| !self.is_zeroing[c])
    }
}

/// True if the command sets its destination to zero.
pub(crate) fn is_zeroing(command: &Command) -> bool {
    matches!(command, Command::SetConst { value: 0.0, .. })
}
