//! The set behind a label: the best of each state, without the labels and the weight that all ways have in common.

use super::Element;
use crate::strings::{StringId, Strings};
use crate::weight::Divisible;

/// Sorts elements by label and state, and returns those of each label. Elements of one state stay in their order.
pub fn by_label<L: Ord + Copy, W>(
    reached: &mut [(L, Element<W>)],
) -> impl Iterator<Item = (L, &[(L, Element<W>)])> {
    reached.sort_by_key(|(label, element)| (*label, element.state));
    reached.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same))
}

/// Puts the elements of a label into `set`, each state once. `join` adds to an element another one of the same state.
///
/// # Errors
/// `join` failed.
pub fn merge<L, W: Clone, E>(
    reached: &[(L, Element<W>)],
    set: &mut Vec<Element<W>>,
    mut join: impl FnMut(&mut Element<W>, &Element<W>) -> Result<(), E>,
) -> Result<(), E> {
    set.clear();
    for (_, element) in reached {
        match set.last_mut() {
            Some(known) if known.state == element.state => join(known, element)?,
            _ => set.push(element.clone()),
        }
    }
    Ok(())
}

/// Takes from all elements the prefix that their strings have in common, and the sum of their weights. Returns both.
pub fn take_common<W: Divisible>(
    set: &mut [Element<W>],
    strings: &mut Strings,
    plus: impl Fn(&W, &W) -> W,
) -> (StringId, W) {
    let Some((first, others)) = set.split_first() else { return (Strings::EMPTY, W::zero()) };
    let (mut prefix, mut weight) = (first.string, first.weight.clone());
    for element in others {
        prefix = strings.common_prefix(prefix, element.string);
        weight = plus(&weight, &element.weight);
    }
    let length = strings.length(prefix);
    for element in set {
        element.weight = element.weight.divide(&weight);
        element.string = strings.without_prefix(element.string, length);
    }
    (prefix, weight)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::weight::Algebra;

    #[test]
    fn sets_of_labels() {
        let mut strings = Strings::default();
        let mut make =
            |labels: &[i32]| labels.iter().fold(Strings::EMPTY, |s, &label| strings.append(s, label));
        let (long, short) = (make(&[5, 6, 7]), make(&[5, 8]));
        let element = |state, string, weight: f32| Element { state, string, weight };
        let mut reached = vec![
            (2, element(9, long, 3.0)),
            (1, element(4, short, 1.0)),
            (2, element(3, short, 2.5)),
            (2, element(9, short, 2.0)),
        ];
        let mut found = Vec::new();
        for (label, same) in by_label(&mut reached) {
            let mut set = Vec::new();
            let join = |known: &mut Element<f32>, other: &Element<f32>| {
                assert!(known.weight > other.weight);
                known.weight = other.weight;
                Ok::<(), Infallible>(())
            };
            let Ok(()) = merge(same, &mut set, join);
            let (prefix, weight) = take_common(&mut set, &mut strings, f32::plus);
            found.push((label, strings.to_vec(prefix), weight));
            let rest: Vec<_> = set.iter().map(|e| (e.state, strings.to_vec(e.string), e.weight)).collect();
            match label {
                1 => assert_eq!(rest, [(4, vec![], 0.0)]),
                _ => assert_eq!(rest, [(3, vec![8], 0.5), (9, vec![6, 7], 0.0)]),
            }
        }
        assert_eq!(found, [(1, vec![5, 8], 1.0), (2, vec![5], 2.0)]);
        assert_eq!(take_common(&mut [], &mut strings, f32::plus), (Strings::EMPTY, f32::INFINITY));
    }

    #[test]
    fn a_failure_to_join_ends_the_set() {
        let element = |state| (1, Element { state, string: Strings::EMPTY, weight: 0.0 });
        let failed = merge(&[element(1), element(1)], &mut Vec::new(), |_, _| Err("two ways"));
        assert_eq!(failed, Err("two ways"));
    }
}
