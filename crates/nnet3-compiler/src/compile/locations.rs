//! Arranges the sources of a descriptor part's rows into lists, so that one command can execute each list.

use super::Compiler;
use super::reads::{Reads, SeveralReads};
use crate::computation::{RowOf, SubmatrixId};
use crate::graph::CindexId;
use crate::graph::steps::{Rows, StepId};
use nnet3_base::fast_hash::FastMap;

/// For each row the rows of other sub-matrices that are added into it, in one flat list.
pub(crate) struct Locations {
    /// `starts[row] .. starts[row + 1]` are the row's items.
    starts: Vec<u32>,
    items: Vec<(SubmatrixId, u32)>,
}

impl Locations {
    fn with_rows(rows: usize) -> Locations {
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        Locations { starts, items: Vec::with_capacity(rows) }
    }

    fn end_row(&mut self) {
        self.starts.push(self.items.len() as u32);
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn row(&self, row: usize) -> &[(SubmatrixId, u32)] {
        &self.items[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    fn longest(&self) -> usize {
        self.starts.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0)
    }
}

/// The source rows of one id, in all sequences.
struct Source<'a> {
    submatrix: SubmatrixId,
    rows: Rows<'a>,
    /// Position of its scale.
    group: usize,
}

/// Selects the values or the derivatives of the source steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Value,
    Deriv,
}

impl Compiler<'_> {
    /// The rows that each row of step `s` reads, with their scale, in lists that single commands can do. With [`Of::Deriv`]
    /// sources without derivative are left out.
    pub(super) fn lists(&self, s: usize, reads: &Reads, of: Of) -> Vec<(f32, List)> {
        let arranged = |locations| match of {
            Of::Value => split(locations),
            Of::Deriv => split_backward(locations),
        };
        let several = match reads {
            Reads::One { scale, ids } => match self.source_of_all(s, ids) {
                Some(source) => return self.lists_from_one(s, *scale, ids, source, of),
                None => &SeveralReads::of_one(*scale, ids),
            },
            Reads::Several(several) => several,
        };
        let by_scale = self.locations_by_scale(s, several, of);
        let mut out = Vec::with_capacity(by_scale.len());
        for (scale, locations) in by_scale {
            out.extend(arranged(locations).into_iter().map(|list| (scale, list)));
        }
        out
    }

    /// The step in which all of `ids` are, if there is one, and the rows of step `s` are in blocks.
    fn source_of_all(&self, s: usize, ids: &[CindexId]) -> Option<StepId> {
        let step_of = |id: CindexId| self.locations[id as usize].0;
        let source = step_of(*ids.first()?);
        let one = self.infos[s].step.stride().is_some() && ids.iter().all(|&id| step_of(id) == source);
        one.then_some(source)
    }

    /// As [`Compiler::lists`], if each id of step `s` reads one of `ids`, which all belong to one step.
    fn lists_from_one(
        &self,
        s: usize,
        scale: f32,
        ids: &[CindexId],
        source: StepId,
        of: Of,
    ) -> Vec<(f32, List)> {
        let from = &self.infos[source.index()];
        let Some(submatrix) = (if of == Of::Value { from.value } else { from.deriv }) else {
            return Vec::new();
        };
        let position = |id: CindexId| self.locations[id as usize].1 as usize;
        let (step, all) = (&self.infos[s].step, self.num_sequences);
        let stride = step.stride();
        let all_in_order = from.step.ids.len() == ids.len()
            && from.step.stride() == stride
            && ids.iter().enumerate().all(|(i, &id)| position(id) == i);
        if all_in_order {
            return vec![(scale, List::All(submatrix))];
        }
        let mut rows = Vec::with_capacity(ids.len() * all);
        let rows_of = |id: CindexId| from.step.rows(position(id), all);
        match stride {
            Some(1) => ids.iter().for_each(|&id| {
                let of_id = rows_of(id);
                rows.extend((0..all).map(|n| of_id.of_sequence(n) as i32));
            }),
            _ => {
                for block in ids.chunks(stride.unwrap_or(ids.len())) {
                    for n in 0..all {
                        rows.extend(block.iter().map(|&id| rows_of(id).of_sequence(n) as i32));
                    }
                }
            }
        }
        match of {
            Of::Value => vec![(scale, List::One(submatrix, rows))],
            Of::Deriv => make_contiguous(submatrix, rows).into_iter().map(|list| (scale, list)).collect(),
        }
    }

    /// The sources of every row of step `s`, by scale, ascending. With [`Of::Deriv`] those without derivative are left
    /// out.
    fn locations_by_scale(&self, s: usize, reads: &SeveralReads, of: Of) -> Vec<(f32, Locations)> {
        let source = |&(id, group): &(CindexId, u32)| {
            let (step, position) = self.locations[id as usize];
            let info = &self.infos[step.index()];
            let submatrix = if of == Of::Value { info.value } else { info.deriv }?;
            let rows = info.step.rows(position as usize, self.num_sequences);
            Some(Source { submatrix, rows, group: group as usize })
        };
        let sources: Vec<Option<Source>> = reads.items.iter().map(source).collect();
        let step = &self.infos[s].step;
        let rows = step.num_rows(self.num_sequences);
        let mut out: Vec<(f32, Locations)> =
            reads.scales.iter().map(|&(scale, _)| (scale, Locations::with_rows(rows))).collect();
        if let [(_, locations)] = &mut out[..]
            && let Some(stride) = step.stride()
        {
            let item = |source: &Source, n: usize| (source.submatrix, source.rows.of_sequence(n));
            for first in (0..step.ids.len()).step_by(stride) {
                for n in 0..self.num_sequences {
                    for i in first..first + stride {
                        let of_id = &sources[reads.starts[i] as usize..reads.starts[i + 1] as usize];
                        locations.items.extend(of_id.iter().flatten().map(|source| item(source, n)));
                        locations.end_row();
                    }
                }
            }
            return out;
        }
        step.for_each_row(self.num_sequences, |place| {
            if let Some((i, n)) = place {
                let of_id = &sources[reads.starts[i] as usize..reads.starts[i + 1] as usize];
                for source in of_id.iter().flatten() {
                    out[source.group].1.items.push((source.submatrix, source.rows.of_sequence(n)));
                }
            }
            out.iter_mut().for_each(|(_, locations)| locations.end_row());
        });
        out
    }
}

