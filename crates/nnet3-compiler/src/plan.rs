//! The memory plan: from lifetimes, which the commands make explicit, to fixed offsets in one arena.

use crate::computation::{Backprop, Command, Computation, MatrixId, PendingMemos, Propagate, SubmatrixId};
use crate::forms::forms;
use nnet3_base::error::{Error, Result};
use nnet3_base::random::Random;
use nnet3_component::Component;
use nnet3_matrix::Element;
use nnet3_network::Nnet;
use std::cell::LazyCell;
use std::ops::Range;

/// Offsets are multiples of this many elements: 64 bytes are a cache line of the host and the alignment of its widest
/// loads. They are two memory sectors of a GPU, and more than GPU matrix products require (16).
pub const ALIGNMENT: usize = 16;

/// Places of all matrices, in floats from the arena's start.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The offset of each matrix; 0 for matrices without memory.
    pub matrix_offsets: Vec<usize>,
    /// The form of each matrix.
    pub forms: Vec<Element>,
    /// The commands with a memo (propagate or backprop), in order, and the place of the memo.
    pub memos: Vec<(usize, MemoPlace)>,
    /// Size of the arena, in floats.
    pub elements: usize,
    /// The largest total size of blocks that are alive at one time, each rounded up to the alignment: no plan can be
    /// smaller.
    pub peak_live_elements: usize,
}

/// A memo in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoPlace {
    pub offset: usize,
    pub rows: usize,
    pub cols: usize,
}

impl Plan {
    pub fn arena_bytes(&self) -> usize {
        4 * self.elements
    }
    /// Returns the place of the memo of the propagate or backprop `command`, if it has one.
    pub fn memo(&self, command: usize) -> Option<MemoPlace> {
        let found = self.memos.binary_search_by_key(&command, |&(c, _)| c);
        found.ok().map(|i| self.memos[i].1)
    }
    /// The place of a matrix of this many elements, in floats from the arena's start.
    pub fn memory_of(&self, matrix: MatrixId, elements: usize) -> Range<usize> {
        let first = self.matrix_offsets[matrix.index()];
        first..first + self.forms[matrix.index()].floats(elements)
    }
    pub fn peak_live_bytes(&self) -> usize {
        4 * self.peak_live_elements
    }
}

/// Memory that is needed from the command `first` to the command `last`, both included.
#[derive(Clone, Debug)]
struct Block {
    elements: usize,
    first: usize,
    last: usize,
}

/// Plans a computation that the checker accepts, for a device that keeps matrices between layers in this form.
pub fn plan(nnet: &Nnet, computation: &Computation, between_layers: Element) -> Result<Plan> {
    let mut blocks = Vec::new();
    let forms = forms(nnet, computation, between_layers);
    let block_of_matrix = matrix_blocks(computation, &forms, &mut blocks)?;
    let memos = memo_blocks(nnet, computation, &mut blocks);
    // A loop returns to earlier commands, so all matrices may still be needed.
    if matches!(computation.commands.last(), Some(Command::Goto { .. })) {
        for block in &mut blocks {
            (block.first, block.last) = (0, computation.commands.len());
        }
    }
    let used = used(&blocks);
    let peak_live_elements = used.iter().copied().max().unwrap_or(0);
    let (offsets, elements) = place(&blocks, &used, peak_live_elements);
    Ok(Plan {
        matrix_offsets: block_of_matrix.iter().map(|b| b.map_or(0, |b| offsets[b])).collect(),
        memos: memos
            .into_iter()
            .map(|(c, b, (rows, cols))| (c, MemoPlace { offset: offsets[b], rows, cols }))
            .collect(),
        forms,
        elements,
        peak_live_elements,
    })
}

fn round_up(elements: usize) -> usize {
    elements.next_multiple_of(ALIGNMENT)
}

/// One block for each chain of matrices that hand their storage on by swaps.
fn matrix_blocks(
    computation: &Computation,
    forms: &[Element],
    blocks: &mut Vec<Block>,
) -> Result<Vec<Option<usize>>> {
    let end = computation.commands.len();
    let looped = matches!(computation.commands.last(), Some(Command::Goto { .. }));
    let mut block_of: Vec<Option<usize>> = vec![None; computation.matrices.len()];
    let start = |m: MatrixId, c: usize, block_of: &mut Vec<Option<usize>>, blocks: &mut Vec<Block>| {
        if block_of[m.index()].is_none() {
            let info = computation.matrix(m);
            block_of[m.index()] = Some(blocks.len());
            let floats = forms[m.index()].floats(info.rows * info.cols);
            blocks.push(Block { elements: round_up(floats), first: c, last: end });
        }
    };
    for (c, command) in computation.commands.iter().enumerate() {
        let of = |s: SubmatrixId| computation.matrix_of(s);
        match *command {
            Command::Allocate { matrix } | Command::AcceptInput { matrix, .. } => {
                start(of(matrix), c, &mut block_of, blocks)
            }
            Command::Deallocate { matrix } => {
                if let Some(b) = block_of[of(matrix).index()] {
                    blocks[b].last = c;
                }
            }
            // In a loop both sides keep their own place and the executor copies.
            Command::Swap { first, second } if looped => {
                start(of(first), c, &mut block_of, blocks);
                start(of(second), c, &mut block_of, blocks);
            }
            Command::Swap { first, second } => {
                let taken = block_of[of(second).index()];
                let taken =
                    taken.ok_or_else(|| Error::computation("a swap takes a matrix that is not allocated"))?;
                block_of[of(first).index()] = Some(taken);
            }
            _ => {}
        }
    }
    Ok(block_of)
}

