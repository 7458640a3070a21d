//! Rows that are chosen from other rows, as Slice, Reshape, Expand, Concat or Gather.

use super::emit::Emitter;
use super::pattern::Affine;
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
            None => self.gather_one(lists[0]),
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
        Ok(Some(self.emitter.joined(&base, &parts, 1)))
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
        let name = self.names[source].clone();
        if step > 1 {
            let cols = self.emitter.item(self.value).cols;
            return self.emitter.every(base, (&name, rows, cols), step, first, count);
        }
        let slice = self.emitter.range(base, &name, [first, end], rows)?;
        if !repeated {
            return Ok(slice);
        }
        let (one, count) = (self.emitter.ints(&[1]), self.emitter.affine(count)?);
        let axis = vec![AttributeProto::int("axis", 0)];
        let shape = self.emitter.node(base, "Concat", &[&one, &count, &one], axis);
        Ok(self.emitter.node(base, "Expand", &[&slice, &shape], vec![]))
    }

    /// All sources behind each other, and a row of zeros if one is needed.
    pub(super) fn joined(&mut self, with_zeros: bool) -> Result<String> {
        let base = self.emitter.base_name(self.value);
        let mut parts = self.names.clone();
        if with_zeros {
            let cols = self.emitter.item(self.value).cols;
            parts.push(self.emitter.filled(&base, &vec![0.0; cols], Affine { a: 1, b: 0 })?);
        }
        Ok(self.emitter.joined(&base, &parts, 1))
    }

    pub(super) fn gather(&mut self, joined: &str, places: &str) -> String {
        let base = self.emitter.base_name(self.value);
        self.emitter.node(&base, "Gather", &[joined, places], vec![AttributeProto::int("axis", 1)])
    }

    pub(super) fn gather_fixed(&mut self, list: &[SourceRow]) -> Result<String> {
        let joined = self.joined(list.iter().any(Option::is_none))?;
        let places = places(self.sources, list, self.emitter.graphs[0]);
        let places = self.emitter.ints(&places);
        Ok(self.gather(&joined, &places))
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
pub(super) fn places(sources: &[Value], list: &[SourceRow], graph: &Graph) -> Vec<i64> {
    let mut first = vec![0];
    for &source in sources {
        first.push(first[first.len() - 1] + graph.rows(source) as i64);
    }
    let zeros = first[sources.len()];
    let place = |row: &SourceRow| row.map_or(zeros, |(source, row)| first[source as usize] + i64::from(row));
    list.iter().map(place).collect()
}
