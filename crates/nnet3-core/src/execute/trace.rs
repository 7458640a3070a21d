//! `--computation.debug=true`: a line for each command, with the sizes that it changed.

use super::{Moment, Observer, Program};
use nnet3_base::index::ComponentId;
use nnet3_base::text::number;
use nnet3_compiler::analysis::submatrix_accesses;
use nnet3_compiler::computation::{Backprop, Command, SubmatrixId, print};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// Hands the reference's lines to `log`. At the start of a program: the lines before its commands. For each command:
/// its printed form, the root mean square of its destinations before and after, and its time. Destinations are
/// matrices, parts of matrices, and parameters of an updatable component that is backpropagated.
pub struct Trace<F> {
    log: F,
    program: Option<Arc<Program>>,
    /// The destinations of the running command, each with its root mean square before.
    written: Vec<(Written, f64)>,
}

enum Written {
    Elements(String, SubmatrixId),
    Parameters(ComponentId),
}

impl<F: FnMut(&str)> Trace<F> {
    pub fn new(log: F) -> Trace<F> {
        Trace { log, program: None, written: Vec::new() }
    }
}

impl<F: FnMut(&str) + Send> Observer for Trace<F> {
    fn literal(&self) -> bool {
        true
    }

    fn before(&mut self, at: &Moment<'_>) {
        if !self.program.as_ref().is_some_and(|known| Arc::ptr_eq(known, at.program)) {
            (self.log)(print::preamble(at.program.computation(), &print::Names::of(at.nnet)).trim_end());
            self.program = Some(at.program.clone());
        }
        let sized = |written: Written| {
            let size = written.size(at);
            (written, size)
        };
        self.written = written(at).into_iter().map(sized).collect();
    }

    fn after(&mut self, at: &Moment<'_>, time: Duration) {
        let mut line = print::line(at.program.computation(), &print::Names::of(at.nnet), at.command());
        line += "\t|\t";
        for (written, before) in &self.written {
            let name = match written {
                Written::Elements(name, _) => name,
                Written::Parameters(component) => at.nnet.component_name(*component),
            };
            let _ = write!(line, "{name}: {}->{} ", number(*before), number(written.size(at)));
        }
        let _ = write!(line, "\t|\t time: {} secs", number(time.as_secs_f64()));
        (self.log)(&line);
    }
}

/// Returns the destinations of the command: matrices by number, then parts, then parameters.
fn written(at: &Moment<'_>) -> Vec<Written> {
    let computation = at.program.computation();
    let command = &computation.commands[at.command()];
    let mut accesses = Vec::new();
    submatrix_accesses(at.nnet, computation, command, &mut accesses);
    let mut parts: Vec<SubmatrixId> =
        accesses.into_iter().filter(|(_, kind)| kind.writes()).map(|(s, _)| s).collect();
    parts.sort_unstable();
    parts.dedup();
    let mut matrices: Vec<_> = parts.iter().map(|&s| computation.matrix_of(s)).collect();
    matrices.sort_unstable();
    matrices.dedup();
    parts.retain(|&s| !computation.is_whole(s));

    let whole = computation.whole_submatrices();
    let named = |s: SubmatrixId| Written::Elements(print::submatrix(computation, s), s);
    let mut out: Vec<Written> = matrices.iter().filter_map(|m| whole[m.index()]).map(named).collect();
    out.extend(parts.into_iter().map(named));
    if let Command::Backprop(Backprop { component, update_model: true, .. }) = *command
        && at.nnet.component(component).as_updatable().is_some()
    {
        out.push(Written::Parameters(component));
    }
    out
}

impl Written {
    /// The root mean square of the destination.
    fn size(&self, at: &Moment<'_>) -> f64 {
        let (square, count) = match *self {
            Written::Elements(_, s) => {
                let view = at.value(s);
                (at.backend().dot(view, view), view.rows() * view.cols())
            }
            Written::Parameters(component) => {
                let component = at.nnet.component(component);
                let updatable = component.as_updatable();
                updatable.map_or((0.0, 1), |u| (u.dot_product(component), u.num_parameters()))
            }
        };
        (square / count as f64).sqrt()
    }
}
