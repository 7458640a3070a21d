//! Inputs of affine components that are made of the rows of one matrix at several times, side by side: filters over time,
//! which take fewer multiplications than products (see [`crate::component::winograd`]), and need no copies where only the
//! product reads them.

use super::events::{Event, Events, What, between};
use super::steps::Area;
use super::zeroing::Part;
use crate::component::winograd::Taps;
use crate::computation::{Backprop, Command, Computation, Propagate, SubmatrixId};
use crate::nnet::Nnet;
use std::ops::Range;

/// A propagate of an affine component.
#[derive(Clone, Debug)]
pub(super) struct Splice {
    pub propagate: usize,
    pub taps: Taps,
    /// Where each tap is.
    pub sources: Vec<Area>,
    /// Commands that nobody needs where the sources are read.
    pub copies: Vec<usize>,
}

/// All of them. `is_free` tells commands that are to be done just as they say.
pub(super) fn splices(
    nnet: &Nnet,
    computation: &Computation,
    events: &Events,
    is_free: impl Fn(usize) -> bool,
) -> Vec<Splice> {
    let splice = |(c, command): (usize, &Command)| {
        let Command::Propagate(Propagate { component, input: Some(input), .. }) = *command else {
            return None;
        };
        nnet.component(component).as_affine().filter(|_| is_free(c))?;
        let found = find(computation, events, input, c)?;
        let blocks = found.blocks.iter();
        let (sources, copies) = match found.is_for_this_command_only(computation, events, &is_free) {
            true => (found.sources, found.copies),
            false => (blocks.cloned().collect(), Vec::new()),
        };
        Some(Splice { propagate: c, taps: found.taps, sources, copies })
    };
    computation.commands.iter().enumerate().filter_map(splice).collect()
}

/// The taps that the input value of a backprop is made of, if it is.
pub(super) fn backward(nnet: &Nnet, computation: &Computation, events: &Events, c: usize) -> Option<Taps> {
    let Command::Backprop(Backprop { component, in_value: Some(in_value), in_deriv, .. }) =
        computation.commands[c]
    else {
        return None;
    };
    nnet.component(component).as_affine()?;
    let taps = find(computation, events, in_value, c)?.taps;
    let summed = in_deriv.is_none_or(|in_deriv| is_summed(computation, events, in_deriv, c, taps));
    Some(Taps { summed, ..taps })
}

/// What a matrix holds before some command.
struct Found {
    before: usize,
    taps: Taps,
    /// The columns of each tap.
    blocks: Vec<Area>,
    /// What they are copies of; a block that has not been copied is its own source.
    sources: Vec<Area>,
    /// Whether the sources still hold what has been copied.
    in_place: bool,
    copies: Vec<usize>,
}

fn find(computation: &Computation, events: &Events, s: SubmatrixId, before: usize) -> Option<Found> {
    [3, 2].into_iter().find_map(|count| {
        let blocks = columns(computation, s, count)?;
        let (mut sources, mut copies) = (Vec::new(), Vec::new());
        for block in &blocks {
            match copied_from(computation, events, block, before) {
                Some((copy, source)) => {
                    copies.push(copy);
                    sources.push(source);
                }
                None => sources.push(block.clone()),
            }
        }
        let step = step_of(&sources)?;
        let (first, last) = (*copies.iter().min()?, *copies.iter().max()?);
        let stay = |until| sources.iter().all(|source| stays(computation, events, source, first..until));
        // A block that is its own source has to be there for the product.
        let all_copied = copies.len() == count;
        let in_place = stay(before);
        let taps = Taps { count, step, summed: false };
        (in_place || all_copied && stay(last)).then_some(Found {
            before,
            taps,
            blocks,
            sources,
            in_place,
            copies,
        })
    })
}

/// The columns of a sub-matrix in `count` parts of one width.
fn columns(computation: &Computation, s: SubmatrixId, count: usize) -> Option<Vec<Area>> {
    let Area { matrix, part } = Area::of(computation, s);
    let width = part.cols.len() / count;
    let block = |k: usize| {
        let first = part.cols.start + k * width;
        Area { matrix, part: Part { rows: part.rows.clone(), cols: first..first + width } }
    };
    (width > 0 && width * count == part.cols.len()).then(|| (0..count).map(block).collect())
}

/// Rows from each area to the next, if they are otherwise the same.
fn step_of(areas: &[Area]) -> Option<usize> {
    let step = areas[1].part.rows.start.checked_sub(areas[0].part.rows.start).filter(|&step| step > 0)?;
    let follows = |pair: &[Area]| {
        let [a, b] = pair else { return false };
        a.matrix == b.matrix
            && a.part.cols == b.part.cols
            && a.part.rows.start + step == b.part.rows.start
            && a.part.rows.len() == b.part.rows.len()
    };
    areas.windows(2).all(follows).then_some(step)
}

