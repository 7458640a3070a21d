//! Subsets of the states of a lattice, and a table of those that are known.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use kaldi_fst::StateId;

use super::strings::StringId;
use crate::weight::LatticeWeight;

/// An element of a subset: a state, its residual weight, and the transition-ids not yet on an arc.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element {
    pub state: StateId,
    pub string: StringId,
    pub weight: LatticeWeight,
}

/// Hash values are mixed already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only whole numbers are hashed")
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Known subsets, with a value for each. Subsets with weights that differ by at most delta are the same.
pub struct Known<T> {
    /// The last entry with a hash value.
    heads: HashMap<u64, u32, BuildHasherDefault<Identity>>,
    /// For each subset: its range in the pool, its value, and the previous entry with the same hash value.
    entries: Vec<(Range<usize>, T, u32)>,
}

const NONE: u32 = u32::MAX;

impl<T> Default for Known<T> {
    fn default() -> Known<T> {
        Known { heads: HashMap::default(), entries: Vec::new() }
    }
}

/// Returns the hash value of a subset: of its states and strings, not of its weights.
pub fn hash(subset: &[Element]) -> u64 {
    let mix = |hash: u64, element: &Element| {
        let key = u64::from(element.state) << 32 | u64::from(element.string);
        (hash.rotate_left(5) ^ key).wrapping_mul(0x517C_C1B7_2722_0A95)
    };
    let mixed = subset.iter().fold(subset.len() as u64, mix);
    mixed ^ (mixed >> 29)
}

impl<T> Known<T> {
    /// Returns the value of a subset with this hash value.
    pub fn find(&self, pool: &[Element], subset: &[Element], hash: u64, delta: f32) -> Option<&T> {
        let mut at = *self.heads.get(&hash)?;
        while at != NONE {
            let (range, value, before) = &self.entries[at as usize];
            if same(&pool[range.clone()], subset, delta) {
                return Some(value);
            }
            at = *before;
        }
        None
    }

    /// Adds a subset, which is a range in the pool.
    pub fn insert(&mut self, range: Range<usize>, hash: u64, value: T) {
        let before = self.heads.insert(hash, self.entries.len() as u32).unwrap_or(NONE);
        self.entries.push((range, value, before));
    }

    /// The values of all subsets.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().map(|(_, value, _)| value)
    }

    /// Computes the hash values again, after the strings of the subsets in `pool` have changed.
    pub fn rehash(&mut self, pool: &[Element]) {
        self.heads.clear();
        for (i, (range, _, before)) in self.entries.iter_mut().enumerate() {
            *before = self.heads.insert(hash(&pool[range.clone()]), i as u32).unwrap_or(NONE);
        }
    }
}

fn same(a: &[Element], b: &[Element], delta: f32) -> bool {
    let equal = |(a, b): (&Element, &Element)| {
        a.state == b.state && a.string == b.string && a.weight.approx_equal(&b.weight, delta)
    };
    a.len() == b.len() && a.iter().zip(b).all(equal)
}
