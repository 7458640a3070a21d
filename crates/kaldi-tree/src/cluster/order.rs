//! A heap and a selection that put equal elements into the same order as the reference's C++ library. Elements may
//! compare equal and yet differ; their order then decides about clusters.

/// The reference's priority queue: a binary heap in an array. `less` returns true if the first element is worse.
pub(crate) struct Heap<T, F> {
    items: Vec<T>,
    less: F,
}

impl<T, F: Fn(&T, &T) -> bool> Heap<T, F> {
    pub fn new(less: F) -> Heap<T, F> {
        Heap { items: Vec::new(), less }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn clear(&mut self) {
        self.items = Vec::new();
    }

    pub fn push(&mut self, item: T) {
        self.items.push(item);
        self.rise(self.items.len() - 1);
    }

    /// Removes the best element.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.items.len().checked_sub(1)?;
        self.items.swap(0, last);
        let top = self.items.pop();
        // The hole goes down to a leaf along the better children; then the last element rises from there.
        let mut hole = 0;
        let len = self.items.len();
        loop {
            let right = 2 * hole + 2;
            if right > len {
                break;
            }
            let left_is_better = right == len || (self.less)(&self.items[right], &self.items[right - 1]);
            let better = if left_is_better { right - 1 } else { right };
            self.items.swap(hole, better);
            hole = better;
        }
        if hole < len {
            self.rise(hole);
        }
        top
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if !(self.less)(&self.items[parent], &self.items[at]) {
                break;
            }
            self.items.swap(parent, at);
            at = parent;
        }
    }
}

/// Partitions `items` around place `nth`: it gets the element of the sorted order, with no larger one before it and no
/// smaller one behind it.
pub(crate) fn nth_element<T: PartialOrd + Copy>(items: &mut [T], nth: usize) {
    let (mut first, mut last) = (0, items.len());
    if nth >= last {
        return;
    }
    let mut depth = 2 * items.len().ilog2();
    while last - first > 3 {
        if depth == 0 {
            heap_select(&mut items[first..last], nth + 1 - first);
            items.swap(first, nth);
            return;
        }
        depth -= 1;
        let cut = first + partition(&mut items[first..last]);
        if cut <= nth {
            first = cut;
        } else {
            last = cut;
        }
    }
    insertion_sort(&mut items[first..last]);
}

/// Puts the median of the second, the middle and the last element first, and partitions the others by it. Returns the
/// position of the first element of the upper part.
fn partition<T: PartialOrd + Copy>(items: &mut [T]) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let median = if items[a] < items[b] {
        if items[b] < items[c] {
            b
        } else if items[a] < items[c] {
            c
        } else {
            a
        }
    } else if items[a] < items[c] {
        a
    } else if items[b] < items[c] {
        c
    } else {
        b
    };
    items.swap(0, median);
    let pivot = items[0];
    let (mut low, mut high) = (1, items.len());
    loop {
        while items[low] < pivot {
            low += 1;
        }
        high -= 1;
        while pivot < items[high] {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        items.swap(low, high);
        low += 1;
    }
}

fn insertion_sort<T: PartialOrd + Copy>(items: &mut [T]) {
    for end in 1..items.len() {
        let item = items[end];
        let mut at = end;
        while at > 0 && item < items[at - 1] {
            items[at] = items[at - 1];
            at -= 1;
        }
        items[at] = item;
    }
}

/// Brings the `count` smallest elements to the front, the largest of them first.
fn heap_select<T: PartialOrd + Copy>(items: &mut [T], count: usize) {
    for at in (0..count / 2).rev() {
        sink(&mut items[..count], at);
    }
    for other in count..items.len() {
        if items[other] < items[0] {
            items.swap(0, other);
            sink(&mut items[..count], 0);
        }
    }
}

/// Moves the element at `start` of a max-heap to a leaf along the larger children, and then up to its place.
fn sink<T: PartialOrd + Copy>(heap: &mut [T], start: usize) {
    let item = heap[start];
    let mut hole = start;
    loop {
        let right = 2 * hole + 2;
        if right > heap.len() {
            break;
        }
        let larger = if right == heap.len() || heap[right] < heap[right - 1] { right - 1 } else { right };
        heap[hole] = heap[larger];
        hole = larger;
    }
    while hole > start {
        let parent = (hole - 1) / 2;
        if heap[parent] >= item {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = item;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> impl FnMut() -> i32 {
        let mut state = 1_u32;
        move || {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            (state >> 16) as i32
        }
    }

    /// The figures come from a C++ program with `std::priority_queue` and `std::nth_element`, compiled by GCC.
    #[test]
    fn the_order_of_equal_elements() {
        let mut rand = numbers();
        let mut heap = Heap::new(|a: &(i32, i32), b: &(i32, i32)| a.0 > b.0);
        let (mut popped, mut id) = (Vec::new(), 0);
        for _ in 0..60 {
            if rand() % 3 != 0 || heap.len() == 0 {
                heap.push((rand() % 4, id));
                id += 1;
            } else {
                popped.extend(heap.pop());
            }
        }
        popped.extend(std::iter::from_fn(|| heap.pop()));
        let ids: Vec<i32> = popped.iter().map(|pair| pair.1).collect();
        assert_eq!(
            ids,
            [
                0, 3, 2, 5, 6, 7, 8, 11, 15, 16, 12, 20, 23, 27, 22, 31, 33, 29, 30, 10, 36, 38, 34, 35, 17,
                14, 28, 37, 19, 25, 21, 26, 32, 4, 1, 13, 9, 18, 24
            ]
        );
        let mut selected = |count: usize| {
            let mut items: Vec<i32> = (0..count).map(|_| rand() % 1000).collect();
            nth_element(&mut items, 3);
            items
        };
        assert_eq!(selected(5), [171, 85, 202, 289, 434]);
        assert_eq!(
            selected(17),
            [88, 74, 110, 174, 193, 202, 210, 216, 241, 724, 219, 421, 586, 350, 748, 817, 815]
        );
        assert_eq!(selected(40)[..12], [24, 0, 33, 78, 123, 159, 157, 239, 243, 166, 350, 610]);
    }

    /// Here each partition takes off two elements only, until the heap is used.
    #[test]
    fn what_is_hard_to_select_from() {
        let half = 32;
        let mut items = vec![0; 2 * half];
        for i in 1..=half {
            if i % 2 == 1 {
                items[i - 1] = i;
                items[i] = half + i;
            }
            items[half + i - 1] = 2 * i;
        }
        nth_element(&mut items, 60);
        assert_eq!(items[..8], [33, 1, 3, 32, 5, 30, 7, 28]);
        assert_eq!(items[30..40], [31, 4, 2, 58, 56, 54, 57, 55, 53, 51]);
        assert_eq!(items[54..], [46, 48, 50, 52, 59, 60, 61, 63, 62, 64]);
    }

    #[test]
    fn few_elements() {
        for count in 0..4 {
            let mut items: Vec<usize> = (0..count).rev().collect();
            nth_element(&mut items, 1);
            assert!(count < 2 || items[1] == 1, "{items:?}");
            let mut heap = Heap::new(|a: &usize, b: &usize| a < b);
            items.into_iter().for_each(|item| heap.push(item));
            assert!(std::iter::from_fn(|| heap.pop()).eq((0..count).rev()));
        }
    }
}
