//! Strings of labels that share their beginnings: what a determinization has read and not written yet.

use crate::fst::EPSILON;

/// A string in a tree of [`Strings`]; equal strings have equal numbers.
pub type StringId = u32;

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The string of all labels but the last.
    parent: StringId,
    last: i32,
    length: u32,
}

/// A tree of strings, with a table that finds the longer by one label.
#[derive(Debug, Clone)]
pub struct Strings {
    entries: Vec<Entry>,
    /// Numbers of entries, at places that follow from parent and label; [`Strings::EMPTY`] marks a free place.
    table: Vec<StringId>,
    scratch: Vec<i32>,
}

const SMALLEST_TABLE: usize = 1 << 6;

impl Default for Strings {
    fn default() -> Strings {
        let root = Entry { parent: Strings::EMPTY, last: EPSILON, length: 0 };
        Strings { entries: vec![root], table: vec![Strings::EMPTY; SMALLEST_TABLE], scratch: Vec::new() }
    }
}

impl Strings {
    /// The string without labels.
    pub const EMPTY: StringId = 0;

    /// Number of strings without the empty one.
    pub fn len(&self) -> usize {
        self.entries.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string followed by the label. If the label is 0, it is the string itself.
    #[inline]
    pub fn append(&mut self, string: StringId, label: i32) -> StringId {
        match label {
            EPSILON => string,
            _ => self.longer(string, label),
        }
    }

    #[inline]
    fn longer(&mut self, parent: StringId, last: i32) -> StringId {
        let mut place = self.place(parent, last);
        loop {
            let found = self.table[place];
            if found == Self::EMPTY {
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

    #[inline]
    fn place(&self, parent: StringId, last: i32) -> usize {
        let key = u64::from(parent) << 32 | u64::from(last as u32);
        // (Fibonacci hashing: the upper bits of a product are well mixed.)
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.table.len() - 1)
    }

    fn rebuild_table(&mut self, size: usize) {
        self.table = vec![Self::EMPTY; size];
        for id in 1..self.entries.len() {
            let Entry { parent, last, .. } = self.entries[id];
            let mut place = self.place(parent, last);
            while self.table[place] != Self::EMPTY {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = id as StringId;
        }
    }

    /// The number of labels.
    #[inline]
    pub fn length(&self, string: StringId) -> usize {
        self.entries[string as usize].length as usize
    }

    /// Writes the labels to the end of `out`.
    #[inline]
    pub fn append_to(&self, mut string: StringId, out: &mut Vec<i32>) {
        let from = out.len();
        out.resize(from + self.length(string), EPSILON);
        for slot in out[from..].iter_mut().rev() {
            *slot = self.entries[string as usize].last;
            string = self.entries[string as usize].parent;
        }
    }

    pub fn to_vec(&self, string: StringId) -> Vec<i32> {
        let mut out = Vec::new();
        self.append_to(string, &mut out);
        out
    }

    /// The longest string that both begin with.
    #[inline]
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

    /// The string without its first `count` labels.
    #[inline]
    pub fn without_prefix(&mut self, string: StringId, count: usize) -> StringId {
        if count == 0 {
            return string;
        }
        let mut labels = std::mem::take(&mut self.scratch);
        labels.clear();
        let mut shorter = string;
        for _ in count..self.length(string) {
            labels.push(self.entries[shorter as usize].last);
            shorter = self.entries[shorter as usize].parent;
        }
        let rest = labels.iter().rev().fold(Self::EMPTY, |rest, &label| self.longer(rest, label));
        self.scratch = labels;
        rest
    }

    /// One string after the other.
    pub fn concatenate(&mut self, a: StringId, b: StringId) -> StringId {
        match (a, b) {
            (Self::EMPTY, other) | (other, Self::EMPTY) => other,
            _ => self.to_vec(b).into_iter().fold(a, |string, label| self.longer(string, label)),
        }
    }

    /// Forgets all strings but those marked and their beginnings. Gives the new numbers.
    pub fn keep(&mut self, mut marked: Vec<bool>) -> Vec<StringId> {
        for id in (1..self.entries.len()).rev() {
            if marked[id] {
                marked[self.entries[id].parent as usize] = true;
            }
        }
        let mut numbers = vec![Self::EMPTY; self.entries.len()];
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

    /// A mark for each string.
    pub fn marks(&self) -> Vec<bool> {
        vec![false; self.entries.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(strings: &mut Strings, labels: &[i32]) -> StringId {
        labels.iter().fold(Strings::EMPTY, |string, &label| strings.append(string, label))
    }

    #[test]
    fn against_lists() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut strings = Strings::default();
        let mut lists: Vec<Vec<i32>> =
            (0..3000).map(|_| (0..rng.usize(0..8)).map(|_| rng.i32(1..4)).collect()).collect();
        lists.push(Vec::new());
        for pair in lists.windows(2) {
            let (a, b) = (make(&mut strings, &pair[0]), make(&mut strings, &pair[1]));
            let common = pair[0].iter().zip(&pair[1]).take_while(|(x, y)| x == y).count();
            assert_eq!(strings.to_vec(strings.common_prefix(a, b)), pair[0][..common]);
            let both = strings.concatenate(a, b);
            assert_eq!(strings.to_vec(both), [&pair[0][..], &pair[1]].concat());
            assert_eq!(both, make(&mut strings, &[&pair[0][..], &pair[1]].concat()));
            let rest = strings.without_prefix(b, common);
            assert_eq!(strings.to_vec(rest), pair[1][common..]);
            assert_eq!(rest, make(&mut strings, &pair[1][common..]));
        }
    }

    #[test]
    fn labels_of_number_0_add_nothing() {
        let mut strings = Strings::default();
        let with = make(&mut strings, &[1, EPSILON, 2, EPSILON]);
        assert_eq!((with, strings.len()), (make(&mut strings, &[1, 2]), 2));
        assert_eq!(strings.append(Strings::EMPTY, EPSILON), Strings::EMPTY);
        let mut out = vec![7];
        strings.append_to(with, &mut out);
        assert_eq!(out, [7, 1, 2]);
    }

    #[test]
    fn what_is_kept_stays_the_same() {
        let mut strings = Strings::default();
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
