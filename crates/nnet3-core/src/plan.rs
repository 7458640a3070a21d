//! The memory plan: from lifetimes, which the commands make explicit, to fixed offsets in one arena.

use crate::component::Component;
use crate::computation::{Command, Computation, MatrixId, MemoId, SubmatrixId};
use crate::error::{Error, Result};
use crate::nnet::Nnet;
use std::collections::HashMap;

/// Offsets are multiples of this many elements (64 bytes): a cache line, and what wide loads want.
pub const ALIGNMENT: usize = 16;

/// Where everything lies, in elements from the arena's start.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// For each matrix; unallocated ones have 0.
    pub matrix_offsets: Vec<usize>,
    /// For each command, where its propagate or backprop finds the component's memo.
    pub memos: HashMap<usize, MemoPlace>,
    /// Size of the arena.
    pub elements: usize,
    /// The largest total size of blocks that are alive at one time: no plan can be smaller.
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

/// Plans a computation that the checker accepts.
pub fn plan(nnet: &Nnet, computation: &Computation) -> Result<Plan> {
    let mut blocks = Vec::new();
    let block_of_matrix = matrix_blocks(computation, &mut blocks)?;
    let memos = memo_blocks(nnet, computation, &mut blocks);
    // A loop comes back to earlier commands: everything may still be needed then.
    if matches!(computation.commands.last(), Some(Command::Goto { .. })) {
        for block in &mut blocks {
            (block.first, block.last) = (0, computation.commands.len());
        }
    }
    let peak_live_elements = peak(&blocks);
    let (offsets, elements) = place(&blocks, peak_live_elements);
    Ok(Plan {
        matrix_offsets: block_of_matrix.iter().map(|b| b.map_or(0, |b| offsets[b])).collect(),
        memos: memos
            .into_iter()
            .map(|(c, b, (rows, cols))| (c, MemoPlace { offset: offsets[b], rows, cols }))
            .collect(),
        elements,
        peak_live_elements,
    })
}

fn round_up(elements: usize) -> usize {
    elements.next_multiple_of(ALIGNMENT)
}

/// One block for each chain of matrices that hand their storage on by swaps.
fn matrix_blocks(computation: &Computation, blocks: &mut Vec<Block>) -> Result<Vec<Option<usize>>> {
    let end = computation.commands.len();
    let looped = matches!(computation.commands.last(), Some(Command::Goto { .. }));
    let mut block_of: Vec<Option<usize>> = vec![None; computation.matrices.len()];
    let start = |m: MatrixId, c: usize, block_of: &mut Vec<Option<usize>>, blocks: &mut Vec<Block>| {
        if block_of[m.index()].is_none() {
            let info = computation.matrix(m);
            block_of[m.index()] = Some(blocks.len());
            blocks.push(Block { elements: round_up(info.rows * info.cols), first: c, last: end });
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

/// For each propagate and backprop with a memo: command, block, shape.
fn memo_blocks(nnet: &Nnet, computation: &Computation, blocks: &mut Vec<Block>) -> Vec<MemoBlock> {
    let mut kept: HashMap<MemoId, (usize, (usize, usize))> = HashMap::new();
    let mut out = Vec::new();
    for (c, command) in computation.commands.iter().enumerate() {
        match *command {
            Command::Propagate { component, precomputed, output, memo, .. } => {
                let component: &dyn Component = nnet.component(component);
                let indexes = precomputed.and_then(|p| computation.precomputed[p.index()].data.as_deref());
                let shape = component.memo_shape(indexes, computation.submatrix(output).rows);
                if shape.0 * shape.1 > 0 {
                    let block = blocks.len();
                    blocks.push(Block { elements: round_up(shape.0 * shape.1), first: c, last: c });
                    out.push((c, block, shape));
                    if let Some(memo) = memo {
                        kept.insert(memo, (block, shape));
                    }
                }
            }
            Command::Backprop { memo: Some(memo), .. } => {
                if let Some((block, shape)) = kept.remove(&memo) {
                    blocks[block].last = c;
                    out.push((c, block, shape));
                }
            }
            _ => {}
        }
    }
    out
}

fn peak(blocks: &[Block]) -> usize {
    let mut events: Vec<(usize, bool, usize)> = Vec::new();
    for block in blocks {
        events.push((block.first, true, block.elements));
        events.push((block.last + 1, false, block.elements));
    }
    events.sort_unstable_by_key(|&(command, starts, _)| (command, starts));
    let (mut now, mut peak) = (0, 0);
    for (_, starts, elements) in events {
        if starts {
            now += elements;
            peak = peak.max(now);
        } else {
            now -= elements;
        }
    }
    peak
}

/// Tries a few orders and keeps the smallest arena. `lower_bound` ends the search early.
fn place(blocks: &[Block], lower_bound: usize) -> (Vec<usize>, usize) {
    let size = |b: usize| blocks[b].elements;
    let span = |b: usize| blocks[b].last - blocks[b].first;
    let mut best: Option<(Vec<usize>, usize)> = None;
    for order in 0..4 {
        let mut sequence: Vec<usize> = (0..blocks.len()).collect();
        match order {
            0 => sequence.sort_by_key(|&b| (std::cmp::Reverse(size(b)), blocks[b].first)),
            1 => sequence.sort_by_key(|&b| (std::cmp::Reverse(size(b) * (span(b) + 1)), blocks[b].first)),
            2 => sequence.sort_by_key(|&b| (std::cmp::Reverse(span(b)), std::cmp::Reverse(size(b)))),
            _ => sequence.sort_by_key(|&b| (blocks[b].first, std::cmp::Reverse(span(b)))),
        }
        let placed = place_in_order(blocks, &sequence);
        if best.as_ref().is_none_or(|b| placed.1 < b.1) {
            best = Some(placed);
        }
        if best.as_ref().is_some_and(|b| b.1 <= lower_bound) {
            break;
        }
    }
    best.unwrap_or_default()
}

/// Each block in turn goes to the lowest gap that is free during its life.
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

    /// Blocks alive at the same time never overlap, and the arena reaches the lower bound where that is easy.
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
            let live = peak(&blocks);
            let (offsets, end) = place(&blocks, live);
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
    fn storage_is_reused() {
        let blocks = [block(32, 0, 2), block(32, 3, 5), block(16, 0, 5)];
        assert_eq!(place(&blocks, peak(&blocks)).1, 48);
    }
}
