//! Lists of integers that depend on a length, found out from the lists for some lengths.

/// a + b · u, where u is a length in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    pub a: i64,
    pub b: i64,
}

impl Affine {
    /// The function with these values, if there is one.
    pub fn fit(units: &[i64], values: impl Iterator<Item = i64>) -> Option<Affine> {
        let values: Vec<i64> = values.collect();
        let (first, second) = (*values.first()?, values.get(1).copied());
        let b = match second {
            Some(second) => {
                let step = units[1] - units[0];
                if (second - first) % step != 0 {
                    return None;
                }
                (second - first) / step
            }
            None => 0,
        };
        let affine = Affine { a: first - b * units[0], b };
        units.iter().zip(&values).all(|(&u, &v)| affine.at(u) == v).then_some(affine)
    }

    pub fn at(&self, u: i64) -> i64 {
        self.a + self.b * u
    }
}

/// Element i of a part is `first[i mod m] + step[i mod m] · (i div m)`, m elements being a period.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pattern {
    /// Elements before the periodic part.
    pub head: Vec<Affine>,
    /// Number of elements of the periodic part.
    pub length: Affine,
    pub first: Vec<Affine>,
    pub step: Vec<i64>,
    /// Elements behind it.
    pub tail: Vec<Affine>,
}

/// More elements at an end are not taken for exceptions.
const LONGEST_END: usize = 24;

impl Pattern {
    /// Returns the pattern of lists for several lengths, the shortest first. `None` if no pattern with a period up to
    /// `longest_period` fits.
    pub fn fit(units: &[i64], lists: &[Vec<i64>], longest_period: usize) -> Option<Pattern> {
        let total = Affine::fit(units, lists.iter().map(|list| list.len() as i64))?;
        let shortest = lists[0].len();
        if total.b == 0 {
            let head = (0..shortest).map(|i| Affine::fit(units, lists.iter().map(|list| list[i])));
            return Some(Pattern {
                head: head.collect::<Option<_>>()?,
                length: Affine { a: 0, b: 0 },
                first: vec![Affine { a: 0, b: 0 }],
                step: vec![0],
                tail: vec![],
            });
        }
        for ends in 0..=2 * LONGEST_END {
            for head in ends.saturating_sub(LONGEST_END)..=ends.min(LONGEST_END) {
                let tail = ends - head;
                for period in 1..=longest_period {
                    // At least two periods, and the last one another time, must have been seen.
                    if shortest < ends + 2 * period {
                        break;
                    }
                    if let Some(pattern) = Pattern::with(units, lists, total, head, tail, period) {
                        return Some(pattern);
                    }
                }
            }
        }
        None
    }

    /// The pattern of a list for one length, with exceptions at its ends.
    pub fn of_one(list: &[i64], longest_period: usize, most_ends: usize) -> Option<Pattern> {
        let lists = [list.to_vec()];
        let total = Affine { a: list.len() as i64, b: 0 };
        (0..=most_ends).find_map(|ends| {
            (0..=ends).find_map(|head| {
                let periods = (1..=longest_period).filter(|period| list.len() >= ends + 2 * period);
                periods
                    .map(|period| Pattern::with(&[0], &lists, total, head, ends - head, period))
                    .find_map(|p| p)
            })
        })
    }

    fn with(
        units: &[i64],
        lists: &[Vec<i64>],
        total: Affine,
        head: usize,
        tail: usize,
        period: usize,
    ) -> Option<Pattern> {
        let step: Vec<i64> = (0..period).map(|p| lists[0][head + period + p] - lists[0][head + p]).collect();
        let fits = |list: &Vec<i64>| {
            let body = &list[head..list.len() - tail];
            (period..body.len()).all(|i| body[i] - body[i - period] == step[i % period])
        };
        if !lists.iter().all(fits) {
            return None;
        }
        let at = |place: &dyn Fn(&Vec<i64>) -> usize| {
            Affine::fit(units, lists.iter().map(|list| list[place(list)]))
        };
        let first = (0..period).map(|p| at(&|_| head + p)).collect::<Option<_>>()?;
        let head_values = (0..head).map(|i| at(&|_| i)).collect::<Option<_>>()?;
        let tail_values = (0..tail).map(|i| at(&|list| list.len() - tail + i)).collect::<Option<_>>()?;
        let length = Affine { a: total.a - (head + tail) as i64, b: total.b };
        Some(Pattern { head: head_values, length, first, step, tail: tail_values })
    }

    /// The list for a length. `None` if that is too short for both ends.
    pub fn list(&self, u: i64) -> Option<Vec<i64>> {
        let (m, length) = (self.first.len() as i64, self.length.at(u));
        let body =
            (0..length).map(|i| self.first[(i % m) as usize].at(u) + self.step[(i % m) as usize] * (i / m));
        let ends = |end: &[Affine]| end.iter().map(|v| v.at(u)).collect::<Vec<_>>();
        let list = ends(&self.head).into_iter().chain(body).chain(ends(&self.tail)).collect();
        (length >= 0).then_some(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists by another rule, for lengths that the pattern has not seen.
    fn check(rule: impl Fn(i64) -> Vec<i64>, longest_period: usize) -> Pattern {
        let units = [6, 7, 9];
        let lists: Vec<Vec<i64>> = units.iter().map(|&u| rule(u)).collect();
        let pattern = Pattern::fit(&units, &lists, longest_period).expect("a pattern");
        for u in [1, 2, 5, 20, 101] {
            assert_eq!(pattern.list(u), Some(rule(u)), "{u}: {pattern:?}");
        }
        pattern
    }

    #[test]
    fn finds_shifts_rounding_alternation_and_edges() {
        check(|u| (2..3 * u).collect(), 3);
        check(|u| (0..3 * u).map(|i| i / 3).collect(), 3);
        check(|u| (0..4 * u).map(|i| if i % 2 == 0 { i / 2 } else { 2 * u + 5 + i / 2 }).collect(), 4);
        check(|u| (0..3 * u).map(|i| (i - 2).max(0)).collect(), 3);
        check(|u| (0..3 * u).map(|i| (i + 1).min(3 * u - 1)).collect(), 3);
        let constant = check(|u| vec![0, 2 * u, 7], 3);
        assert_eq!(constant.head.len(), 3);
    }

    #[test]
    fn one_list_has_a_period_between_its_ends() {
        let list: Vec<i64> = (0..20).map(|i| if i % 2 == 0 { 3 * (i / 2) } else { 90 }).chain([7]).collect();
        let pattern = Pattern::of_one(&list, 8, 4).expect("a pattern");
        assert_eq!((pattern.first.len(), pattern.tail.len(), pattern.list(0)), (2, 1, Some(list)));
        assert_eq!(Pattern::of_one(&[0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121], 3, 2), None);
    }

    #[test]
    fn squares_have_no_pattern() {
        let units = [6, 7, 9];
        let lists: Vec<Vec<i64>> = units.iter().map(|&u| (0..3 * u).map(|i| i * i).collect()).collect();
        assert_eq!(Pattern::fit(&units, &lists, 3), None);
        assert_eq!(Affine::fit(&units, [36, 49, 81].into_iter()), None);
    }
}
