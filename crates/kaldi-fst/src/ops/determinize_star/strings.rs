//! Strings of labels that have numbers: equal strings have equal numbers.

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::fst::EPSILON;

pub(super) type StringId = u32;

/// A tree: each string is a shorter one with a label behind it. Number 0 is the empty string.
pub(super) struct Strings {
    /// The string without its last label, that label, the number of labels.
    nodes: Vec<(StringId, i32, u32)>,
    longer: FxHashMap<(StringId, i32), StringId>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings { nodes: vec![(0, EPSILON, 0)], longer: FxHashMap::default() }
    }
}

impl Strings {
    pub const EMPTY: StringId = 0;

    /// Returns the string followed by the label. If the label is 0, it returns the string itself.
    pub fn append(&mut self, string: StringId, label: i32) -> StringId {
        if label == EPSILON {
            return string;
        }
        *self.longer.entry((string, label)).or_insert_with(|| {
            let length = self.nodes[string as usize].2 + 1;
            self.nodes.push((string, label, length));
            (self.nodes.len() - 1) as StringId
        })
    }

    fn length(&self, string: StringId) -> u32 {
        self.nodes[string as usize].2
    }

    fn shorter(&self, string: StringId) -> StringId {
        self.nodes[string as usize].0
    }

    pub fn common_prefix(&self, mut a: StringId, mut b: StringId) -> StringId {
        while a != b {
            if self.length(a) >= self.length(b) {
                a = self.shorter(a);
            } else {
                b = self.shorter(b);
            }
        }
        a
    }

    /// Returns the rest of a string after a prefix with which it begins.
    pub fn without_prefix(&mut self, string: StringId, prefix: StringId) -> StringId {
        if prefix == Self::EMPTY {
            return string;
        }
        let (mut labels, mut shorter) = (Vec::new(), string);
        while shorter != prefix {
            labels.push(self.nodes[shorter as usize].1);
            shorter = self.shorter(shorter);
        }
        labels.iter().rev().fold(Self::EMPTY, |rest, &label| self.append(rest, label))
    }

    /// Puts the labels of a string into `out`.
    pub fn labels(&self, mut string: StringId, out: &mut Vec<i32>) {
        out.clear();
        while string != Self::EMPTY {
            let (shorter, label, _) = self.nodes[string as usize];
            out.push(label);
            string = shorter;
        }
        out.reverse();
    }

    /// An error unless the two are the same: one input must not have two outputs.
    pub fn check_same(&self, a: StringId, b: StringId) -> Result<()> {
        if a == b {
            return Ok(());
        }
        let (mut first, mut second) = (Vec::new(), Vec::new());
        self.labels(a, &mut first);
        self.labels(b, &mut second);
        Err(Error::NotFunctional { first, second })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        let mut strings = Strings::default();
        let mut make =
            |labels: &[i32]| labels.iter().fold(Strings::EMPTY, |s, &label| strings.append(s, label));
        let (a, b, prefix, rest) = (make(&[1, 2, 3]), make(&[1, 2, 4, 5]), make(&[1, 2]), make(&[4, 5]));
        assert_eq!(make(&[1, EPSILON, 2]), prefix);
        assert_eq!(strings.common_prefix(a, b), prefix);
        assert_eq!(strings.common_prefix(a, rest), Strings::EMPTY);
        assert_eq!(strings.without_prefix(b, prefix), rest);
        let mut labels = Vec::new();
        strings.labels(b, &mut labels);
        assert_eq!(labels, [1, 2, 4, 5]);
        assert!(strings.check_same(a, a).is_ok());
        let expected = Error::NotFunctional { first: vec![1, 2], second: vec![4, 5] };
        assert_eq!(strings.check_same(prefix, rest), Err(expected));
    }
}
