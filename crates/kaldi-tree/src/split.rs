//! Splits the leaves of a tree by questions. The split with the largest improvement of the objective function comes
//! first.

use crate::cluster::{self, refine};
use crate::clusterable::Clusterable;
use crate::error::{Error, Result};
use crate::questions::{Questions, QuestionsForKey};
use crate::stats::{Entry, Part, by_key, by_leaf, describe, sum, value_of};
use crate::{Message, Report};
use kaldi_hmm::event_map::EventMap;
use std::collections::BTreeSet;

/// A tree with more leaves.
pub struct Splits {
    pub tree: EventMap,
    pub num_leaves: usize,
    /// The rise of the objective function.
    pub improvement: f32,
    /// The improvement by the split that helped least.
    pub smallest: f32,
}

/// Splits the leaves of `tree`, which has `num_leaves`. It stops if the best split improves the objective function by
/// at most `thresh`, or if there are `max_leaves` leaves. Without a positive `max_leaves`, the number has no limit.
pub(crate) fn split_leaves<C: Clusterable>(
    tree: &EventMap,
    stats: &Part<C>,
    questions: &Questions,
    thresh: f32,
    max_leaves: i32,
    num_leaves: usize,
    report: Report,
) -> Result<Splits> {
    let mut splitting = Splitting { questions, num_leaves, got_worse: 0, scratch: None };
    if questions.iter().next().is_none() {
        return Err(Error::stats("there are no questions for any key"));
    }
    let parts = by_leaf(stats, tree)?;
    if parts.is_empty() {
        return Err(Error::stats("there are no statistics of phones whose roots may be split"));
    }
    let mut nodes = Vec::new();
    for (leaf, part) in parts.into_iter().enumerate() {
        nodes.push(splitting.leaf(leaf, part)?);
    }
    let (mut improvement, mut smallest, mut count) = (0.0, 1e20_f32, 0);
    // The best of each root; of equal ones the last root's.
    let mut queue: BTreeSet<(Ordered, usize)> =
        nodes.iter().enumerate().map(|(root, node)| (Ordered(node.gain), root)).collect();
    while let Some(&(Ordered(gain), root)) = queue.last() {
        if gain <= thresh.max(0.0) || (max_leaves > 0 && splitting.num_leaves >= max_leaves as usize) {
            break;
        }
        queue.pop_last();
        smallest = smallest.min(gain);
        improvement += gain;
        splitting.split(&mut nodes[root])?;
        queue.insert((Ordered(nodes[root].gain), root));
        count += 1;
    }
    if splitting.got_worse > 0 {
        report(Message::Warning(format!(
            "Objective function got worse when building tree, for {} questions",
            splitting.got_worse
        )));
    }
    let num_leaves = splitting.num_leaves;
    report(Message::Log(format!("DoDecisionTreeSplit: split {count} times, #leaves now {num_leaves}")));
    let tree = tree.map_leaves(&mut |leaf| {
        let node = usize::try_from(leaf).ok().and_then(|leaf| nodes.get(leaf));
        node.map_or(EventMap::Constant(leaf), Node::tree)
    });
    Ok(Splits { tree, num_leaves, improvement, smallest })
}

/// Numbers in their order.
#[derive(Clone, Copy, PartialEq)]
struct Ordered(f32);

impl Eq for Ordered {}
impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A question: the key and the values that lead to the first child.
struct Question {
    key: i32,
    yes_set: Vec<i32>,
}

struct Node<'a, C> {
    /// The rise of the objective function by the best split at or below this node.
    gain: f32,
    question: Option<Question>,
    kind: Kind<'a, C>,
}

enum Kind<'a, C> {
    Leaf { number: usize, stats: Part<'a, C> },
    Inner { yes: Box<Node<'a, C>>, no: Box<Node<'a, C>> },
}

