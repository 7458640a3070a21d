//! A pass for affine components with an input that is one matrix at several times, side by side. Such a component is a
//! filter over time. The filter takes fewer multiplications than a product (see [`nnet3_component::winograd`]), and
//! needs no copies of the input if only this component reads them. Results differ by rounding.

use super::Lowering;
use super::dataflow::{Effect, Events, Rect, Region, between, copied_from, is_read_only_by, stays};
use super::op::{FilterProduct, Op};
use crate::computation::{Backprop, Command, Computation, Propagate, SubmatrixId};
use nnet3_base::index::ComponentId;
use nnet3_component::winograd::{Filter, Taps};
use nnet3_network::Nnet;

/// A propagate of an affine component.
#[derive(Clone, Debug)]
struct Splice {
    propagate: usize,
    component: ComponentId,
    output: SubmatrixId,
    taps: Taps,
    /// The region of each tap.
    sources: Vec<Region>,
    /// Commands that become needless if the sources are read.
    copies: Vec<usize>,
}

/// Propagates for which a filter pays.
pub(super) fn run_forward(lowering: &mut Lowering<'_>) {
    let found = splices(lowering.nnet, lowering.computation, &lowering.events, |c| lowering.is_literal(c));
    for Splice { propagate, component, output, taps, sources, copies } in found {
        let Rect { rows, cols } = &sources[0].rect;
        let dims = (cols.len(), lowering.computation.submatrix(output).cols);
        let filter = Filter::new(lowering.device, taps.count, taps.step, rows.len(), dims);
        if let Some(filter) = filter {
            let sources = sources.iter().map(|source| lowering.part(source)).collect();
            lowering.replace(propagate, Op::Filter(FilterProduct { component, filter, sources, output }));
            copies.iter().for_each(|&copy| lowering.remove(copy));
        }
    }
}

/// Backprops: the component receives the taps, and chooses.
pub(super) fn run_backward(lowering: &mut Lowering<'_>) {
    let (nnet, computation) = (lowering.nnet, lowering.computation);
    for (c, command) in computation.commands.iter().enumerate() {
        let (Command::Backprop(args), Op::Backprop(backprop)) = (command, &lowering.ops[c]) else { continue };
        if args.in_deriv != backprop.args.in_deriv {
            continue;
        }
        let taps = backward(nnet, computation, &lowering.events, c);
        if taps.is_some() {
            lowering.replace(c, Op::Backprop(super::Backprop { taps, ..*backprop }));
        }
    }
}

/// Finds all splices. `is_free` is false for commands that must run literally.
fn splices(
    nnet: &Nnet,
    computation: &Computation,
    events: &Events,
    is_free: impl Fn(usize) -> bool,
) -> Vec<Splice> {
    let splice = |(c, command): (usize, &Command)| {
        let Command::Propagate(Propagate { component, input: Some(input), output, .. }) = *command else {
            return None;
        };
        nnet.component(component).as_affine().filter(|_| is_free(c))?;
        let found = find(computation, events, input, c)?;
        let blocks = found.blocks.iter();
        let (sources, copies) = match found.is_for_this_command_only(computation, events, &is_free) {
            true => (found.sources, found.copies),
            false => (blocks.cloned().collect(), Vec::new()),
        };
        Some(Splice { propagate: c, component, output, taps: found.taps, sources, copies })
    };
    computation.commands.iter().enumerate().filter_map(splice).collect()
}

/// The taps in the input value of a backprop, if it has such a structure.
fn backward(nnet: &Nnet, computation: &Computation, events: &Events, c: usize) -> Option<Taps> {
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

/// The taps found in a matrix before some command.
struct Found {
    before: usize,
    taps: Taps,
    /// The columns of each tap.
    blocks: Vec<Region>,
    /// The sources of the copies. A block that was not copied is its own source.
    sources: Vec<Region>,
    /// True if the sources still hold the copied values.
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
fn columns(computation: &Computation, s: SubmatrixId, count: usize) -> Option<Vec<Region>> {
    let Region { matrix, rect } = Region::of(computation, s);
    let width = rect.cols.len() / count;
    let block = |k: usize| {
        let first = rect.cols.start + k * width;
        Region { matrix, rect: Rect { rows: rect.rows.clone(), cols: first..first + width } }
    };
    (width > 0 && width * count == rect.cols.len()).then(|| (0..count).map(block).collect())
}

/// Rows from each area to the next, if they are otherwise the same.
fn step_of(areas: &[Region]) -> Option<usize> {
    let step = areas[1].rect.rows.start.checked_sub(areas[0].rect.rows.start).filter(|&step| step > 0)?;
    let follows = |pair: &[Region]| {
        let [a, b] = pair else { return false };
        a.matrix == b.matrix
            && a.rect.cols == b.rect.cols
            && a.rect.rows.start + step == b.rect.rows.start
            && a.rect.rows.len() == b.rect.rows.len()
    };
    areas.windows(2).all(follows).then_some(step)
}

impl Found {
    /// True if the copies become needless when this command reads the sources: no other command reads them.
    fn is_for_this_command_only(
        &self,
        computation: &Computation,
        events: &Events,
        is_free: impl Fn(usize) -> bool,
    ) -> bool {
        let mut copies = self.copies.iter();
        self.in_place
            && self.blocks.iter().zip(&self.sources).all(|(block, source)| {
                let is_own = block.matrix == source.matrix && block.rect == source.rect;
                is_own
                    || copies.next().is_some_and(|&copy| {
                        is_free(copy) && is_read_only_by(computation, events, block, copy, self.before)
                    })
            })
    }
}

/// True if the input derivative of a backprop is only summed over taps that hold the same row, and then lost.
fn is_summed(computation: &Computation, events: &Events, deriv: SubmatrixId, c: usize, taps: Taps) -> bool {
    let Some(blocks) = columns(computation, deriv, taps.count) else { return false };
    let later = between(events, blocks[0].matrix, c + 1..usize::MAX);
    let mut sums: Vec<(usize, Option<Region>)> = vec![(0, None); taps.count];
    for event in later {
        match (event.effect, &computation.commands[event.command()]) {
            (Effect::Deallocates, _) => break,
            (
                Effect::Reads(s),
                &(Command::Copy { dest, src, alpha: 1.0 } | Command::Add { dest, src, alpha: 1.0 }),
            ) if s == src => {
                let rect = Rect::of(computation, src);
                let Some(k) = blocks.iter().position(|block| block.rect == rect) else { return false };
                if sums[k].1.is_some() {
                    return false;
                }
                sums[k] = (event.command(), Some(Region::of(computation, dest)));
            }
            _ => return false,
        }
    }
    let Some(into) = sums.iter().map(|sum| sum.1.clone()).collect::<Option<Vec<Region>>>() else {
        return false;
    };
    let commands = || sums.iter().map(|sum| sum.0);
    let (Some(first), Some(last)) = (commands().min(), commands().max()) else { return false };
    // A later copy would overwrite the sum.
    let copies_later =
        sums.iter().any(|&(c, _)| c != first && matches!(computation.commands[c], Command::Copy { .. }));
    let mut meanwhile = between(events, into[0].matrix, first..last + 1).iter();
    !copies_later
        && into[0].matrix != blocks[0].matrix
        && step_of(&into) == Some(taps.step)
        && meanwhile.all(|event| commands().any(|c| c == event.command()))
}
