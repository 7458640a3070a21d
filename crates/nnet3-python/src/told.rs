//! The progress of an alignment, and exceptions that end it: those of the caller's function, and of signals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use kaldi_aligner::JobEvent;
use pyo3::prelude::*;

use crate::signals::Signals;

/// The share of the work that recordings need to be opened.
const READING: f64 = 0.05;

/// The progress that a caller hears of, and its answers: an exception of its function ends the work.
#[derive(Clone)]
pub struct Told {
    /// The thread that the caller waits on.
    thread: ThreadId,
    /// Gets the share of the work that is done, from 0 to 1, and the name of its present part.
    progress: Option<Arc<Py<PyAny>>>,
    state: Arc<Mutex<State>>,
}

struct State {
    signals: Signals,
    part: &'static str,
    /// The share and the part that were told last.
    told: (f64, &'static str),
    raised: Option<PyErr>,
}

impl Told {
    pub fn new(progress: Option<Py<PyAny>>) -> Told {
        let state =
            State { signals: Signals::default(), part: "reading", told: (f64::NAN, ""), raised: None };
        Told {
            thread: thread::current().id(),
            progress: progress.map(Arc::new),
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many recordings were opened, by this or another thread.
    pub fn opened(&self, done: usize, all: usize) {
        if thread::current().id() == self.thread {
            self.tell("reading", READING * done as f64 / all.max(1) as f64);
        }
    }

    /// An event of the alignment.
    pub fn event(&self, event: &JobEvent) {
        let (part, share) = {
            let state = self.state();
            (state.part, state.told.0)
        };
        match event {
            JobEvent::Part(part) => self.tell(part, share.max(READING)),
            JobEvent::Training(_) if part == "features" => self.tell("training", share),
            JobEvent::Share(share) => self.tell(part, READING + (1.0 - READING) * share),
            _ => {}
        }
    }

    /// Tells the caller, unless it knows it to a hundredth or has ended the work.
    fn tell(&self, part: &'static str, share: f64) {
        let mut state = self.state();
        state.part = part;
        let is_new = state.told.1 != part || (share - state.told.0).abs() >= 0.01 || share >= 1.0;
        let (Some(progress), true, None) = (&self.progress, is_new, &state.raised) else { return };
        state.told = (share, part);
        drop(state);
        // (The state is free meanwhile: the function may take long, and signals may come.)
        let answer = Python::attach(|py| progress.call1(py, (share, part)).map(drop));
        if let Err(error) = answer {
            self.state().raised.get_or_insert(error);
        }
    }

    /// True unless an exception ends the work.
    pub fn is_wanted(&self) -> bool {
        let mut signals = {
            let mut state = self.state();
            if state.raised.is_some() {
                return false;
            }
            std::mem::take(&mut state.signals)
        };
        let answer = signals.check();
        let mut state = self.state();
        state.signals = signals;
        match answer {
            Ok(()) => state.raised.is_none(),
            Err(error) => {
                state.raised.get_or_insert(error);
                false
            }
        }
    }

    /// The exception that ended the work, if there is one.
    pub fn raised(&self) -> Option<PyErr> {
        self.state().raised.take()
    }
}
