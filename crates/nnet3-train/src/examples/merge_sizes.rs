//! Sizes of minibatches: the grammar of `--minibatch-size`.
//!
//! `rule/rule/…`, a rule being `[eg-size=]item,item,…` and an item a number or a range `low:high`.

use crate::error::{Error, Result};
use kaldi_io::text::{parse_integer, split_integers};

/// Allowed minibatch sizes for examples of different sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct MinibatchSizes {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq)]
struct Rule {
    /// The size of examples that the rule is for; 0 if not given.
    example_size: i32,
    /// Ranges of sizes, with both ends.
    ranges: Vec<(usize, usize)>,
}

impl std::str::FromStr for MinibatchSizes {
    type Err = Error;
    fn from_str(text: &str) -> Result<MinibatchSizes> {
        let invalid = |why: &str| Error::options(format!("`minibatch-size`={text}: {why}"));
        let parts: Vec<&str> = text.split('/').collect();
        let mut rules = Vec::new();
        for part in &parts {
            let (example_size, ranges) = match part.split_once('=') {
                Some((size, ranges)) => {
                    let size = parse_integer(size)
                        .ok_or_else(|| invalid(&format!("expected a size of examples, found '{size}'")))?;
                    (size, ranges)
                }
                None if parts.len() > 1 => {
                    return Err(invalid(
                        "with more than one rule, each needs the size of the examples it is for",
                    ));
                }
                None => (0, *part),
            };
            if rules.iter().any(|rule: &Rule| rule.example_size == example_size) {
                return Err(invalid(&format!("two rules for examples of size {example_size}")));
            }
            let ranges = ranges.split(',').map(parse_range).collect::<Option<_>>().ok_or_else(|| {
                invalid("expected numbers above 0 or ranges such as 32:64, separated by commas")
            })?;
            rules.push(Rule { example_size, ranges });
        }
        Ok(MinibatchSizes { rules })
    }
}

fn parse_range(text: &str) -> Option<(usize, usize)> {
    let ends = split_integers(text, &[':'], false)?;
    let (low, high) = match ends[..] {
        [size] => (size, size),
        [low, high] => (low, high),
        _ => return None,
    };
    (0 < low && low <= high).then_some((low as usize, high as usize))
}

impl MinibatchSizes {
    /// The rule for the nearest size; the first of equally near ones.
    fn rule(&self, example_size: usize) -> &Rule {
        let distance = |rule: &&Rule| (example_size as i64 - i64::from(rule.example_size)).abs();
        self.rules.iter().min_by_key(distance).expect("at least one rule")
    }

    /// The size of full minibatches of examples of this size.
    pub fn largest(&self, example_size: usize) -> usize {
        self.rule(example_size).ranges.iter().map(|range| range.1).max().unwrap_or(0)
    }

    /// The smallest allowed minibatch of examples of this size.
    pub fn smallest(&self, example_size: usize) -> usize {
        self.rule(example_size).ranges.iter().map(|range| range.0).min().unwrap_or(0)
    }

    /// The largest allowed minibatch of at most `available` such examples; 0 if none is allowed.
    pub(crate) fn largest_up_to(&self, example_size: usize, available: usize) -> usize {
        let fit = |&(low, high): &(usize, usize)| if available < low { 0 } else { high.min(available) };
        self.rule(example_size).ranges.iter().map(fit).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let sizes: MinibatchSizes = "16,8".parse().unwrap();
        assert_eq!(sizes.largest(12), 16);
        assert_eq!([40, 16, 15, 8, 7].map(|available| sizes.largest_up_to(12, available)), [16, 16, 8, 8, 0]);
        let ranges: MinibatchSizes = "128=64:128,256/256=32,64".parse().unwrap();
        assert_eq!((ranges.largest(100), ranges.largest(300), ranges.largest(192)), (256, 64, 256));
        assert_eq!([63, 100, 200].map(|available| ranges.largest_up_to(128, available)), [0, 100, 128]);
    }

    #[test]
    fn what_is_refused() {
        for bad in ["", "0", "64:32", "a", "64/32", "1=2/1=3", "1=2=3", "64,", "1:2:3", "-1", "=4"] {
            assert!(bad.parse::<MinibatchSizes>().is_err(), "{bad}");
        }
    }
}
