//! Ogg: pages, their numbers, and the mark of the last one.

use std::collections::HashMap;

use super::{Finding, Pending, Scan};

const HEADER: usize = 27;
const CONTINUED_LAST: u8 = 4;

#[derive(Default)]
pub(super) struct Ogg {
    pending: Pending,
    /// For each stream the number of its last page, and true if that is marked as the last one.
    streams: HashMap<u32, (u32, bool)>,
    lost: u64,
    junk: u64,
}

impl Scan for Ogg {
    fn feed(&mut self, bytes: &[u8]) {
        self.pending.push(bytes);
        loop {
            let there = self.pending.bytes();
            if there.len() < 4 {
                return;
            }
            if !there.starts_with(b"OggS") {
                let next = there.windows(4).position(|bytes| bytes == b"OggS").unwrap_or(there.len() - 3);
                self.junk += next as u64;
                self.pending.skip(next as u64);
                continue;
            }
            let Some(segments) = there.get(HEADER - 1).map(|&count| usize::from(count)) else { return };
            let Some(sizes) = there.get(HEADER..HEADER + segments) else { return };
            let body: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
            let number =
                |at: usize| u32::from_le_bytes([there[at], there[at + 1], there[at + 2], there[at + 3]]);
            let (flags, stream, page) = (there[5], number(14), number(18));
            if flags & 2 == 0
                && let Some(&(last, _)) = self.streams.get(&stream)
            {
                self.lost += u64::from(page.saturating_sub(last).saturating_sub(1));
            }
            self.streams.insert(stream, (page, flags & CONTINUED_LAST != 0));
            self.pending.skip((HEADER + segments) as u64 + body);
        }
    }

    fn finish(&mut self) -> Option<Finding> {
        let within = self.pending.owed() > 0 || !self.pending.bytes().is_empty();
        let unended = self.streams.values().any(|&(_, last)| !last);
        if within || unended {
            let reason = if within { "the file ends within a page" } else { "its last page is not there" };
            return Some(Finding::Cut { bytes: None, reason: reason.to_owned() });
        }
        if self.lost > 0 {
            return Some(Finding::Broken {
                reason: format!("{} pages in its middle are not there", self.lost),
            });
        }
        (self.junk > 0)
            .then(|| Finding::Broken { reason: format!("{} bytes in its middle are no page", self.junk) })
    }
}
