//! Waiting times of the users of a live recognizer (`online2/online-timing.cc`).

use std::time::Instant;

use kaldi_cli::log::{self, Site, num, ratio};

use nnet3::messages;

/// The time of an utterance whose sound arrives live. If the program is faster than the sound, the timer assumes that
/// it waits.
pub struct OnlineTimer {
    key: String,
    start: Instant,
    /// Waiting time of users, in seconds.
    waited: f64,
    /// The length of the sound so far, in seconds.
    length: f64,
}

impl OnlineTimer {
    pub fn new(key: &str) -> OnlineTimer {
        OnlineTimer { key: key.to_owned(), start: Instant::now(), waited: 0.0, length: 0.0 }
    }

    /// Waits (not really) until this much sound has come, in seconds.
    pub fn wait_until(&mut self, length: f64) {
        self.waited += (length - self.elapsed()).max(0.0);
        self.length = length;
    }

    fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64() + self.waited
    }
}

/// Sums over utterances, in seconds.
#[derive(Default)]
pub struct TimingStats {
    utterances: usize,
    audio: f64,
    taken: f64,
    waited: f64,
    longest: Option<(f64, String)>,
}

impl TimingStats {
    /// An utterance that is over now.
    pub fn add(&mut self, timer: OnlineTimer) {
        let taken = timer.elapsed();
        let delay = taken - timer.length;
        let (delayed, length) = (num(delay), num(timer.length));
        let line = format!("Latency {delayed} seconds out of {length}, for utterance {}", timer.key);
        log::vlog(2, &Site::PROGRAM, &line);
        self.utterances += 1;
        self.audio += timer.length;
        self.taken += taken;
        self.waited += timer.waited;
        if self.longest.as_ref().is_none_or(|(longest, _)| delay > *longest) {
            self.longest = Some((delay, timer.key));
        }
    }

    /// Logs the sums; if the sound came as a whole, without the time until then.
    pub fn report(&self, online: bool) {
        let Some((delay, key)) = &self.longest else { return };
        let worked = self.taken - self.waited;
        if !online {
            messages::log(&format!(
                "Timing stats: real-time factor for offline decoding was {} = {} seconds  / {} seconds.",
                ratio(worked, self.audio),
                num(worked),
                num(self.audio)
            ));
            return;
        }
        messages::log(&format!(
            "Timing stats: real-time factor was {} (note: this cannot be less than one.)",
            ratio(self.taken, self.audio)
        ));
        let average = (self.taken - self.audio) / self.utterances as f64;
        messages::log(&format!("Average delay was {} seconds.", num(average)));
        let idle = ratio(100.0 * self.waited, self.audio);
        messages::log(&format!("Percentage of time spent idling was {idle}"));
        messages::log(&format!("Longest delay was {} seconds for utterance '{key}'", num(*delay)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_not_work() {
        let mut stats = TimingStats::default();
        for (key, length) in [("a", 100.0), ("b", 300.0)] {
            let mut timer = OnlineTimer::new(key);
            timer.wait_until(length / 2.0);
            timer.wait_until(length);
            stats.add(timer);
        }
        assert_eq!((stats.utterances, stats.audio), (2, 400.0));
        // The program was not busy for as long as a minute.
        assert!((340.0..=400.0).contains(&stats.waited), "{}", stats.waited);
        assert!((400.0..460.0).contains(&stats.taken) && stats.longest.unwrap().0 < 60.0);
    }
}
