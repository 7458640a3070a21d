//! Parts of a server that all connections share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::Response;

use nnet3_online::{LowRate, Model, Speakers};
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::events::Unfinished;
use crate::journal::Journal;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::process::DecoderProgram;
use crate::sessions::Sessions;
use crate::upload::Told;
use crate::workers::Workers;

/// Events that an operator may want to know of.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The server can be reached here.
    Listening { address: SocketAddr },
    /// Clients of the Wyoming protocol reach it here.
    ListeningForWyoming { address: SocketAddr },
    /// The server ended a session, or refused it.
    Ended { address: SocketAddr, reason: String },
    /// A client named settings that have no meaning here.
    UnknownKeys { address: SocketAddr, keys: String },
    /// The sound of a session lacks bands that the model was trained with.
    LowRate { address: SocketAddr, low: LowRate },
    /// A recording was answered: the path, the status, the seconds of its sound if it was recognised, the time that the request
    /// took, and the failure or warnings.
    Recording {
        address: SocketAddr,
        path: &'static str,
        status: u16,
        seconds: Option<f64>,
        took: Duration,
        remarks: String,
    },
    /// So many events were left out, because clients cause too many, or the operator does not read them.
    LeftOut { count: u64 },
    /// A connection could not be accepted.
    NotAccepted { cause: String },
    /// The server admits no sessions any more, and waits for the end of those that run.
    Stopping { running: usize },
    /// All sessions have ended.
    Stopped,
}

impl Event {
    /// True if clients can cause any number of these.
    pub(crate) fn is_of_client(&self) -> bool {
        matches!(
            self,
            Event::Ended { .. }
                | Event::UnknownKeys { .. }
                | Event::LowRate { .. }
                | Event::Recording { .. }
                | Event::NotAccepted { .. }
        )
    }
}

/// The reason why a client cannot have speakers.
pub const NO_SPEAKERS: &str = "this server has no model of speakers (--speakers)";

/// Parts that all connections share.
pub struct Shared {
    pub model: Model,
    /// Tells speakers apart, for clients that ask.
    pub speakers: Option<Speakers>,
    /// In Hz.
    pub rate: u32,
    /// The language of the model, such as `en`, if it is known.
    pub language: Option<String>,
    pub limits: Limits,
    pub access: Access,
    pub decoder: Option<DecoderProgram>,
    pub sessions: Arc<Sessions>,
    /// Places of recordings that arrive.
    pub uploads: Semaphore,
    pub workers: Workers,
    /// The thread that writes recordings to files, so that a slow disk does not stop recognition.
    pub files: Workers,
    pub metrics: Metrics,
    pub journal: Journal,
}

/// A request with a recording.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub address: SocketAddr,
    pub path: &'static str,
    /// The time at which it began.
    pub begin: Instant,
}

/// Longest remarks about a recording in the log, in characters.
const MOST_REMARKS: usize = 300;

impl Shared {
    /// Tells the operator about the answer to a recording.
    pub fn report_recording(&self, call: &Call, status: u16, told: Told) {
        let Told { seconds, remarks } = told;
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let remarks = remarks.join("; ").chars().take(MOST_REMARKS).map(shown).collect();
        let Call { address, path, begin } = *call;
        let took = begin.elapsed();
        self.report(Event::Recording { address, path, status, seconds, took, remarks });
    }

    /// Does the same for an answer that is ready. One whose text is still to come has its line later.
    pub fn report_answer(&self, call: &Call, response: &Response) {
        let told = response.extensions();
        if told.get::<Unfinished>().is_none() {
            self.report_recording(call, response.status().as_u16(), told.get().cloned().unwrap_or_default());
        }
    }

    /// Tells the operator, without waiting.
    pub fn report(&self, event: Event) {
        self.journal.tell(event);
    }
}