/// Whether nobody writes there during these commands, and the matrix stays where it is.
pub(super) fn stays(computation: &Computation, events: &Events, area: &Area, commands: Range<usize>) -> bool {
    between(events, area.matrix, commands).iter().all(|event| match event.what {
        What::Reads(_) => true,
        What::Sets(s) | What::Changes(s) => Part::of(computation, s).common(&area.part).is_empty(),
        _ => false,
    })
}

/// The copy that has last written this before some command, and what it has copied.
pub(super) fn copied_from(
    computation: &Computation,
    events: &Events,
    area: &Area,
    before: usize,
) -> Option<(usize, Area)> {
    let writes = |event: &&Event| match event.what {
        What::Reads(_) => false,
        What::Sets(s) | What::Changes(s) => !Part::of(computation, s).common(&area.part).is_empty(),
        _ => true,
    };
    let copy = between(events, area.matrix, 0..before).iter().rev().find(writes)?.command();
    match computation.commands[copy] {
        Command::Copy { dest, src, alpha: 1.0 } if Part::of(computation, dest) == area.part => {
            Some((copy, Area::of(computation, src)))
        }
        _ => None,
    }
}

impl Found {
    /// Whether the copies are needless if this command reads the sources: no other command looks at what has been copied.
    fn is_for_this_command_only(
        &self,
        computation: &Computation,
        events: &Events,
        is_free: impl Fn(usize) -> bool,
    ) -> bool {
        let mut copies = self.copies.iter();
        self.in_place
            && self.blocks.iter().zip(&self.sources).all(|(block, source)| {
                let is_own = block.matrix == source.matrix && block.part == source.part;
                is_own
                    || copies.next().is_some_and(|&copy| {
                        is_free(copy) && is_seen_by(computation, events, block, copy, self.before)
                    })
            })
    }
}

/// Whether what a copy has written is looked at by one command only, and then forgotten.
pub(super) fn is_seen_by(
    computation: &Computation,
    events: &Events,
    block: &Area,
    copy: usize,
    reader: usize,
) -> bool {
    let touches = |what| match what {
        What::Reads(s) | What::Sets(s) | What::Changes(s) => {
            !Part::of(computation, s).common(&block.part).is_empty()
        }
        _ => true,
    };
    let mut matrix = block.matrix;
    let mut since = copy;
    loop {
        let later = between(events, matrix, since + 1..usize::MAX).iter();
        let mut others = later.filter(|event| event.command() != reader);
        let Some(next) = others.find(|event| touches(event.what)) else { return true };
        if next.command() < reader {
            return false;
        }
        match next.what {
            What::Deallocates => return true,
            What::Sets(s) => return Part::of(computation, s).common(&block.part) == block.part,
            // The storage goes on as another matrix.
            What::SwapsWith(other) => (matrix, since) = (other, next.command()),
            What::Reads(_) | What::Changes(_) | What::Allocates => return false,
        }
    }
}

/// Whether what a backprop gives as its input's derivative is added up where the taps hold the same, and then forgotten.
fn is_summed(computation: &Computation, events: &Events, deriv: SubmatrixId, c: usize, taps: Taps) -> bool {
    let Some(blocks) = columns(computation, deriv, taps.count) else { return false };
    let later = between(events, blocks[0].matrix, c + 1..usize::MAX);
    let mut sums: Vec<(usize, Option<Area>)> = vec![(0, None); taps.count];
    for event in later {
        match (event.what, &computation.commands[event.command()]) {
            (What::Deallocates, _) => break,
            (
                What::Reads(s),
                &(Command::Copy { dest, src, alpha: 1.0 } | Command::Add { dest, src, alpha: 1.0 }),
            ) if s == src => {
                let part = Part::of(computation, src);
                let Some(k) = blocks.iter().position(|block| block.part == part) else { return false };
                if sums[k].1.is_some() {
                    return false;
                }
                sums[k] = (event.command(), Some(Area::of(computation, dest)));
            }
            _ => return false,
        }
    }
    let Some(into) = sums.iter().map(|sum| sum.1.clone()).collect::<Option<Vec<Area>>>() else {
        return false;
    };
    let commands = || sums.iter().map(|sum| sum.0);
    let (Some(first), Some(last)) = (commands().min(), commands().max()) else { return false };
    // A later copy would overwrite what has been added.
    let copies_later =
        sums.iter().any(|&(c, _)| c != first && matches!(computation.commands[c], Command::Copy { .. }));
    let mut meanwhile = between(events, into[0].matrix, first..last + 1).iter();
    !copies_later
        && into[0].matrix != blocks[0].matrix
        && step_of(&into) == Some(taps.step)
        && meanwhile.all(|event| commands().any(|c| c == event.command()))
}
