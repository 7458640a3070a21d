//! Finds the id of a cindex.

use super::CindexId;
use crate::index::{Cindex, NO_TIME};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A fast hash for cindexes; iteration order is never used.
#[derive(Clone, Copy, Default)]
struct CindexHasher(u64);

impl Hasher for CindexHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u32(b as u32));
    }
    fn write_u32(&mut self, value: u32) {
        self.0 = (self.0.rotate_left(23) ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_i32(&mut self, value: i32) {
        self.write_u32(value as u32);
    }
}

const NONE: CindexId = CindexId::MAX;

/// A map from cindexes to ids. Nearly all cindexes have x = 0, few n and times close together: those are found by
/// position, the others by hash.
#[derive(Clone, Default)]
pub struct CindexTable {
    /// By node, then n.
    lanes: Vec<Vec<Lane>>,
    others: HashMap<Cindex, CindexId, BuildHasherDefault<CindexHasher>>,
}

/// Ids by time, for one node and one n.
#[derive(Clone, Default)]
struct Lane {
    first: i32,
    ids: Vec<CindexId>,
}

impl Lane {
    fn slot(&self, t: i32) -> Option<usize> {
        let slot = t.wrapping_sub(self.first) as u32 as usize;
        (slot < self.ids.len()).then_some(slot)
    }

    /// Makes room for time `t`, unless it is far from the others.
    fn reach(&mut self, t: i32) -> Option<usize> {
        if let Some(slot) = self.slot(t) {
            return Some(slot);
        }
        if self.ids.is_empty() {
            self.first = t;
        }
        let before = usize::try_from(self.first as i64 - t as i64).unwrap_or(0);
        let after =
            usize::try_from(t as i64 + 1 - self.first as i64).unwrap_or(0).saturating_sub(self.ids.len());
        if t == NO_TIME || before + after > 256 + self.ids.len() {
            return None;
        }
        if before > 0 {
            // Room for what may come next.
            let room = before.max(self.ids.len() / 2).min(self.first.abs_diff(NO_TIME) as usize);
            self.ids.splice(0..0, std::iter::repeat_n(NONE, room));
            self.first -= room as i32;
        }
        self.ids.resize(self.ids.len() + after, NONE);
        self.slot(t)
    }
}

impl CindexTable {
    pub fn get(&self, cindex: Cindex) -> Option<CindexId> {
        if let Some(lane) = self.lane(cindex)
            && let Some(slot) = lane.slot(cindex.index.t)
            && lane.ids[slot] != NONE
        {
            return Some(lane.ids[slot]);
        }
        if self.others.is_empty() { None } else { self.others.get(&cindex).copied() }
    }

    /// Adds a cindex that is not in the table.
    pub fn add(&mut self, cindex: Cindex, id: CindexId) {
        match self.place(cindex) {
            Some(place) => *place = id,
            None => {
                self.others.insert(cindex, id);
            }
        }
    }

    /// Changes the id of a cindex that is in the table, or removes it.
    pub fn change(&mut self, cindex: Cindex, id: Option<CindexId>) {
        if let Some(lane) = self.lane_mut(cindex)
            && let Some(slot) = lane.slot(cindex.index.t)
            && lane.ids[slot] != NONE
        {
            lane.ids[slot] = id.unwrap_or(NONE);
            return;
        }
        match id {
            Some(id) => self.others.insert(cindex, id),
            None => self.others.remove(&cindex),
        };
    }

    fn lane(&self, cindex: Cindex) -> Option<&Lane> {
        match cindex.index.x {
            0 => self.lanes.get(cindex.node.index())?.get(cindex.index.n as u32 as usize),
            _ => None,
        }
    }

    fn lane_mut(&mut self, cindex: Cindex) -> Option<&mut Lane> {
        match cindex.index.x {
            0 => self.lanes.get_mut(cindex.node.index())?.get_mut(cindex.index.n as u32 as usize),
            _ => None,
        }
    }

    /// The position for a new cindex, if it is to have one.
    fn place(&mut self, cindex: Cindex) -> Option<&mut CindexId> {
        let n = usize::try_from(cindex.index.n).ok().filter(|_| cindex.index.x == 0)?;
        let node = cindex.node.index();
        if node >= self.lanes.len() {
            self.lanes.resize_with(node + 1, Vec::new);
        }
        let lanes = &mut self.lanes[node];
        if n >= lanes.len() {
            if n > 64 + 2 * lanes.len() {
                return None;
            }
            lanes.resize_with(n + 1, Lane::default);
        }
        let slot = lanes[n].reach(cindex.index.t)?;
        Some(&mut lanes[n].ids[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Index, NodeId};

    /// Against a plain hash map, with times and sequences near and far.
    #[test]
    fn finds_what_was_added() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut table = CindexTable::default();
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
        assert!(plain.len() > 1000 && table.others.len() > 100 && table.others.len() < plain.len());
    }
}
