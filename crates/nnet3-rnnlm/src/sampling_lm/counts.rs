//! Counts of the words after one history.

/// The count of a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Count {
    pub word: i32,
    /// The largest weight of one occurrence.
    pub highest: f32,
    /// The sum of the weights, less what was discounted.
    pub count: f32,
}

/// The counts after one history.
///
/// New counts wait in a buffer, and the buffer is merged when it is full and holds at least as many counts as there are words.
/// Its room doubles from one on. What waits at the end is merged for histories of full length only: shorter ones lose it, as in
/// the reference.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    waiting: Vec<(i32, f32)>,
    room: usize,
    /// In the order of the words.
    pub counts: Vec<Count>,
    pub total: f32,
    pub backoff: f32,
    /// True if a longer history backs off to this one.
    pub is_protected: bool,
}

impl Counts {
    pub fn add(&mut self, word: i32, weight: f32) {
        if self.waiting.len() == self.room {
            self.room = (2 * self.room).max(1);
        }
        self.waiting.push((word, weight));
        if self.waiting.len() == self.room && self.waiting.len() >= self.counts.len() {
            self.merge_waiting();
        }
    }

    pub fn merge_waiting(&mut self) {
        let new = self.waiting.drain(..).map(|(word, weight)| Count { word, highest: weight, count: weight });
        self.counts.extend(new);
        merge_equal(&mut self.counts);
    }

    /// Sets the counts to the sums of those of longer histories.
    pub fn set_sum<'c>(&mut self, longer: impl Iterator<Item = &'c Counts>) {
        self.counts = longer.flat_map(|counts| counts.counts.iter().copied()).collect();
        merge_equal(&mut self.counts);
    }

    pub fn find(&self, word: i32) -> Result<usize, usize> {
        self.counts.binary_search_by_key(&word, |count| count.word)
    }

    /// Takes `discount` times the highest weight of each word away. Returns the sum.
    pub fn discount(&mut self, discount: f32) -> f64 {
        let mut removed = 0.0;
        for count in &mut self.counts {
            let less = discount * count.highest;
            count.count -= less;
            removed += f64::from(less);
        }
        removed
    }

    /// Removes the words that `keeps` does not keep; their counts go to shorter histories.
    pub fn prune(&mut self, keeps: impl Fn(&Count) -> bool) {
        let mut backoff = f64::from(self.backoff);
        self.counts.retain(|count| {
            let kept = keeps(count);
            if !kept {
                backoff += f64::from(count.count);
            }
            kept && count.count != 0.0
        });
        self.backoff = backoff as f32;
    }

    pub fn set_total(&mut self) {
        self.total = self.counts.iter().map(|count| f64::from(count.count)).sum::<f64>() as f32;
    }
}

/// Sorts by words and adds up the counts of each word.
fn merge_equal(counts: &mut Vec<Count>) {
    counts.sort_by_key(|count| count.word);
    counts.dedup_by(|next, kept| {
        let equal = next.word == kept.word;
        if equal {
            kept.highest = kept.highest.max(next.highest);
            kept.count += next.count;
        }
        equal
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room is 1, then 2: the third count of the same word waits until there are two.
    #[test]
    fn counts_wait() {
        let mut counts = Counts::default();
        let mut merged = Vec::new();
        for _ in 0..6 {
            counts.add(5, 1.0);
            merged.push(counts.counts.first().map_or(0.0, |count| count.count));
        }
        assert_eq!(merged, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let mut counts = Counts::default();
        let mut merged = Vec::new();
        for word in 0..8 {
            counts.add(word, 1.0);
            merged.push(counts.counts.len());
        }
        // The second fills the room of one, and holds as many as there are words; from then on the buffer must hold more.
        assert_eq!(merged, [1, 2, 2, 4, 4, 4, 4, 8]);
    }

    #[test]
    fn pruning_keeps_the_mass() {
        let mut counts = Counts::default();
        [(3, 1.0), (4, 0.5), (3, 2.0)].into_iter().for_each(|(word, weight)| counts.add(word, weight));
        counts.merge_waiting();
        counts.set_total();
        assert_eq!(counts.counts[0], Count { word: 3, highest: 2.0, count: 3.0 });
        counts.backoff = counts.discount(0.5) as f32;
        assert_eq!(counts.backoff, 1.25);
        counts.prune(|count| count.word == 3);
        assert_eq!((counts.counts.len(), counts.counts[0].count + counts.backoff), (1, counts.total));
    }
}
