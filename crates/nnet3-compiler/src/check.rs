//! The checker: finds the first fault of a computation and names its command.
//!
//! A computation that passes can be planned and run. Every index is in range, and shapes fit. Every matrix is used
//! only while it has storage, and every element is written before it is read.

mod commands;
mod uses;

use self::uses::Use;
use crate::analysis::{AccessKind, Life, MatrixAnalysis, Variables, lives};
use crate::computation::{
    Backprop, Command, Compression, Computation, MatrixId, Submatrix, SubmatrixId, print,
};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::Cindex;
use nnet3_network::Nnet;

#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// Requires that no variable is written after it was only read, and that every matrix is used. Both hold before
    /// optimisation.
    pub rewrite: bool,
    /// Every part of every matrix must be used.
    pub unused_variables: bool,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions { rewrite: false, unused_variables: true }
    }
}

/// Smallest share of a matrix's rows that a copy may cover before a pass appends rows to the destination, so that all
/// rows can be copied. The additional rows may stay unused.
pub(crate) const LEAST_COPIED: f64 = 0.8;

/// An error that names the first command at fault, or the matrix if no command mentions it.
pub fn check(nnet: &Nnet, computation: &Computation, options: CheckOptions) -> Result<()> {
    check_sizes(computation)?;
    commands::check(nnet, computation)?;
    if !computation.is_looped() {
        return check_lives(nnet, computation, options);
    }
    // The swaps before the goto give storage to matrices that already had some: without them, the lives of the second
    // matrices would be wrong.
    let mut computation = computation.clone();
    let end = computation.commands.len() - 1;
    for command in computation.commands[..end].iter_mut().rev() {
        let Command::Swap { second, .. } = *command else {
            break;
        };
        *command = Command::Deallocate { matrix: second };
    }
    check_lives(nnet, &computation, CheckOptions { unused_variables: false, ..options })
}

/// Checks that sub-matrices lie inside their matrices.
fn check_sizes(computation: &Computation) -> Result<()> {
    let fits = |s: &Submatrix| {
        computation.matrices.get(s.matrix.index()).is_some_and(|m| {
            s.row_offset.checked_add(s.rows).is_some_and(|end| end <= m.rows)
                && s.col_offset.checked_add(s.cols).is_some_and(|end| end <= m.cols)
        })
    };
    let is_empty = |s: &Submatrix| s.matrix == MatrixId(0) || s.rows == 0 || s.cols == 0;
    for (i, s) in computation.submatrices.iter().enumerate() {
        if !fits(s) || (i > 0 && is_empty(s)) {
            return Err(Error::computation(format!(
                "sub-matrix {i} (rows {}+{}, columns {}+{}) is not a part of matrix m{}",
                s.row_offset, s.rows, s.col_offset, s.cols, s.matrix
            )));
        }
    }
    match computation.submatrices.first() {
        Some(first) if first.matrix == MatrixId(0) => Ok(()),
        _ => Err(Error::computation("sub-matrix 0 must be the empty one")),
    }
}

fn check_lives(nnet: &Nnet, computation: &Computation, options: CheckOptions) -> Result<()> {
    check_sizing(nnet, computation)?;
    let variables = Variables::new(computation);
    let uses = uses::uses(nnet, computation, &variables);
    let lives = Lives { nnet, computation, variables, uses, lives: lives(computation)? };
    for m in 1..computation.matrices.len() {
        lives.check_matrix(m)?;
    }
    lives.check_compression()?;
    for v in 0..lives.variables.count() {
        lives.check_defined(v, options)?;
        if options.rewrite {
            lives.check_rewrite(v)?;
        }
    }
    check_debug_info(nnet, computation)
}

