//! Progress on a terminal while recordings are recognised: words so far of live sound, minutes of sound of files.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

/// Returns the line of partial results on a terminal, for live sound. It is hidden without a terminal.
pub fn partial_results() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_msg}").expect("a template");
    ProgressBar::new_spinner().with_style(style)
}

/// Minutes of sound of all files, on a terminal.
pub struct Minutes {
    bar: ProgressBar,
    began: Instant,
    milliseconds: AtomicU64,
    files: usize,
    done: AtomicU64,
}

impl Minutes {
    /// Begins to count. It is hidden without a terminal, and if `is_hidden`.
    pub fn new(files: usize, is_hidden: bool) -> Minutes {
        let bar = if is_hidden { ProgressBar::hidden() } else { partial_results() };
        Minutes {
            bar,
            began: Instant::now(),
            milliseconds: AtomicU64::new(0),
            files,
            done: AtomicU64::new(0),
        }
    }

    /// Adds seconds of sound.
    pub fn add(&self, seconds: f64) {
        self.milliseconds.fetch_add((seconds * 1000.0) as u64, Ordering::Relaxed);
        if !self.bar.is_hidden() {
            let time = self.began.elapsed().as_secs_f64();
            let sound = self.milliseconds.load(Ordering::Relaxed) as f64 / 1000.0;
            self.bar.set_message(message(sound, time, self.done.load(Ordering::Relaxed), self.files));
        }
    }

    /// Counts a file.
    pub fn file_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls a function that writes to the terminal.
    pub fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn message(sound: f64, time: f64, done: u64, files: usize) -> String {
    let speed = if time > 0.0 { sound / time } else { 0.0 };
    format!(
        "{:.1} minutes of sound, {done} of {files} files, {speed:.1} times as fast as spoken",
        sound / 60.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_and_speed() {
        let shown = "1.5 minutes of sound, 2 of 3 files, 3.0 times as fast as spoken";
        assert_eq!(message(90.0, 30.0, 2, 3), shown);
        assert!(message(0.0, 0.0, 0, 1).contains("0.0 times"));
        let hidden = Minutes::new(2, true);
        hidden.add(60.5);
        assert_eq!(hidden.milliseconds.load(Ordering::Relaxed), 60_500);
    }
}
