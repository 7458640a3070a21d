//! Finds sets of phones with similar statistics: questions for trees, or classes (`tree/build-tree.cc`).

use crate::cluster::{KMeansOptions, TreeClusterOptions, add_to, k_means, sum_normalizers, tree_cluster};
use crate::clusterable::Clusterable;
use crate::error::{Error, Result};
use crate::phone_sets::check_disjoint;
use crate::stats::{TreeStats, by_key, filter, sum};
use crate::{Message, Rand, Report};
use kaldi_hmm::event_map::PDF_CLASS;
use kaldi_io::log::{num, ratio};
use std::collections::HashSet;

/// Number of attempts at each division. There are few phones, so it may be slow.
const NUM_TRIES: usize = 10;

fn list(numbers: &[i32]) -> String {
    numbers.iter().map(|number| format!("{number} ")).collect()
}

/// The statistics of each of `sets`, of the given pdf classes.
fn stats_of_sets<C: Clusterable>(
    stats: &TreeStats<C>,
    sets: &[Vec<i32>],
    pdf_classes: &[i32],
    central: usize,
    report: Report,
) -> Result<Vec<C>> {
    let mut pdf_classes = pdf_classes.to_vec();
    pdf_classes.sort_unstable();
    pdf_classes.dedup();
    check_disjoint(sets.iter().map(|set| &set[..]))?;
    let all = stats.all();
    let retained = filter(&all, PDF_CLASS, &pdf_classes, true)?;
    if retained.len() * 10 < all.len() {
        report(Message::Warning(format!(
            "After filtering the tree statistics to retain only stats where pdf-class is in the set {{ {}}}, most of your \
             stats disappeared: the size changed from {} to {}.  You might be using a nonstandard topology but forgot to \
             modify the --pdf-class-list option (it defaults to {{ 1 }} which is the central state in a 3-state \
             left-to-right topology). E.g. a 1-state HMM topology would require the option --pdf-class-list=0.",
            list(&pdf_classes),
            all.len(),
            retained.len()
        )));
    }
    let mut by_phone: Vec<Option<C>> =
        by_key(&retained, central as i32)?.iter().map(|part| sum(part)).collect();
    let phones: HashSet<i32> = sets.iter().flatten().copied().collect();
    for phone in (0..).zip(&by_phone).filter(|pair| pair.1.is_some()).map(|pair| pair.0) {
        if !phones.contains(&phone) {
            report(Message::Warning(format!(
                "Phone {phone} is present in stats but is not in phone list [make sure you intended this]."
            )));
        }
    }
    let largest = phones.iter().max().map_or(0, |&phone| phone as usize);
    by_phone.resize(by_phone.len().max(largest + 1), None);
    let mut empty = by_phone.iter().flatten().next().cloned().ok_or_else(|| {
        Error::stats(format!("there are no statistics of the pdf classes {}", list(&pdf_classes)))
    })?;
    empty.set_zero();
    let of_set = |set: &Vec<i32>| {
        let stats = set.iter().map(|&phone| by_phone[phone as usize].as_ref().unwrap_or(&empty));
        stats.fold(None, add_to).unwrap_or_else(|| empty.clone())
    };
    let of_sets: Vec<C> = sets.iter().map(of_set).collect();
    for (set, stats) in sets.iter().zip(&of_sets) {
        if stats.normalizer() == 0.0 {
            report(Message::Warning(format!(
                "AutomaticallyObtainQuestions: no stats available for phone set: {}",
                list(set)
            )));
        }
    }
    Ok(of_sets)
}

/// Sets of phones that a binary tree of the given `sets` has, the largest first, and these sets themselves.
pub fn obtain_questions<C: Clusterable>(
    stats: &TreeStats<C>,
    sets: &[Vec<i32>],
    pdf_classes: &[i32],
    central: usize,
    rand: Rand,
    report: Report,
) -> Result<Vec<Vec<i32>>> {
    let of_sets = stats_of_sets(stats, sets, pdf_classes, central, report)?;
    let without_data = of_sets.iter().filter(|stats| stats.normalizer() == 0.0).count();
    if without_data + 1 >= of_sets.len() {
        report(Message::Warning(format!(
            "All or all but one of your classes of phones had no data. Note that we only consider data where pdf-class \
             is in the set ( {}).  If you have an unusual HMM topology this may not be what you want; use the \
             --pdf-class-list option to change this if needed. See also any warnings above.",
            list(pdf_classes)
        )));
    }
    let mut options = TreeClusterOptions::default();
    options.k_means.num_tries = NUM_TRIES;
    let tree = tree_cluster(&of_sets, of_sets.len(), &options, rand, report)
        .ok_or_else(|| Error::value("there are no sets of phones"))?;
    let mut found = vec![Vec::new(); tree.parents.len()];
    for (set, &leaf) in sets.iter().zip(&tree.assignments) {
        found[leaf].extend_from_slice(set);
    }
    for cluster in 0..found.len() {
        found[cluster].sort_unstable();
        // Phones do not go to the root. So the root has phones only in a tree that is a single leaf.
        let parent = tree.parents[cluster];
        if parent + 1 < found.len() {
            let phones = found[cluster].clone();
            found[parent].extend(phones);
        }
    }
    found.reverse();
    found.extend(sets.iter().cloned());
    let mut seen = HashSet::new();
    found.retain(|set| seen.insert(set.clone()) && !set.is_empty());
    Ok(found)
}

