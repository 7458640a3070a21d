//! Ranges of rows, and every n-th row, as operators on shapes that depend on the length.

use super::emit::Emitter;
use super::pattern::Affine;
use super::proto::AttributeProto;
use crate::error::Result;

impl Emitter<'_> {
    /// Tensors behind each other along an axis.
    pub(super) fn joined(&mut self, base: &str, parts: &[String], axis: i64) -> String {
        match parts {
            [only] => only.clone(),
            _ => {
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                self.node(base, "Concat", &parts, vec![AttributeProto::int("axis", axis)])
            }
        }
    }

    /// Rows from a first one to an end, of a source with `rows` rows.
    pub(super) fn range(
        &mut self,
        base: &str,
        source: &str,
        places: [Affine; 2],
        rows: Affine,
    ) -> Result<String> {
        if places == [Affine { a: 0, b: 0 }, rows] {
            return Ok(source.to_string());
        }
        let [start, end] = places.map(|place| from_an_end(place, rows));
        let (start, end) = (self.affine(start)?, self.affine(end)?);
        let axis = self.ints(&[1]);
        Ok(self.node(base, "Slice", &[source, &start, &end, &axis], vec![]))
    }

    /// Every `step`-th row of a source (name, rows, columns): groups of rows are put side by side, and columns chosen
    /// from them. Not all runtimes have a Slice with a step.
    pub(super) fn every(
        &mut self,
        base: &str,
        (source, rows, cols): (&str, Affine, usize),
        step: i64,
        first: Affine,
        count: Affine,
    ) -> Result<String> {
        let begin = |place: i64| Affine { a: first.a - place, b: first.b };
        let end = |place: i64| Affine { a: first.a - place + step * count.a, b: first.b + step * count.b };
        if step == 1 {
            return self.range(base, source, [begin(0), end(0)], rows);
        }
        let holds = |place: &i64| {
            let (begin, end) = (begin(*place), end(*place));
            begin.a >= 0 && begin.b >= 0 && end.b <= rows.b && end.at(1) <= rows.at(1)
        };
        // The same groups for several first rows, if possible.
        let usual = first.a.rem_euclid(step);
        let (mut name, mut total) = (source.to_string(), rows);
        let place = match std::iter::once(usual).chain(0..step).find(holds) {
            Some(place) => place,
            None => {
                // Rows behind the last one, whose values are not read.
                let more = self.ints(&vec![0; step as usize - 1]);
                let more = self.node(base, "Gather", &[&name, &more], vec![AttributeProto::int("axis", 1)]);
                name = self.joined(base, &[name, more], 1);
                total.a += step - 1;
                0
            }
        };
        let name = self.range(base, &name, [begin(place), end(place)], total)?;
        let cols = cols as i64;
        let dims = self.ints(&[0, -1, step * cols]);
        let groups = self.node(base, "Reshape", &[&name, &dims], vec![]);
        let [start, end, axis] = [place * cols, (place + 1) * cols, 2].map(|i| self.ints(&[i]));
        Ok(self.node(base, "Slice", &[&groups, &start, &end, &axis], vec![]))
    }
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
