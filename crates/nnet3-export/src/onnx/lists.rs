//! Rows that are chosen from other rows, as Slice, Reshape, Expand, Concat or Gather.

use super::emit::{Emitter, no_pattern};
use super::pattern::{Affine, Pattern};
use super::proto::AttributeProto;
use crate::error::Result;
use crate::graph::{Graph, Op, SourceRow, Value};

/// More pieces than these are gathered row by row.
const MOST_PIECES: usize = 8;

/// Rows in an arithmetic progression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// `None`: zeros.
    source: Option<u32>,
    first: i64,
    step: i64,
    count: i64,
}

fn pieces(rows: &[SourceRow]) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    for row in rows {
        let (source, row) = (row.map(|(source, _)| source), row.map_or(0, |(_, row)| i64::from(row)));
        if let Some(last) = out.last_mut().filter(|last| last.source == source) {
            let step = match (source, last.count) {
                (None, _) => 0,
                (Some(_), 1) => row - last.first,
                (Some(_), _) => last.step,
            };
            if step >= 0 && row == last.first + step * last.count {
                (last.step, last.count) = (step, last.count + 1);
                continue;
            }
        }
        out.push(Piece { source, first: row, step: 0, count: 1 });
    }
    out
}

pub(super) struct Lists<'e, 'a> {
    pub emitter: &'e mut Emitter<'a>,
    pub value: Value,
    pub sources: &'a [Value],
    /// The names of the sources.
    pub names: Vec<String>,
}

impl Lists<'_, '_> {
    pub fn emit(mut self) -> Result<String> {
        let lists: Vec<&[SourceRow]> = self.emitter.in_each(self.value, |item| match &item.op {
            Op::Rows { rows, .. } => rows.as_slice(),
            _ => &[],
        });
        let all_pieces: Vec<Vec<Piece>> = lists.iter().map(|list| pieces(list)).collect();
        if self.is_everything(&all_pieces) {
            self.check(|_, graph| {
                let rows = graph.rows(self.sources[0]) as u32;
                Some((0..rows).map(|row| Some((0, row))).collect())
            });
            return Ok(self.names[0].clone());
        }
        if let Some(result) = self.in_pieces(&all_pieces)? {
            return Ok(result);
        }
        match self.emitter.lengths {
            None => self.gather_fixed(lists[0]),
            Some(_) => self.gather_by_pattern(&lists),
        }
    }

    /// Looks whether `predicted` are the rows in the graphs of other lengths, too.
    fn check(&mut self, predicted: impl Fn(i64, &Graph) -> Option<Vec<SourceRow>>) {
        let value = self.value;
        self.emitter.check(|units, graph| match &graph.item(value).op {
            Op::Rows { rows, .. } => predicted(units, graph).is_some_and(|list| list == *rows),
            _ => false,
        });
    }

    /// Rows of a source, in each graph.
    fn source_rows(&self, source: usize) -> Vec<i64> {
        self.emitter.in_each(self.sources[source], |item| item.rows as i64)
    }

    /// True if these are all rows of the only source, in order.
    fn is_everything(&self, all: &[Vec<Piece>]) -> bool {
        self.names.len() == 1
            && all.iter().zip(self.source_rows(0)).all(|(pieces, rows)| {
                let step = if rows == 1 { 0 } else { 1 };
                pieces[..] == [Piece { source: Some(0), first: 0, step, count: rows }]
            })
    }

    /// A few slices behind each other, if the lists are the same few for all lengths.
    fn in_pieces(&mut self, all: &[Vec<Piece>]) -> Result<Option<String>> {
        let few = &all[0];
        let same = |pieces: &Vec<Piece>| {
            pieces.len() == few.len()
                && pieces.iter().zip(few).all(|(a, b)| (a.source, a.step) == (b.source, b.step))
        };
        if few.len() > MOST_PIECES || !all.iter().all(same) {
            return Ok(None);
        }
        let base = self.emitter.base_name(self.value);
        let node = self.emitter.item(self.value).node.clone();
        let (mut parts, mut fitted) = (Vec::new(), Vec::new());
        for (i, piece) in few.iter().enumerate() {
            let of = |f: fn(&Piece) -> i64| all.iter().map(move |pieces| f(&pieces[i]));
            let (Ok(first), Ok(count)) =
                (self.emitter.fit(&node, of(|p| p.first)), self.emitter.fit(&node, of(|p| p.count)))
            else {
                return Ok(None);
            };
            fitted.push((piece.source, piece.step, first, count));
            let Some(source) = piece.source else {
                let cols = self.emitter.item(self.value).cols;
                parts.push(self.emitter.filled(&base, &vec![0.0; cols], count)?);
                continue;
            };
            let rows = self.source_rows(source as usize);
            let rows = self.emitter.fit(&node, rows.into_iter())?;
            let slice = self.slice(&base, source as usize, piece.step, first, count, rows)?;
            parts.push(slice);
        }
        self.check(|units, _| in_pieces(&fitted, units));
        let base = self.emitter.base_name(self.value);
        Ok(Some(match &parts[..] {
            [only] => only.clone(),
            _ => {
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                self.emitter.node(&base, "Concat", &parts, vec![AttributeProto::int("axis", 1)])
            }
        }))
    }

