//! How much of what a computation zeroes has to be zero: not what is set before it is read, nor a derivative which a product
//! is added to and could as well set.

use super::events::{Event, What};
use crate::computation::{Backprop, Command, Computation, Propagate, SubmatrixId};
use crate::nnet::Nnet;
use std::ops::Range;

/// Rows and columns of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
}

/// More parts than this are not worth it.
const MOST_PARTS: usize = 32;

fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

impl Part {
    pub fn of(computation: &Computation, s: SubmatrixId) -> Part {
        let s = computation.submatrix(s);
        Part { rows: s.row_offset..s.row_offset + s.rows, cols: s.col_offset..s.col_offset + s.cols }
    }

    pub fn common(&self, other: &Part) -> Part {
        Part { rows: common(&self.rows, &other.rows), cols: common(&self.cols, &other.cols) }
    }

    fn elements(&self) -> usize {
        self.rows.len() * self.cols.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.cols.is_empty()
    }

    /// What is not in `other`: above, below, left and right of it.
    fn without(&self, other: &Part) -> impl Iterator<Item = Part> + use<> {
        let inside = self.common(other);
        let parts = if inside.is_empty() {
            let nothing = Part { rows: 0..0, cols: 0..0 };
            [self.clone(), nothing.clone(), nothing.clone(), nothing]
        } else {
            let Part { rows, cols } = inside;
            [
                Part { rows: self.rows.start..rows.start, cols: self.cols.clone() },
                Part { rows: rows.end..self.rows.end, cols: self.cols.clone() },
                Part { rows: rows.clone(), cols: self.cols.start..cols.start },
                Part { rows, cols: cols.end..self.cols.end },
            ]
        };
        parts.into_iter().filter(|part| !part.is_empty())
    }
}

/// What is left of a zeroing.
pub(super) struct Needed {
    pub parts: Vec<Part>,
    /// Commands that have to set what they otherwise add to.
    pub setters: Vec<usize>,
}

/// What has to be zero of `zeroed`, and `events` are what happens to its matrix later. `None` if that is not known, or too
/// scattered.
pub(super) fn needed(
    nnet: &Nnet,
    computation: &Computation,
    zeroed: SubmatrixId,
    events: &[Event],
) -> Option<Needed> {
    let mut needed = Needed { parts: Vec::new(), setters: Vec::new() };
    // Of what nobody has looked at yet.
    let mut open = vec![Part::of(computation, zeroed)];
    for event in events {
        let (part, looks) = match event.what {
            What::Deallocates => return Some(needed),
            What::Allocates | What::SwapsWith(_) => return None,
            What::Sets(s) => (Part::of(computation, s), false),
            What::Reads(s) => (Part::of(computation, s), true),
            What::Changes(s) => {
                let part = Part::of(computation, s);
                let still_zero: usize = open.iter().map(|o| o.common(&part).elements()).sum();
                let sets = still_zero == part.elements()
                    && sets_if_asked(nnet, &computation.commands[event.command()], s);
                if sets {
                    needed.setters.push(event.command());
                }
                (part, !sets)
            }
        };
        if looks {
            needed.parts.extend(open.iter().map(|o| o.common(&part)).filter(|common| !common.is_empty()));
        }
        open = open.iter().flat_map(|o| o.without(&part)).collect();
        if open.is_empty() {
            return Some(needed);
        }
        if open.len() + needed.parts.len() > MOST_PARTS {
            return None;
        }
    }
    Some(needed)
}

/// Whether this is a propagate or a backprop to `dest` whose component can set it.
fn sets_if_asked(nnet: &Nnet, command: &Command, dest: SubmatrixId) -> bool {
    match *command {
        Command::Backprop(Backprop { component, in_deriv, in_value, out_value, out_deriv, .. }) => {
            in_deriv == Some(dest)
                && in_value != Some(dest)
                && out_value != Some(dest)
                && out_deriv != dest
                && nnet.component(component).sets_in_deriv()
        }
        Command::Propagate(Propagate { component, input, output, .. }) => {
            output == dest && input != Some(dest) && nnet.component(component).sets_output()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the obvious: a set of elements.
    #[test]
    fn parts_without_parts() {
        let elements = |parts: &[Part]| {
            let mut all: Vec<(usize, usize)> = parts
                .iter()
                .flat_map(|p| p.rows.clone().flat_map(|i| p.cols.clone().map(move |j| (i, j))))
                .collect();
            all.sort_unstable();
            all
        };
        let ranges: Vec<Range<usize>> = (0..4).flat_map(|a| (a..4).map(move |b| a..b)).collect();
        let parts: Vec<Part> = ranges
            .iter()
            .flat_map(|rows| ranges.iter().map(|cols| Part { rows: rows.clone(), cols: cols.clone() }))
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
