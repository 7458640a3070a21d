//! Counts of a device's work, and switches for debugging.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of the ways in which work went to the device.
#[derive(Debug, Default)]
pub struct Activity {
    captured: AtomicU64,
    refused: AtomicU64,
    replayed: AtomicU64,
    single: AtomicU64,
    unplanned: AtomicU64,
}

impl Activity {
    /// Segments that were captured as graphs.
    pub fn captured(&self) -> u64 {
        self.captured.load(Ordering::Relaxed)
    }
    /// Segments that the driver would not capture.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
    /// Graphs that were run.
    pub fn replayed(&self) -> u64 {
        self.replayed.load(Ordering::Relaxed)
    }
    /// Operations that were sent one by one.
    pub fn single(&self) -> u64 {
        self.single.load(Ordering::Relaxed)
    }

    /// Products for which cuBLASLt had no algorithm, so that cuBLAS did them.
    pub fn unplanned(&self) -> u64 {
        self.unplanned.load(Ordering::Relaxed)
    }

    pub(super) fn note_capture(&self) {
        self.captured.fetch_add(1, Ordering::Relaxed);
    }
    /// Returns whether it is the first.
    pub(super) fn note_refusal(&self) -> bool {
        self.refused.fetch_add(1, Ordering::Relaxed) == 0
    }
    pub(super) fn note_replay(&self) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
    }
    pub(super) fn note_single(&self) {
        self.single.fetch_add(1, Ordering::Relaxed);
    }
    pub(super) fn note_unplanned(&self) {
        self.unplanned.fetch_add(1, Ordering::Relaxed);
    }
}

/// Switches for debugging. Only `no_lt` changes results, by rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Debug {
    /// All work is sent operation by operation.
    pub no_graphs: bool,
    /// True to wait after each operation, so that a fault is found at its origin, with the kernel's name.
    pub synchronous: bool,
    /// True to multiply by cuBLAS, without cuBLASLt.
    pub no_lt: bool,
}

impl Debug {
    /// Words that commas separate: `no-graphs`, `synchronous`, `no-lt`.
    pub fn parse(text: &str) -> Result<Debug, String> {
        let mut debug = Debug::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            match word {
                "no-graphs" => debug.no_graphs = true,
                "synchronous" => debug.synchronous = true,
                "no-lt" => debug.no_lt = true,
                other => return Err(format!("expected no-graphs, synchronous or no-lt, found '{other}'")),
            }
        }
        Ok(debug)
    }
}

#[cfg(test)]
mod tests {
    use super::Debug;

    #[test]
    fn words() {
        assert_eq!(Debug::parse(""), Ok(Debug::default()));
        let both = Debug { no_graphs: true, synchronous: true, no_lt: false };
        assert_eq!(Debug::parse("synchronous,no-graphs"), Ok(both));
        assert_eq!(Debug::parse("no-lt"), Ok(Debug { no_lt: true, ..Debug::default() }));
        assert!(Debug::parse("graphs").unwrap_err().contains("'graphs'"));
    }
}
