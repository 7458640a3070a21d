//! A record of the accesses of a computation's commands to its matrices, in order. Several passes query it.

use crate::analysis::{AccessKind, submatrix_accesses};
use crate::buckets::Buckets;
use crate::computation::{Command, Computation, MatrixId, SubmatrixId};
use nnet3_network::Nnet;
use std::ops::Range;

/// A rectangle of a matrix: a range of rows and a range of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rect {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
}

fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

impl Rect {
    pub fn of(computation: &Computation, s: SubmatrixId) -> Rect {
        let s = computation.submatrix(s);
        Rect { rows: s.row_offset..s.row_offset + s.rows, cols: s.col_offset..s.col_offset + s.cols }
    }

    pub fn common(&self, other: &Rect) -> Rect {
        Rect { rows: common(&self.rows, &other.rows), cols: common(&self.cols, &other.cols) }
    }

    pub fn elements(&self) -> usize {
        self.rows.len() * self.cols.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.cols.is_empty()
    }

    /// Returns the parts outside `other`: above, below, left and right of it.
    pub fn without(&self, other: &Rect) -> impl Iterator<Item = Rect> + use<> {
        let inside = self.common(other);
        let parts = if inside.is_empty() {
            let nothing = Rect { rows: 0..0, cols: 0..0 };
            [self.clone(), nothing.clone(), nothing.clone(), nothing]
        } else {
            let Rect { rows, cols } = inside;
            [
                Rect { rows: self.rows.start..rows.start, cols: self.cols.clone() },
                Rect { rows: rows.end..self.rows.end, cols: self.cols.clone() },
                Rect { rows: rows.clone(), cols: self.cols.start..cols.start },
                Rect { rows, cols: cols.end..self.cols.end },
            ]
        };
        parts.into_iter().filter(|part| !part.is_empty())
    }
}

/// Part of a matrix.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub matrix: MatrixId,
    pub rect: Rect,
}

impl Region {
    pub fn of(computation: &Computation, s: SubmatrixId) -> Region {
        Region { matrix: computation.matrix_of(s), rect: Rect::of(computation, s) }
    }

    /// Returns the part of the region that has these columns.
    pub fn columns(&self, columns: &Range<usize>) -> Region {
        let Rect { rows, cols } = &self.rect;
        let cols = cols.start + columns.start..cols.start + columns.end;
        Region { matrix: self.matrix, rect: Rect { rows: rows.clone(), cols } }
    }

    pub(crate) fn with_rows(&self, rows: Range<usize>) -> Region {
        Region { matrix: self.matrix, rect: Rect { rows, cols: self.rect.cols.clone() } }
    }
}

/// The effect of a command on a matrix or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Reads(SubmatrixId),
    /// Sets every element, for any old contents.
    Sets(SubmatrixId),
    /// Reads, and writes or may write.
    Changes(SubmatrixId),
    Allocates,
    Deallocates,
    SwapsWith(MatrixId),
}

