//! Rows that are chosen by a pattern with a period.

use super::emit::no_pattern;
use super::lists::{Lists, places};
use super::pattern::{Affine, Pattern};
use super::proto::AttributeProto;
use crate::error::Result;
use crate::graph::{Op, SourceRow};

/// Longest period of a list for one length, and most exceptions at its ends.
const LONGEST: usize = 8;
const MOST_ENDS: usize = 4;

impl Lists<'_, '_> {
    /// A list for one length. Periodic lists are done without indexes, which pnnx does not take.
    pub(super) fn gather_one(&mut self, list: &[SourceRow]) -> Result<String> {
        let graph = self.emitter.graphs[0];
        let rows: usize = self.sources.iter().map(|&source| graph.rows(source)).sum();
        let rows = Affine { a: rows as i64, b: 0 };
        let pattern = Pattern::of_one(&places(self.sources, list, graph), LONGEST, MOST_ENDS);
        match pattern.as_ref().and_then(|pattern| Some((pattern, Groups::of(pattern, rows)?))) {
            Some((pattern, groups)) => self.by_groups(rows, pattern, &groups),
            None => self.gather_fixed(list),
        }
    }

    /// first[i mod m] + step[i mod m] · (i div m), between exceptions at both ends.
    pub(super) fn gather_by_pattern(&mut self, lists: &[&[SourceRow]]) -> Result<String> {
        let node = self.emitter.item(self.value).node.clone();
        let Some(lengths) = self.emitter.lengths else { return self.gather_fixed(lists[0]) };
        let graphs = lists.iter().zip(&self.emitter.graphs);
        let places_of = graphs.map(|(list, graph)| places(self.sources, list, graph)).collect::<Vec<_>>();
        let pattern = Pattern::fit(&lengths.units, &places_of, lengths.longest_period)
            .ok_or_else(|| no_pattern(&node, "the rows that it reads do not repeat themselves"))?;
        let rows = self.emitter.graphs.iter().map(|graph| {
            let rows: usize = self.sources.iter().map(|&source| graph.rows(source)).sum();
            rows as i64
        });
        let rows = self.emitter.fit(&node, rows.collect::<Vec<_>>().into_iter())?;
        let groups = Groups::of(&pattern, rows);
        let (value, sources) = (self.value, self.sources);
        self.emitter.check(|units, graph| match &graph.item(value).op {
            Op::Rows { rows, .. } => {
                let is_long = groups.as_ref().is_none_or(|groups| groups.count.at(units) > 0);
                is_long && pattern.list(units) == Some(places(sources, rows, graph))
            }
            _ => false,
        });
        match groups {
            Some(groups) => self.by_groups(rows, &pattern, &groups),
            None => {
                let with_zeros = lists.iter().any(|list| list.iter().any(Option::is_none));
                let joined = self.joined(with_zeros)?;
                self.by_index(&joined, &pattern)
            }
        }
    }

    /// Chooses every n-th row from each first row of the period, and puts the results side by side.
    fn by_groups(&mut self, rows: Affine, pattern: &Pattern, groups: &Groups) -> Result<String> {
        let base = self.emitter.base_name(self.value);
        let cols = self.emitter.item(self.value).cols;
        let joined = self.joined(false)?;
        let mut parts = Vec::new();
        for &place in &pattern.head {
            parts.push(self.row(&joined, place, rows)?);
        }
        let mut periods = Vec::new();
        for &first in &pattern.first {
            periods.push(match first == rows {
                true => self.emitter.filled(&base, &vec![0.0; cols], groups.count)?,
                false => {
                    let source = (joined.as_str(), rows, cols);
                    self.emitter.every(&base, source, groups.step, first, groups.count)?
                }
            });
        }
        let periods = self.emitter.joined(&base, &periods, 2);
        parts.push(match pattern.first.len() {
            1 => periods,
            _ => {
                let dims = self.emitter.ints(&[0, -1, cols as i64]);
                self.emitter.node(&base, "Reshape", &[&periods, &dims], vec![])
            }
        });
        for &place in groups.rest.iter().chain(&pattern.tail) {
            parts.push(self.row(&joined, place, rows)?);
        }
        Ok(self.emitter.joined(&base, &parts, 1))
    }

