//! Who reads and writes what, and when: the questions that the passes and the checker ask (spec compiler §7.1).

mod variables;

pub use variables::Variables;

use crate::component::Properties;
use crate::computation::{Command, Computation, MatrixId, MultiIndexesId, SubmatrixId};
use crate::error::{Error, Result};
use crate::nnet::Nnet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
    ReadWrite,
}

impl AccessKind {
    pub fn writes(self) -> bool {
        self != AccessKind::Read
    }
    fn with(self, other: AccessKind) -> AccessKind {
        if self == other { self } else { AccessKind::ReadWrite }
    }
}

/// One command's access to a variable or a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub command: usize,
    pub kind: AccessKind,
}

/// The life of a matrix. Allocation, deallocation and swaps are no accesses; exchanges with the user are.
#[derive(Clone, Debug, Default)]
pub struct MatrixAccesses {
    /// The command from which on it has storage: an allocation, a swap, or being supplied by the user.
    pub allocate: Option<usize>,
    /// The command that takes its storage away.
    pub deallocate: Option<usize>,
    pub is_input: bool,
    pub is_output: bool,
    pub accesses: Vec<Access>,
}

/// What each command does to variables and matrices. It describes the computation as it was when analysed.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    pub variables: Variables,
    pub matrices: Vec<MatrixAccesses>,
    /// Accesses to variables by variable, then command; `starts[v] .. starts[v + 1]` are those of variable v.
    accesses: Vec<Access>,
    starts: Vec<u32>,
    is_zeroing: Vec<bool>,
}

/// Appends the sub-matrices that a command reads and writes, those in lists of rows once each (unless they alternate).
pub fn submatrix_accesses(
    nnet: &Nnet,
    computation: &Computation,
    command: &Command,
    out: &mut Vec<(SubmatrixId, AccessKind)>,
) {
    use AccessKind::{Read, ReadWrite, Write};
    let mut push = |s: SubmatrixId, kind| out.push((s, kind));
    let sources = |rows: MultiIndexesId, kind, out: &mut dyn FnMut(SubmatrixId, AccessKind)| {
        let mut last = None;
        for &(s, _) in computation.multi_indexes[rows.index()].iter().flatten() {
            if last.replace(s) != Some(s) {
                out(s, kind);
            }
        }
    };
    match *command {
        Command::SetConst { dest, .. } => push(dest, Write),
        Command::Propagate { component, input, output, .. } => {
            let adds = nnet.component(component).properties().has(Properties::PROPAGATE_ADDS);
            input.into_iter().for_each(|s| push(s, Read));
            push(output, if adds { ReadWrite } else { Write });
        }
        Command::Backprop { component, in_value, out_value, out_deriv, in_deriv, .. } => {
            let adds = nnet.component(component).properties().has(Properties::BACKPROP_ADDS);
            in_value.into_iter().chain(out_value).for_each(|s| push(s, Read));
            push(out_deriv, Read);
            in_deriv.into_iter().for_each(|s| push(s, if adds { ReadWrite } else { Write }));
        }
        Command::Copy { dest, src, .. } => {
            push(src, Read);
            push(dest, Write);
        }
        Command::Add { dest, src, .. }
        | Command::AddRows { dest, src, .. }
        | Command::AddRowRanges { dest, src, .. } => {
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
            sources(rows, Read, &mut push);
        }
        Command::AddRowsMulti { dest, rows, .. } => {
            push(dest, ReadWrite);
            sources(rows, Read, &mut push);
        }
        Command::CopyToRowsMulti { src, rows } | Command::AddToRowsMulti { src, rows, .. } => {
            push(src, Read);
            sources(rows, ReadWrite, &mut push);
        }
        Command::Compress { matrix, .. } => push(matrix, ReadWrite),
        Command::Decompress { matrix } | Command::AcceptInput { matrix, .. } => push(matrix, Write),
        Command::ProvideOutput { matrix, .. } => push(matrix, Read),
        Command::Allocate { .. }
        | Command::Deallocate { .. }
        | Command::Swap { .. }
        | Command::NoOp
        | Command::NoOpPermanent
        | Command::Marker
        | Command::Label
        | Command::Goto { .. } => {}
    }
}

impl Analysis {
    /// An error if a matrix is allocated or freed twice, or by a sub-matrix that is not the whole of it.
    pub fn new(nnet: &Nnet, computation: &Computation) -> Result<Analysis> {
        let mut out = Analysis {
            variables: Variables::new(computation),
            matrices: vec![MatrixAccesses::default(); computation.matrices.len()],
            is_zeroing: computation.commands.iter().map(is_zeroing).collect(),
            ..Analysis::default()
        };
        out.collect_accesses(nnet, computation);
        for c in 0..computation.commands.len() {
            out.collect_sizing(computation, c)?;
        }
        Ok(out)
    }

