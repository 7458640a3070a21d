//! Sorting and heaps that leave equal elements in the order of the C++ library that the reference is built with
//! (libstdc++: `bits/stl_algo.h`, `bits/stl_heap.h`). That order decides how the reference numbers states and writes arcs.

/// Parts of at most this many elements are left to a stable sort.
const SMALL: usize = 16;

/// Sorts as `std::sort` does: quick sort with the median of three, which leaves small parts to insertion sort. (Where it
/// would give up for heap sort, equal elements keep their order.)
pub(crate) fn sort<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    if items.len() > SMALL {
        partition_all(items, 2 * items.len().ilog2(), &key);
    }
    items.sort_by_key(key);
}

/// Partitions until the parts are small, or `depth` times.
fn partition_all<T, K: Ord>(mut items: &mut [T], mut depth: u32, key: &impl Fn(&T) -> K) {
    while items.len() > SMALL && depth > 0 {
        depth -= 1;
        let middle = partition(items, key);
        let (less, more) = items.split_at_mut(middle);
        partition_all(more, depth, key);
        items = less;
    }
}

/// Puts what is less than the median of three elements in front of what is more. Gives where the second part begins.
fn partition<T, K: Ord>(items: &mut [T], key: &impl Fn(&T) -> K) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let less = |items: &[T], i: usize, j: usize| key(&items[i]) < key(&items[j]);
    let median = match (less(items, a, b), less(items, b, c), less(items, a, c)) {
        (true, true, _) | (false, false, false) => b,
        (true, false, true) | (false, true, false) => c,
        (true, false, false) | (false, _, true) => a,
    };
    items.swap(0, median);
    let (mut first, mut last) = (1, items.len());
    loop {
        while less(items, first, 0) {
            first += 1;
        }
        last -= 1;
        while less(items, 0, last) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        items.swap(first, last);
        first += 1;
    }
}

/// Adds an element to a heap whose first element is the largest.
pub(crate) fn push_heap<T: Copy>(heap: &mut Vec<T>, item: T, less: &impl Fn(&T, &T) -> bool) {
    heap.push(item);
    let last = heap.len() - 1;
    rise(heap, last, 0, item, less);
}

/// Removes the largest element of a heap.
pub(crate) fn pop_heap<T: Copy>(heap: &mut Vec<T>, less: &impl Fn(&T, &T) -> bool) -> Option<T> {
    let item = heap.pop()?;
    let Some(&largest) = heap.first() else { return Some(item) };
    sift(heap, 0, item, less);
    Some(largest)
}

/// Moves the place of `item` from `hole` up, as far as `top`.
fn rise<T: Copy>(heap: &mut [T], mut hole: usize, top: usize, item: T, less: &impl Fn(&T, &T) -> bool) {
    while hole > top && less(&heap[(hole - 1) / 2], &item) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = item;
}

/// Moves the hole at `top` to a leaf, and `item` from there up.
fn sift<T: Copy>(heap: &mut [T], top: usize, item: T, less: &impl Fn(&T, &T) -> bool) {
    let mut hole = top;
    loop {
        let mut child = 2 * (hole + 1);
        if child > heap.len() {
            break;
        }
        if child == heap.len() || less(&heap[child], &heap[child - 1]) {
            child -= 1;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    rise(heap, hole, top, item, less);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64, count: usize, below: u64) -> Vec<(u64, usize)> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        (0..count).map(|position| (next(), position)).collect()
    }

    #[test]
    fn sorted_and_complete() {
        for count in [0, 1, 2, 15, 16, 17, 40, 1000] {
            for below in [1, 3, 1000] {
                let mut items = random(count as u64, count, below);
                let mut expected = items.clone();
                sort(&mut items, |item| item.0);
                assert!(items.is_sorted_by_key(|item| item.0));
                expected.sort_unstable();
                items.sort_unstable();
                assert_eq!(items, expected);
            }
        }
    }

    #[test]
    fn heaps() {
        let less = |a: &(u64, usize), b: &(u64, usize)| a.0 < b.0;
        for count in 1..60 {
            let items = random(7, count, 20);
            let mut heap = Vec::new();
            items.iter().for_each(|&item| push_heap(&mut heap, item, &less));
            let mut popped: Vec<_> = std::iter::from_fn(|| pop_heap(&mut heap, &less)).collect();
            assert!(popped.is_sorted_by(|a, b| a.0 >= b.0));
            popped.sort_by_key(|item| item.1);
            assert_eq!(popped, items);
        }
    }

    /// Orders that a program with `std::sort` of g++ printed.
    #[test]
    fn order_of_equal_elements() {
        let order = |count: u32, step: u32, keys: u32| {
            let mut items: Vec<(u32, u32)> = (0..count).map(|i| (i * step % keys, i)).collect();
            sort(&mut items, |item| item.0);
            items.into_iter().map(|item| item.1).collect::<Vec<u32>>()
        };
        assert_eq!(order(20, 7, 3), [18, 3, 15, 6, 12, 9, 0, 10, 19, 16, 13, 7, 4, 1, 11, 8, 14, 5, 17, 2]);
        let hundred = order(100, 37, 5);
        assert_eq!(hundred[..12], [25, 50, 55, 45, 60, 40, 65, 35, 70, 30, 75, 80]);
        assert_eq!(hundred[90..], [87, 62, 37, 17, 82, 67, 22, 77, 32, 27]);
    }
}
