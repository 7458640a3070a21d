//! Memos that wait for their backprop.

use super::MemoId;

/// Values kept for each memo from its propagate to its backprop, in ascending order of ids. Memos usually come in that
/// order and leave in reverse.
#[derive(Debug)]
pub struct PendingMemos<T>(Vec<(MemoId, T)>);

impl<T> Default for PendingMemos<T> {
    fn default() -> PendingMemos<T> {
        PendingMemos(Vec::new())
    }
}

impl<T: Copy> PendingMemos<T> {
    /// False if one of this number waits already.
    pub fn add(&mut self, memo: MemoId, value: T) -> bool {
        match self.find(memo) {
            Ok(_) => false,
            Err(place) => {
                self.0.insert(place, (memo, value));
                true
            }
        }
    }

    /// Removes `memo` and returns the value that it was added with; `None` if it is not waiting.
    pub fn take(&mut self, memo: MemoId) -> Option<T> {
        self.find(memo).ok().map(|place| self.0.remove(place).1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (MemoId, T)> + '_ {
        self.0.iter().copied()
    }

    fn find(&self, memo: MemoId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&memo, |&(m, _)| m)
    }
}
