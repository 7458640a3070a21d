//! Hostile input for tests: ways to damage bytes and texts, and runs in which a panic is a finding with its place.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

// ---- runs ------------------------------------------------------------------------------------------------------

/// The failures: one example and a count for each kind.
#[derive(Default)]
pub struct Findings {
    found: BTreeMap<String, (String, usize)>,
    pub cases: usize,
}

thread_local! {
    /// Place of the last panic in a guarded run; `None` outside of guarded runs.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The input of the run in progress, for [`in_time`].
    static INPUT: RefCell<Arc<Mutex<Vec<u8>>>> = RefCell::default();
    static CLOCK: Clock = Clock::of_this_thread();
}

/// The most processor time of a case.
const LONG: Duration = Duration::from_secs(10);
/// The most processor time of all cases of [`in_time`].
const LIMIT: Duration = Duration::from_secs(120);
/// The longest time of all cases of [`in_time`] on a busy machine, so that a thread that waits for ever ends, too.
const LONGEST: Duration = Duration::from_secs(1200);

/// The processor time of a thread; the time that passes if the system does not tell.
struct Clock {
    /// The thread's folder in /proc.
    folder: Option<PathBuf>,
    start: Instant,
}

impl Clock {
    /// The clock of the calling thread.
    fn of_this_thread() -> Clock {
        let link = std::fs::read_link("/proc/thread-self").ok();
        Clock { folder: link.map(|link| PathBuf::from("/proc").join(link)), start: Instant::now() }
    }

    fn time(&self) -> Duration {
        self.processor_time().unwrap_or_else(|| self.start.elapsed())
    }

    /// User and system time, in ticks of 10 ms.
    fn processor_time(&self) -> Option<Duration> {
        let stat = std::fs::read_to_string(self.folder.as_ref()?.join("stat")).ok()?;
        // (The name of the thread, which is in brackets, may have blanks.)
        let (_, fields) = stat.rsplit_once(')')?;
        let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
        Some(Duration::from_millis(10 * ticks.sum::<Result<u64, _>>().ok()?))
    }
}

impl Findings {
    /// `kind` tells findings apart, `example` is kept for the first of its kind.
    pub fn add(&mut self, kind: impl Into<String>, example: impl Into<String>) {
        self.found.entry(kind.into()).or_insert_with(|| (example.into(), 0)).1 += 1;
    }

    /// Runs `work`, which uses `input`; a panic in it is a finding, as is a run that takes much processor time.
    pub fn guard<T>(&mut self, what: &str, input: &[u8], work: impl FnOnce() -> T) -> Option<T> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                let place = info.location().map_or(String::new(), |l| format!("{}:{}", l.file(), l.line()));
                let guarded = PANIC.with_borrow_mut(|panic| panic.as_mut().map(|p| *p = place).is_some());
                if !guarded {
                    usual(info);
                }
            }));
        });
        self.cases += 1;
        INPUT.with_borrow(|shared| *shared.lock().unwrap_or_else(PoisonError::into_inner) = input.to_vec());
        PANIC.set(Some(String::new()));
        let start = CLOCK.with(Clock::time);
        let result = catch_unwind(AssertUnwindSafe(work));
        let place = PANIC.take().unwrap_or_default();
        if CLOCK.with(Clock::time) - start > LONG {
            self.add(format!("{what}: takes long"), shown(input));
        }
        match result {
            Ok(value) => Some(value),
            Err(payload) => {
                let text = payload.downcast_ref::<String>().cloned();
                let text = text.or_else(|| payload.downcast_ref::<&str>().map(|s| s.to_string()));
                self.add(
                    format!("panic at {place}"),
                    format!("{what}, {}\n    {}", text.unwrap_or_default(), shown(input)),
                );
                None
            }
        }
    }

    pub fn merge(&mut self, other: Findings) {
        self.cases += other.cases;
        for (kind, (example, count)) in other.found {
            self.found.entry(kind).or_insert((example, 0)).1 += count;
        }
    }

    #[track_caller]
    pub fn assert_none(self) {
        println!("{} cases", self.cases);
        let list: Vec<String> = self
            .found
            .iter()
            .map(|(kind, (example, count))| format!("{kind} ({count} times); first:\n    {example}"))
            .collect();
        assert!(list.is_empty(), "{} kinds of findings:\n{}", list.len(), list.join("\n"));
    }
}

/// Unchanged text, with other bytes escaped.
pub fn shown(input: &[u8]) -> String {
    match std::str::from_utf8(input) {
        Ok(text) if !text.contains(|c: char| c.is_control() && c != '\n') => text.to_string(),
        _ => input.escape_ascii().to_string(),
    }
}

