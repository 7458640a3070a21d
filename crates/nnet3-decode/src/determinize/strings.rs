//! Sequences of transition-ids that share their beginnings.

/// A sequence in a [`Strings`]; equal sequences have equal numbers.
pub type StringId = u32;

/// The sequence without elements.
pub const EMPTY: StringId = 0;

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The string of all but the last element.
    parent: StringId,
    last: i32,
    length: u32,
}

/// A tree of sequences, with a table that finds the longer by one element.
pub struct Strings {
    entries: Vec<Entry>,
    /// Numbers of entries, at places that follow from parent and element; [`EMPTY`] marks a free place.
    table: Vec<StringId>,
}

const SMALLEST_TABLE: usize = 1 << 10;

impl Strings {
    pub fn new() -> Strings {
        let root = Entry { parent: EMPTY, last: 0, length: 0 };
        Strings { entries: vec![root], table: vec![EMPTY; SMALLEST_TABLE] }
    }

    /// Number of sequences without the empty one.
    pub fn len(&self) -> usize {
        self.entries.len() - 1
    }

    /// The sequence with one more element.
    pub fn successor(&mut self, parent: StringId, last: i32) -> StringId {
        let mut place = self.place(parent, last);
        loop {
            let found = self.table[place];
            if found == EMPTY {
                break;
            }
            let entry = self.entries[found as usize];
            if entry.parent == parent && entry.last == last {
                return found;
            }
            place = (place + 1) & (self.table.len() - 1);
        }
        let id = self.entries.len() as StringId;
        let length = self.entries[parent as usize].length + 1;
        self.entries.push(Entry { parent, last, length });
        self.table[place] = id;
        if self.entries.len() * 2 > self.table.len() {
            self.rebuild_table(self.table.len() * 2);
        }
        id
    }

    fn place(&self, parent: StringId, last: i32) -> usize {
        let key = u64::from(parent) << 32 | u64::from(last as u32);
        // (Fibonacci hashing: the upper bits of a product are well mixed.)
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.table.len() - 1)
    }

    fn rebuild_table(&mut self, size: usize) {
        self.table = vec![EMPTY; size];
        for id in 1..self.entries.len() {
            let Entry { parent, last, .. } = self.entries[id];
            let mut place = self.place(parent, last);
            while self.table[place] != EMPTY {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = id as StringId;
        }
    }

    pub fn length(&self, id: StringId) -> usize {
        self.entries[id as usize].length as usize
    }

    /// Writes the sequence to the end of `out`.
    pub(crate) fn append_to(&self, mut id: StringId, out: &mut Vec<i32>) {
        let from = out.len();
        out.resize(from + self.length(id), 0);
        for slot in out[from..].iter_mut().rev() {
            *slot = self.entries[id as usize].last;
            id = self.entries[id as usize].parent;
        }
    }

    pub fn to_vec(&self, id: StringId) -> Vec<i32> {
        let mut out = Vec::new();
        self.append_to(id, &mut out);
        out
    }

    /// The longest sequence that both begin with.
    pub fn common_prefix(&self, mut a: StringId, mut b: StringId) -> StringId {
        while a != b {
            let (x, y) = (self.entries[a as usize], self.entries[b as usize]);
            if x.length >= y.length {
                a = x.parent;
            }
            if y.length >= x.length {
                b = y.parent;
            }
        }
        a
    }

    /// The sequence without its first `count` elements. `scratch` is any memory.
    pub fn without_prefix(&mut self, id: StringId, count: usize, scratch: &mut Vec<i32>) -> StringId {
        if count == 0 {
            return id;
        }
        let rest = self.length(id) - count;
        scratch.clear();
        let mut at = id;
        for _ in 0..rest {
            scratch.push(self.entries[at as usize].last);
            at = self.entries[at as usize].parent;
        }
        scratch.iter().rev().fold(EMPTY, |string, &element| self.successor(string, element))
    }

    /// One sequence after the other.
    pub fn concatenate(&mut self, a: StringId, b: StringId) -> StringId {
        match (a, b) {
            (EMPTY, other) | (other, EMPTY) => other,
            _ => self.to_vec(b).into_iter().fold(a, |string, element| self.successor(string, element)),
        }
    }

    /// Forgets all sequences but those marked and their beginnings. Gives the new numbers.
    pub fn keep(&mut self, mut marked: Vec<bool>) -> Vec<StringId> {
        for id in (1..self.entries.len()).rev() {
            if marked[id] {
                marked[self.entries[id].parent as usize] = true;
            }
        }
        let mut numbers = vec![EMPTY; self.entries.len()];
        let mut kept = vec![self.entries[0]];
        for id in (1..self.entries.len()).filter(|&id| marked[id]) {
            let entry = self.entries[id];
            numbers[id] = kept.len() as StringId;
            kept.push(Entry { parent: numbers[entry.parent as usize], ..entry });
        }
        self.entries = kept;
        self.rebuild_table((self.entries.len() * 4).next_power_of_two().max(SMALLEST_TABLE));
        numbers
    }

    /// A mark for each sequence.
    pub fn marks(&self) -> Vec<bool> {
        vec![false; self.entries.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(strings: &mut Strings, elements: &[i32]) -> StringId {
        elements.iter().fold(EMPTY, |string, &element| strings.successor(string, element))
    }

    #[test]
    fn against_lists() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut strings = Strings::new();
        let mut lists: Vec<Vec<i32>> =
            (0..3000).map(|_| (0..rng.usize(0..8)).map(|_| rng.i32(1..4)).collect()).collect();
        lists.push(Vec::new());
        let mut scratch = Vec::new();
        for pair in lists.windows(2) {
            let (a, b) = (make(&mut strings, &pair[0]), make(&mut strings, &pair[1]));
            let common = pair[0].iter().zip(&pair[1]).take_while(|(x, y)| x == y).count();
            assert_eq!(strings.to_vec(strings.common_prefix(a, b)), pair[0][..common]);
            let both = strings.concatenate(a, b);
            assert_eq!(strings.to_vec(both), [&pair[0][..], &pair[1]].concat());
            assert_eq!(both, make(&mut strings, &[&pair[0][..], &pair[1]].concat()));
            let rest = strings.without_prefix(b, common, &mut scratch);
            assert_eq!(strings.to_vec(rest), pair[1][common..]);
        }
    }

    #[test]
    fn what_is_kept_stays_the_same() {
        let mut strings = Strings::new();
        let (a, _b, c) =
            (make(&mut strings, &[1, 2, 3]), make(&mut strings, &[1, 4, 4, 4]), make(&mut strings, &[2]));
        let mut marks = strings.marks();
        (marks[a as usize], marks[c as usize]) = (true, true);
        let numbers = strings.keep(marks);
        assert_eq!(strings.len(), 4);
        assert_eq!(strings.to_vec(numbers[a as usize]), [1, 2, 3]);
        assert_eq!(make(&mut strings, &[2]), numbers[c as usize]);
        assert_eq!(make(&mut strings, &[1, 4]), 5);
    }
}
