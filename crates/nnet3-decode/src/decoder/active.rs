//! The states reached in one frame, with a value for each, in the reference's order (`util/hash-list.h`). States are
//! grouped by bucket, in order of arrival. Buckets are ordered by their first states. The order decides how fast a beam
//! tightens.

use kaldi_fst::StateId;

const NONE: u32 = u32::MAX;
const FIRST_BUCKETS: usize = 1000;
/// Entries of the table of a graph that grows, at first.
const FIRST_ENTRIES: usize = 1 << 10;

/// A state that was reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Active<V> {
    pub state: StateId,
    pub value: V,
    /// Number of states reached earlier in the frame.
    pub place: u32,
}

#[derive(Debug, Clone, Copy)]
struct Element<V> {
    state: StateId,
    /// See [`Graph::order`](super::graph::Graph::order).
    order: u32,
    value: V,
    /// The place of the next one in the order.
    next: u32,
}

/// States of a frame. Clearing does not erase the tables of places and `last_of_bucket`. An entry is valid only if the
/// element that it names exists and belongs to that state or bucket.
#[derive(Debug)]
pub(super) struct ActiveStates<V> {
    elements: Vec<Element<V>>,
    /// The place of each state. Of a graph that grows: open addressing, at most half full; [`NONE`] is a free entry.
    /// (Zeroed memory costs no time until it is used.)
    of_state: Vec<u32>,
    /// True for a graph that grows.
    hashed: bool,
    /// The place of each bucket's last state.
    last_of_bucket: Vec<u32>,
    head: u32,
    tail: u32,
}

impl<V: Copy> ActiveStates<V> {
    /// Places for states below `num_states`; `None` for a graph that grows. Its many searches should not need memory for
    /// each of its states.
    pub fn new(num_states: Option<usize>) -> ActiveStates<V> {
        ActiveStates {
            elements: Vec::new(),
            of_state: num_states.map_or_else(|| vec![NONE; FIRST_ENTRIES], |states| vec![0; states]),
            hashed: num_states.is_none(),
            last_of_bucket: vec![0; FIRST_BUCKETS],
            head: NONE,
            tail: NONE,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// The place of an active state, and its value, which may be replaced.
    #[inline]
    pub fn get_mut(&mut self, state: StateId) -> Option<(u32, &mut V)> {
        let place = if self.hashed {
            let entry = self.entry(state);
            self.of_state[entry]
        } else {
            *self.of_state.get(state as usize)?
        };
        let element = self.elements.get_mut(place as usize)?;
        (element.state == state).then_some((place, &mut element.value))
    }

    /// The entry of a state of a graph that grows, or the free one where it belongs.
    #[inline]
    fn entry(&self, state: StateId) -> usize {
        let mask = self.of_state.len() - 1;
        // (Fibonacci hashing.)
        let mut at = (u64::from(state).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while let Some(element) = self.elements.get(self.of_state[at] as usize)
            && element.state != state
        {
            at = (at + 1) & mask;
        }
        at
    }

    #[inline]
    fn bucket(&self, order: u32) -> u32 {
        order % self.last_of_bucket.len() as u32
    }

    /// Adds a state that is not there. Gives its place. `order` decides its bucket.
    #[inline]
    pub fn insert(&mut self, state: StateId, order: u32, value: V) -> u32 {
        let place = self.elements.len() as u32;
        let bucket = self.bucket(order);
        let last = std::mem::replace(&mut self.last_of_bucket[bucket as usize], place);
        let before = match self.elements.get(last as usize) {
            Some(element) if self.bucket(element.order) == bucket => last,
            _ => self.tail,
        };
        let next = match self.elements.get_mut(before as usize) {
            Some(before) => std::mem::replace(&mut before.next, place),
            None => std::mem::replace(&mut self.head, place),
        };
        if before == self.tail {
            self.tail = place;
        }
        let entry = if self.hashed { self.entry(state) } else { state as usize };
        self.of_state[entry] = place;
        self.elements.push(Element { state, order, value, next });
        if self.hashed && 2 * self.elements.len() > self.of_state.len() {
            self.extend_table();
        }
        place
    }

    /// Doubles the table of a graph that grows.
    #[cold]
    fn extend_table(&mut self) {
        let elements = std::mem::take(&mut self.elements);
        self.of_state = vec![NONE; 2 * self.of_state.len()];
        for (place, element) in (0..).zip(elements) {
            let entry = self.entry(element.state);
            self.of_state[entry] = place;
            self.elements.push(element);
        }
    }

    /// Iterates over all, in the search's order.
    pub fn iter(&self) -> impl Iterator<Item = Active<V>> {
        let mut place = self.head;
        std::iter::from_fn(move || {
            let &Element { state, value, next, .. } = self.elements.get(place as usize)?;
            let active = Active { state, value, place };
            place = next;
            Some(active)
        })
    }

    /// The values, by place.
    pub fn values(&self) -> impl Iterator<Item = V> {
        self.elements.iter().map(|element| element.value)
    }

    /// The values, which may be replaced, by place.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.elements.iter_mut().map(|element| &mut element.value)
    }

    /// The states, by place.
    pub fn states(&self) -> impl Iterator<Item = StateId> {
        self.elements.iter().map(|element| element.state)
    }

    /// Moves all, in order, to `out`, and drops the old contents of `out`.
    pub fn take(&mut self, out: &mut Vec<Active<V>>) {
        out.clear();
        out.reserve(self.elements.len());
        out.extend(self.iter());
        self.clear();
    }

    pub fn clear(&mut self) {
        self.elements.clear();
        if self.hashed {
            self.of_state.fill(NONE);
        }
        (self.head, self.tail) = (NONE, NONE);
    }

    /// Makes more buckets, if there are fewer. There must be no states yet.
    pub fn grow(&mut self, buckets: usize) {
        debug_assert!(self.is_empty());
        if buckets > self.last_of_bucket.len() {
            self.last_of_bucket.resize(buckets, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_order(mut active: ActiveStates<u32>) {
        let mut insert_all = |states: &[u32], buckets| {
            active.grow(buckets);
            states
                .iter()
                .zip(0..)
                .for_each(|(&state, place)| assert_eq!(active.insert(state, state, state + 1), place));
            assert_eq!(active.get_mut(states[0]), Some((0, &mut (states[0] + 1))));
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
        // States of before the clearing are gone, although their memory was not erased.
        active.insert(3, 3, 4);
        assert_eq!([7, 1007, 9].map(|state| active.get_mut(state).is_some()), [false; 3]);
    }

    #[test]
    fn order_of_buckets() {
        check_order(ActiveStates::new(Some(5000)));
        check_order(ActiveStates::new(None));
    }

    /// A table that grows finds the same states as a table of all states.
    #[test]
    fn many_states_of_a_graph_that_grows() {
        let (mut direct, mut hashed) = (ActiveStates::new(Some(1 << 20)), ActiveStates::new(None));
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..4 {
            for _ in 0..20_000 {
                // (Multiples of a power of 2 must not all have one entry.)
                let state = random.u32(0..1 << 10) << (2 * round + 4);
                let found = direct.get_mut(state).map(|(place, value)| (place, *value));
                assert_eq!(found, hashed.get_mut(state).map(|(place, value)| (place, *value)));
                if found.is_none() {
                    assert_eq!(direct.insert(state, state, !state), hashed.insert(state, state, !state));
                }
            }
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            direct.take(&mut expected);
            hashed.take(&mut found);
            let states = |list: &[Active<u32>]| list.iter().map(|active| active.state).collect::<Vec<_>>();
            assert!(expected.len() > 900 && states(&expected) == states(&found));
        }
    }
}
