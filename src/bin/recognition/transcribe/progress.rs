//! Progress while recordings are recognised: words so far of live sound, the share that is done of files.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kaldi_cli::{log, terminal};

use super::names::is_live;

/// Times a second that a terminal is written, at most.
const HERTZ: u8 = 10;
/// Time between two lines where standard error is no terminal.
const EACH: Duration = Duration::from_secs(10);
/// Characters of the bar: with it, a line fits 80 columns.
const WIDTH: usize = 10;

/// A line at the bottom of a terminal. It is hidden without a terminal.
pub struct Line {
    bar: ProgressBar,
    /// The time of the last drawing. (The limit of the library's bars lets twenty pass at once.)
    drawn: Mutex<Option<Instant>>,
}

impl Line {
    /// A line that is shown unless `is_hidden`.
    pub fn new(is_hidden: bool) -> Line {
        let target = match is_hidden {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(HERTZ),
        };
        let style = ProgressStyle::with_template("{wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, target).with_style(style);
        Line { bar, drawn: Mutex::new(None) }
    }

    pub fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    /// Shows a text, unless another one was shown just before.
    pub fn show(&self, text: impl FnOnce() -> String) {
        if !self.is_hidden() && self.is_due(Instant::now()) {
            self.bar.set_message(text());
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = drawn.is_none_or(|drawn| now >= drawn + Duration::from_secs(1) / u32::from(HERTZ));
        if is_due {
            *drawn = Some(now);
        }
        is_due
    }

    /// Shows no text until the next one.
    pub fn empty(&self) {
        self.bar.set_message("");
    }

    /// Removes the text while a function writes to the terminal.
    pub fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Removes the text.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// `█████░░░░░`
fn bar(percent: f64) -> String {
    let full = ((percent / 100.0 * WIDTH as f64) as usize).min(WIDTH);
    "█".repeat(full) + &"░".repeat(WIDTH - full)
}

/// The sound of a file, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Length {
    done: f64,
    /// The whole length, if it is known.
    whole: Option<f64>,
    has_ended: bool,
}

/// The sound of all files.
#[derive(Debug, Default)]
struct Sums {
    /// Bytes of each file, 0 if they are not known.
    bytes: Vec<u64>,
    /// Files that have begun, by number.
    begun: HashMap<usize, Length>,
}

impl Sums {
    fn done(&self) -> f64 {
        self.begun.values().map(|length| length.done).sum()
    }

    fn files_done(&self) -> usize {
        self.begun.values().filter(|length| length.has_ended).count()
    }

    /// The seconds of all files. Files that have not begun have as many seconds a byte as the others. `None` if a file that
    /// has begun has no known length.
    fn total(&self) -> Option<f64> {
        let (mut seconds, mut bytes) = (0.0, 0);
        for (number, length) in &self.begun {
            seconds += length.whole?;
            bytes += self.bytes[*number];
        }
        let rest = self.bytes.iter().sum::<u64>() - bytes;
        match (rest, bytes) {
            (0, _) => Some(seconds),
            (_, 0) => None,
            _ => Some(seconds + seconds * rest as f64 / bytes as f64),
        }
    }
}

/// Shows how much of the sound of all files is done: a bar on a terminal, otherwise a line now and then.
pub struct Minutes {
    line: Line,
    began: Instant,
    sums: Mutex<Sums>,
    /// The time of the next line, if lines are written.
    next_line: Mutex<Option<Instant>>,
}

impl Minutes {
    /// Begins to count. Live sound shows no progress.
    pub fn new<'p>(paths: impl Iterator<Item = &'p str> + Clone) -> Minutes {
        let is_hidden = paths.clone().any(is_live);
        let size = |path: &str| std::fs::metadata(path).map_or(0, |data| data.len());
        let now = Instant::now();
        Minutes {
            line: Line::new(is_hidden),
            began: now,
            sums: Mutex::new(Sums { bytes: paths.map(size).collect(), begun: HashMap::new() }),
            next_line: Mutex::new((!is_hidden && !terminal::is_terminal()).then_some(now + EACH)),
        }
    }

    /// A file begins, whose length in seconds may be known.
    pub fn file_begins(&self, number: usize, whole: Option<f64>) {
        self.change(number, |length| length.whole = whole);
    }

    /// Adds seconds of sound of a file.
    pub fn add(&self, number: usize, seconds: f64) {
        let all = self.change(number, |length| {
            length.done += seconds;
            length.whole = length.whole.map(|whole| whole.max(length.done));
        });
        self.show(&all);
    }

    /// The length of a file in seconds, if it has begun and its header has one.
    pub fn length(&self, number: usize) -> Option<f64> {
        let sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.begun.get(&number).and_then(|length| length.whole)
    }

    /// Counts a file.
    pub fn file_done(&self, number: usize) {
        self.change(number, |length| {
            length.has_ended = true;
            length.whole = Some(length.done);
        });
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut Length)) -> State {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        change(sums.begun.entry(number).or_default());
        State {
            done: sums.done(),
            total: sums.total(),
            files_done: sums.files_done(),
            files: sums.bytes.len(),
        }
    }

