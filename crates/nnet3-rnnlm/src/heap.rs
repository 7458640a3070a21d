//! A binary heap with the element order of the C++ standard library's heap.
//!
//! The order of elements in the heap decides the words that a random number picks. So the same random numbers must pick the same
//! words as in the reference. The algorithms are those of any binary heap. To take out an element, the larger child moves up to
//! the bottom, and the last element moves up from there to its place.

/// A heap whose first element is the largest.
pub struct Heap<T, F> {
    items: Vec<T>,
    less: F,
}

impl<T: Copy, F: Fn(&T, &T) -> bool> Heap<T, F> {
    /// Makes a heap of these elements.
    pub fn new(items: Vec<T>, less: F) -> Heap<T, F> {
        let len = items.len();
        let mut heap = Heap { items, less };
        for parent in (0..len / 2).rev() {
            let value = heap.items[parent];
            heap.adjust(parent, len, value);
        }
        heap
    }

    pub fn push(&mut self, value: T) {
        self.items.push(value);
        self.lift(self.items.len() - 1, 0, value);
    }

    pub fn peek(&self) -> Option<&T> {
        self.items.first()
    }

    /// Takes the largest element out.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.items.pop()?;
        let Some(&top) = self.items.first() else { return Some(last) };
        self.adjust(0, self.items.len(), last);
        Some(top)
    }

    /// All elements in the order in which they lie.
    pub fn into_items(self) -> Vec<T> {
        self.items
    }

    /// Moves the larger children of `hole` up, to the bottom, and puts `value` where it belongs above there.
    fn adjust(&mut self, mut hole: usize, len: usize, value: T) {
        let top = hole;
        while hole < (len.saturating_sub(1)) / 2 {
            let right = 2 * hole + 2;
            let child =
                if (self.less)(&self.items[right], &self.items[right - 1]) { right - 1 } else { right };
            self.items[hole] = self.items[child];
            hole = child;
        }
        if len >= 2 && len.is_multiple_of(2) && hole == (len - 2) / 2 {
            self.items[hole] = self.items[2 * hole + 1];
            hole = 2 * hole + 1;
        }
        self.lift(hole, top, value);
    }

    /// Moves smaller parents of `hole` down, and puts `value` above them; not above `top`.
    fn lift(&mut self, mut hole: usize, top: usize, value: T) {
        while hole > top && (self.less)(&self.items[(hole - 1) / 2], &value) {
            self.items[hole] = self.items[(hole - 1) / 2];
            hole = (hole - 1) / 2;
        }
        self.items[hole] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the vector of a `std::priority_queue`, as a C++ program prints it.
    #[test]
    fn order_of_the_elements() {
        let mut heap = Heap::new(vec![3, 1, 4, 1, 5, 9, 2, 6], |a: &i32, b: &i32| a < b);
        assert_eq!(heap.items, [9, 6, 4, 1, 5, 3, 2, 1]);
        assert_eq!(heap.pop(), Some(9));
        assert_eq!(heap.items, [6, 5, 4, 1, 1, 3, 2]);
        assert_eq!(heap.pop(), Some(6));
        assert_eq!(heap.items, [5, 2, 4, 1, 1, 3]);
        heap.push(7);
        heap.push(2);
        assert_eq!(heap.items, [7, 2, 5, 2, 1, 3, 4, 1]);
        assert_eq!((heap.pop(), heap.peek()), (Some(7), Some(&5)));
        assert_eq!(heap.into_items(), [5, 2, 4, 2, 1, 3, 1]);
    }

    #[test]
    fn the_largest_first() {
        let mut heap = Heap::new(Vec::new(), |a: &i32, b: &i32| a < b);
        assert_eq!(heap.pop(), None);
        (0..50).for_each(|i| heap.push(i * 37 % 50));
        let taken: Vec<i32> = std::iter::from_fn(|| heap.pop()).collect();
        assert_eq!(taken, (0..50).rev().collect::<Vec<_>>());
    }
}
