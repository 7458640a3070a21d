//! A progress bar on standard error, if that is a terminal that no later program of a pipeline shares.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use kaldi_cli::terminal;
use kaldi_io::filename::RxFilename;
use kaldi_io::table::Rspecifier;
use kaldi_io::threads::{self, Thread};

const INTERVAL: Duration = Duration::from_millis(200);

/// True if there is a bar; other bars are then not shown.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Counts entries of a table that is read from beginning to end. The bar goes away with the value, and while lines are
/// logged.
pub struct Counter {
    state: Arc<State>,
    /// The thread that draws, if the bar is shown.
    drawing: Option<Thread<()>>,
}

#[derive(Default)]
struct State {
    count: AtomicU64,
    /// Further text of the bar.
    note: Mutex<String>,
    over: AtomicBool,
}

/// Total amount of work, if known.
#[derive(Debug, PartialEq, Eq)]
enum Total {
    /// A script file with this number of lines.
    Entries(u64),
    /// An archive: a file, and its size in bytes.
    Bytes(PathBuf, u64),
    Unknown,
}

/// A counter of the entries of this table.
pub fn counter(what: &'static str, rspecifier: &str) -> Counter {
    start(what, || total(rspecifier))
}

/// A counter of so many steps.
pub fn steps(what: &'static str, all: u64) -> Counter {
    start(what, || Total::Entries(all))
}

fn start(what: &'static str, total: impl FnOnce() -> Total) -> Counter {
    let state = Arc::new(State::default());
    if !terminal::is_ours() || SHOWN.swap(true, Ordering::Relaxed) {
        return Counter { state, drawing: None };
    }
    let (shared, total) = (state.clone(), total());
    let draw = |(shared, total): (Arc<State>, Total)| draw(&shared, what, &total);
    let drawing = threads::start_or_return("progress", (shared, total), draw).ok();
    SHOWN.store(drawing.is_some(), Ordering::Relaxed);
    Counter { state, drawing }
}

impl Counter {
    pub fn inc(&self) {
        self.state.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the number of entries or steps that are done.
    pub fn set(&self, count: u64) {
        self.state.count.store(count, Ordering::Relaxed);
    }

    /// True if there is a bar that can show text.
    pub fn is_shown(&self) -> bool {
        self.drawing.is_some()
    }

    /// Sets the text at the end of the bar.
    pub fn note(&self, text: String) {
        *self.state.note.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let Some(drawing) = self.drawing.take() else { return };
        self.state.over.store(true, Ordering::Relaxed);
        drawing.unpark();
        drawing.join();
        SHOWN.store(false, Ordering::Relaxed);
    }
}

/// Draws until the counter is dropped.
fn draw(state: &State, what: &str, total: &Total) {
    let bar = ProgressBar::new_spinner();
    bar.set_style(
        ProgressStyle::with_template("{spinner} {wide_msg}").unwrap_or(ProgressStyle::default_spinner()),
    );
    let hidden_meanwhile = bar.clone();
    terminal::set_around(Some(Box::new(move |print: &mut dyn FnMut()| hidden_meanwhile.suspend(print))));
    let began = Instant::now();
    while !state.over.load(Ordering::Relaxed) {
        std::thread::park_timeout(INTERVAL);
        let count = state.count.load(Ordering::Relaxed);
        let note = state.note.lock().unwrap_or_else(PoisonError::into_inner).clone();
        bar.set_message(message(count, what, began.elapsed(), done(total, count), &note));
        bar.tick();
    }
    terminal::set_around(None);
    bar.finish_and_clear();
}

/// `1,234 utterances, 56/s, 42 %, 3 minutes left, objective -1.5`.
fn message(count: u64, what: &str, elapsed: Duration, done: Option<f64>, note: &str) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = count as f64 / seconds;
    // (Three digits, and no exponent.)
    let rate =
        if rate < 100.0 { kaldi_io::text::format_g(rate, 3) } else { HumanCount(rate as u64).to_string() };
    let mut text = format!("{} {what}, {rate}/s", HumanCount(count));
    match done {
        // An estimate at the beginning is unreliable.
        Some(done) if done > 0.0 && seconds > 1.0 => {
            let left = Duration::from_secs_f64(seconds * (1.0 - done) / done);
            text += &format!(", {:.0} %, {} left", 100.0 * done, HumanDuration(left));
        }
        Some(done) => text += &format!(", {:.0} %", 100.0 * done),
        None => text += &format!(", {}", HumanDuration(elapsed)),
    }
    if !note.is_empty() {
        text += &format!(", {note}");
    }
    text
}

