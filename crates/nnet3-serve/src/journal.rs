//! Events on their way to the operator. A log that nobody reads must not stop the server.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kaldi_io::threads;

use crate::error::Result;
use crate::shared::Event;

/// Events that may wait for the operator.
const QUEUE: usize = 1000;
/// Events that clients may cause at once, and in each second from then on.
const BURST: f64 = 200.0;
const RATE: f64 = 20.0;
/// Time between looks for events that were left out.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest wait for the last events.
const LAST: Duration = Duration::from_secs(1);

/// A queue of events, and the thread that reports them.
pub struct Journal {
    queue: SyncSender<Event>,
    counts: Arc<Counts>,
    allowance: Mutex<Allowance>,
}

#[derive(Default)]
struct Counts {
    waiting: AtomicUsize,
    /// Events that were left out, since the last report and since the start.
    left_out: AtomicU64,
    all_left_out: AtomicU64,
}

/// The number of events that clients may cause now.
struct Allowance {
    events: f64,
    since: Instant,
}

impl Allowance {
    fn take(&mut self) -> bool {
        let elapsed = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        self.events = (self.events + RATE * elapsed).min(BURST);
        let is_left = self.events >= 1.0;
        if is_left {
            self.events -= 1.0;
        }
        is_left
    }
}

impl Journal {
    /// Starts the thread, which calls `report` for one event after the other.
    pub fn start(report: impl Fn(Event) + Send + 'static) -> Result<Journal> {
        let (queue, events) = sync_channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let theirs = counts.clone();
        threads::start("log lines", move || write(&events, &theirs, report))?;
        let allowance = Mutex::new(Allowance { events: BURST, since: Instant::now() });
        Ok(Journal { queue, counts, allowance })
    }

    /// Passes an event on, without waiting. Counts it if there is no room, or if clients cause too many.
    pub fn tell(&self, event: Event) {
        let may =
            !event.is_of_client() || self.allowance.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        if !may || self.queue.try_send(event).is_err() {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            self.counts.left_out.fetch_add(1, Ordering::Relaxed);
            self.counts.all_left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Events that were left out since the start.
    pub fn left_out(&self) -> u64 {
        self.counts.all_left_out.load(Ordering::Relaxed)
    }

    /// Waits a little until all events are reported.
    pub fn finish(&self) {
        let begin = Instant::now();
        while self.counts.waiting.load(Ordering::Relaxed) > 0 && begin.elapsed() < LAST {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Reports events until there is no journal any more.
fn write(events: &Receiver<Event>, counts: &Counts, report: impl Fn(Event)) {
    loop {
        match events.recv_timeout(PAUSE) {
            Ok(event) => {
                report(event);
                counts.waiting.fetch_sub(1, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let count = counts.left_out.swap(0, Ordering::Relaxed);
        if count > 0 {
            report(Event::LeftOut { count });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::mpsc::channel;

    use super::*;

    fn ended(number: usize) -> Event {
        let address: SocketAddr = "127.0.0.1:1".parse().unwrap();
        Event::Ended { address, reason: number.to_string() }
    }

    #[test]
    fn an_operator_who_does_not_read_stops_nobody() {
        let (go_on, wait) = channel::<()>();
        let (give, take) = channel();
        let journal = Journal::start(move |event| {
            let _end = wait.recv();
            let _end = give.send(event);
        })
        .unwrap();
        let begin = Instant::now();
        (0..5000).for_each(|number| journal.tell(ended(number)));
        (0..2 * QUEUE).for_each(|_| journal.tell(Event::Stopped));
        assert!(begin.elapsed() < Duration::from_secs(1));
        let left_out = journal.left_out();
        assert!((4700..=7000).contains(&left_out), "{left_out}");
        drop(go_on);
        journal.finish();
        let events: Vec<Event> = take.try_iter().collect();
        assert_eq!(events[0], ended(0));
        let told: u64 =
            events.iter().map(|event| if let Event::LeftOut { count } = event { *count } else { 0 }).sum();
        let others = events.iter().filter(|event| !matches!(event, Event::LeftOut { .. })).count();
        // (The first event waits outside the queue.)
        assert!(others <= QUEUE + 1, "{others}");
        assert!(told <= left_out && others as u64 + left_out == 7000, "{others} {told} {left_out}");
    }
}
