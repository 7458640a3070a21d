//! Treats sequences with equal requests as one.
//!
//! A network's values for one n do not depend on another n, apart from the order of rows. If a request asks the same of
//! its sequences 0, 1, …, the graph needs only the first; steps have the rows of all.

use crate::request::{ComputationRequest, IoSpecification};
use nnet3_base::index::{Cindex, Index};

/// The request with only its first `new` sequences, and how many it has. `None` unless they are more than `new`, alike,
/// and laid out regularly in every input and output.
pub fn reduce(request: &ComputationRequest, new: usize) -> Option<(ComputationRequest, usize)> {
    let count = usize::try_from(request.outputs.first()?.indexes.last()?.n).ok()?.checked_add(1)?;
    if count <= new {
        return None;
    }
    let reduce = |io: &IoSpecification| {
        let stride = sequence_stride(&io.indexes)?;
        let same = io.indexes.last().is_some_and(|i| i.n as usize + 1 == count);
        let indexes = same.then(|| change_sequences(&io.indexes, stride, count, new))?;
        Some(IoSpecification { name: io.name.clone(), indexes, has_deriv: io.has_deriv })
    };
    let reduced = ComputationRequest {
        inputs: request.inputs.iter().map(reduce).collect::<Option<_>>()?,
        outputs: request.outputs.iter().map(reduce).collect::<Option<_>>()?,
        ..*request
    };
    Some((reduced, count))
}

/// The requests for their first sequence only, and the number of sequences that it stands for. `None` unless all
/// requests have the same number, more than one, and [`reduce`] can do it.
pub(crate) fn first_sequence(requests: &[ComputationRequest]) -> Option<(Vec<ComputationRequest>, usize)> {
    let reduced = requests.iter().map(|request| reduce(request, 1)).collect::<Option<Vec<_>>>()?;
    let count = reduced.first()?.1;
    let same = reduced.iter().all(|&(_, other)| other == count);
    same.then(|| (reduced.into_iter().map(|(request, _)| request).collect(), count))
}

/// An item that belongs to a sequence.
pub(crate) trait OfSequence: Copy + PartialEq {
    fn sequence(self) -> i32;
    /// The same thing of another sequence.
    fn of_sequence(self, n: i32) -> Self;
}

impl OfSequence for Index {
    fn sequence(self) -> i32 {
        self.n
    }
    fn of_sequence(self, n: i32) -> Index {
        Index { n, ..self }
    }
}

impl OfSequence for Cindex {
    fn sequence(self) -> i32 {
        self.index.n
    }
    fn of_sequence(self, n: i32) -> Cindex {
        Cindex { index: self.index.of_sequence(n), ..self }
    }
}

/// The distance of rows that differ by one in n, if the list consists of blocks in which it is the same everywhere.
pub(crate) fn sequence_stride<T: OfSequence>(list: &[T]) -> Option<usize> {
    let (first, size) = (*list.first()?, list.len());
    let count = usize::try_from(list.last()?.sequence()).ok()?.checked_add(1)?;
    if count <= 1 || first.sequence() != 0 || !size.is_multiple_of(count) {
        return None;
    }
    let second = first.of_sequence(1);
    let rest = (2..size / count).filter(|s| size.is_multiple_of(*s));
    let stride = [1, size / count].into_iter().chain(rest).find(|&s| list[s] == second)?;
    let block = stride * count;
    let is_pair = |b: &[T]| b[0].sequence() == 0 && b[1] == b[0].of_sequence(1);
    let regular = size.is_multiple_of(block)
        && match block {
            2 => list.chunks_exact(2).all(is_pair),
            _ => list.chunks_exact(block).all(|b| is_regular(b, stride)),
        };
    regular.then_some(stride)
}

/// True if a block begins with `stride` items of sequence 0 and continues with the same items of the other sequences in
/// turn.
fn is_regular<T: OfSequence>(block: &[T], stride: usize) -> bool {
    let (firsts, rest) = block.split_at(stride);
    if let [first] = firsts {
        return first.sequence() == 0 && (1..).zip(rest).all(|(n, &item)| item == first.of_sequence(n));
    }
    let is_sequence =
        |(n, items): (i32, &[T])| items.iter().zip(firsts).all(|(&item, first)| item == first.of_sequence(n));
    firsts.iter().all(|first| first.sequence() == 0) && (1..).zip(rest.chunks_exact(stride)).all(is_sequence)
}

/// The list for `new` instead of `old` sequences.
pub(crate) fn change_sequences(indexes: &[Index], stride: usize, old: usize, new: usize) -> Vec<Index> {
    let mut out = Vec::with_capacity(indexes.len() / old * new);
    if stride == 1 {
        for &first in indexes.iter().step_by(old) {
            out.extend((0..new).map(|n| Index { n: n as i32, ..first }));
        }
        return out;
    }
    for block in indexes.chunks(stride * old) {
        for n in 0..new {
            out.extend(block[..stride].iter().map(|&index| Index { n: n as i32, ..index }));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[(i32, i32)]) -> Vec<Index> {
        items.iter().map(|&(n, t)| Index::new(n, t, 0)).collect()
    }

    #[test]
    fn strides_of_regular_lists() {
        let by_time = list(&[(0, 5), (1, 5), (2, 5), (0, 6), (1, 6), (2, 6)]);
        let by_sequence = list(&[(0, 5), (0, 6), (1, 5), (1, 6), (2, 5), (2, 6)]);
        assert_eq!(sequence_stride(&by_time), Some(1));
        assert_eq!(sequence_stride(&by_sequence), Some(2));
        let mut blocks = Vec::new();
        for base in [0, 10] {
            for n in 0..3 {
                blocks.extend(list(&[(n, base), (n, base + 1)]));
            }
        }
        assert_eq!(sequence_stride(&blocks), Some(2));
        assert_eq!(change_sequences(&by_sequence, 2, 3, 2), by_sequence[..4]);
        assert_eq!(change_sequences(&by_time[..2], 1, 2, 3), by_time[..3]);
        assert_eq!(sequence_stride(&list(&[(0, 5), (1, 5), (0, 6), (1, 7)])), None);
        assert_eq!(sequence_stride(&list(&[(0, 5), (0, 6)])), None);
        assert_eq!(sequence_stride::<Index>(&[]), None);
    }
}
