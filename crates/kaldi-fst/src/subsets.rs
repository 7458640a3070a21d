//! Sets of states with residuals, which the states of a determinized FST stand for: a table that gives them numbers, and the
//! algebra that makes the set behind a label.
//!
//! Residuals are sums that were rounded, so sets of nearly equal weights have to be one. Being near is no equivalence: of
//! several known sets that a set is near to, the one that was found last counts.

mod algebra;

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::fst::StateId;
use crate::strings::StringId;
use crate::weight::Divisible;

pub use algebra::{by_label, merge, take_common};

/// A state that the input may be in, with what was read on the way there and not written yet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element<W> {
    pub state: StateId,
    /// Residual labels. An acceptor has none.
    pub string: StringId,
    /// Residual weight.
    pub weight: W,
}

/// A rule that says which residual weights are the same.
pub trait Tolerance<W> {
    /// Hashes what is equal in all weights that are the same as this one: nothing, unless they have to be equal.
    fn hash(&self, _weight: &W, _hasher: &mut FxHasher) {}

    fn is_same(&self, a: &W, b: &W) -> bool;
}

/// Rules for weights of any kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Same {
    /// Residuals are rounded to multiples of this number, and have to be equal then, as in OpenFst.
    Rounded(f32),
    /// Residuals differ by at most this number, as in Kaldi's `DeterminizeStar`.
    Near(f32),
}

impl<W: Divisible> Tolerance<W> for Same {
    fn hash(&self, weight: &W, hasher: &mut FxHasher) {
        if let Same::Rounded(_) = self {
            weight.bits().hash(hasher);
        }
    }

    fn is_same(&self, a: &W, b: &W) -> bool {
        match *self {
            Same::Rounded(_) => a.bits() == b.bits(),
            Same::Near(delta) => a.is_near(b, delta),
        }
    }
}

/// The sets that were found. They have numbers from 0 in the order of discovery.
#[derive(Debug, Clone)]
pub struct Subsets<W, T> {
    tolerance: T,
    /// The elements of all sets, one set after the other.
    elements: Vec<Element<W>>,
    /// For each set, the end of its elements.
    ends: Vec<usize>,
    /// For each hash, the set that was found last.
    last_found: FxHashMap<u64, StateId>,
    /// For each set, the one with the same hash that was found before it.
    found_before: Vec<Option<StateId>>,
}

/// The place of a set that [`Subsets::find`] did not find.
#[derive(Debug)]
pub struct Vacant {
    hash: u64,
}

impl<W: Clone, T: Tolerance<W>> Subsets<W, T> {
    pub fn new(tolerance: T) -> Subsets<W, T> {
        Subsets {
            tolerance,
            elements: Vec::new(),
            ends: Vec::new(),
            last_found: FxHashMap::default(),
            found_before: Vec::new(),
        }
    }

    /// Returns how many sets there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The set of a number, which must be one of the table.
    #[inline]
    pub fn get(&self, number: StateId) -> &[Element<W>] {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.elements[begin..self.ends[number as usize]]
    }

    /// The number of a set, or the place where [`add`](Self::add) puts it. Its elements are in the order of states.
    ///
    /// # Errors
    /// The set is not known.
    pub fn find(&self, set: &[Element<W>]) -> Result<StateId, Vacant> {
        let hash = self.hash(set);
        let mut candidate = self.last_found.get(&hash).copied();
        while let Some(known) = candidate {
            if self.is_same(self.get(known), set) {
                return Ok(known);
            }
            candidate = self.found_before[known as usize];
        }
        Err(Vacant { hash })
    }

    /// Adds a set that was not found, and returns its number.
    pub fn add(&mut self, set: &[Element<W>], place: Vacant) -> StateId {
        let number = self.ends.len() as StateId;
        self.elements.extend_from_slice(set);
        self.ends.push(self.elements.len());
        self.found_before.push(self.last_found.insert(place.hash, number));
        number
    }

    /// The strings of all elements. Once they are others, [`rehash`](Self::rehash) has to follow.
    pub fn strings_mut(&mut self) -> impl Iterator<Item = &mut StringId> {
        self.elements.iter_mut().map(|element| &mut element.string)
    }

    /// Makes the table of hashes again, after strings have got other numbers.
    pub fn rehash(&mut self) {
        self.last_found.clear();
        for number in 0..self.ends.len() as StateId {
            let hash = self.hash(self.get(number));
            self.found_before[number as usize] = self.last_found.insert(hash, number);
        }
    }

    fn hash(&self, set: &[Element<W>]) -> u64 {
        let mut hasher = FxHasher::default();
        for Element { state, string, weight } in set {
            // (One word is mixed once.)
            hasher.write_u64(u64::from(*state) << 32 | u64::from(*string));
            self.tolerance.hash(weight, &mut hasher);
        }
        hasher.finish()
    }

    fn is_same(&self, a: &[Element<W>], b: &[Element<W>]) -> bool {
        let is_same = |(a, b): (&Element<W>, &Element<W>)| {
            a.state == b.state && a.string == b.string && self.tolerance.is_same(&a.weight, &b.weight)
        };
        a.len() == b.len() && a.iter().zip(b).all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets of few states and strings, with weights of which many are near each other.
    fn random(rng: &mut fastrand::Rng) -> Vec<Element<f32>> {
        let states = (0..3).filter(|_| rng.bool()).collect::<Vec<_>>();
        let element = |state| Element { state, string: rng.u32(0..2), weight: rng.i32(0..6) as f32 / 4.0 };
        states.into_iter().map(element).collect()
    }

    fn number(table: &mut Subsets<f32, Same>, set: &[Element<f32>]) -> StateId {
        table.find(set).unwrap_or_else(|vacant| table.add(set, vacant))
    }

    #[test]
    fn numbers_are_those_of_a_search_from_the_last_set_to_the_first() {
        for tolerance in [Same::Near(0.25), Same::Rounded(0.25)] {
            let mut rng = fastrand::Rng::with_seed(1);
            let mut table = Subsets::new(tolerance);
            let mut list: Vec<Vec<Element<f32>>> = Vec::new();
            for round in 0..1000 {
                let set = random(&mut rng);
                let near = |a: f32, b: f32| match tolerance {
                    Same::Near(delta) => (a - b).abs() <= delta,
                    Same::Rounded(_) => a == b,
                };
                let same = |known: &Vec<Element<f32>>| {
                    known.len() == set.len()
                        && known.iter().zip(&set).all(|(a, b)| {
                            (a.state, a.string) == (b.state, b.string) && near(a.weight, b.weight)
                        })
                };
                let expected = list.iter().rposition(same).unwrap_or_else(|| {
                    list.push(set.clone());
                    list.len() - 1
                });
                assert_eq!(number(&mut table, &set), expected as StateId);
                assert_eq!(table.get(expected as StateId), list[expected]);
                assert_eq!(table.len(), list.len());
                if round % 100 == 0 {
                    table.rehash();
                }
            }
            assert!(list.len() > 30, "{}", list.len());
        }
    }

    #[test]
    fn sets_are_found_by_the_new_numbers_of_their_strings() {
        let mut table = Subsets::new(Same::Near(0.0));
        let set = |string| [Element { state: 3, string, weight: 0.5 }];
        assert_eq!((number(&mut table, &set(1)), number(&mut table, &set(2))), (0, 1));
        table.strings_mut().for_each(|string| *string += 10);
        table.rehash();
        assert_eq!((table.find(&set(11)).ok(), table.find(&set(12)).ok()), (Some(0), Some(1)));
        assert!(table.find(&set(1)).is_err());
    }
}