    fn slice(
        &mut self,
        base: &str,
        source: usize,
        step: i64,
        first: Affine,
        count: Affine,
        rows: Affine,
    ) -> Result<String> {
        // A single row that is repeated; otherwise the place after the last row.
        let repeated = step == 0 && count != Affine { a: 1, b: 0 };
        let end = match step {
            0 => Affine { a: first.a + 1, b: first.b },
            _ => Affine { a: first.a + step * (count.a - 1) + 1, b: first.b + step * count.b },
        };
        if step > 1 {
            return self.every(base, source, step, first, count, rows);
        }
        let slice = self.range(base, &self.names[source].clone(), [first, end], rows)?;
        if !repeated {
            return Ok(slice);
        }
        let (one, count) = (self.emitter.ints(&[1]), self.emitter.affine(count)?);
        let axis = vec![AttributeProto::int("axis", 0)];
        let shape = self.emitter.node(base, "Concat", &[&one, &count, &one], axis);
        Ok(self.emitter.node(base, "Expand", &[&slice, &shape], vec![]))
    }

    /// Rows from a first one to an end.
    fn range(&mut self, base: &str, source: &str, places: [Affine; 2], rows: Affine) -> Result<String> {
        let [start, end] = places.map(|place| from_an_end(place, rows));
        let (start, end) = (self.emitter.affine(start)?, self.emitter.affine(end)?);
        let axis = self.emitter.ints(&[1]);
        Ok(self.emitter.node(base, "Slice", &[source, &start, &end, &axis], vec![]))
    }

    /// Every `step`-th row: groups of rows are put side by side, and columns chosen from them. Not all runtimes have a
    /// Slice with a step.
    fn every(
        &mut self,
        base: &str,
        source: usize,
        step: i64,
        first: Affine,
        count: Affine,
        rows: Affine,
    ) -> Result<String> {
        let begin = |place: i64| Affine { a: first.a - place, b: first.b };
        let end = |place: i64| Affine { a: first.a - place + step * count.a, b: first.b + step * count.b };
        let holds = |place: &i64| {
            let (begin, end) = (begin(*place), end(*place));
            begin.a >= 0 && begin.b >= 0 && end.b <= rows.b && end.at(1) <= rows.at(1)
        };
        let usual = first.a.rem_euclid(step);
        let place = std::iter::once(usual).chain(0..step).find(holds);
        let cols = self.emitter.item(self.value).cols as i64;
        let (mut name, mut total) = (self.names[source].clone(), rows);
        let place = match place {
            Some(place) => place,
            None => {
                // Rows behind the last one, whose values are not read.
                let more = self.emitter.ints(&vec![0; step as usize - 1]);
                let axis = || vec![AttributeProto::int("axis", 1)];
                let more = self.emitter.node(base, "Gather", &[&name, &more], axis());
                name = self.emitter.node(base, "Concat", &[&name, &more], axis());
                total.a += step - 1;
                0
            }
        };
        let (begin, end) = (begin(place), end(place));
        if (begin, end) != (Affine { a: 0, b: 0 }, total) {
            let key = (name.clone(), vec![begin.a, begin.b, end.a, end.b]);
            name = match self.emitter.derived.get(&key) {
                Some(known) => known.clone(),
                None => {
                    let range = self.range(base, &name, [begin, end], total)?;
                    self.emitter.derived.entry(key).or_insert(range).clone()
                }
            };
        }
        let key = (name.clone(), vec![step]);
        let groups = match self.emitter.derived.get(&key) {
            Some(known) => known.clone(),
            None => {
                let dims = self.emitter.ints(&[0, -1, step * cols]);
                let groups = self.emitter.node(base, "Reshape", &[&name, &dims], vec![]);
                self.emitter.derived.entry(key).or_insert(groups).clone()
            }
        };
        let [start, end, axis] = [place * cols, (place + 1) * cols, 2].map(|i| self.emitter.ints(&[i]));
        Ok(self.emitter.node(base, "Slice", &[&groups, &start, &end, &axis], vec![]))
    }

