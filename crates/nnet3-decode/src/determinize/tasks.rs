//! The queue of a pruned determinization: a binary heap, in which tasks of equal priority keep the order of C++'s
//! `std::priority_queue` (as libstdc++ has it). That order decides the order of arcs in the lattices that are written.

/// A task with the cost of the best path through it.
pub trait Task {
    fn priority(&self) -> f64;
}

/// Tasks, of which the one with the lowest cost comes first.
#[derive(Debug)]
pub struct Tasks<T> {
    /// A heap: no task is cheaper than the one at half of its position.
    heap: Vec<T>,
}

impl<T> Default for Tasks<T> {
    fn default() -> Tasks<T> {
        Tasks { heap: Vec::new() }
    }
}

impl<T: Task> Tasks<T> {
    pub fn push(&mut self, task: T) {
        self.heap.push(task);
        self.rise(self.heap.len() - 1);
    }

    pub fn first(&self) -> Option<&T> {
        self.heap.first()
    }

    /// Takes the first task.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.heap.len().checked_sub(1)?;
        self.heap.swap(0, last);
        let first = self.heap.pop();
        self.sink();
        first
    }

    /// Takes all tasks, in no particular order.
    pub fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.heap)
    }

    /// All tasks. Their costs must stay as they are.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.heap.iter_mut()
    }

    /// Moves a task towards the top as long as it is cheaper than its parent.
    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.heap[at].priority() < self.heap[(at - 1) / 2].priority() {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// Moves the task at the top to the bottom, along the cheaper children (the right one of equals), and lets it rise from there.
    fn sink(&mut self) {
        let mut at = 0;
        while 2 * at + 1 < self.heap.len() {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let takes_left =
                right == self.heap.len() || self.heap[right].priority() > self.heap[left].priority();
            let child = if takes_left { left } else { right };
            self.heap.swap(at, child);
            at = child;
        }
        self.rise(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Task for (f64, usize) {
        fn priority(&self) -> f64 {
            self.0
        }
    }

    /// The order in which a C++ program with `std::priority_queue` (g++ 12) took the same tasks.
    #[test]
    fn order_of_equals() {
        let (mut seed, mut number) = (1u32, 0);
        let (mut tasks, mut taken) = (Tasks::default(), Vec::new());
        for _ in 0..6 {
            for _ in 0..5 {
                seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12345);
                tasks.push((f64::from(seed / 65536 % 4), number));
                number += 1;
            }
            taken.extend((0..3).map(|_| tasks.pop().unwrap().1));
        }
        while let Some((_, number)) = tasks.pop() {
            taken.push(number);
        }
        let expected = [
            2, 0, 1, 8, 6, 9, 12, 13, 10, 14, 16, 18, 19, 20, 21, 29, 27, 25, 28, 23, 11, 26, 24, 17, 3, 15,
            4, 22, 7, 5,
        ];
        assert_eq!(taken, expected);
        assert!(tasks.first().is_none());
    }

    #[test]
    fn cheapest_first() {
        let mut tasks = Tasks::default();
        let costs = [3.5, -1.0, 7.0, 0.0, 2.0, f64::INFINITY, -4.0];
        costs.iter().enumerate().for_each(|(number, &cost)| tasks.push((cost, number)));
        let mut sorted = costs.to_vec();
        sorted.sort_by(f64::total_cmp);
        let taken: Vec<f64> = std::iter::from_fn(|| tasks.pop()).map(|task| task.0).collect();
        assert_eq!(taken, sorted);
    }
}
