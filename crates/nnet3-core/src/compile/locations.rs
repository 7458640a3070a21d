//! Where the rows of a descriptor's part come from, arranged into lists that single commands can do (spec compiler
//! §4.3–4.5).

use super::Compiler;
use crate::computation::{RowOf, SubmatrixId};
use crate::descriptor::Sum;
use crate::error::{Error, Result};
use crate::graph::steps::Rows;
use crate::index::{Cindex, NodeId};

/// For each row the rows of other sub-matrices that are added into it, in one flat list.
pub struct Locations {
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

/// What one id reads, in all sequences.
struct Source<'a> {
    submatrix: SubmatrixId,
    rows: Rows<'a>,
    /// Position of its scale.
    group: usize,
}

/// `starts[i] .. starts[i + 1]` are the sources of id i.
struct Sources<'a> {
    starts: Vec<u32>,
    items: Vec<Source<'a>>,
}

/// Whether the values or the derivatives of the source steps are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Value,
    Deriv,
}

impl Compiler<'_> {
    /// The sources of every row of step `s`'s part, by scale, ascending. With [`Of::Deriv`] those without derivative
    /// are left out.
    pub(super) fn locations_by_scale(&self, s: usize, part: &Sum, of: Of) -> Result<Vec<(f32, Locations)>> {
        let scales = self.scales(part)?;
        let sources = self.sources(s, part, of, &scales);
        let step = &self.infos[s].step;
        let rows = step.num_rows(self.num_sequences);
        let mut out: Vec<(f32, Locations)> =
            scales.iter().map(|&(scale, _)| (scale, Locations::with_rows(rows))).collect();
        step.for_each_row(self.num_sequences, |place| {
            if let Some((i, n)) = place {
                for source in &sources.items[sources.starts[i] as usize..sources.starts[i + 1] as usize] {
                    out[source.group].1.items.push((source.submatrix, source.rows.of_sequence(n)));
                }
            }
            out.iter_mut().for_each(|(_, locations)| locations.end_row());
        });
        Ok(out)
    }

    /// What the ids of step `s` read for a part, in the order of cindexes.
    fn sources(&self, s: usize, part: &Sum, of: Of, scales: &[(f32, Vec<NodeId>)]) -> Sources<'_> {
        let ids = &self.infos[s].step.ids;
        let exists = |c: Cindex| self.graph.find(c).is_some();
        let mut out =
            Sources { starts: Vec::with_capacity(ids.len() + 1), items: Vec::with_capacity(ids.len()) };
        out.starts.push(0);
        let mut used = Vec::new();
        for &id in ids {
            used.clear();
            part.is_computable(self.graph.cindexes[id as usize].index, &exists, Some(&mut used));
            used.sort_unstable();
            for input in &used {
                let Some(id) = self.graph.find(*input) else {
                    continue;
                };
                let (step, position) = self.locations[id as usize];
                let info = &self.infos[step.index()];
                let source = if of == Of::Value { info.value } else { info.deriv };
                let group = scales.iter().position(|(_, nodes)| nodes.contains(&input.node));
                if let (Some(submatrix), Some(group)) = (source, group) {
                    let rows = info.step.rows(position as usize, self.num_sequences);
                    out.items.push(Source { submatrix, rows, group });
                }
            }
            out.starts.push(out.items.len() as u32);
        }
        out
    }

    /// The distinct scales of a part, ascending, each with its nodes.
    fn scales(&self, part: &Sum) -> Result<Vec<(f32, Vec<NodeId>)>> {
        let mut nodes = Vec::new();
        part.for_each_node(&mut |n| nodes.push(n));
        nodes.sort();
        nodes.dedup();
        let mut scales: Vec<(f32, Vec<NodeId>)> = Vec::new();
        for node in nodes {
            let scale = part.scale_for(node).map_err(|_| {
                Error::network(format!(
                    "node '{}' occurs with two different scales in one sum; read it through a dim-range-node for one of \
                     them",
                    self.nnet.node_name(node)
                ))
            })?;
            let scale = scale.unwrap_or(1.0);
            match scales.iter_mut().find(|(s, _)| *s == scale) {
                Some((_, list)) => list.push(node),
                None => scales.push((scale, vec![node])),
            }
        }
        scales.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(scales)
    }
}

