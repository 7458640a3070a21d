//! Classes of frames as labels: from likelihoods of several classes, and combined from two sequences of labels.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// Labels of classes, and their prior probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    labels: Vec<i32>,
    log_priors: Vec<f32>,
}

impl Classes {
    /// Prepares `count` classes. The `map` names the labels of some; other classes are their own labels. Without
    /// `priors` all classes are equally probable.
    ///
    /// # Errors
    /// If the map has more entries than `count`, or an unknown class, or if the priors are not `count` positive
    /// numbers.
    pub fn new(count: usize, map: &[(i32, i32)], priors: &[f32]) -> Result<Classes> {
        if map.len() > count {
            let found = map.len();
            return Err(Error::options(format!("Map table has {found} classes.  Expected {count} or fewer")));
        }
        let mut labels = Vec::new();
        for class in 0..count {
            let class = i32::try_from(class).map_err(|_| Error::options(format!("{count} classes")))?;
            let label = map.iter().rev().find(|(from, _)| *from == class);
            labels.push(label.map_or(class, |(_, label)| *label));
        }
        if let Some((class, _)) =
            map.iter().find(|(class, _)| !(0..labels.len() as i64).contains(&i64::from(*class)))
        {
            return Err(Error::options(format!(
                "the map names class {class}; classes are 0 to {}",
                count - 1
            )));
        }
        let uniform = vec![1.0 / count as f32; count];
        let priors = if priors.is_empty() { &uniform } else { priors };
        if priors.len() != count {
            let found = priors.len();
            return Err(Error::options(format!("{found} priors specified.  Expected {count}")));
        }
        if let Some(wrong) = priors.iter().find(|prior| !(**prior > 0.0 && prior.is_finite())) {
            return Err(Error::options(format!("the prior {wrong} is not a number above 0")));
        }
        Ok(Classes { labels, log_priors: priors.iter().map(|prior| prior.ln()).collect() })
    }

    /// Returns for each frame the label of the class with the largest log-likelihood plus log prior, the first of equals.
    ///
    /// # Errors
    /// If the classes' likelihoods differ in length, or one is NaN.
    pub fn decide<V: AsRef<[f32]>>(&self, likes: &[V]) -> Result<Vec<f32>> {
        let frames = likes.first().map_or(0, |likes| likes.as_ref().len());
        for (class, likes) in likes.iter().map(AsRef::as_ref).enumerate() {
            if likes.len() != frames {
                let found = likes.len();
                return Err(Error::data(format!("class 0 has {frames} frames, class {class} has {found}")));
            }
            if let Some(t) = likes.iter().position(|x| x.is_nan()) {
                return Err(Error::data(format!("the likelihood of class {class} in frame {t} is NaN")));
            }
        }
        let decide = |t: usize| {
            let mut best = (0, f32::NEG_INFINITY);
            for (class, (likes, prior)) in likes.iter().zip(&self.log_priors).enumerate() {
                let score = likes.as_ref()[t] + prior;
                if score > best.1 {
                    best = (class, score);
                }
            }
            self.labels[best.0] as f32
        };
        Ok((0..frames).map(decide).collect())
    }
}

/// Results of pairs of labels. Without a table a frame is 1 if both labels are, else 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merge(Option<BTreeMap<(i32, i32), i32>>);

impl Merge {
    /// Uses a table of first label, second label and result.
    pub fn from_table(lines: &[[i32; 3]]) -> Merge {
        Merge(Some(lines.iter().map(|&[first, second, result]| ((first, second), result)).collect()))
    }

    /// Returns the results of a pair of labels for each frame.
    ///
    /// # Errors
    /// [`Error::Data`] if the lengths differ, [`Error::Options`] if the table does not have a pair.
    pub fn merge(&self, first: &[f32], second: &[f32]) -> Result<Vec<f32>> {
        let (one, other) = (first.len(), second.len());
        if one != other {
            return Err(Error::data(format!("{one} and {other} frames")));
        }
        first.iter().zip(second).map(|(&a, &b)| self.result(a, b)).collect()
    }