/// The sub-matrix that is read or written; `None` if the matrix moves.
pub(super) fn touched(effect: Effect) -> Option<SubmatrixId> {
    match effect {
        Effect::Reads(s) | Effect::Sets(s) | Effect::Changes(s) => Some(s),
        Effect::Allocates | Effect::Deallocates | Effect::SwapsWith(_) => None,
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    command: u32,
    pub effect: Effect,
}

impl Event {
    pub fn command(&self) -> usize {
        self.command as usize
    }
}

/// The events of each matrix, in the order of commands. Within one command, reads come before sets.
pub(super) type Events = Buckets<Event>;

/// Returns the events of a matrix within these commands.
pub(super) fn between(events: &Events, matrix: MatrixId, commands: Range<usize>) -> &[Event] {
    let events = events.of(matrix.index());
    let until = |command: usize| events.partition_point(|event| event.command() < command);
    let first = until(commands.start);
    &events[first..until(commands.end).max(first)]
}

pub(super) fn events(nnet: &Nnet, computation: &Computation) -> Events {
    let mut found = Vec::with_capacity(4 * computation.commands.len());
    let mut accesses = Vec::new();
    for (command, c) in computation.commands.iter().enumerate() {
        let command = command as u32;
        let mut push = |s: SubmatrixId, effect| {
            found.push((computation.matrix_of(s).0, Event { command, effect }));
        };
        match *c {
            Command::Allocate { matrix } => push(matrix, Effect::Allocates),
            Command::Deallocate { matrix } => push(matrix, Effect::Deallocates),
            Command::Swap { first, second } => {
                push(first, Effect::SwapsWith(computation.matrix_of(second)));
                push(second, Effect::SwapsWith(computation.matrix_of(first)));
            }
            _ => {
                accesses.clear();
                submatrix_accesses(nnet, computation, c, &mut accesses);
                let sets = |&(s, kind): &(SubmatrixId, AccessKind)| {
                    // Rows that are picked from nowhere become zeros.
                    let picks = matches!(*c, Command::CopyRows { dest, .. } if dest == s);
                    kind == AccessKind::Write || (picks && kind == AccessKind::ReadWrite)
                };
                for access in accesses.iter().filter(|access| !sets(access)) {
                    let reads = access.1 == AccessKind::Read;
                    push(access.0, if reads { Effect::Reads(access.0) } else { Effect::Changes(access.0) });
                }
                for access in accesses.iter().filter(|access| sets(access)) {
                    push(access.0, Effect::Sets(access.0));
                }
            }
        }
    }
    Events::new(computation.matrices.len(), &found)
}

/// True if no command in the range writes there and the matrix stays in place.
pub(super) fn stays(
    computation: &Computation,
    events: &Events,
    area: &Region,
    commands: Range<usize>,
) -> bool {
    between(events, area.matrix, commands).iter().all(|event| match event.effect {
        Effect::Reads(_) => true,
        Effect::Sets(s) | Effect::Changes(s) => Rect::of(computation, s).common(&area.rect).is_empty(),
        _ => false,
    })
}

/// Returns the last copy that wrote this region before some command, and the source of the copy.
pub(super) fn copied_from(
    computation: &Computation,
    events: &Events,
    area: &Region,
    before: usize,
) -> Option<(usize, Region)> {
    let writes = |event: &&Event| match event.effect {
        Effect::Reads(_) => false,
        Effect::Sets(s) | Effect::Changes(s) => !Rect::of(computation, s).common(&area.rect).is_empty(),
        _ => true,
    };
    let copy = between(events, area.matrix, 0..before).iter().rev().find(writes)?.command();
    match computation.commands[copy] {
        Command::Copy { dest, src, alpha: 1.0 } if Rect::of(computation, dest) == area.rect => {
            Some((copy, Region::of(computation, src)))
        }
        _ => None,
    }
}

/// True if only one command reads the result of a copy, before it is lost.
pub(super) fn is_read_only_by(
    computation: &Computation,
    events: &Events,
    block: &Region,
    copy: usize,
    reader: usize,
) -> bool {
    let touches = |what| match what {
        Effect::Reads(s) | Effect::Sets(s) | Effect::Changes(s) => {
            !Rect::of(computation, s).common(&block.rect).is_empty()
        }
        _ => true,
    };
    let mut matrix = block.matrix;
    let mut since = copy;
    loop {
        let later = between(events, matrix, since + 1..usize::MAX).iter();
        let mut others = later.filter(|event| event.command() != reader);
        let Some(next) = others.find(|event| touches(event.effect)) else { return true };
        if next.command() < reader {
            return false;
        }
        match next.effect {
            Effect::Deallocates => return true,
            Effect::Sets(s) => return Rect::of(computation, s).common(&block.rect) == block.rect,
            // The storage continues as another matrix.
            Effect::SwapsWith(other) => (matrix, since) = (other, next.command()),
            Effect::Reads(_) | Effect::Changes(_) | Effect::Allocates => return false,
        }
    }
}

/// True if of the commands after `writer` only these read its result, before it is lost. Compression does not count.
pub(super) fn is_read_only_where(
    computation: &Computation,
    events: &Events,
    block: &Region,
    writer: usize,
    is_known: impl Fn(usize) -> bool,
) -> bool {
    let (mut matrix, mut since) = (block.matrix, writer);
    loop {
        let later = between(events, matrix, since + 1..usize::MAX).iter();
        let mut others = later.filter(|event| {
            let compression = matches!(
                computation.commands[event.command()],
                Command::Compress { .. } | Command::Decompress { .. }
            );
            !compression && !is_known(event.command())
        });
        let Some(next) = others.find(|event| match event.effect {
            Effect::Reads(s) | Effect::Sets(s) | Effect::Changes(s) => {
                !Rect::of(computation, s).common(&block.rect).is_empty()
            }
            _ => true,
        }) else {
            return true;
        };
        match next.effect {
            Effect::Deallocates => return true,
            Effect::Sets(s) => return Rect::of(computation, s).common(&block.rect) == block.rect,
            // The storage continues as another matrix.
            Effect::SwapsWith(other) => (matrix, since) = (other, next.command()),
            Effect::Reads(_) | Effect::Changes(_) | Effect::Allocates => return false,
        }
    }
}

/// True if the contents of a matrix are lost at this event. Either it is freed, or its storage goes to a matrix that
/// is set next.
pub(super) fn forgets(computation: &Computation, events: &Events, event: Event) -> bool {
    match event.effect {
        Effect::Deallocates => true,
        Effect::SwapsWith(other) => {
            let next = events.of(other.index()).iter().find(|next| next.command() > event.command());
            next.is_some_and(|next| match next.effect {
                Effect::Sets(s) => computation.is_whole(s),
                _ => false,
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the obvious way: a set of elements.
    #[test]
    fn parts_without_parts() {
        let elements = |parts: &[Rect]| {
            let mut all: Vec<(usize, usize)> = parts
                .iter()
                .flat_map(|p| p.rows.clone().flat_map(|i| p.cols.clone().map(move |j| (i, j))))
                .collect();
            all.sort_unstable();
            all
        };
        let ranges: Vec<Range<usize>> = (0..4).flat_map(|a| (a..4).map(move |b| a..b)).collect();
        let parts: Vec<Rect> = ranges
            .iter()
            .flat_map(|rows| ranges.iter().map(|cols| Rect { rows: rows.clone(), cols: cols.clone() }))
            .collect();
        for a in &parts {
            for b in &parts {
                let inside = elements(std::slice::from_ref(b));
                let (both, rest): (Vec<_>, Vec<_>) =
                    elements(std::slice::from_ref(a)).into_iter().partition(|e| inside.contains(e));
                assert_eq!(elements(&[a.common(b)]), both, "{a:?} {b:?}");
                assert_eq!(elements(&a.without(b).collect::<Vec<_>>()), rest, "{a:?} {b:?}");
            }
        }
    }
}