impl<C> Node<'_, C> {
    fn tree(&self) -> EventMap {
        match (&self.kind, &self.question) {
            (Kind::Inner { yes, no }, Some(Question { key, yes_set })) => EventMap::Split {
                key: *key,
                yes_set: yes_set.clone(),
                yes: Box::new(yes.tree()),
                no: Box::new(no.tree()),
            },
            (Kind::Leaf { number, .. }, _) => EventMap::Constant(*number as i32),
            (Kind::Inner { .. }, None) => unreachable!("a split has a question"),
        }
    }
}

struct Splitting<'q, C> {
    questions: &'q Questions,
    num_leaves: usize,
    /// Number of questions that lowered the objective function, by rounding.
    got_worse: usize,
    /// Statistics with memory for reuse.
    scratch: Option<[C; 2]>,
}

impl<'a, C: Clusterable + 'a> Splitting<'_, C> {
    fn leaf(&mut self, number: usize, stats: Part<'a, C>) -> Result<Node<'a, C>> {
        let (mut gain, mut question) = (0.0, None);
        for (key, questions) in self.questions.iter() {
            let (improvement, yes_set) = self.best_question(&stats, key, questions)?;
            if improvement > gain {
                gain = improvement;
                question = Some(Question { key, yes_set });
            }
        }
        Ok(Node { gain, question, kind: Kind::Leaf { number, stats } })
    }

    /// Splits the leaf with the largest gain, at or below a node.
    fn split(&mut self, node: &mut Node<'a, C>) -> Result<()> {
        match &mut node.kind {
            Kind::Inner { yes, no } => {
                self.split(if yes.gain >= no.gain { yes } else { no })?;
                node.gain = yes.gain.max(no.gain);
            }
            Kind::Leaf { number, stats } => {
                let Some(Question { key, yes_set }) = &node.question else { return Ok(()) };
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for &entry in stats.iter() {
                    let value = value_of(&entry.0, *key).ok_or_else(|| {
                        Error::stats(format!("the event {} has no key {key}", describe(&entry.0)))
                    })?;
                    if yes_set.binary_search(&value).is_ok() { yes.push(entry) } else { no.push(entry) }
                }
                let new_leaf = self.num_leaves;
                self.num_leaves += 1;
                let yes = Box::new(self.leaf(*number, yes)?);
                let no = Box::new(self.leaf(new_leaf, no)?);
                node.gain = yes.gain.max(no.gain);
                node.kind = Kind::Inner { yes, no };
            }
        }
        Ok(())
    }

    /// The question about a key that improves the objective function most, and by how much: 0 if none does.
    fn best_question(
        &mut self,
        stats: &[&'a Entry<C>],
        key: i32,
        questions: &QuestionsForKey,
    ) -> Result<(f32, Vec<i32>)> {
        if stats.len() <= 1 || stats.iter().any(|entry| value_of(&entry.0, key).is_none()) {
            return Ok((0.0, Vec::new()));
        }
        let sums: Vec<Option<C>> = by_key(stats, key)?.iter().map(|part| sum(part)).collect();
        let Some(total) = cluster::sum(sums.iter().flatten()) else { return Ok((0.0, Vec::new())) };
        let (mut improvement, mut yes_set) = self.best_set(&sums, &total, questions);
        if questions.refine.num_iters > 0 {
            let mut assignments = vec![0; sums.len()];
            for value in yes_set.iter().filter_map(|&value| usize::try_from(value).ok()) {
                if let Some(assignment) = assignments.get_mut(value) {
                    *assignment = 1;
                }
            }
            let mut empty = total.clone();
            empty.set_zero();
            let mut clusters = vec![empty.clone(), empty.clone()];
            for (stats, &cluster) in sums.iter().zip(&assignments) {
                stats.iter().for_each(|stats| clusters[cluster].add(stats));
            }
            let points: Vec<C> = sums.into_iter().map(|sum| sum.unwrap_or_else(|| empty.clone())).collect();
            improvement += refine(&points, &mut clusters, &mut assignments, questions.refine);
            if clusters.iter().any(|cluster| cluster.normalizer() == 0.0) {
                return Ok((0.0, Vec::new()));
            }
            yes_set = (0..).zip(&assignments).filter(|pair| *pair.1 == 1).map(|pair| pair.0).collect();
        }
        yes_set.dedup();
        Ok((improvement, yes_set))
    }

    /// Returns the set of values with the largest gain if it is separated from the others; `sums` has the statistics of
    /// each value.
    ///
    /// The smaller side's sum is added up from its values; the other side is `total` minus that, as in the reference.
    /// If both have equally many values, both are added up.
    fn best_set(&mut self, sums: &[Option<C>], total: &C, questions: &QuestionsForKey) -> (f32, Vec<i32>) {
        let unsplit = total.objf();
        let count = sums.iter().flatten().count();
        let [yes, no] = self.scratch.get_or_insert_with(|| [total.clone(), total.clone()]);
        let mut best: (f32, Option<&Vec<i32>>) = (0.0, None);
        let mut is_in = vec![false; sums.len()];
        for set in &questions.sets {
            let values = || set.iter().filter_map(|&v| usize::try_from(v).ok()).filter(|&v| v < sums.len());
            values().for_each(|value| is_in[value] = true);
            let num_yes = values().filter(|&value| sums[value].is_some()).count();
            let num_no = count - num_yes;
            if num_yes > 0 && num_no > 0 {
                let rest_is_yes = num_yes > num_no;
                let both_added = num_yes == num_no;
                let (small, rest) = if rest_is_yes { (&mut *no, &mut *yes) } else { (&mut *yes, &mut *no) };
                small.set_zero();
                rest.set_zero();
                if !both_added {
                    rest.add(total);
                }
                for (stats, &is_yes) in sums.iter().zip(&is_in) {
                    match stats {
                        Some(stats) if is_yes != rest_is_yes => {
                            small.add(stats);
                            if !both_added {
                                rest.sub(stats);
                            }
                        }
                        Some(stats) if both_added => rest.add(stats),
                        _ => {}
                    }
                }
                let objf = no.objf() + yes.objf();
                if f64::from(objf) < f64::from(unsplit) - 0.001 * f64::from(unsplit.abs()) {
                    self.got_worse += 1;
                }
                if objf - unsplit > best.0 {
                    best = (objf - unsplit, Some(set));
                }
            }
            values().for_each(|value| is_in[value] = false);
        }
        (best.0, best.1.cloned().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::RefineOptions;
    use crate::scalar::Scalar;
    use crate::stats::{EventVec, TreeStats, objf_of_tree};

    /// Two phones, each after one of six, with numbers that depend on both.
    fn stats() -> TreeStats<Scalar> {
        let mut random = fastrand::Rng::with_seed(5);
        let mut entries: Vec<(EventVec, Scalar)> = Vec::new();
        for phone in 1..=2 {
            for left in 0..6 {
                let mut stats = Scalar::default();
                for _ in 0..20 {
                    let value = (left * left) as f32 * 0.7 + phone as f32 + random.f32();
                    stats.add(&Scalar::new(value));
                }
                entries.push((vec![(-1, 0), (0, left), (1, phone)], stats));
            }
        }
        TreeStats { entries }
    }

    fn questions() -> Questions {
        let sets = vec![vec![0], vec![0, 1], vec![0, 1, 2], vec![1, 4], vec![0, 1, 2, 3], vec![3, 4, 5, 9]];
        questions_of(sets, 0)
    }

    fn questions_of(sets: Vec<Vec<i32>>, num_iters: i32) -> Questions {
        let refine = RefineOptions { num_iters, top_n: 2 };
        let mut questions = Questions::default();
        questions.set(0, QuestionsForKey { sets, refine });
        questions.set(1, QuestionsForKey { sets: vec![vec![1]], refine });
        questions
    }

    fn roots() -> EventMap {
        EventMap::table(1, [(1, EventMap::Constant(0)), (2, EventMap::Constant(1))])
    }

    /// Makes the best split of any leaf by any question, again and again, with all sums anew.
    fn slow_splits(stats: &Part<Scalar>, questions: &Questions, max_leaves: usize) -> (EventMap, f32) {
        let mut tree = roots();
        let mut num_leaves = 2;
        let before = objf_of_tree(stats, &tree).unwrap();
        while num_leaves < max_leaves {
            let mut best = (f32::NEG_INFINITY, tree.clone());
            for leaf in 0..num_leaves as i32 {
                for (key, questions) in questions.iter() {
                    for set in &questions.sets {
                        let split = |at: i32| match at == leaf {
                            false => EventMap::Constant(at),
                            true => EventMap::Split {
                                key,
                                yes_set: set.clone(),
                                yes: Box::new(EventMap::Constant(at)),
                                no: Box::new(EventMap::Constant(num_leaves as i32)),
                            },
                        };
                        let candidate = tree.map_leaves(&mut |at| split(at));
                        let objf = objf_of_tree(stats, &candidate).unwrap();
                        if objf > best.0 {
                            best = (objf, candidate);
                        }
                    }
                }
            }
            tree = best.1;
            num_leaves += 1;
        }
        let after = objf_of_tree(stats, &tree).unwrap();
        (tree, after - before)
    }

    #[test]
    fn the_best_question_is_asked() {
        let stats = stats();
        let all = stats.all();
        for max_leaves in 2..9 {
            let questions = questions();
            let splits = split_leaves(&roots(), &all, &questions, 1e-3, max_leaves, 2, &mut |_| {}).unwrap();
            let (tree, improvement) = slow_splits(&all, &questions, max_leaves as usize);
            assert_eq!(splits.num_leaves, max_leaves as usize);
            assert!((splits.improvement - improvement).abs() < 0.01 * improvement.max(1.0));
            let leaves = |tree: &EventMap| all.iter().map(|entry| tree.map(&entry.0)).collect::<Vec<_>>();
            assert_eq!(leaves(&splits.tree), leaves(&tree));
        }
    }

    /// Refined sets separate better than the sets of the questions.
    #[test]
    fn refined_questions() {
        let stats = stats();
        let all = stats.all();
        let split = |num_iters| {
            let questions = questions_of(vec![vec![1, 4]], num_iters);
            split_leaves(&roots(), &all, &questions, 0.0, 5, 2, &mut |_| {}).unwrap()
        };
        let (plain, refined) = (split(0), split(5));
        assert!(refined.improvement > plain.improvement, "{} {}", refined.improvement, plain.improvement);
        let gain = objf_of_tree(&all, &refined.tree).unwrap() - objf_of_tree(&all, &roots()).unwrap();
        assert!((refined.improvement - gain).abs() < 0.01 * gain, "{} {gain}", refined.improvement);
    }

    #[test]
    fn thresholds_and_nothing_to_split() {
        let stats = stats();
        let all = stats.all();
        let split =
            |thresh: f32| split_leaves(&roots(), &all, &questions(), thresh, 0, 2, &mut |_| {}).unwrap();
        assert_eq!((split(1e9).num_leaves, split(1e9).improvement), (2, 0.0));
        let smallest = split(10.0).smallest;
        assert!(smallest > 10.0 && split(smallest).smallest > smallest, "{smallest}");
        let error = |questions: &Questions, part: &Part<Scalar>| {
            let result = split_leaves(&roots(), part, questions, 1.0, 0, 2, &mut |_| {});
            result.err().unwrap().to_string()
        };
        assert!(error(&Questions::default(), &all).contains("no questions"));
        assert!(
            error(&questions(), &Vec::new()).contains("no statistics of phones whose roots may be split")
        );
    }
}
