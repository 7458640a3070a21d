//! A pass for an input whose rows are picked from a table, as embeddings of words are. If an affine component alone reads
//! it, perhaps at several times side by side, products need each row of the table only once: forward, for the gradient,
//! and for the derivative of the table. Nothing is copied from the input. Results differ by rounding.
//!
//! The pass runs only if the user gives such an input (see `Executor::pick_input` of `nnet3-core`).

use super::Lowering;
use super::dataflow::{Effect, Event, Events, Rect, forgets};
use super::op::{Op, PickedBackprop, PickedPropagate, PickedTerm};
use crate::computation::{Backprop, Command, Computation, MatrixId, Propagate, SubmatrixId};
use nnet3_base::index::NodeId;
use nnet3_network::Nnet;
use std::ops::Range;
use std::sync::Arc;

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let (nnet, computation) = (lowering.nnet, lowering.computation);
    let Some(node) = lowering.picked else { return };
    let Some(found) = find(nnet, computation, &lowering.events, node) else { return };
    let Found { propagate, backprop, terms, needless } = found;
    if let Command::Propagate(Propagate { component, output, .. }) = computation.commands[propagate] {
        let terms = terms.clone();
        lowering.replace(propagate, Op::PickedPropagate(PickedPropagate { component, node, terms, output }));
    }
    if let Some(c) = backprop
        && let Command::Backprop(args) = computation.commands[c]
    {
        lowering.replace(c, Op::PickedBackprop(PickedBackprop { args, node, terms }));
    }
    needless.iter().for_each(|&command| lowering.remove(command));
}

/// The only reader of an input.
struct Found {
    propagate: usize,
    backprop: Option<usize>,
    terms: Arc<[PickedTerm]>,
    /// Commands that fill the reader's matrices, or collect the input's derivative.
    needless: Vec<usize>,
}

fn find(nnet: &Nnet, computation: &Computation, events: &Events, node: NodeId) -> Option<Found> {
    let given = computation.commands.iter().enumerate().find_map(|(c, command)| match *command {
        Command::AcceptInput { matrix, node: own } if own == node => Some((c, matrix)),
        _ => None,
    });
    let (accept, given) = given.filter(|&(_, given)| computation.is_whole(given))?;
    let given = computation.matrix_of(given);
    let search = Search { nnet, computation, events, node, accept, given };
    let Uses { mut writes, propagate, input, backprop } = search.uses(search.holder()?)?;
    let terms = search.terms(input, &writes)?;
    match backprop.map(|c| (c, &computation.commands[c])) {
        Some((c, &Command::Backprop(args))) => writes.extend(search.derivative(c, args, &terms)?),
        _ if search.provided().is_some() => return None,
        _ => {}
    }
    Some(Found { propagate, backprop, terms: terms.into(), needless: writes })
}

struct Search<'a> {
    nnet: &'a Nnet,
    computation: &'a Computation,
    events: &'a Events,
    node: NodeId,
    /// The command that accepts the input.
    accept: usize,
    /// The input's matrix.
    given: MatrixId,
}

/// The uses of the matrix that an affine component reads.
struct Uses {
    /// Commands before the propagate that write to the matrix.
    writes: Vec<usize>,
    propagate: usize,
    /// The input of the propagate.
    input: SubmatrixId,
    backprop: Option<usize>,
}

