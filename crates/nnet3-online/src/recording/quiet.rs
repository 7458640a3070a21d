//! Digital silence: stretches of a signal that no ear hears, in which a model may hear words nevertheless.

use std::collections::VecDeque;

/// The largest magnitude of samples of digital silence, for samples from −32768 to 32767: −78 dB of full scale, which is above
/// the noise of rounding to 16 bits and below that of any microphone.
const LEVEL: f32 = 4.0;
/// Seconds below which a stretch is a part of speech.
const SHORTEST: f64 = 0.1;
/// The share of a word's time in digital silence from which on it was not said.
const SHARE: f64 = 0.8;

/// The digital silence of a signal.
#[derive(Debug, Clone, Default)]
pub(super) struct Quiet {
    /// In Hz.
    rate: f64,
    /// Samples so far.
    samples: u64,
    /// The samples at the end that are silent.
    run: u64,
    /// Stretches of silence, in seconds from the beginning.
    stretches: VecDeque<(f64, f64)>,
    /// The end of the last sample that is not silent, in seconds.
    heard: f64,
}

impl Quiet {
    /// Begins a signal at this rate (in Hz).
    pub fn new(rate: f64) -> Quiet {
        Quiet { rate, ..Quiet::default() }
    }

    /// Takes the next samples.
    pub fn add(&mut self, samples: &[f32]) {
        for &sample in samples {
            self.samples += 1;
            if sample.abs() <= LEVEL {
                self.run += 1;
                continue;
            }
            let end = (self.samples - 1) as f64 / self.rate;
            let begin = end - self.run as f64 / self.rate;
            if end - begin >= SHORTEST {
                self.stretches.push_back((begin, end));
            }
            self.run = 0;
            self.heard = self.samples as f64 / self.rate;
        }
    }

    /// True if no sample since this time, in seconds, can be heard.
    pub fn is_silent_since(&self, time: f64) -> bool {
        self.heard <= time
    }

    /// True if the time from `begin` to `end`, in seconds, is digital silence, nearly or all of it.
    pub fn covers(&self, begin: f64, end: f64) -> bool {
        let now = self.samples as f64 / self.rate;
        let last = (now - self.run as f64 / self.rate, now);
        let last = Some(last).filter(|(begin, end)| end - begin >= SHORTEST);
        let shared = |(from, to): (f64, f64)| (to.min(end) - from.max(begin)).max(0.0);
        let silent: f64 = self.stretches.iter().copied().chain(last).map(shared).sum();
        end > begin && silent >= SHARE * (end - begin)
    }

    /// Forgets stretches that end before this time, in seconds.
    pub fn forget(&mut self, time: f64) {
        while self.stretches.front().is_some_and(|(_, end)| *end <= time) {
            self.stretches.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_digital_silence_are_covered() {
        let mut quiet = Quiet::new(100.0);
        let part = |level: f32, seconds: f64| vec![level; (seconds * 100.0).round() as usize];
        for (level, seconds) in
            [(0.0, 1.0), (500.0, 1.0), (-3.0, 2.0), (9.0, 0.5), (0.0, 0.05), (9.0, 0.5), (0.0, 1.0)]
        {
            // In pieces of any size.
            part(level, seconds).chunks(7).for_each(|samples| quiet.add(samples));
        }
        assert!(
            quiet.covers(0.2, 0.9)
                && quiet.covers(0.5, 1.1)
                && quiet.covers(2.5, 3.5)
                && quiet.covers(5.1, 5.9)
        );
        // Speech, speech with a short pause, a word that reaches into silence, no time at all.
        for (begin, end) in [(1.2, 1.8), (4.0, 5.0), (0.7, 1.3), (1.5, 2.5), (0.5, 0.5)] {
            assert!(!quiet.covers(begin, end), "{begin} {end}");
        }
        assert!(quiet.is_silent_since(5.05) && !quiet.is_silent_since(4.5));
        quiet.forget(3.0);
        assert!(!quiet.covers(0.2, 0.9) && quiet.covers(2.5, 3.5));
    }
}
