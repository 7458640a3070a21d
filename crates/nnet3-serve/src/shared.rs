//! Parts of a server that all connections share.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use nnet3_online::Model;
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::sessions::Sessions;
use crate::workers::Workers;

/// A program that reads a recording from its standard input, and writes it as a wave file
/// ([`SoundStream::write_wave`](kaldi_sound::SoundStream::write_wave)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecoderProgram {
    /// The file of the program.
    pub program: PathBuf,
    /// The name under which it is called, and its arguments.
    pub name: String,
    pub arguments: Vec<String>,
}

impl DecoderProgram {
    /// The call of the program.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg0(&self.name).args(&self.arguments);
        command
    }
}

/// Events that an operator may want to know of.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The server can be reached here.
    Listening { address: SocketAddr },
    /// The server ended a session, or refused it.
    Ended { address: SocketAddr, reason: String },
    /// A connection could not be accepted.
    NotAccepted { cause: String },
    /// The server admits no sessions any more, and waits for the end of those that run.
    Stopping { running: usize },
    /// All sessions have ended.
    Stopped,
}

/// Parts that all connections share.
pub struct Shared {
    pub model: Model,
    /// In Hz.
    pub rate: u32,
    pub limits: Limits,
    pub access: Access,
    pub decoder: Option<DecoderProgram>,
    pub sessions: Arc<Sessions>,
    /// Places of recordings that arrive.
    pub uploads: Semaphore,
    pub workers: Workers,
    pub metrics: Metrics,
    pub(crate) report: Box<dyn Fn(Event) + Send + Sync>,
}

impl Shared {
    pub fn report(&self, event: Event) {
        (self.report)(event);
    }
}
