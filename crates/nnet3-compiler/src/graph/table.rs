//! Finds the id of a cindex.

use super::CindexId;
use nnet3_base::fast_hash::FastMap;
use nnet3_base::index::{Cindex, NO_TIME};

const NONE: CindexId = CindexId::MAX;

/// A map from cindexes to ids. Nearly all cindexes have x = 0, few n and times close together. These lie in a box and
/// are found by position, the others by hash. Nodes must be below the number of nodes.
#[derive(Clone, Default)]
pub(crate) struct CindexTable {
    num_nodes: usize,
    /// The box's first time, and its number of times.
    first: i32,
    width: usize,
    /// The id for n, node and t is at (n · num_nodes + node) · width + t − first.
    ids: Vec<CindexId>,
    others: FastMap<Cindex, CindexId>,
    /// Number of additions.
    added: usize,
}

impl CindexTable {
    pub fn new(num_nodes: usize) -> CindexTable {
        CindexTable { num_nodes, ..CindexTable::default() }
    }

    pub fn get(&self, cindex: Cindex) -> Option<CindexId> {
        if let Some(position) = self.position(cindex)
            && self.ids[position] != NONE
        {
            return Some(self.ids[position]);
        }
        if self.others.is_empty() { None } else { self.others.get(&cindex).copied() }
    }

    /// Adds a cindex that is not in the table.
    pub fn add(&mut self, cindex: Cindex, id: CindexId) {
        self.added += 1;
        match self.position(cindex).or_else(|| self.reach(cindex)) {
            Some(position) => self.ids[position] = id,
            None => {
                self.others.insert(cindex, id);
            }
        }
    }

    /// Changes the id of a cindex that is in the table, or removes it.
    pub fn change(&mut self, cindex: Cindex, id: Option<CindexId>) {
        match (self.position(cindex).filter(|&position| self.ids[position] != NONE), id) {
            (Some(position), id) => self.ids[position] = id.unwrap_or(NONE),
            (None, Some(id)) => *self.others.entry(cindex).or_default() = id,
            (None, None) => {
                self.others.remove(&cindex);
            }
        }
    }

    /// Makes the box wide enough for these times and some around them, unless that is too wide for `count` cindexes.
    pub(crate) fn expect_times(&mut self, first: i32, last: i32, count: usize) {
        let range = last.abs_diff(first) as usize;
        if range <= 256 + 4 * count {
            let margin = 16 + range as i64 / 4;
            self.widen(first as i64 - margin, last as i64 + margin, count);
        }
    }

    fn position(&self, cindex: Cindex) -> Option<usize> {
        let (n, time) =
            (cindex.index.n as u32 as usize, cindex.index.t.wrapping_sub(self.first) as u32 as usize);
        let position = (n * self.num_nodes + cindex.node.index()) * self.width + time;
        let inside = cindex.index.x == 0 && time < self.width && position < self.ids.len();
        inside.then_some(position)
    }

    /// Makes the box larger to hold a cindex, unless that leaves it too empty.
    #[cold]
    fn reach(&mut self, cindex: Cindex) -> Option<usize> {
        let (n, t) = (cindex.index.n, cindex.index.t);
        if cindex.index.x != 0 || n < 0 || t == NO_TIME {
            return None;
        }
        if t.wrapping_sub(self.first) as u32 as usize >= self.width {
            // Leaves room for later times.
            let more = 64 + self.width as i64 / 2;
            match t < self.first {
                true => self.widen(t as i64 - more, t as i64, 0),
                false => self.widen(t as i64, t as i64 + more, 0),
            }
        }
        let length = (n as usize + 1) * self.num_nodes * self.width;
        if length > self.ids.len() && self.is_not_too_large(length, 0) {
            self.ids.resize(length, NONE);
        }
        self.position(cindex)
    }

    fn is_not_too_large(&self, length: usize, expected: usize) -> bool {
        length <= 8 * self.num_nodes * (256 + self.added + expected)
    }

    /// Widens the box to hold these times, too.
    fn widen(&mut self, mut first: i64, mut last: i64, expected: usize) {
        if self.width > 0 {
            first = first.min(self.first as i64);
            last = last.max(self.first as i64 + self.width as i64 - 1);
        }
        let first = first.clamp(NO_TIME as i64 + 1, i32::MAX as i64) as i32;
        let last = last.clamp(first as i64, i32::MAX as i64);
        let width = (last - first as i64 + 1) as usize;
        let rows = self.ids.len() / self.width.max(1);
        if !self.is_not_too_large(rows.max(self.num_nodes).saturating_mul(width), expected) {
            return;
        }
        let mut ids = vec![NONE; rows.max(self.num_nodes) * width];
        let start = self.first.wrapping_sub(first) as u32 as usize;
        for (old, new) in self.ids.chunks_exact(self.width.max(1)).zip(ids.chunks_exact_mut(width)) {
            new[start..start + self.width].copy_from_slice(old);
        }
        (self.first, self.width, self.ids) = (first, width, ids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_base::index::{Index, NodeId};
    use std::collections::HashMap;

    /// Compares with a plain hash map, with times and sequences near and far.
    #[test]
    fn finds_what_was_added() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut table = CindexTable::new(4);
        let mut plain: HashMap<Cindex, CindexId> = HashMap::new();
        for _ in 0..30_000 {
            let t = match random.u8(0..10) {
                0 => random.i32(..),
                1 => NO_TIME + random.i32(0..2),
                2 => i32::MAX - random.i32(0..2),
                _ => random.i32(-300..300),
            };
            let n = if random.u8(0..10) == 0 { random.i32(..) } else { random.i32(0..3) };
            let cindex = Cindex::new(NodeId(random.u32(0..4)), Index::new(n, t, random.i32(0..2)));
            assert_eq!(table.get(cindex), plain.get(&cindex).copied());
            let id = (random.u8(..) < 192).then(|| random.u32(0..1000));
            if plain.contains_key(&cindex) {
                table.change(cindex, id);
            } else if let Some(id) = id {
                table.add(cindex, id);
            }
            match id {
                Some(id) => plain.insert(cindex, id),
                None => plain.remove(&cindex),
            };
        }
        assert!(plain.iter().all(|(&c, &id)| table.get(c) == Some(id)));
        let in_box = table.ids.iter().filter(|&&id| id != NONE).count();
        assert_eq!(in_box + table.others.len(), plain.len());
        assert!(in_box > 1000 && table.others.len() > 1000, "{in_box} {}", table.others.len());
    }

    #[test]
    fn grows_in_both_directions() {
        let mut table = CindexTable::new(2);
        let cindex = |node, n, t| Cindex::new(NodeId(node), Index::new(n, t, 0));
        table.expect_times(0, 100, 100);
        let times = (0..2000i32).map(|i| if i % 2 == 0 { i } else { -i });
        let all = || times.clone().flat_map(|t| (0..3).map(move |n| cindex(t.unsigned_abs() % 2, n, t)));
        all().enumerate().for_each(|(id, c)| table.add(c, id as CindexId));
        assert!(all().enumerate().all(|(id, c)| table.get(c) == Some(id as CindexId)));
        assert!(table.others.is_empty());
        assert_eq!(table.get(cindex(0, 0, 1)), None);
    }
}