/// Lists with at most one source for each row, that together hold all sources. Sub-matrices that feed more than half
/// of the rows get a list of their own, later-seen ones first.
pub fn split(locations: Locations) -> Vec<Vec<RowOf>> {
    let rows = locations.rows();
    let longest = locations.longest();
    if longest <= 1 {
        return match longest {
            0 => vec![],
            _ => vec![(0..rows).map(|r| locations.row(r).first().copied()).collect()],
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
        return (0..longest).map(|i| (0..rows).map(|r| locations.row(r).get(i).copied()).collect()).collect();
    }
    let mut out: Vec<Vec<RowOf>> = vec![vec![None; rows]; large.len()];
    let mut rest = Locations::with_rows(rows);
    (0..rows).for_each(|row| {
        for &item in locations.row(row) {
            match large.iter().position(|&s| s == item.0) {
                Some(l) if out[l][row].is_none() => out[l][row] = Some(item),
                _ => rest.items.push(item),
            }
        }
        rest.end_row();
    });
    out.append(&mut split(rest));
    out
}

/// As [`split`], such that within each list no row of a target repeats, or (one target) equal rows are adjacent.
pub fn split_backward(locations: Locations) -> Vec<Vec<RowOf>> {
    let mut out = Vec::new();
    for list in split(locations) {
        match single_source(&list) {
            Some((_, rows)) => {
                let parts = make_contiguous(&rows);
                if parts.len() == 1 {
                    out.push(list);
                } else {
                    let keep = |part: Vec<i32>| {
                        part.iter().zip(&list).map(|(&r, &item)| item.filter(|_| r >= 0)).collect()
                    };
                    out.extend(parts.into_iter().map(keep));
                }
            }
            None => out.extend(split_repeats(list)),
        }
    }
    out
}

/// The one sub-matrix that a list refers to, and the rows, -1 for none.
pub fn single_source(list: &[RowOf]) -> Option<(SubmatrixId, Vec<i32>)> {
    let source = list.iter().flatten().next()?.0;
    let same = list.iter().flatten().all(|(s, _)| *s == source);
    same.then(|| (source, list.iter().map(|item| item.map_or(-1, |(_, row)| row as i32)).collect()))
}

/// The k-th separate run of a value goes to list k.
fn make_contiguous(rows: &[i32]) -> Vec<Vec<i32>> {
    let size = rows.iter().max().map_or(0, |&m| m + 1) as usize;
    let mut runs = vec![0usize; size];
    let mut out: Vec<Vec<i32>> = vec![vec![-1; rows.len()]];
    for (i, &row) in rows.iter().enumerate() {
        if row < 0 {
            continue;
        }
        let count = &mut runs[row as usize];
        if i == 0 || rows[i - 1] != row {
            *count += 1;
        }
        if *count > out.len() {
            out.push(vec![-1; rows.len()]);
        }
        out[*count - 1][i] = row;
    }
    out
}

/// The k-th occurrence of an item goes to list k.
fn split_repeats(list: Vec<RowOf>) -> Vec<Vec<RowOf>> {
    let mut seen: std::collections::HashMap<(SubmatrixId, u32), usize> = std::collections::HashMap::new();
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
    out
}

/// If every value ≠ -1 fills one run without gaps: for each of `size` values its run, (-1, -1) if it does not occur.
pub fn contiguous_ranges(rows: &[i32], size: usize) -> Option<Vec<(i32, i32)>> {
    let mut ranges = vec![(-1, -1); size];
    for (i, &row) in rows.iter().enumerate() {
        if row < 0 {
            continue;
        }
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

    #[test]
    fn frequent_sources_get_lists_of_their_own() {
        let lists = split(locations(&[&[(1, 0), (2, 0)], &[(1, 1), (2, 1)], &[(1, 2), (3, 0)]]));
        assert_eq!(
            lists,
            vec![
                vec![item(2, 0), item(2, 1), None],
                vec![item(1, 0), item(1, 1), item(1, 2)],
                vec![None, None, item(3, 0)]
            ]
        );
    }

    #[test]
    fn backward_lists_write_no_row_twice() {
        let lists = split_backward(locations(&[&[(1, 0)], &[(2, 0)], &[(1, 0)]]));
        assert_eq!(lists, vec![vec![item(1, 0), item(2, 0), None], vec![None, None, item(1, 0)]]);
        let lists = split_backward(locations(&[&[(1, 0)], &[(1, 1)], &[(1, 0)]]));
        assert_eq!(lists, vec![vec![item(1, 0), item(1, 1), None], vec![None, None, item(1, 0)]]);
        let lists = split_backward(locations(&[&[(1, 0)], &[(1, 0)], &[(1, 1)]]));
        assert_eq!(lists, vec![vec![item(1, 0), item(1, 0), item(1, 1)]]);
    }

    #[test]
    fn ranges_of_runs() {
        assert_eq!(contiguous_ranges(&[1, 1, -1, 0], 3), Some(vec![(3, 4), (0, 2), (-1, -1)]));
        assert_eq!(contiguous_ranges(&[1, 0, 1], 2), None);
    }
}