type MemoBlock = (usize, usize, (usize, usize));

/// Adds a block for the memo of each propagate and backprop that has one. Returns command, block and shape.
fn memo_blocks(nnet: &Nnet, computation: &Computation, blocks: &mut Vec<Block>) -> Vec<MemoBlock> {
    let mut kept = PendingMemos::default();
    let mut out = Vec::new();
    for (c, command) in computation.commands.iter().enumerate() {
        match *command {
            Command::Propagate(Propagate { component, precomputed, output, memo, .. }) => {
                let component: &dyn Component = nnet.component(component);
                let indexes = precomputed.and_then(|p| computation.precomputed[p.index()].data.as_deref());
                let shape = component.memo_shape(indexes, computation.submatrix(output).rows);
                if shape.0 * shape.1 > 0 {
                    let block = blocks.len();
                    blocks.push(Block { elements: round_up(shape.0 * shape.1), first: c, last: c });
                    out.push((c, block, shape));
                    if let Some(memo) = memo {
                        kept.add(memo, (block, shape));
                    }
                }
            }
            Command::Backprop(Backprop { memo: Some(memo), .. }) => {
                if let Some((block, shape)) = kept.take(memo) {
                    blocks[block].last = c;
                    out.push((c, block, shape));
                }
            }
            _ => {}
        }
    }
    out
}

/// Attempts to shrink an arena that is larger than it needs to be.
const MAX_ATTEMPTS: usize = 60;

/// Returns offsets and the arena's size. Tries a few orders of placement until the arena is at most 1 % larger than
/// `lower_bound`. If no order reaches that, takes the best one and moves blocks above the bound to earlier places, as
/// long as the arena does not grow. The same blocks always give the same plan. `used` is from [`used`].
fn place(blocks: &[Block], used: &[usize], lower_bound: usize) -> (Vec<usize>, usize) {
    let good_enough = lower_bound + lower_bound / 100;
    let mut best = Placed::new(blocks, Vec::new());
    for sequence in orders(blocks, used) {
        let placed = Placed::new(blocks, sequence);
        if best.sequence.is_empty() || placed.end < best.end {
            best = placed;
        }
        if best.end <= good_enough {
            break;
        }
    }
    let random = Random::new(1);
    let pick = |count: usize| random.int(0, count as i32 - 1) as usize;
    for _ in 0..MAX_ATTEMPTS {
        if best.end <= good_enough {
            break;
        }
        let sticks_out =
            |&i: &usize| best.offsets[best.sequence[i]] + blocks[best.sequence[i]].elements > lower_bound;
        let those: Vec<usize> = (0..best.sequence.len()).filter(sticks_out).collect();
        let from = those[pick(those.len())];
        let mut sequence = best.sequence.clone();
        sequence[pick(from + 1)..=from].rotate_right(1);
        let placed = Placed::new(blocks, sequence);
        if placed.end <= best.end {
            best = placed;
        }
    }
    (best.offsets, best.end)
}

/// Orders worth trying: the largest first; the longest lived first; as they come; those first that live when most memory is
/// in use.
fn orders(blocks: &[Block], used: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    // The last orders are rarely needed.
    let crowd = LazyCell::new(|| crowds(blocks, used));
    (0..6).map(move |order| {
        let first = |b: usize| blocks[b].first;
        // The largest and the longest lived before others.
        let size = |b: usize| !blocks[b].elements;
        let span = |b: usize| !(blocks[b].last - blocks[b].first);
        let size_and_span = |b: usize| !(blocks[b].elements * (blocks[b].last - blocks[b].first + 1));
        let key = |b: usize| match order {
            0 => (size(b), first(b)),
            1 => (size_and_span(b), first(b)),
            2 => (span(b), size(b)),
            3 => (first(b), span(b)),
            4 => (!crowd[b], size(b)),
            _ => (!crowd[b], span(b)),
        };
        let mut sequence: Vec<(usize, usize, usize)> = Vec::with_capacity(blocks.len());
        sequence.extend((0..blocks.len()).map(|b| (key(b).0, key(b).1, b)));
        sequence.sort_unstable();
        sequence.iter().map(|&(.., b)| b).collect()
    })
}