/// No matrix is given storage twice, or freed twice.
fn check_sizing(nnet: &Nnet, computation: &Computation) -> Result<()> {
    let mut allocated = vec![None; computation.matrices.len()];
    let mut freed = allocated.clone();
    let of = |s: SubmatrixId| computation.matrix_of(s);
    for (c, command) in computation.commands.iter().enumerate() {
        let (gains, loses) = match *command {
            Command::Allocate { matrix } => (Some(of(matrix)), None),
            Command::Deallocate { matrix } => (None, Some(of(matrix))),
            Command::Swap { first, second } => (Some(of(first)), Some(of(second))),
            _ => (None, None),
        };
        if let Some(m) = gains
            && let Some(earlier) = allocated[m.index()].replace(c)
        {
            return fail(
                nnet,
                computation,
                c,
                format!("matrix m{m} has been allocated already, by c{earlier}"),
            );
        }
        if let Some(m) = loses
            && let Some(earlier) = freed[m.index()].replace(c)
        {
            return fail(nnet, computation, c, format!("matrix m{m} has been freed already, by c{earlier}"));
        }
    }
    Ok(())
}

struct Lives<'a> {
    nnet: &'a Nnet,
    computation: &'a Computation,
    variables: Variables,
    /// The uses of each variable.
    uses: Vec<Option<Use>>,
    /// The life of each matrix.
    lives: Vec<Life>,
}

/// An error at a command.
fn fail<T>(nnet: &Nnet, computation: &Computation, c: usize, message: impl Into<String>) -> Result<T> {
    let command = print::line(computation, &print::Names::of(nnet), c);
    Err(Error::Computation { message: message.into(), command })
}

