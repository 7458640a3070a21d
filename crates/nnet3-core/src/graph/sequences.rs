//! Sequences that are alike are treated as one.
//!
//! Nothing that a network computes for one n depends on another n, but for the order of rows. If a request asks the
//! same of its sequences 0, 1, …, the graph needs only the first; steps have the rows of all.

use crate::index::{Cindex, Index, NodeId};
use crate::request::{ComputationRequest, IoSpecification};

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
pub fn first_sequence(requests: &[ComputationRequest]) -> Option<(Vec<ComputationRequest>, usize)> {
    let reduced = requests.iter().map(|request| reduce(request, 1)).collect::<Option<Vec<_>>>()?;
    let count = reduced.first()?.1;
    let same = reduced.iter().all(|&(_, other)| other == count);
    same.then(|| (reduced.into_iter().map(|(request, _)| request).collect(), count))
}

/// The distance of rows that differ by one in n, if the list consists of blocks in which it is the same everywhere.
pub fn sequence_stride(indexes: &[Index]) -> Option<usize> {
    stride_of(indexes.len(), |i| Cindex { node: NodeId(0), index: indexes[i] })
}

/// As [`sequence_stride`], for the cindexes that `at` gives for positions below `size`.
pub fn stride_of(size: usize, at: impl Fn(usize) -> Cindex) -> Option<usize> {
    let with_n = |mut cindex: Cindex, n: usize| {
        cindex.index.n = n as i32;
        cindex
    };
    let count = usize::try_from(at(size.checked_sub(1)?).index.n).ok()?.checked_add(1)?;
    if count <= 1 || at(0).index.n != 0 || !size.is_multiple_of(count) {
        return None;
    }
    let second = with_n(at(0), 1);
    let rest = (2..size / count).filter(|s| size.is_multiple_of(*s));
    let stride = [1, size / count].into_iter().chain(rest).find(|&s| at(s) == second)?;
    let block = stride * count;
    if !size.is_multiple_of(block) {
        return None;
    }
    let is_regular = |start: usize| {
        (start..start + stride).all(|first| {
            let of_first = at(first);
            of_first.index.n == 0 && (1..count).all(|n| at(first + n * stride) == with_n(of_first, n))
        })
    };
    (0..size).step_by(block).all(is_regular).then_some(stride)
}

/// The list with `new` instead of `old` sequences.
pub fn change_sequences(indexes: &[Index], stride: usize, old: usize, new: usize) -> Vec<Index> {
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
        assert_eq!(sequence_stride(&[]), None);
    }
}