    fn show(&self, state: &State) {
        let elapsed = self.began.elapsed();
        self.line.show(|| {
            let share = state.percent().map(|percent| format!("{} {percent:>3.0} %  ", bar(percent)));
            share.unwrap_or_default() + &state.message(elapsed)
        });
        let mut next = self.next_line.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if next.is_some_and(|next| now >= next) {
            *next = Some(now + EACH);
            let percent = state.percent().map_or(String::new(), |percent| format!("{percent:.0} %, "));
            let line = format!("{}: {percent}{}\n", log::program(), state.message(elapsed));
            terminal::print(line.as_bytes());
        }
    }

    /// Calls a function that writes to the terminal.
    pub fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.line.suspend(write)
    }

    pub fn finish(&self) {
        self.line.clear();
    }
}

/// The sound so far.
#[derive(Debug, Clone, Copy)]
struct State {
    /// In seconds.
    done: f64,
    total: Option<f64>,
    files_done: usize,
    files: usize,
}

impl State {
    fn percent(&self) -> Option<f64> {
        self.total.filter(|total| *total > 0.0).map(|total| 100.0 * self.done / total)
    }

    /// `1.5/6.0 min, 90 s left, 1/3 files, 3.0x real time`.
    fn message(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64();
        let speed = if seconds > 0.0 { self.done / seconds } else { 0.0 };
        let of_total = self.total.map_or(String::new(), |total| format!("/{:.1}", total / 60.0));
        let mut text = format!("{:.1}{of_total} min", self.done / 60.0);
        // (An estimate at the beginning is unreliable.)
        if let Some(total) = self.total.filter(|_| seconds > 1.0 && speed > 0.0) {
            text += &format!(", {} left", duration(((total - self.done) / speed).max(0.0)));
        }
        if self.files > 1 {
            text += &format!(", {}/{} files", self.files_done, self.files);
        }
        text + &format!(", {speed:.1}x real time")
    }
}

/// A time of two or three digits: `90 s`, `90 min`, `9 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 99.5 => format!("{seconds:.0} s"),
        _ if seconds < 99.5 * 60.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(done: f64, total: Option<f64>, files: usize, seconds: u64) -> String {
        State { done, total, files_done: 1, files }.message(Duration::from_secs(seconds))
    }

    #[test]
    fn minutes_speed_and_end() {
        let shown = "1.5/6.0 min, 90 s left, 1/3 files, 3.0x real time";
        assert_eq!(message(90.0, Some(360.0), 3, 30), shown);
        assert_eq!(message(90.0, None, 1, 30), "1.5 min, 3.0x real time");
        assert!(message(0.0, None, 1, 0).contains("0.0x"));
        assert_eq!((duration(100.0), duration(6000.0)), ("2 min".to_owned(), "2 h".to_owned()));
    }

    #[test]
    fn a_line_fits_eighty_columns() {
        // Hours of sound in hundreds of files.
        let state = State { done: 6000.0, total: Some(21_600.0), files_done: 100, files: 300 };
        let line = format!("{} {:>3.0} %  {}", bar(100.0), 100.0, state.message(Duration::from_secs(40)));
        assert!(line.chars().count() < 80, "{} {line}", line.chars().count());
    }

    #[test]
    fn a_terminal_is_written_ten_times_a_second_at_most() {
        let (line, begin) = (Line::new(true), Instant::now());
        let drawn = (0..2000).filter(|&i| line.is_due(begin + Duration::from_millis(i))).count();
        assert_eq!(drawn, 20);
        assert_eq!(bar(50.0), "█".repeat(5) + &"░".repeat(5));
        assert_eq!(bar(100.4).chars().count(), WIDTH);
    }

    #[test]
    fn the_length_of_files_that_have_not_begun_is_estimated() {
        let minutes = Minutes::new(["/nowhere", "/nowhere"].into_iter());
        minutes.sums.lock().unwrap().bytes = vec![100, 300];
        assert_eq!(minutes.change(0, |_| {}).total, None);
        minutes.file_begins(0, Some(10.0));
        let state = minutes.change(0, |length| length.done = 2.5);
        assert_eq!((state.total, state.percent()), (Some(40.0), Some(6.25)));
        // A file that ends before its header says, and one that is longer.
        minutes.file_done(0);
        minutes.file_begins(1, Some(20.0));
        minutes.add(1, 25.0);
        let state = minutes.change(1, |_| {});
        assert_eq!((state.done, state.total, state.files_done), (27.5, Some(27.5), 1));
        minutes.file_begins(1, None);
        assert_eq!(minutes.change(1, |_| {}).total, None);
    }
}
