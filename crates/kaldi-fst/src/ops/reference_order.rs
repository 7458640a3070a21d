//! Sorting and heaps that leave equal elements in the order of the C++ library that the reference is built with
//! (libstdc++: `bits/stl_algo.h`, `bits/stl_heap.h`). The order of equal elements decides how the reference numbers states.

/// Shorter ranges are sorted by insertion.
const FEW: usize = 16;

/// Sorts as `std::sort` does: introsort, which is not stable. `less` is a strict weak order.
pub(crate) fn sort<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    if items.len() > FEW {
        let depth = 2 * items.len().ilog2() as usize;
        sort_roughly(items, depth, less);
    }
    // Elements are at most FEW places from where they belong.
    for i in 1..items.len() {
        let item = items[i];
        let mut hole = i;
        while hole > 0 && less(&item, &items[hole - 1]) {
            items[hole] = items[hole - 1];
            hole -= 1;
        }
        items[hole] = item;
    }
}

fn sort_roughly<T: Copy>(mut items: &mut [T], mut depth: usize, less: &impl Fn(&T, &T) -> bool) {
    while items.len() > FEW {
        if depth == 0 {
            heap_sort(items, less);
            return;
        }
        depth -= 1;
        let cut = partition(items, less);
        let (low, high) = items.split_at_mut(cut);
        sort_roughly(high, depth, less);
        items = low;
    }
}

/// Moves elements so that none before the returned position is larger than one behind it.
fn partition<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let below = |x: usize, y: usize| less(&items[x], &items[y]);
    let median = match (below(a, b), below(b, c), below(a, c)) {
        (true, true, _) | (false, false, false) => b,
        (true, false, true) | (false, true, false) => c,
        (true, false, false) | (false, _, true) => a,
    };
    items.swap(0, median);
    let pivot = items[0];
    let (mut first, mut last) = (1, items.len());
    loop {
        while less(&items[first], &pivot) {
            first += 1;
        }
        last -= 1;
        while less(&pivot, &items[last]) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        items.swap(first, last);
        first += 1;
    }
}

fn heap_sort<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for top in (0..items.len() / 2).rev() {
        sift(items, top, items[top], less);
    }
    for last in (1..items.len()).rev() {
        let item = items[last];
        items[last] = items[0];
        sift(&mut items[..last], 0, item, less);
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
                sort(&mut items, &|a, b| a.0 < b.0);
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
            let mut sorted = items.clone();
            heap_sort(&mut sorted, &less);
            assert!(sorted.is_sorted_by_key(|item| item.0));
        }
    }

    /// Orders that a program with `std::sort` of g++ printed.
    #[test]
    fn order_of_equal_elements() {
        let order = |count: u32, step: u32, keys: u32| {
            let mut items: Vec<(u32, u32)> = (0..count).map(|i| (i * step % keys, i)).collect();
            sort(&mut items, &|a, b| a.0 < b.0);
            items.into_iter().map(|item| item.1).collect::<Vec<u32>>()
        };
        assert_eq!(order(20, 7, 3), [18, 3, 15, 6, 12, 9, 0, 10, 19, 16, 13, 7, 4, 1, 11, 8, 14, 5, 17, 2]);
        let hundred = order(100, 37, 5);
        assert_eq!(hundred[..12], [25, 50, 55, 45, 60, 40, 65, 35, 70, 30, 75, 80]);
        assert_eq!(hundred[90..], [87, 62, 37, 17, 82, 67, 22, 77, 32, 27]);
    }
}