/// Runs `work` on a thread of its own and fails if it takes too much processor time.
pub fn in_time<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (begun, clock) = channel();
    let (done, wait) = channel();
    let input = Arc::new(Mutex::new(Vec::new()));
    let shared = input.clone();
    let thread = std::thread::spawn(move || {
        INPUT.set(shared);
        let _ = begun.send(Clock::of_this_thread());
        let _ = done.send(work());
    });
    let clock = clock.recv().expect("the thread sends its clock first");
    loop {
        match wait.recv_timeout(Duration::from_secs(1)) {
            Ok(value) => return value,
            Err(RecvTimeoutError::Timeout) => {
                let (time, passed) = (clock.time(), clock.start.elapsed());
                if time > LIMIT || passed > LONGEST {
                    let input = input.lock().unwrap_or_else(PoisonError::into_inner);
                    panic!(
                        "{what}: no end after {time:?} of processor time ({passed:?} passed), now at\n{}",
                        shown(&input)
                    )
                }
            }
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(payload) => std::panic::resume_unwind(payload),
                Ok(()) => unreachable!("the thread sends before it ends"),
            },
        }
    }
}

/// The largest memory of this process so far, in bytes; `None` if the system does not tell.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmPeak:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

// ---- damage ----------------------------------------------------------------------------------------------------

/// Numbers that programs tend not to expect.
const INTEGERS: [i32; 9] = [0, 1, -1, 2, 7, 0x10000, 0x1000_0000, i32::MAX, i32::MIN];
const FLOATS: [f32; 6] = [f32::NAN, f32::INFINITY, -1.0, 0.0, 1e30, 1e-40];

/// `bytes` with one to three random changes.
pub fn damaged(bytes: &[u8], rng: &mut fastrand::Rng) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..rng.usize(1..=3) {
        if out.is_empty() {
            return out;
        }
        let at = rng.usize(..out.len());
        let end = (at + rng.usize(1..=8)).min(out.len());
        match rng.u8(..7) {
            0 => out[at] ^= 1 << rng.u8(..8),
            1 => out[at] = rng.u8(..),
            2 => overwrite(&mut out, at, &rng.choice(INTEGERS).unwrap_or(0).to_le_bytes()),
            3 => overwrite(&mut out, at, &rng.choice(FLOATS).unwrap_or(0.0).to_le_bytes()),
            4 => drop(out.drain(at..end)),
            5 => {
                let copy = out[at..end].to_vec();
                out.splice(at..at, copy);
            }
            _ => out.insert(at, rng.u8(..)),
        }
    }
    out
}

/// Replaces every number of a binary form by unexpected ones: the 4 or 8 bytes after its size byte.
pub fn with_other_numbers(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for at in 0..bytes.len() {
        let values: Vec<Vec<u8>> = match bytes[at] {
            4 => INTEGERS
                .iter()
                .map(|v| v.to_le_bytes().to_vec())
                .chain(FLOATS.iter().map(|v| v.to_le_bytes().to_vec()))
                .collect(),
            8 => FLOATS.iter().map(|&v| f64::from(v).to_le_bytes().to_vec()).collect(),
            _ => continue,
        };
        for value in values {
            let mut changed = bytes.to_vec();
            overwrite(&mut changed, at + 1, &value);
            all.push(changed);
        }
    }
    all
}

fn overwrite(bytes: &mut [u8], at: usize, value: &[u8]) {
    for (byte, v) in bytes.iter_mut().skip(at).zip(value) {
        *byte = *v;
    }
}

/// Returns the ranges of the words of a text.
pub fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let start = text.as_ptr() as usize;
    text.split_ascii_whitespace()
        .map(|word| {
            let at = word.as_ptr() as usize - start;
            at..at + word.len()
        })
        .collect()
}

/// A text with each of its words replaced, left out, doubled and exchanged with the next. Of the numbers between
/// brackets only the first and last are changed.
pub fn with_other_words(text: &str) -> Vec<String> {
    /// The last two are not for matrices: reading them there logs a warning each time.
    const OTHERS: [&str; 16] = [
        "-1",
        "0",
        "1",
        "3",
        "2147483647",
        "-2147483648",
        "99999999999",
        "1e30",
        "x",
        "T",
        "[",
        "]",
        "[ ]",
        "<X>",
        "nan",
        "inf",
    ];
    let words = words(text);
    let replaced = |range: &std::ops::Range<usize>, new: &str| {
        format!("{}{new}{}", &text[..range.start], &text[range.end..])
    };
    let mut all = Vec::new();
    let mut inside = false;
    for (i, range) in words.iter().enumerate() {
        let word = &text[range.clone()];
        let neighbour = |j: usize| words.get(j).is_some_and(|r| matches!(&text[r.clone()], "[" | "]"));
        let inner = inside && word != "]" && !neighbour(i.wrapping_sub(1)) && !neighbour(i + 1);
        inside = match word {
            "[" => true,
            "]" => false,
            _ => inside,
        };
        if inner {
            continue;
        }
        let others = if inside { &OTHERS[..14] } else { &OTHERS[..] };
        all.extend(others.iter().map(|other| replaced(range, other)));
        all.push(replaced(range, ""));
        all.push(replaced(range, &format!("{word} {word}")));
        if let Some(next) = words.get(i + 1) {
            let both = range.start..next.end;
            let between = &text[range.end..next.start];
            all.push(replaced(&both, &format!("{}{between}{word}", &text[next.clone()])));
        }
    }
    all
}
