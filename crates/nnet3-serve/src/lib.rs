//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! A server of recognisers that share one model.
//!
//! - WebSockets with the protocol of vosk-server: samples come, words go ([`protocol`]).
//! - `POST /transcribe`: a recording in any format comes, its text goes.
//! - `/healthz`, `/readyz`, `/metrics`, and a page at `/` for a microphone or a file.
//!
//! [`Server::run`] serves until it is told to stop, and then until the running sessions have ended. The calling thread
//! handles all sockets, and waits for no file, pipe or log. Other threads do recognition, a fifth of a second of sound at a
//! time, in turns. So no session waits for another one to end. A recording that is decoded has a thread of its own.
//! [`Limits`] bound the share of each client.
//!
//! This crate does not log: a caller gets each [`Event`], on a thread for events.

mod access;
mod address;
mod browsers;
mod connections;
mod decoding;
mod error;
mod events;
mod form;
mod journal;
mod limits;
mod metrics;
mod openai;
mod page;
mod patient;
mod process;
pub mod protocol;
mod server;
mod sessions;
mod shared;
mod socket;
mod sound;
mod upload;
mod workers;
mod wyoming;

pub use access::Access;
pub use error::{Error, Result};
pub use limits::Limits;
pub use process::{BAD_RECORDING, DecoderProgram, Trouble};
pub use server::{Listeners, Server, Settings, Stop};
pub use shared::Event;
pub use sound::SOUND;