impl Lives<'_> {
    fn fail<T>(&self, c: usize, message: impl Into<String>) -> Result<T> {
        fail(self.nnet, self.computation, c, message)
    }

    fn check_matrix(&self, m: usize) -> Result<()> {
        let life = &self.lives[m];
        let uses = || self.uses[self.variables.of_matrix(MatrixId::from(m))].iter().flatten();
        let accessed = (uses().map(Use::first).min(), uses().map(Use::last).max());
        let Some(allocate) = life.allocate else {
            return match accessed.0 {
                Some(first) => self.fail(first, format!("matrix m{m} is used but never allocated")),
                None => Err(Error::computation(format!("matrix m{m} is never allocated"))),
            };
        };
        let (Some(first), Some(last)) = accessed else {
            return self.fail(allocate, format!("matrix m{m} is never used"));
        };
        if first < allocate {
            return self.fail(first, format!("matrix m{m} is used before it is allocated by c{allocate}"));
        }
        match life.deallocate {
            Some(free) if free <= allocate => {
                self.fail(free, format!("matrix m{m} is freed before it exists"))
            }
            Some(free) if last >= free => {
                self.fail(last, format!("matrix m{m} is used after c{free} has freed it"))
            }
            _ => Ok(()),
        }
    }

    fn check_compression(&self) -> Result<()> {
        let commands = &self.computation.commands;
        let mut compressed = vec![false; self.computation.matrices.len()];
        for command in commands {
            if let Command::Compress { matrix, .. } | Command::Decompress { matrix } = *command {
                compressed[self.computation.matrix_of(matrix).index()] = true;
            }
        }
        if !compressed.contains(&true) {
            return Ok(());
        }
        let analysis = MatrixAnalysis::of_matrices(self.nnet, self.computation, &compressed)?;
        let middle = commands.iter().position(|c| *c == Command::Marker);
        for m in 1..self.computation.matrices.len() {
            let accesses = analysis.accesses(MatrixId::from(m));
            let command = |i: usize| accesses.get(i).map(|a| a.command());
            let is = |i: Option<usize>, f: fn(&Command) -> bool| {
                i.and_then(command).is_some_and(|c| f(&commands[c]))
            };
            let is_compress = |c: &Command| matches!(c, Command::Compress { .. });
            let is_decompress = |c: &Command| matches!(c, Command::Decompress { .. });
            for (i, access) in accesses.iter().enumerate() {
                match commands[access.command()] {
                    Command::Decompress { .. } if !is(i.checked_sub(1), is_compress) => {
                        return self.fail(
                            access.command(),
                            "a matrix is decompressed that has not been compressed just before",
                        );
                    }
                    Command::Compress { kind, range, .. } => {
                        let next = command(i + 1);
                        let around =
                            matches!((middle, next), (Some(m), Some(n)) if access.command() < m && m < n);
                        if !is(Some(i + 1), is_decompress) || !around {
                            let message = "a compressed matrix must be decompressed next, after the marker";
                            return self.fail(access.command(), message);
                        }
                        let last = (accesses.len() == i + 3).then(|| command(i + 2)).flatten();
                        let for_relu = last.is_some_and(|c| self.is_relu_update(c));
                        if range == 0.0 && !(i > 0 && kind == Compression::Uint8 && for_relu) {
                            let message = "keeping only signs, as uint8, is right for the output of a \
                                           RectifiedLinearComponent that only its backprop reads";
                            return self.fail(access.command(), message);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn is_relu_update(&self, c: usize) -> bool {
        matches!(self.computation.commands[c], Command::Backprop(Backprop { component, update_model: true, .. })
            if self.nnet.component(component).type_name() == "RectifiedLinearComponent")
    }

    /// Checks that variable `v` is written before it is read.
    fn check_defined(&self, v: usize, options: CheckOptions) -> Result<()> {
        let variables = &self.variables;
        if variables.matrix(v) == MatrixId(0) {
            return Ok(());
        }
        match &self.uses[v] {
            None if options.rewrite || (options.unused_variables && !self.may_be_unused(v)) => {
                let message = format!("{} is never used", variables.describe(v));
                match self.lives[variables.matrix(v).index()].allocate {
                    Some(allocate) => self.fail(allocate, message),
                    None => Err(Error::computation(message)),
                }
            }
            None => Ok(()),
            Some(of_v) if of_v.first_kind() == AccessKind::Write => Ok(()),
            Some(of_v) if matches!(self.computation.commands[of_v.first()], Command::Compress { .. }) => {
                Ok(())
            }
            Some(of_v) => {
                self.fail(of_v.first(), format!("{} is read before it is written", variables.describe(v)))
            }
        }
    }

    /// Rows that were appended so that a whole matrix could be copied are used in some columns only.
    fn may_be_unused(&self, v: usize) -> bool {
        let matrix = self.computation.matrix(self.variables.matrix(v));
        let (rows, cols) = self.variables.area(v);
        rows.start as f64 >= LEAST_COPIED * matrix.rows as f64 && cols.len() < matrix.cols
    }

    fn check_rewrite(&self, v: usize) -> Result<()> {
        match self.uses[v].as_ref().and_then(Use::rewritten) {
            Some(write) => {
                let what = self.variables.describe(v);
                self.fail(
                    write,
                    format!("{what} is changed after it was read, which is invalid before optimisation"),
                )
            }
            None => Ok(()),
        }
    }
}

fn check_debug_info(nnet: &Nnet, computation: &Computation) -> Result<()> {
    let Computation { debug_info, matrices, .. } = computation;
    if debug_info.is_empty() {
        return Ok(());
    }
    if debug_info.len() != matrices.len() {
        let (d, m) = (debug_info.len(), matrices.len());
        return Err(Error::computation(format!("debug info for {d} matrices, but there are {m}")));
    }
    for (m, (info, matrix)) in debug_info.iter().zip(matrices).enumerate().skip(1) {
        let (d, r) = (info.cindexes.len(), matrix.rows);
        if d != r {
            return Err(Error::computation(format!("debug info for {d} rows of matrix m{m}, which has {r}")));
        }
        let is_wrong = |c: &Cindex| (c.index.n < 0) | (c.node.index() >= nnet.num_nodes());
        // Almost always there is no fault, so the first look has no branches.
        if !info.cindexes.iter().fold(false, |wrong, c| wrong | is_wrong(c)) {
            continue;
        }
        if let Some(Cindex { node, index }) = info.cindexes.iter().find(|c| is_wrong(c)) {
            return Err(Error::computation(match index.n < 0 {
                true => format!("a negative n in the debug info of matrix m{m}"),
                false => format!("the debug info of matrix m{m} names node {node}, but there is none"),
            }));
        }
    }
    Ok(())
}