impl Search<'_> {
    fn command(&self, event: Event) -> &Command {
        &self.computation.commands[event.command()]
    }

    fn rect(&self, s: SubmatrixId) -> Rect {
        Rect::of(self.computation, s)
    }

    fn dim(&self) -> usize {
        self.computation.matrix(self.given).cols
    }

    /// True if the matrix gets its memory by this event.
    fn begins(event: Event) -> bool {
        matches!(event.effect, Effect::Allocates | Effect::SwapsWith(_))
    }

    /// The one matrix that all readers of the input copy it to, or the input itself.
    fn holder(&self) -> Option<MatrixId> {
        let mut holder = None;
        let events = self.events.of(self.given.index()).iter();
        for &event in events.filter(|event| event.command() > self.accept) {
            let to = match (event.effect, self.command(event)) {
                (Effect::Reads(_), &Command::Copy { dest, .. } | &Command::CopyRows { dest, .. }) => {
                    self.computation.matrix_of(dest)
                }
                (Effect::Reads(_), Command::Propagate(_) | Command::Backprop(_)) => self.given,
                _ if forgets(self.computation, self.events, event) => break,
                _ => return None,
            };
            if holder.replace(to).is_some_and(|known| known != to) {
                return None;
            }
        }
        holder
    }

    fn uses(&self, holder: MatrixId) -> Option<Uses> {
        let (mut writes, mut propagate, mut backprop) = (Vec::new(), None, None);
        for &event in self.events.of(holder.index()).iter().filter(|event| event.command() != self.accept) {
            match (event.effect, self.command(event)) {
                _ if Self::begins(event) && writes.is_empty() && propagate.is_none() => {}
                (Effect::Sets(_) | Effect::Changes(_), _) if propagate.is_none() => {
                    writes.push(event.command())
                }
                (Effect::Reads(s), &Command::Propagate(args)) => {
                    let is_affine = self.nnet.component(args.component).as_affine().is_some();
                    if !is_affine || args.input != Some(s) || propagate.is_some() {
                        return None;
                    }
                    propagate = Some((event.command(), s, args.component));
                }
                (Effect::Reads(s), &Command::Backprop(args)) => {
                    let (_, input, component) = propagate?;
                    let same = args.component == component && self.rect(s) == self.rect(input);
                    if !same || args.in_value != Some(s) || backprop.replace(event.command()).is_some() {
                        return None;
                    }
                }
                _ if propagate.is_some() && forgets(self.computation, self.events, event) => break,
                _ => return None,
            }
        }
        writes.dedup();
        let (propagate, input, _) = propagate?;
        Some(Uses { writes, propagate, input, backprop })
    }

    /// The rows that each block of columns of `input` has after these writes.
    fn terms(&self, input: SubmatrixId, writes: &[usize]) -> Option<Vec<PickedTerm>> {
        let area = self.rect(input);
        if self.computation.matrix_of(input) == self.given {
            let rows = area.rows.map(|row| row as i32).collect();
            return (area.cols == (0..self.dim())).then(|| vec![PickedTerm { columns: area.cols, rows }]);
        }
        let commands = || writes.iter().map(|&c| &self.computation.commands[c]);
        let mut columns: Vec<Range<usize>> = commands()
            .filter_map(|command| match *command {
                Command::Copy { dest, .. } | Command::CopyRows { dest, .. } => Some(self.rect(dest).cols),
                _ => None,
            })
            .collect();
        columns.sort_by_key(|columns| columns.start);
        columns.dedup();
        let mut next = area.cols.start;
        for columns in &columns {
            if columns.start != next || columns.len() != self.dim() {
                return None;
            }
            next = columns.end;
        }
        let mut rows = vec![vec![None; area.rows.len()]; columns.len()];
        for command in commands() {
            let change = self.change(command, |src| self.computation.matrix_of(src) == self.given)?;
            let Change::Sets(dest, sources) = change else { return None };
            let to = self.rect(dest);
            for (rows, columns) in rows.iter_mut().zip(&columns) {
                if to.cols.start >= columns.end || to.cols.end <= columns.start {
                    continue;
                }
                if to.cols.start > columns.start || to.cols.end < columns.end {
                    return None;
                }
                for row in to.common(&area).rows {
                    let source = sources.as_ref().map(|(src, sources)| {
                        (self.rect(*src).cols == (0..self.dim())).then_some(sources[row - to.rows.start])
                    });
                    rows[row - area.rows.start] = Some(source.unwrap_or(Some(-1))?);
                }
            }
        }
        let term = |(columns, rows): (Range<usize>, Vec<Option<i32>>)| {
            let columns = columns.start - area.cols.start..columns.end - area.cols.start;
            Some(PickedTerm { columns, rows: rows.into_iter().collect::<Option<_>>()? })
        };
        if next != area.cols.end {
            return None;
        }
        columns.into_iter().zip(rows).map(term).collect()
    }

    /// Describes a command that sets rows of its destination to zeros or to rows of a source that `fits`, or adds such rows.
    fn change(&self, command: &Command, fits: impl Fn(SubmatrixId) -> bool) -> Option<Change> {
        let all = |src: SubmatrixId| {
            let rows = self.rect(src).rows.map(|row| row as i32).collect();
            (src, rows)
        };
        let listed = |src: SubmatrixId, list: &[i32]| {
            let first = self.rect(src).rows.start as i32;
            let rows = list.iter().map(|&row| if row < 0 { -1 } else { first + row }).collect();
            (src, rows)
        };
        let list = |rows: crate::computation::IndexesId| &self.computation.indexes[rows.index()][..];
        match *command {
            Command::SetConst { dest, value: 0.0 } => Some(Change::Sets(dest, None)),
            Command::Copy { dest, src, alpha: 1.0 } if fits(src) => Some(Change::Sets(dest, Some(all(src)))),
            Command::Add { dest, src, alpha: 1.0 } if fits(src) => Some(Change::Adds(dest, all(src))),
            Command::CopyRows { dest, src, rows, alpha: 1.0 } if fits(src) => {
                Some(Change::Sets(dest, Some(listed(src, list(rows)))))
            }
            Command::AddRows { dest, src, rows, alpha: 1.0 } if fits(src) => {
                Some(Change::Adds(dest, listed(src, list(rows))))
            }
            _ => None,
        }
    }

    /// The matrix of the input's derivative, if the user gets it.
    fn provided(&self) -> Option<SubmatrixId> {
        self.computation.commands.iter().find_map(|command| match *command {
            Command::ProvideOutput { matrix, node } if node == self.node => Some(matrix),
            _ => None,
        })
    }

    /// Returns the commands that make the input's derivative of the backprop's, if that is the sum by rows of the
    /// input, and is read by the user only.
    fn derivative(&self, backprop: usize, args: Backprop, terms: &[PickedTerm]) -> Option<Vec<usize>> {
        let provided = self.provided();
        let Some(in_deriv) = args.in_deriv else { return provided.is_none().then(Vec::new) };
        let provided = provided.filter(|&provided| self.computation.is_whole(provided))?;
        let (from, to) = (self.computation.matrix_of(in_deriv), self.computation.matrix_of(provided));
        let area = self.rect(in_deriv);
        let mut needless = Vec::new();
        // The terms and rows of the backprop's derivative that are in each row of the input's.
        let mut sums: Vec<Vec<(usize, i32)>> = vec![Vec::new(); self.computation.matrix(to).rows];
        if from != to {
            self.summands(backprop, in_deriv, to, &mut needless)?;
        }
        let mut begun = false;
        for &event in self.events.of(to.index()) {
            match (event.effect, self.command(event)) {
                _ if Self::begins(event) && !begun => {}
                (Effect::Reads(_), Command::ProvideOutput { .. }) => {}
                (Effect::Sets(_) | Effect::Changes(_), Command::Backprop(_))
                    if event.command() == backprop && from == to && terms.len() == 1 =>
                {
                    let rows = area.rows.clone();
                    rows.enumerate().for_each(|(i, row)| sums[row].push((0, i as i32)));
                }
                (Effect::Sets(_) | Effect::Changes(_), command) => {
                    let is_from = |src| self.computation.matrix_of(src) == from && from != to;
                    self.add_summands(&mut sums, self.change(command, is_from)?, &area, terms)?;
                    needless.push(event.command());
                }
                _ => return None,
            }
            begun |= !Self::begins(event);
        }
        sums.iter_mut().for_each(|sums| sums.sort_unstable());
        let mut expected = vec![Vec::new(); sums.len()];
        for (k, term) in terms.iter().enumerate() {
            for (i, &row) in term.rows.iter().enumerate().filter(|&(_, &row)| row >= 0) {
                expected[row as usize].push((k, i as i32));
            }
        }
        (sums == expected).then_some(needless)
    }

    /// Checks the uses of the backprop's derivative: it is zeroed, and then only read by commands that write to `to`.
    fn summands(
        &self,
        backprop: usize,
        in_deriv: SubmatrixId,
        to: MatrixId,
        needless: &mut Vec<usize>,
    ) -> Option<()> {
        let (mut begun, mut is_done) = (false, false);
        for &event in self.events.of(self.computation.matrix_of(in_deriv).index()) {
            match (event.effect, self.command(event)) {
                _ if Self::begins(event) && !begun => {}
                (Effect::Sets(_), Command::SetConst { value: 0.0, .. }) if !is_done => {
                    needless.push(event.command())
                }
                (Effect::Sets(s) | Effect::Changes(s), Command::Backprop(_))
                    if event.command() == backprop && s == in_deriv =>
                {
                    is_done = true;
                }
                (
                    Effect::Reads(_),
                    Command::Copy { dest, .. }
                    | Command::Add { dest, .. }
                    | Command::CopyRows { dest, .. }
                    | Command::AddRows { dest, .. },
                ) if is_done && self.computation.matrix_of(*dest) == to => {}
                _ if is_done && forgets(self.computation, self.events, event) => break,
                _ => return None,
            }
            begun |= !Self::begins(event);
        }
        is_done.then_some(())
    }

    /// Follows a command that writes to the input's derivative.
    fn add_summands(
        &self,
        sums: &mut [Vec<(usize, i32)>],
        change: Change,
        area: &Rect,
        terms: &[PickedTerm],
    ) -> Option<()> {
        let (dest, sources, sets) = match change {
            Change::Sets(dest, sources) => (self.rect(dest), sources, true),
            Change::Adds(dest, sources) => (self.rect(dest), Some(sources), false),
        };
        if dest.cols != (0..self.dim()) {
            return None;
        }
        let sources = sources.map(|(src, rows)| {
            let columns = self.rect(src).cols;
            let place = |term: &PickedTerm| {
                area.cols.start + term.columns.start == columns.start && term.columns.len() == columns.len()
            };
            Some((terms.iter().position(place)?, rows))
        });
        let sources = match sources {
            Some(None) => return None,
            Some(Some(sources)) => Some(sources),
            None => None,
        };
        for (i, row) in dest.rows.enumerate() {
            if sets {
                sums[row].clear();
            }
            if let Some((term, rows)) = &sources
                && rows[i] >= 0
            {
                let source = rows[i] as usize;
                sums[row]
                    .push((*term, area.rows.contains(&source).then(|| (source - area.rows.start) as i32)?));
            }
        }
        Some(())
    }
}

/// The effect of a command on rows of its destination. Sources have the row of a matrix for each row; -1 for zeros.
enum Change {
    /// Sets them to rows of a source, or to zeros.
    Sets(SubmatrixId, Option<(SubmatrixId, Vec<i32>)>),
    Adds(SubmatrixId, (SubmatrixId, Vec<i32>)),
}