/// The share that is done, from 0 to 1.
fn done(total: &Total, count: u64) -> Option<f64> {
    let share = |part: u64, whole: u64| (whole > 0).then(|| (part as f64 / whole as f64).min(1.0));
    match total {
        Total::Entries(entries) => share(count, *entries),
        Total::Bytes(path, bytes) => share(position(path)?, *bytes),
        Total::Unknown => None,
    }
}

/// Number of entries or bytes of a table, if it is a file.
fn total(rspecifier: &str) -> Total {
    let file = |name: &str| match RxFilename::parse(name) {
        Ok(RxFilename::File(path)) => {
            let size = path.metadata().ok().filter(|data| data.is_file()).map(|data| data.len());
            size.map(|size| (path, size))
        }
        _ => None,
    };
    let Some((kind, name)) = rspecifier.split_once(':').filter(|_| Rspecifier::parse(rspecifier).is_ok())
    else {
        return Total::Unknown;
    };
    let is_script = kind.split(',').any(|word| word == "scp");
    match file(name) {
        Some((path, _)) if is_script => std::fs::read(path).map_or(Total::Unknown, |lines| {
            Total::Entries(lines.iter().filter(|&&byte| byte == b'\n').count() as u64)
        }),
        Some((path, size)) => Total::Bytes(path, size),
        None => Total::Unknown,
    }
}

/// This process's position in a file, as the kernel reports it (Linux).
fn position(path: &Path) -> Option<u64> {
    let path = path.canonicalize().ok()?;
    let open = std::fs::read_dir("/proc/self/fd").ok()?.flatten();
    let own = open.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == path));
    let position = |entry: std::fs::DirEntry| {
        let info = std::fs::read_to_string(Path::new("/proc/self/fdinfo").join(entry.file_name())).ok()?;
        info.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse().ok())
    };
    own.filter_map(position).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn totals_and_shares() {
        let folder = std::env::temp_dir().join(format!("progress-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (scp, ark) = (folder.join("a.scp"), folder.join("a.ark"));
        std::fs::write(&scp, "a b\nc d\n").unwrap();
        std::fs::write(&ark, [0u8; 1000]).unwrap();
        assert_eq!(total(&format!("scp,p:{}", scp.display())), Total::Entries(2));
        let bytes = total(&format!("ark,bg:{}", ark.display()));
        assert_eq!(bytes, Total::Bytes(ark.clone(), 1000));
        for unknown in ["ark:-", "ark:cat x |", "scp:/no/such/file", "nothing"] {
            assert_eq!(total(unknown), Total::Unknown, "{unknown}");
        }
        assert_eq!(done(&Total::Entries(4), 1), Some(0.25));
        assert_eq!(done(&Total::Unknown, 1), None);
        if cfg!(target_os = "linux") {
            assert_eq!(done(&bytes, 0), None, "nobody reads it");
            let mut file = std::fs::File::open(&ark).unwrap();
            file.read_exact(&mut [0; 100]).unwrap();
            assert_eq!(done(&bytes, 0), Some(0.1));
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn messages() {
        let at = |seconds| Duration::from_secs(seconds);
        assert_eq!(message(1200, "utterances", at(10), None, ""), "1,200 utterances, 120/s, 10 seconds");
        assert_eq!(
            message(50, "minibatches", at(100), Some(0.25), "objective -1.5"),
            "50 minibatches, 0.5/s, 25 %, 5 minutes left, objective -1.5"
        );
    }
}