/// A source for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum List {
    /// All rows of one sub-matrix are read, in order.
    All(SubmatrixId),
    /// For each row of the step a row of one sub-matrix, or -1 for none; at least one is not.
    One(SubmatrixId, Vec<i32>),
    /// Does the same for few rows: positions, ascending, and rows.
    Few(SubmatrixId, Vec<(u32, i32)>),
    /// For each row of the step a row of some sub-matrix.
    Several(Vec<RowOf>),
}

impl List {
    /// The list of rows that all have a source; `None` if there are no rows.
    fn of_all(items: &[(SubmatrixId, u32)]) -> Option<List> {
        let &(source, _) = items.first()?;
        Some(match items.iter().all(|&(s, _)| s == source) {
            true => List::One(source, items.iter().map(|&(_, row)| row as i32).collect()),
            false => List::Several(items.iter().copied().map(Some).collect()),
        })
    }

    fn new(rows: usize, item: impl Fn(usize) -> RowOf) -> List {
        let source = (0..rows).find_map(&item).map(|(source, _)| source);
        match source {
            Some(source) if (0..rows).all(|row| item(row).is_none_or(|(s, _)| s == source)) => {
                List::One(source, (0..rows).map(|row| item(row).map_or(-1, |(_, row)| row as i32)).collect())
            }
            _ => List::Several((0..rows).map(item).collect()),
        }
    }
}

/// Splits sources into lists with at most one source for each row. Sub-matrices that feed more than half of the rows
/// get lists of their own, in reverse order of discovery.
fn split(locations: Locations) -> Vec<List> {
    let rows = locations.rows();
    let longest = locations.longest();
    let nth = |i: usize| List::new(rows, |row| locations.row(row).get(i).copied());
    if longest <= 1 {
        // Usually every row has one.
        return match locations.items.len() == rows {
            true => List::of_all(&locations.items).into_iter().collect(),
            false => (0..longest).map(nth).collect(),
        };
    }
    let mut counts: Vec<(SubmatrixId, usize)> = Vec::new();
    for &(submatrix, _) in &locations.items {
        match counts.iter_mut().find(|(s, _)| *s == submatrix) {
            Some((_, count)) => *count += 1,
            None => counts.push((submatrix, 1)),
        }
    }
    let large: Vec<SubmatrixId> =
        counts.into_iter().filter(|&(_, count)| count > rows / 2).map(|(s, _)| s).rev().collect();
    if large.is_empty() {
        return (0..longest).map(nth).collect();
    }
    let mut lists: Vec<Vec<i32>> = vec![vec![-1; rows]; large.len()];
    let mut rest = Locations::with_rows(rows);
    (0..rows).for_each(|row| {
        for &item in locations.row(row) {
            match large.iter().position(|&s| s == item.0) {
                Some(l) if lists[l][row] == -1 => lists[l][row] = item.1 as i32,
                _ => rest.items.push(item),
            }
        }
        rest.end_row();
    });
    let mut out: Vec<List> = large.into_iter().zip(lists).map(|(s, rows)| List::One(s, rows)).collect();
    out.append(&mut split(rest));
    out
}

/// As [`split`], such that within each list no row of a target repeats, or (one target) equal rows are adjacent.
fn split_backward(locations: Locations) -> Vec<List> {
    let mut out = Vec::new();
    for list in split(locations) {
        match list {
            List::One(source, rows) => out.extend(make_contiguous(source, rows)),
            List::Several(list) => out.extend(split_repeats(list)),
            other => out.push(other),
        }
    }
    out
}