    fn result(&self, a: f32, b: f32) -> Result<f32> {
        match &self.0 {
            Some(table) => {
                let pair = (a.round() as i32, b.round() as i32);
                let found = table.get(&pair).map(|&result| result as f32);
                found.ok_or_else(|| {
                    Error::options(format!("Map is missing combination {} and {}", pair.0, pair.1))
                })
            }
            None if [a, b].iter().all(|x| [0.0, 1.0].contains(x)) => Ok(a * b),
            None => Err(Error::options(format!(
                "Map is missing combination {a} and {b}: without `map` labels are 0 and 1"
            ))),
        }
    }
}

/// Returns the integers of the lines of a map; a `#` begins a comment, and blank lines are skipped.
///
/// # Errors
/// If a line has not `N` integers; the message has its number.
pub fn parse_map<const N: usize>(text: &[String]) -> Result<Vec<[i32; N]>> {
    let mut lines = Vec::new();
    for (number, line) in text.iter().enumerate() {
        let fields: Vec<&str> = line.split('#').next().unwrap_or_default().split_ascii_whitespace().collect();
        if fields.is_empty() {
            continue;
        }
        let integers: Option<Vec<i32>> =
            fields.iter().map(|field| kaldi_io::text::parse_integer(field)).collect();
        let found = integers.and_then(|integers| <[i32; N]>::try_from(integers).ok());
        let wrong = || Error::data(format!("line {}: expected {N} integers, found '{line}'", number + 1));
        lines.push(found.ok_or_else(wrong)?);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_likely_class_wins() {
        let likes = [[1f32, 5.0, 2.0], [1.0, 4.5, 3.0]];
        let decide = |map: &[(i32, i32)], priors: &[f32]| {
            Classes::new(2, map, priors).unwrap().decide(&likes).unwrap()
        };
        assert_eq!(decide(&[], &[]), [0.0, 0.0, 1.0]);
        // ln 0.9 − ln 0.1 = 2.2 is more than the differences of frames 0 and 1, and of frame 2.
        assert_eq!(decide(&[(1, 7)], &[0.1, 0.9]), [7.0; 3]);
        assert_eq!(decide(&[(0, 3)], &[0.9, 0.1]), [3.0; 3]);
        let message =
            |map: &[(i32, i32)], priors: &[f32]| Classes::new(2, map, priors).unwrap_err().to_string();
        assert!(message(&[(0, 0), (1, 0), (0, 1)], &[]).contains("3 classes"));
        assert!(message(&[(2, 0)], &[]).contains("class 2"));
        assert!(message(&[], &[1.0]).contains("1 priors"));
        assert!(message(&[], &[1.0, 0.0]).contains("prior 0"));
        let classes = Classes::new(2, &[], &[]).unwrap();
        assert!(classes.decide(&[vec![1.0], vec![]]).unwrap_err().to_string().contains("class 1 has 0"));
    }

    #[test]
    fn labels_are_merged() {
        let merge = Merge::default();
        assert_eq!(merge.merge(&[0.0, 0.0, 1.0, 1.0], &[0.0, 1.0, 0.0, 1.0]).unwrap(), [0.0, 0.0, 0.0, 1.0]);
        assert!(matches!(merge.merge(&[1.0], &[]), Err(Error::Data(_))));
        assert!(matches!(merge.merge(&[2.0], &[0.0]), Err(Error::Options(_))));
        let table = parse_map::<3>(&["0 1 5 # x".into(), "".into(), " # y".into(), "2 0 1".into()]).unwrap();
        let merge = Merge::from_table(&table);
        assert_eq!(merge.merge(&[0.0, 2.0], &[1.0, 0.0]).unwrap(), [5.0, 1.0]);
        let error = merge.merge(&[2.0], &[1.0]).unwrap_err().to_string();
        assert_eq!(error, "Map is missing combination 2 and 1");
        let error = parse_map::<2>(&["0 1".into(), "1".into()]).unwrap_err().to_string();
        assert_eq!(error, "line 2: expected 2 integers, found '1'");
    }
}