/// The memory in use at each command.
fn used(blocks: &[Block]) -> Vec<usize> {
    let end = blocks.iter().map(|b| b.last + 1).max().unwrap_or(0);
    let mut changes = vec![(0, 0); end + 1];
    for block in blocks {
        changes[block.first].0 += block.elements;
        changes[block.last + 1].1 += block.elements;
    }
    let mut now = 0;
    let after = |(begun, ended): &(usize, usize)| {
        now = now + begun - ended;
        now
    };
    changes.iter().map(after).collect()
}

/// For each block, the most memory that is in use at one time of its life.
fn crowds(blocks: &[Block], used: &[usize]) -> Vec<usize> {
    /// Number of consecutive commands with a known common maximum.
    const RUN: usize = 32;
    let most = |list: &[usize]| list.iter().copied().max().unwrap_or(0);
    let of_runs: Vec<usize> = used.chunks(RUN).map(most).collect();
    let of_block = |b: &Block| {
        let (first, last) = (b.first.div_ceil(RUN), (b.last + 1) / RUN);
        if first >= last {
            return most(&used[b.first..=b.last]);
        }
        let ends = most(&used[b.first..first * RUN]).max(most(&used[last * RUN..=b.last]));
        ends.max(most(&of_runs[first..last]))
    };
    blocks.iter().map(of_block).collect()
}

/// An arrangement.
struct Placed {
    /// The order in which blocks were placed.
    sequence: Vec<usize>,
    /// The offset of each block.
    offsets: Vec<usize>,
    end: usize,
}

impl Placed {
    fn new(blocks: &[Block], sequence: Vec<usize>) -> Placed {
        let (offsets, end) = place_in_order(blocks, &sequence);
        Placed { sequence, offsets, end }
    }
}

/// Places each block in turn at the lowest gap that is free during its life.
fn place_in_order(blocks: &[Block], sequence: &[usize]) -> (Vec<usize>, usize) {
    let mut offsets = vec![0; blocks.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(blocks.len());
    let mut end = 0;
    for &b in sequence {
        let block = &blocks[b];
        let mut offset = 0;
        for &other in &placed {
            // `placed` is in the order of offsets.
            let o = &blocks[other];
            if o.first > block.last || o.last < block.first {
                continue;
            }
            if offsets[other] >= offset + block.elements {
                break;
            }
            offset = offset.max(offsets[other] + o.elements);
        }
        offsets[b] = offset;
        end = end.max(offset + block.elements);
        let position = placed.partition_point(|&p| offsets[p] <= offset);
        placed.insert(position, b);
    }
    (offsets, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(elements: usize, first: usize, last: usize) -> Block {
        Block { elements, first, last }
    }

    /// Blocks alive at the same time must not overlap, and the arena must reach the lower bound in easy cases.
    #[test]
    fn no_two_live_blocks_overlap() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let blocks: Vec<Block> = (0..random.usize(1..60))
                .map(|_| {
                    let first = random.usize(0..100);
                    block(ALIGNMENT * random.usize(1..50), first, first + random.usize(0..30))
                })
                .collect();
            let used = used(&blocks);
            let live = used.iter().copied().max().unwrap();
            let (offsets, end) = place(&blocks, &used, live);
            assert!(end >= live);
            for (i, a) in blocks.iter().enumerate() {
                assert!(offsets[i] + a.elements <= end);
                for (j, b) in blocks.iter().enumerate().skip(i + 1) {
                    let together = a.first <= b.last && b.first <= a.last;
                    let apart =
                        offsets[i] + a.elements <= offsets[j] || offsets[j] + b.elements <= offsets[i];
                    assert!(!together || apart);
                }
            }
        }
    }

    #[test]
    fn crowds_are_the_most_of_a_life() {
        let mut random = fastrand::Rng::with_seed(9);
        let used: Vec<usize> = (0..333).map(|_| random.usize(0..1000)).collect();
        let blocks: Vec<Block> = (0..500)
            .map(|_| {
                let first = random.usize(0..333);
                block(16, first, random.usize(first..333))
            })
            .collect();
        for (block, crowd) in blocks.iter().zip(crowds(&blocks, &used)) {
            assert_eq!(Some(crowd), used[block.first..=block.last].iter().copied().max());
        }
    }

    #[test]
    fn storage_is_reused() {
        let blocks = [block(32, 0, 2), block(32, 3, 5), block(16, 0, 5)];
        assert_eq!(place(&blocks, &used(&blocks), 48).1, 48);
    }
}