    fn collect_accesses(&mut self, nnet: &Nnet, computation: &Computation) {
        let mut flat: Vec<(u32, Access)> = Vec::new();
        let mut latest = vec![u32::MAX; self.variables.count()];
        let mut list = Vec::new();
        for (command, what) in computation.commands.iter().enumerate() {
            list.clear();
            submatrix_accesses(nnet, computation, what, &mut list);
            for &(s, kind) in &list {
                for v in self.variables.of(s) {
                    match flat.get_mut(latest[v] as usize) {
                        Some((_, access)) if access.command == command => {
                            access.kind = access.kind.with(kind)
                        }
                        _ => {
                            latest[v] = flat.len() as u32;
                            flat.push((v as u32, Access { command, kind }));
                        }
                    }
                }
                let partial_write = kind.writes() && !computation.is_whole(s);
                let kind = if partial_write { AccessKind::ReadWrite } else { kind };
                let accesses = &mut self.matrices[computation.matrix_of(s).index()].accesses;
                match accesses.last_mut() {
                    Some(access) if access.command == command => access.kind = access.kind.with(kind),
                    _ => accesses.push(Access { command, kind }),
                }
            }
        }
        self.starts = vec![0; self.variables.count() + 1];
        flat.iter().for_each(|&(v, _)| self.starts[v as usize + 1] += 1);
        for v in 0..self.variables.count() {
            self.starts[v + 1] += self.starts[v];
        }
        let mut next = self.starts.clone();
        self.accesses = vec![Access { command: 0, kind: AccessKind::Read }; flat.len()];
        for (v, access) in flat {
            self.accesses[next[v as usize] as usize] = access;
            next[v as usize] += 1;
        }
    }

    fn collect_sizing(&mut self, computation: &Computation, c: usize) -> Result<()> {
        let whole = |s: SubmatrixId| match computation.is_whole(s) {
            true => Ok(computation.matrix_of(s)),
            false => Err(Error::computation(format!(
                "command c{c} resizes or exchanges a part of matrix m{}, not the whole",
                computation.matrix_of(s)
            ))),
        };
        match computation.commands[c] {
            Command::Allocate { matrix } => self.set_allocated(whole(matrix)?, c)?,
            Command::Deallocate { matrix } => self.set_deallocated(whole(matrix)?, c)?,
            Command::Swap { first, second } => {
                self.set_allocated(whole(first)?, c)?;
                self.set_deallocated(whole(second)?, c)?;
            }
            Command::AcceptInput { matrix, .. } => {
                let accesses = &mut self.matrices[whole(matrix)?.index()];
                accesses.is_input = true;
                accesses.allocate.get_or_insert(c);
            }
            Command::ProvideOutput { matrix, .. } => self.matrices[whole(matrix)?.index()].is_output = true,
            _ => {}
        }
        Ok(())
    }

    fn set_allocated(&mut self, m: MatrixId, c: usize) -> Result<()> {
        match self.matrices[m.index()].allocate.replace(c) {
            Some(earlier) => Err(Error::computation(format!(
                "command c{c} allocates matrix m{m}, which c{earlier} has allocated already"
            ))),
            None => Ok(()),
        }
    }

    fn set_deallocated(&mut self, m: MatrixId, c: usize) -> Result<()> {
        match self.matrices[m.index()].deallocate.replace(c) {
            Some(earlier) => Err(Error::computation(format!(
                "command c{c} frees matrix m{m}, which c{earlier} has freed already"
            ))),
            None => Ok(()),
        }
    }

    /// The accesses of a variable, in order, one a command.
    pub fn accesses(&self, variable: usize) -> &[Access] {
        &self.accesses[self.starts[variable] as usize..self.starts[variable + 1] as usize]
    }

    /// The first command that does more to some part of `s` than set it to zero.
    pub fn first_nontrivial_access(&self, s: SubmatrixId) -> Option<usize> {
        self.variables.of(s).filter_map(|v| self.first_nontrivial(self.accesses(v))).min()
    }

    /// The first command that touches some part of `s`.
    pub fn first_access(&self, s: SubmatrixId) -> Option<usize> {
        self.variables.of(s).filter_map(|v| self.accesses(v).first()).map(|a| a.command).min()
    }

    /// The last command that touches some part of `s`.
    pub fn last_access(&self, s: SubmatrixId) -> Option<usize> {
        self.variables.of(s).filter_map(|v| self.accesses(v).last()).map(|a| a.command).max()
    }

    /// The last command that writes to some part of `s`; for what the user may fetch, the end of the computation.
    pub fn last_write_access(&self, computation: &Computation, s: SubmatrixId) -> Option<usize> {
        if self.matrices[computation.matrix_of(s).index()].is_output {
            return Some(self.is_zeroing.len());
        }
        let last_write = |v: usize| self.accesses(v).iter().rev().find(|a| a.kind.writes());
        self.variables.of(s).filter_map(last_write).map(|a| a.command).max()
    }

    /// The first command after `command` that changes or frees some part of `s`, or the number of commands.
    pub fn data_invalidated(&self, computation: &Computation, command: usize, s: SubmatrixId) -> usize {
        let next_write = |v: usize| self.accesses(v).iter().find(|a| a.kind.writes() && a.command > command);
        let write = self.variables.of(s).filter_map(next_write).map(|a| a.command).min();
        let free = self.matrices[computation.matrix_of(s).index()].deallocate;
        write.into_iter().chain(free).min().unwrap_or(self.is_zeroing.len())
    }

    /// The first command that does more to the matrix than set it to zero.
    pub fn first_nontrivial_matrix_access(&self, m: MatrixId) -> Option<usize> {
        self.first_nontrivial(&self.matrices[m.index()].accesses)
    }

    /// The last command that touches the matrix.
    pub fn last_matrix_access(&self, m: MatrixId) -> Option<usize> {
        self.matrices[m.index()].accesses.last().map(|a| a.command)
    }

    fn first_nontrivial(&self, accesses: &[Access]) -> Option<usize> {
        accesses.iter().map(|a| a.command).find(|&c| !self.is_zeroing[c])
    }
}

/// Whether the command sets its destination to zero.
pub fn is_zeroing(command: &Command) -> bool {
    matches!(command, Command::SetConst { value: 0.0, .. })
}
