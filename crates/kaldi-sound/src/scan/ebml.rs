//! Matroska and WebM: the sizes of the elements.

use super::{Finding, Pending, Scan};

const SEGMENT: u64 = 0x1853_8067;
const CLUSTER: u64 = 0x1f43_b675;

/// A number with a length in its first byte. `None` if more bytes are needed; an error if it is none.
fn number(bytes: &[u8], keep_mark: bool, most: usize) -> Option<Result<(u64, usize), ()>> {
    let first = *bytes.first()?;
    let length = first.leading_zeros() as usize + 1;
    if length > most {
        return Some(Err(()));
    }
    let mut value = if keep_mark { u64::from(first) } else { u64::from(first) & ((1 << (8 - length)) - 1) };
    for &byte in bytes.get(1..length)? {
        value = value << 8 | u64::from(byte);
    }
    Some(Ok((value, length)))
}

#[derive(Default)]
pub(super) struct Ebml {
    pending: Pending,
    position: u64,
    /// The end of the segment, if it is known.
    end: Option<u64>,
    broken: bool,
}

impl Scan for Ebml {
    fn feed(&mut self, bytes: &[u8]) {
        self.position += bytes.len() as u64;
        if self.broken {
            return;
        }
        self.pending.push(bytes);
        loop {
            let there = self.pending.bytes();
            // Bytes behind the segment are none of its elements.
            if self.end.is_some_and(|end| self.position - there.len() as u64 >= end) {
                return self.pending.skip(there.len() as u64);
            }
            let Some(id) = number(there, true, 4) else { return };
            let Ok((id, id_length)) = id else { return self.broken = true };
            let Some(size) = number(&there[id_length..], false, 8) else { return };
            let Ok((size, size_length)) = size else { return self.broken = true };
            let header = (id_length + size_length) as u64;
            let unknown = size == (1 << (7 * size_length)) - 1;
            let start = self.position - there.len() as u64 + header;
            if id == SEGMENT {
                self.end = (!unknown).then(|| start.saturating_add(size));
            }
            let inside = id == SEGMENT || id == CLUSTER;
            let overruns = self.end.is_some_and(|end| !unknown && start.saturating_add(size) > end);
            if (unknown && !inside) || overruns {
                return self.broken = true;
            }
            self.pending.skip(if inside { header } else { header.saturating_add(size) });
        }
    }

    fn finish(&mut self) -> Option<Finding> {
        if let Some(end) = self.end {
            let reason = format!("its header tells of {end} bytes, and there are {}", self.position);
            if self.position < end {
                return Some(Finding::Cut { bytes: Some(end - self.position), reason });
            }
        }
        if self.broken {
            return Some(Finding::Broken {
                reason: "bytes in its middle are no element".to_owned(),
                hole: None,
            });
        }
        if self.end.is_some() {
            return None;
        }
        let within = self.pending.owed() > 0 || !self.pending.bytes().is_empty();
        let reason = "the file ends within an element".to_owned();
        within.then_some(Finding::Cut { bytes: None, reason })
    }
}