    /// All sources behind each other, and a row of zeros if one is needed.
    fn joined(&mut self, with_zeros: bool) -> Result<String> {
        let base = self.emitter.base_name(self.value);
        let mut parts = self.names.clone();
        if with_zeros {
            let cols = self.emitter.item(self.value).cols;
            parts.push(self.emitter.filled(&base, &vec![0.0; cols], Affine { a: 1, b: 0 })?);
        }
        Ok(match &parts[..] {
            [only] => only.clone(),
            _ => {
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                self.emitter.node(&base, "Concat", &parts, vec![AttributeProto::int("axis", 1)])
            }
        })
    }

    fn gather(&mut self, joined: &str, places: &str) -> String {
        let base = self.emitter.base_name(self.value);
        self.emitter.node(&base, "Gather", &[joined, places], vec![AttributeProto::int("axis", 1)])
    }

    fn gather_fixed(&mut self, list: &[SourceRow]) -> Result<String> {
        let joined = self.joined(list.iter().any(Option::is_none))?;
        let places = places(self.sources, list, self.emitter.graphs[0]);
        let places = self.emitter.ints(&places);
        Ok(self.gather(&joined, &places))
    }

    /// first[i mod m] + step[i mod m] · (i div m), between exceptions at both ends.
    fn gather_by_pattern(&mut self, lists: &[&[SourceRow]]) -> Result<String> {
        let node = self.emitter.item(self.value).node.clone();
        let Some(lengths) = self.emitter.lengths else { return self.gather_fixed(lists[0]) };
        let graphs = lists.iter().zip(&self.emitter.graphs);
        let places: Vec<Vec<i64>> = graphs.map(|(list, graph)| places(self.sources, list, graph)).collect();
        let pattern = Pattern::fit(&lengths.units, &places, lengths.longest_period)
            .ok_or_else(|| no_pattern(&node, "the rows that it reads do not repeat themselves"))?;
        let (value, sources) = (self.value, self.sources);
        self.emitter.check(|units, graph| match &graph.item(value).op {
            Op::Rows { rows, .. } => pattern.list(units) == Some(self::places(sources, rows, graph)),
            _ => false,
        });
        let joined = self.joined(lists.iter().any(|list| list.iter().any(Option::is_none)))?;
        let base = format!("{node}/places");
        let mut parts = Vec::new();
        for &place in &pattern.head {
            parts.push(self.emitter.affine(place)?);
        }
        if pattern.length != (Affine { a: 0, b: 0 }) {
            parts.push(self.periodic(&base, &pattern)?);
        }
        for &place in &pattern.tail {
            parts.push(self.emitter.affine(place)?);
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let places = match parts[..] {
            [only] => only.to_string(),
            _ => self.emitter.node(&base, "Concat", &parts, vec![AttributeProto::int("axis", 0)]),
        };
        Ok(self.gather(&joined, &places))
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

/// Returns the rows of pieces, with first rows and numbers of rows that depend on the length. `None` if the length is
/// too short for them.
fn in_pieces(pieces: &[(Option<u32>, i64, Affine, Affine)], units: i64) -> Option<Vec<SourceRow>> {
    let mut rows = Vec::new();
    for &(source, step, first, count) in pieces {
        if count.at(units) < 1 {
            return None;
        }
        for i in 0..count.at(units) {
            let row = u32::try_from(first.at(units) + step * i).ok()?;
            rows.push(source.map(|source| (source, row)));
        }
    }
    Some(rows)
}

/// Rows of sources as rows of all sources behind each other; zeros are the row after them.
fn places(sources: &[Value], list: &[SourceRow], graph: &Graph) -> Vec<i64> {
    let mut first = vec![0];
    for &source in sources {
        first.push(first[first.len() - 1] + graph.rows(source) as i64);
    }
    let zeros = first[sources.len()];
    let place = |row: &SourceRow| row.map_or(zeros, |(source, row)| first[source as usize] + i64::from(row));
    list.iter().map(place).collect()
}

/// A place among `rows` rows, counted from their end if that makes it the same for all lengths.
fn from_an_end(place: Affine, rows: Affine) -> Affine {
    let from_end = Affine { a: place.a - rows.a, b: place.b - rows.b };
    match (place.b, from_end) {
        (0, _) => place,
        (_, Affine { a: 0, b: 0 }) => Affine { a: i64::MAX, b: 0 },
        (_, Affine { b: 0, .. }) => from_end,
        _ => place,
    }
}