/// Makes lists in which equal rows are adjacent: the k-th separate run of a value goes to list k.
fn make_contiguous(source: SubmatrixId, rows: Vec<i32>) -> Vec<List> {
    let mut last = -1;
    let grows = |&row: &i32| row < 0 || std::mem::replace(&mut last, row) < row;
    if rows.iter().all(grows) {
        return vec![List::One(source, rows)];
    }
    let size = rows.iter().max().map_or(0, |&m| m + 1) as usize;
    let mut runs = vec![0usize; size];
    // There can be as many lists as rows, so each holds only its own items.
    let mut out: Vec<Vec<(u32, i32)>> = vec![Vec::new()];
    for (i, &row) in rows.iter().enumerate() {
        if row < 0 {
            continue;
        }
        let count = &mut runs[row as usize];
        if i == 0 || rows[i - 1] != row {
            *count += 1;
        }
        if *count > out.len() {
            out.push(Vec::new());
        }
        out[*count - 1].push((i as u32, row));
    }
    match out.len() {
        1 => vec![List::One(source, rows)],
        _ => out.into_iter().map(|rows| List::Few(source, rows)).collect(),
    }
}

/// Makes lists without repetitions: the k-th occurrence of an item goes to list k.
fn split_repeats(list: Vec<RowOf>) -> Vec<List> {
    let mut seen: FastMap<(SubmatrixId, u32), usize> = FastMap::default();
    let mut out: Vec<Vec<RowOf>> = vec![vec![None; list.len()]];
    for (i, item) in list.iter().enumerate() {
        let Some(item) = item else { continue };
        let count = seen.entry(*item).or_insert(0);
        *count += 1;
        if *count > out.len() {
            out.push(vec![None; list.len()]);
        }
        out[*count - 1][i] = Some(*item);
    }
    out.into_iter().map(|list| List::new(list.len(), |row| list[row])).collect()
}

/// Returns the run of each of `size` rows if every row fills one run of positions without gaps. A row that does not occur
/// has (-1, -1). `rows` are positions and rows, by position.
pub(crate) fn contiguous_ranges(
    rows: impl Iterator<Item = (usize, i32)>,
    size: usize,
) -> Option<Vec<(i32, i32)>> {
    let mut ranges = vec![(-1, -1); size];
    for (i, row) in rows {
        let range = &mut ranges[row as usize];
        match *range {
            (-1, _) => *range = (i as i32, i as i32 + 1),
            (_, end) if end == i as i32 => range.1 += 1,
            _ => return None,
        }
    }
    Some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locations(rows: &[&[(u32, u32)]]) -> Locations {
        let mut out = Locations::with_rows(rows.len());
        for row in rows {
            out.items.extend(row.iter().map(|&(s, r)| (SubmatrixId(s), r)));
            out.end_row();
        }
        out
    }

    fn item(s: u32, r: u32) -> RowOf {
        Some((SubmatrixId(s), r))
    }

    fn one(s: u32, rows: &[i32]) -> List {
        List::One(SubmatrixId(s), rows.to_vec())
    }

    fn few(s: u32, rows: &[(u32, i32)]) -> List {
        List::Few(SubmatrixId(s), rows.to_vec())
    }

    #[test]
    fn frequent_sources_get_lists_of_their_own() {
        let lists = split(locations(&[&[(1, 0), (2, 0)], &[(1, 1), (2, 1)], &[(1, 2), (3, 0)]]));
        assert_eq!(lists, vec![one(2, &[0, 1, -1]), one(1, &[0, 1, 2]), one(3, &[-1, -1, 0])]);
    }

    #[test]
    fn backward_lists_write_no_row_twice() {
        let lists = split_backward(locations(&[&[(1, 0)], &[(2, 0)], &[(1, 0)]]));
        assert_eq!(lists, vec![List::Several(vec![item(1, 0), item(2, 0), None]), one(1, &[-1, -1, 0])]);
        let lists = split_backward(locations(&[&[(1, 0)], &[(1, 1)], &[(1, 0)]]));
        assert_eq!(lists, vec![few(1, &[(0, 0), (1, 1)]), few(1, &[(2, 0)])]);
        let lists = split_backward(locations(&[&[(1, 0)], &[(1, 0)], &[(1, 1)]]));
        assert_eq!(lists, vec![one(1, &[0, 0, 1])]);
        let lists = split_backward(locations(&[&[(1, 3)], &[], &[(1, 3)]]));
        assert_eq!(lists, vec![few(1, &[(0, 3)]), few(1, &[(2, 3)])]);
    }

    #[test]
    fn ranges_of_runs() {
        let ranges = |rows: &[(usize, i32)], size| contiguous_ranges(rows.iter().copied(), size);
        assert_eq!(ranges(&[(0, 1), (1, 1), (3, 0)], 3), Some(vec![(3, 4), (0, 2), (-1, -1)]));
        assert_eq!(ranges(&[(0, 1), (1, 0), (2, 1)], 2), None);
        assert_eq!(ranges(&[(0, 1), (2, 1)], 2), None);
    }
}
