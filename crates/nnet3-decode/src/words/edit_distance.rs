//! Errors between a reference and a hypothesis (`util/edit-distance-inl.h`).

/// Numbers of errors, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Errors {
    pub insertions: usize,
    pub deletions: usize,
    pub substitutions: usize,
}

impl Errors {
    pub fn total(&self) -> usize {
        self.insertions + self.deletions + self.substitutions
    }
}

/// Returns the fewest errors that turn the reference into the hypothesis. Among alternatives with equally many, prefers
/// an insertion at the end, then a deletion.
pub fn errors<T: PartialEq>(reference: &[T], hypothesis: &[T]) -> Errors {
    let mut row: Vec<Errors> =
        (0..=reference.len()).map(|deletions| Errors { deletions, ..Errors::default() }).collect();
    for word in hypothesis {
        let mut diagonal = row[0];
        row[0].insertions += 1;
        for i in 1..row.len() {
            let (above, left) = (row[i], row[i - 1]);
            let wrong = usize::from(*word != reference[i - 1]);
            let substituted = diagonal.total() + wrong;
            let (inserted, deleted) = (above.total() + 1, left.total() + 1);
            row[i] = if substituted < inserted && substituted < deleted {
                Errors { substitutions: diagonal.substitutions + wrong, ..diagonal }
            } else if deleted < inserted {
                Errors { deletions: left.deletions + 1, ..left }
            } else {
                Errors { insertions: above.insertions + 1, ..above }
            };
            diagonal = above;
        }
    }
    row[reference.len()]
}

/// Aligns the words of both; `None` marks a gap. Among alignments with equally few errors, prefers, from the end, a
/// match or substitution, then a deletion.
pub fn align<'t, T: PartialEq>(a: &'t [T], b: &'t [T]) -> Vec<(Option<&'t T>, Option<&'t T>)> {
    let width = b.len() + 1;
    let mut costs: Vec<usize> = vec![0; (a.len() + 1) * width];
    let wrong = |i: usize, j: usize| usize::from(a[i - 1] != b[j - 1]);
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            costs[i * width + j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => (costs[(i - 1) * width + j - 1] + wrong(i, j))
                    .min(costs[(i - 1) * width + j] + 1)
                    .min(costs[i * width + j - 1] + 1),
            };
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (a.len(), b.len());
    while i > 0 || j > 0 {
        let here = costs[i * width + j];
        if i > 0 && j > 0 && costs[(i - 1) * width + j - 1] + wrong(i, j) == here {
            (i, j) = (i - 1, j - 1);
            pairs.push((Some(&a[i]), Some(&b[j])));
        } else if i > 0 && (j == 0 || costs[(i - 1) * width + j] + 1 == here) {
            i -= 1;
            pairs.push((Some(&a[i]), None));
        } else {
            j -= 1;
            pairs.push((None, Some(&b[j])));
        }
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the fewest errors by trying all alternatives.
    fn fewest(reference: &[u8], hypothesis: &[u8]) -> usize {
        match (reference, hypothesis) {
            ([], rest) | (rest, []) => rest.len(),
            ([r, rs @ ..], [h, hs @ ..]) => {
                let matched = fewest(rs, hs) + usize::from(r != h);
                matched.min(fewest(rs, hypothesis) + 1).min(fewest(reference, hs) + 1)
            }
        }
    }

    #[test]
    fn against_trying_everything() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let mut words = || -> Vec<u8> { (0..rng.usize(0..6)).map(|_| rng.u8(0..3)).collect() };
            let (reference, hypothesis) = (words(), words());
            let found = errors(&reference, &hypothesis);
            assert_eq!(found.total(), fewest(&reference, &hypothesis));
            assert_eq!(reference.len() + found.insertions, hypothesis.len() + found.deletions);
            let pairs = align(&reference, &hypothesis);
            let wrong = pairs.iter().filter(|(r, h)| r != h).count();
            assert_eq!(wrong, found.total());
            assert!(pairs.iter().filter_map(|(r, _)| *r).eq(&reference));
            assert!(pairs.iter().filter_map(|(_, h)| *h).eq(&hypothesis));
        }
    }
}