/// The phones of `sets` in `num_classes` classes, by k-means.
pub fn classes<C: Clusterable>(
    stats: &TreeStats<C>,
    sets: &[Vec<i32>],
    pdf_classes: &[i32],
    central: usize,
    num_classes: usize,
    rand: Rand,
    report: Report,
) -> Result<Vec<Vec<i32>>> {
    if !(2..=sets.len()).contains(&num_classes) {
        return Err(Error::value(format!(
            "num-classes invalid: num_classes is {num_classes}, number of phone sets is {}",
            sets.len()
        )));
    }
    let of_sets = stats_of_sets(stats, sets, pdf_classes, central, report)?;
    let (change, _, assignments) = k_means(&of_sets, num_classes, &KMeansOptions::default(), rand, report);
    let count = sum_normalizers(&of_sets);
    report(Message::Log(format!(
        "ClusterKMeans: objf change from clustering [versus single set] is {} over {} frames.",
        ratio(change, count),
        num(count.into())
    )));
    let mut classes = vec![Vec::new(); num_classes];
    for (set, class) in sets.iter().zip(assignments) {
        classes[class].extend_from_slice(set);
    }
    classes.iter_mut().for_each(|class: &mut Vec<i32>| class.sort_unstable());
    Ok(classes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Scalar;

    /// Six phones around -10 and 10; phone 6 has no data.
    fn stats() -> TreeStats<Scalar> {
        let values = [(1, -10.0), (2, 10.0), (3, -9.0), (4, 9.5), (5, -9.5)];
        let entry = |(phone, x)| (vec![(-1, 1), (0, phone)], Scalar::new(x));
        TreeStats { entries: values.into_iter().map(entry).collect() }
    }

    fn sets() -> Vec<Vec<i32>> {
        (1..=6).map(|phone| vec![phone]).collect()
    }

    /// A generator of the simplest kind.
    fn rand() -> impl FnMut() -> i32 {
        let mut state = 1u32;
        move || {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            (state >> 1) as i32
        }
    }

    #[test]
    fn what_is_alike_is_in_one_set() {
        let mut warnings = Vec::new();
        let mut report = |message| warnings.push(message);
        let questions = obtain_questions(&stats(), &sets(), &[1], 0, &mut rand(), &mut report).unwrap();
        let has = |set: &[i32]| questions.iter().any(|question| question == set);
        let phone_6 = |with: &[i32], without: &[i32]| has(with) || has(without);
        assert!(phone_6(&[2, 4, 6], &[2, 4]) && phone_6(&[1, 3, 5, 6], &[1, 3, 5]), "{questions:?}");
        assert!((1..=6).all(|phone| has(&[phone])));
        assert!(!has(&[1, 2, 3, 4, 5, 6]) || questions[0].len() == 6);
        let text = "AutomaticallyObtainQuestions: no stats available for phone set: 6 ";
        assert_eq!(warnings, [Message::Warning(text.to_owned())]);
    }

    #[test]
    fn classes_of_phones() {
        let mut report = |_| {};
        let mut classes = classes(&stats(), &sets()[..5], &[1], 0, 2, &mut rand(), &mut report).unwrap();
        classes.sort();
        assert_eq!(classes, [vec![1, 3, 5], vec![2, 4]]);
    }

    #[test]
    fn impossible_requests() {
        let mut report = |_| {};
        let mut error = |sets: &[Vec<i32>], classes: &[i32], count| {
            let found = if count == 0 {
                obtain_questions(&stats(), sets, classes, 0, &mut rand(), &mut report)
            } else {
                super::classes(&stats(), sets, classes, 0, count, &mut rand(), &mut report)
            };
            found.unwrap_err().to_string()
        };
        assert!(error(&sets(), &[2], 0).contains("no statistics of the pdf classes 2"));
        assert!(error(&sets(), &[1], 7).contains("num_classes is 7, number of phone sets is 6"));
        assert!(
            error(&[vec![1, 2], vec![2]], &[1], 0).contains("phone 2 appears twice in the sets of phones")
        );
        assert!(error(&[vec![1], vec![]], &[1], 0).contains("empty"));
    }
}