    /// A single row; the place behind all rows stands for zeros.
    fn row(&mut self, joined: &str, place: Affine, rows: Affine) -> Result<String> {
        let base = self.emitter.base_name(self.value);
        if place == rows {
            let cols = self.emitter.item(self.value).cols;
            return self.emitter.filled(&base, &vec![0.0; cols], Affine { a: 1, b: 0 });
        }
        self.emitter.range(&base, joined, [place, Affine { a: place.a + 1, ..place }], rows)
    }

    /// Computes the list of rows, for patterns of any kind.
    fn by_index(&mut self, joined: &str, pattern: &Pattern) -> Result<String> {
        let base = format!("{}/places", self.emitter.item(self.value).node);
        let mut parts = Vec::new();
        for &place in &pattern.head {
            parts.push(self.emitter.affine(place)?);
        }
        if pattern.length != (Affine { a: 0, b: 0 }) {
            parts.push(self.periodic(&base, pattern)?);
        }
        for &place in &pattern.tail {
            parts.push(self.emitter.affine(place)?);
        }
        let places = self.emitter.joined(&base, &parts, 0);
        Ok(self.gather(joined, &places))
    }

    fn periodic(&mut self, base: &str, pattern: &Pattern) -> Result<String> {
        let period = pattern.first.len() as i64;
        let count = self.emitter.affine(pattern.length)?;
        let [zero, one] = [0, 1].map(|i| self.emitter.ints(&[i]));
        let [from, step, count] =
            [&zero, &one, &count].map(|name| self.emitter.node(base, "Squeeze", &[name, &zero], vec![]));
        let i = self.emitter.node(base, "Range", &[&from, &count, &step], vec![]);
        let m = self.emitter.ints(&[period]);
        let quotient = self.emitter.node(base, "Div", &[&i, &m], vec![]);
        let whole = self.emitter.node(base, "Mul", &[&quotient, &m], vec![]);
        let rest = self.emitter.node(base, "Sub", &[&i, &whole], vec![]);
        let by_rest = |lists: &mut Self, values: Vec<i64>| {
            let table = lists.emitter.ints(&values);
            lists.emitter.node(base, "Gather", &[&table, &rest], vec![AttributeProto::int("axis", 0)])
        };
        let mut places = by_rest(self, pattern.first.iter().map(|first| first.a).collect());
        let step = by_rest(self, pattern.step.clone());
        let term = self.emitter.node(base, "Mul", &[&step, &quotient], vec![]);
        places = self.emitter.node(base, "Add", &[&places, &term], vec![]);
        if pattern.first.iter().any(|first| first.b != 0) {
            let factor = by_rest(self, pattern.first.iter().map(|first| first.b).collect());
            let length = self.emitter.affine(Affine { a: 0, b: 1 })?;
            let term = self.emitter.node(base, "Mul", &[&factor, &length], vec![]);
            places = self.emitter.node(base, "Add", &[&places, &term], vec![]);
        }
        Ok(places)
    }
}

/// A periodic part in which all first rows of the period advance alike, but for zeros.
struct Groups {
    step: i64,
    /// Whole periods.
    count: Affine,
    /// The places behind the last whole period.
    rest: Vec<Affine>,
}

impl Groups {
    /// `zeros` is the place of a row of zeros.
    fn of(pattern: &Pattern, zeros: Affine) -> Option<Groups> {
        let period = pattern.first.len() as i64;
        let mut steps = pattern.first.iter().zip(&pattern.step).filter(|(first, _)| **first != zeros);
        let (_, &step) = steps.next()?;
        let alike = step >= 1 && steps.all(|(_, &other)| other == step);
        let still =
            pattern.first.iter().zip(&pattern.step).all(|(first, &step)| *first != zeros || step == 0);
        let Affine { a, b } = pattern.length;
        let some = b >= 1 || (b == 0 && a >= period);
        if !alike || !still || !some || b % period != 0 {
            return None;
        }
        let count = Affine { a: a.div_euclid(period), b: b / period };
        let place = |(first, step): (&Affine, &i64)| Affine {
            a: first.a + step * count.a,
            b: first.b + step * count.b,
        };
        let rest = pattern.first.iter().zip(&pattern.step).take(a.rem_euclid(period) as usize).map(place);
        Some(Groups { step, count, rest: rest.collect() })
    }
}
