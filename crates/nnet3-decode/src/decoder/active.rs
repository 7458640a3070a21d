//! The states that are reached in one frame, with a value for each, in the order in which the reference goes through them
//! (`util/hash-list.h`): by buckets, which are in the order of their first states, and in a bucket as they came. The order
//! matters to how fast a beam tightens.

use kaldi_fst::StateId;

const NONE: u32 = u32::MAX;
const FIRST_BUCKETS: usize = 1000;

#[derive(Debug, Clone, Copy)]
pub(super) struct Active<V> {
    pub state: StateId,
    pub value: V,
    /// The next one in the order.
    next: u32,
}

#[derive(Debug)]
pub(super) struct ActiveStates<V> {
    elements: Vec<Active<V>>,
    /// One more than the position of each state's element; 0 if it has none. (Memory of zeros costs nothing until it is used.)
    of_state: Vec<u32>,
    /// The position of each bucket's last element.
    last_of_bucket: Vec<u32>,
    head: u32,
    tail: u32,
}

impl<V: Copy> ActiveStates<V> {
    pub fn new(num_states: usize) -> ActiveStates<V> {
        ActiveStates {
            elements: Vec::new(),
            of_state: vec![0; num_states],
            last_of_bucket: vec![NONE; FIRST_BUCKETS],
            head: NONE,
            tail: NONE,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The value of a state that is there, which may be replaced.
    #[inline]
    pub fn get_mut(&mut self, state: StateId) -> Option<&mut V> {
        let position = self.of_state.get(state as usize)?.wrapping_sub(1);
        self.elements.get_mut(position as usize).map(|element| &mut element.value)
    }

    /// Adds a state that is not there.
    #[inline]
    pub fn insert(&mut self, state: StateId, value: V) {
        let position = self.elements.len() as u32;
        let bucket = (state % self.last_of_bucket.len() as u32) as usize;
        let before = match self.last_of_bucket[bucket] {
            NONE => self.tail,
            last => last,
        };
        let next = match self.elements.get_mut(before as usize) {
            Some(before) => std::mem::replace(&mut before.next, position),
            None => std::mem::replace(&mut self.head, position),
        };
        if before == self.tail {
            self.tail = position;
        }
        self.elements.push(Active { state, value, next });
        self.last_of_bucket[bucket] = position;
        if state as usize >= self.of_state.len() {
            self.of_state.resize(state as usize + 1, 0);
        }
        self.of_state[state as usize] = position + 1;
    }

    /// Gives the states other numbers. The order stays as it would be of elements that came in it.
    pub fn renumber(&mut self, change: impl FnOnce(&mut dyn Iterator<Item = &mut StateId>)) {
        let mut list = Vec::new();
        self.take(&mut list);
        change(&mut list.iter_mut().map(|active| &mut active.state));
        for Active { state, value, .. } in list {
            self.insert(state, value);
        }
    }

    /// Iterates over all elements, in the order in which the search looks at them.
    pub fn iter(&self) -> impl Iterator<Item = Active<V>> {
        let at = |position: u32| self.elements.get(position as usize).copied();
        std::iter::successors(at(self.head), move |element| at(element.next))
    }

    /// Moves all, in the order, to `out`, whatever was there.
    pub fn take(&mut self, out: &mut Vec<Active<V>>) {
        out.clear();
        out.extend(self.iter());
        self.clear();
    }

    pub fn clear(&mut self) {
        if self.is_empty() {
            return;
        }
        for element in self.elements.drain(..) {
            self.of_state[element.state as usize] = 0;
        }
        self.last_of_bucket.fill(NONE);
        (self.head, self.tail) = (NONE, NONE);
    }

    /// Makes more buckets, if there are fewer. There must be no states yet.
    pub fn grow(&mut self, buckets: usize) {
        debug_assert!(self.is_empty());
        if buckets > self.last_of_bucket.len() {
            self.last_of_bucket.resize(buckets, NONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_buckets() {
        let mut active = ActiveStates::new(5000);
        let mut insert_all = |states: &[u32], buckets| {
            active.grow(buckets);
            states.iter().for_each(|&state| active.insert(state, state + 1));
            assert_eq!(active.get_mut(states[0]), Some(&mut (states[0] + 1)));
            assert_eq!(active.get_mut(4999), None);
            let mut taken = Vec::new();
            active.take(&mut taken);
            assert!(active.is_empty());
            taken.iter().map(|active| active.state).collect::<Vec<_>>()
        };
        // 7, 1007 and 2007 are in one bucket, as 3 and 4003 are.
        assert_eq!(insert_all(&[7, 3, 1007, 5, 4003, 2007, 9], 0), [7, 1007, 2007, 3, 4003, 5, 9]);
        assert_eq!(insert_all(&[7, 1007, 3], 0), [7, 1007, 3]);
        assert_eq!(insert_all(&[7, 3, 1007, 2007], 2000), [7, 2007, 3, 1007]);
    }
}
