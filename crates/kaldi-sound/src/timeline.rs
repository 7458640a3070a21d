//! Puts blocks at their times: silence for gaps, and a warning for each.

use crate::Warning;
use crate::blocks::Block;

/// The longest silence that is made for one recording, in seconds.
const MOST_SILENCE: f64 = 6.0 * 3600.0;
/// Gaps with a warning of their own.
const MOST_WARNINGS: usize = 5;
/// Time stamps that go back by less, in seconds, are no fault that a listener hears.
const BACK: f64 = 0.5;

/// The place of a block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Frames of silence before it.
    pub silence: usize,
    /// Frames at its beginning that are before the time zero.
    pub skip: usize,
}

/// Compares the times of blocks with the samples so far.
#[derive(Default)]
pub(crate) struct Timeline {
    /// The end of the last block of this file, in samples of `rate` since its beginning.
    given: i64,
    rate: u32,
    /// The number by which times of this file are too large, after jumps that silence does not fill.
    shift: i64,
    begun: bool,
    /// The beginning of this file in seconds.
    base: f64,
    silence: f64,
    gaps: Vec<Warning>,
    more_gaps: (u64, f64),
    damaged: Option<(f64, f64, u64)>,
}

impl Timeline {
    /// A file begins behind the last one.
    pub fn restart(&mut self) {
        self.base += self.seconds();
        (self.given, self.shift, self.begun) = (0, 0, false);
    }

    /// The length of this file so far, in seconds.
    pub fn seconds(&self) -> f64 {
        if self.rate == 0 { 0.0 } else { self.given as f64 / f64::from(self.rate) }
    }

    /// The length of all so far, in seconds.
    pub fn now(&self) -> f64 {
        self.base + self.seconds()
    }

    pub fn place(&mut self, block: &Block) -> Place {
        if self.rate != block.rate {
            let old = i128::from(self.rate.max(1));
            self.given = (i128::from(self.given) * i128::from(block.rate) / old) as i64;
            self.shift = (i128::from(self.shift) * i128::from(block.rate) / old) as i64;
            self.rate = block.rate;
        }
        let rate = f64::from(block.rate.max(1));
        let frames = block.frames() as i64;
        if block.damaged {
            let (first, seconds, count) = self.damaged.unwrap_or((self.now(), 0.0, 0));
            self.damaged = Some((first, seconds + frames as f64 / rate, count + 1));
        }
        let at = block.at.map_or(self.given, |at| at.saturating_sub(self.shift));
        let gap = at.saturating_sub(self.given);
        let mut place = Place::default();
        if !self.begun && gap < 0 {
            place.skip = gap.unsigned_abs().min(frames as u64) as usize;
            if place.skip as i64 == frames {
                return place;
            }
        } else if gap > if self.begun { block.tolerance } else { 0 } {
            let seconds = gap as f64 / rate;
            let filled = self.silence + seconds <= MOST_SILENCE;
            if self.begun || !filled {
                self.warn(Warning::Gap { at: self.now(), seconds, filled });
            }
            if filled {
                place.silence = gap as usize;
                self.silence += seconds;
                self.given += gap;
            } else {
                self.shift = self.shift.saturating_add(gap);
            }
        } else if self.begun && gap < -block.tolerance {
            let seconds = gap as f64 / rate;
            if seconds < -BACK {
                self.warn(Warning::Gap { at: self.now(), seconds, filled: false });
                self.shift = self.shift.saturating_add(gap);
            }
        }
        self.begun |= frames > 0;
        self.given += frames - place.skip as i64;
        place
    }

    fn warn(&mut self, gap: Warning) {
        if self.gaps.len() < MOST_WARNINGS {
            self.gaps.push(gap);
        } else if let Warning::Gap { seconds, .. } = gap {
            self.more_gaps.0 += 1;
            self.more_gaps.1 += seconds;
        }
    }

    /// The gaps and damaged packets so far.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut all = self.gaps.clone();
        if let (count @ 1.., seconds) = self.more_gaps {
            all.push(Warning::Other(format!(
                "sound is missing at {count} more places, {seconds:.2} s in all"
            )));
        }
        if let Some((at, seconds, packets)) = self.damaged {
            all.push(Warning::Damaged { at, seconds, packets });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(at: i64, frames: usize) -> Block {
        Block {
            rate: 8000,
            channels: 1,
            samples: vec![1; frames],
            at: Some(at),
            tolerance: 10,
            ..Block::default()
        }
    }

    #[test]
    fn gaps_become_silence_and_a_warning_and_a_late_start_silence() {
        let mut timeline = Timeline::default();
        assert_eq!(timeline.place(&block(800, 100)), Place { silence: 800, skip: 0 });
        assert_eq!(timeline.place(&block(909, 100)), Place::default());
        assert_eq!(timeline.place(&block(5000, 100)), Place { silence: 4000, skip: 0 });
        assert_eq!(timeline.warnings(), [Warning::Gap { at: 0.125, seconds: 0.5, filled: true }]);
        assert_eq!(timeline.now(), 5100.0 / 8000.0);
    }

    #[test]
    fn samples_before_the_time_zero_are_left_out() {
        let mut timeline = Timeline::default();
        assert_eq!(timeline.place(&block(-150, 100)), Place { silence: 0, skip: 100 });
        assert_eq!(timeline.place(&block(-50, 100)), Place { silence: 0, skip: 50 });
        assert_eq!(timeline.place(&block(50, 100)), Place::default());
        assert_eq!((timeline.now(), timeline.warnings()), (150.0 / 8000.0, Vec::new()));
    }

    #[test]
    fn jumps_that_no_silence_can_fill_lose_no_samples() {
        let mut timeline = Timeline::default();
        timeline.place(&block(0, 100));
        assert_eq!(timeline.place(&block(8000 * 100_000, 100)), Place::default());
        assert_eq!(timeline.place(&block(8000 * 100_000 + 100, 100)), Place::default());
        assert_eq!(timeline.place(&block(200, 100)), Place::default());
        assert_eq!(timeline.place(&block(300, 100)), Place::default());
        assert_eq!((timeline.warnings().len(), timeline.now()), (2, 500.0 / 8000.0));
    }

    #[test]
    fn a_file_behind_another_begins_at_its_end() {
        let mut timeline = Timeline::default();
        timeline.place(&block(0, 8000));
        timeline.restart();
        assert_eq!(timeline.place(&Block { rate: 16000, ..block(0, 8000) }), Place::default());
        timeline.place(&Block { rate: 16000, ..block(16000, 8000) });
        assert_eq!(timeline.warnings(), [Warning::Gap { at: 1.5, seconds: 0.5, filled: true }]);
    }
}
