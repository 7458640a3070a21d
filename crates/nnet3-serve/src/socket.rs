//! Sessions over WebSockets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message as Frame, WebSocket, close_code};
use nnet3_online::SampleBytes;
use serde_json::Value;
use tokio::time::timeout;

use crate::connections::Peer;
use crate::decoding::{Decoder, Manner, reason, silence};
use crate::metrics::Kind;
use crate::protocol::{self, Config, Message};
use crate::sessions::{Refusal, Ticket};
use crate::shared::{Event, NO_SPEAKERS, Shared};
use crate::workers::Turn;

/// Longest reason of a close frame, in bytes.
const REASON: usize = 123;
/// Time for a client to answer a close frame.
const FAREWELL: Duration = Duration::from_secs(2);
/// Longest time for a client to take an answer, and bytes of a reason in the log.
const ANSWER: Duration = Duration::from_secs(20);
const LOGGED: usize = 300;
/// Close code of a server that is full (1013, "try again later").
const TRY_AGAIN: u16 = close_code::AGAIN;

/// The end of a session.
enum End {
    /// The client has gone.
    Gone,
    /// All words were sent.
    Finished,
    /// The server ends the session.
    Closed { code: u16, reason: String, label: &'static str },
}

impl End {
    fn closed(code: u16, label: &'static str, reason: impl Into<String>) -> End {
        End::Closed { code, reason: reason.into(), label }
    }

    fn refused(refusal: Refusal) -> End {
        let code = if refusal == Refusal::Stopping { close_code::RESTART } else { TRY_AGAIN };
        End::closed(code, refusal.label(), refusal.to_string())
    }
}

/// Serves a client until one of the two has enough.
pub async fn serve(mut socket: WebSocket, shared: Arc<Shared>, peer: Peer) {
    let manner = Manner::of_rate(shared.rate);
    let mut session = Session {
        socket: &mut socket,
        shared: &shared,
        peer: &peer,
        manner,
        work: None,
        bytes: SampleBytes::default(),
        turn: Turn::default(),
        taken: 0,
        warned: false,
    };
    let end = session.converse().await.unwrap_or_else(|end| end);
    drop(session);
    match end {
        End::Gone => {}
        End::Finished => close(&mut socket, close_code::NORMAL, "").await,
        End::Closed { code, reason, label } => {
            if matches!(code, TRY_AGAIN | close_code::RESTART) {
                shared.metrics.refused(label);
            } else {
                shared.metrics.ended(label);
            }
            let logged = beginning(&reason, LOGGED).to_owned();
            shared.report(Event::Ended { address: peer.address, reason: logged });
            let message = Frame::Text(protocol::error(&reason).to_string().into());
            let _gone = timeout(ANSWER, socket.send(message)).await;
            close(&mut socket, code, &reason).await;
        }
    }
}

/// Sends a close frame, and waits a little for the client's. Data that come instead are lost.
async fn close(socket: &mut WebSocket, code: u16, reason: &str) {
    let frame = CloseFrame { code, reason: beginning(reason, REASON).into() };
    if let Ok(Ok(())) = timeout(ANSWER, socket.send(Frame::Close(Some(frame)))).await {
        let _late = timeout(FAREWELL, async { while let Some(Ok(_)) = socket.recv().await {} }).await;
    }
}

/// The first bytes of a text, at most so many.
fn beginning(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

struct Session<'s> {
    socket: &'s mut WebSocket,
    shared: &'s Arc<Shared>,
    peer: &'s Peer,
    manner: Manner,
    /// The right to recognise, and the recogniser; from the first sound on.
    work: Option<(Ticket, Decoder)>,
    bytes: SampleBytes,
    turn: Turn,
    /// Samples so far.
    taken: u64,
    /// True if the operator knows of settings without a meaning.
    warned: bool,
}

impl Session<'_> {
    async fn converse(&mut self) -> Result<End, End> {
        loop {
            let frame = self.next().await?;
            let arrival = Instant::now();
            let answer = match frame {
                Frame::Text(text) => match Message::parse(text.as_str()) {
                    Ok(Message::Config(config)) => {
                        self.configure(config)?;
                        continue;
                    }
                    Ok(Message::Reset) => self.end().await?,
                    Ok(Message::Eof) => {
                        let answer = self.end().await?;
                        self.send(&answer).await?;
                        return Ok(End::Finished);
                    }
                    Err(fault) => return Err(End::closed(close_code::POLICY, "protocol", fault.to_string())),
                },
                Frame::Binary(bytes) => {
                    let samples = self.bytes.take(&bytes, i16::from_le_bytes);
                    self.sound(&samples).await?
                }
                // (`next` returns no others.)
                _ => continue,
            };
            self.send(&answer).await?;
            self.shared.metrics.answered(arrival.elapsed());
        }
    }

    /// Waits for a message. Pings do not count: a client that has nothing to say makes room for others.
    async fn next(&mut self) -> Result<Frame, End> {
        let idle = self.shared.limits.idle;
        let has_work = self.work.is_some();
        let message = async {
            loop {
                match self.socket.recv().await {
                    Some(Ok(frame @ (Frame::Text(_) | Frame::Binary(_)))) => return Ok(frame),
                    Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => {}
                    Some(Ok(Frame::Close(_))) | None => return Err(End::Gone),
                    Some(Err(error)) => return Err(of_error(error)),
                }
            }
        };
        tokio::select! {
            message = timeout(idle, message) => message.unwrap_or_else(|_| {
                let reason = format!("nothing came for {} s (--max-idle)", idle.as_secs_f64());
                Err(End::closed(close_code::POLICY, "idle", reason))
            }),
            () = self.shared.sessions.stopped(), if !has_work => Err(End::refused(Refusal::Stopping)),
        }
    }

    async fn send(&mut self, answer: &Value) -> Result<(), End> {
        match timeout(ANSWER, self.socket.send(Frame::Text(answer.to_string().into()))).await {
            Ok(Ok(())) => Ok(()),
            // (Later answers would not arrive, either.)
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }

    /// Changes settings. Those of the recogniser cannot change once it is there.
    fn configure(&mut self, config: Config) -> Result<(), End> {
        let wrong = |text: String| Err(End::closed(close_code::POLICY, "protocol", text));
        if let Some(keys) = config.unknown.filter(|_| !self.warned) {
            self.warned = true;
            self.shared.report(Event::UnknownKeys { address: self.peer.address, keys });
        }
        if let Some(rate) = config.sample_rate.filter(|&rate| rate != self.manner.rate) {
            if self.work.is_some() {
                return wrong(format!("config: sample_rate: the sound so far has {} Hz", self.manner.rate));
            }
            self.manner.rate = rate;
        }
        if let Some(phrases) = config.phrase_list.filter(|phrases| *phrases != self.manner.phrases) {
            if self.work.is_some() {
                return wrong("config: phrase_list: phrases cannot change after the first sound".to_owned());
            }
            self.manner.phrases = phrases;
        }
        if let Some(speakers) = config.speakers.filter(|speakers| *speakers != self.manner.speakers) {
            if self.work.is_some() {
                return wrong("config: speakers: cannot change after the first sound".to_owned());
            }
            if self.shared.speakers.is_none() {
                return wrong(format!("config: speakers: {NO_SPEAKERS}"));
            }
            self.manner.speakers = speakers;
        }
        if let Some(most) = config.max_alternatives {
            self.manner.alternatives = most;
            if let Some((_, decoder)) = &mut self.work {
                decoder.set_alternatives(most);
            }
        }
        self.manner.words = config.words.unwrap_or(self.manner.words);
        Ok(())
    }

    /// Takes the sound of a message, and returns the answer.
    async fn sound(&mut self, samples: &[f32]) -> Result<Value, End> {
        let (mut ticket, mut decoder) = match self.work.take() {
            Some(work) => work,
            None => self.begin().await?,
        };
        self.taken += samples.len() as u64;
        let limit = self.shared.limits.seconds;
        if self.taken as f64 > limit * f64::from(self.manner.rate) {
            self.work = Some((ticket, decoder));
            let last = self.end().await?;
            self.send(&last).await?;
            let reason =
                format!("a session may have {limit} s of sound (--max-seconds), and this one has more");
            return Err(End::closed(close_code::POLICY, "seconds", reason));
        }
        let mut state = None;
        let manner = self.manner.clone();
        for part in samples.chunks(nnet3_online::piece(manner.rate as f32)) {
            let part = part.to_vec();
            let seconds = part.len() as f64 / f64::from(manner.rate);
            let after;
            (ticket, decoder, after) =
                self.with(ticket, decoder, seconds, move |decoder| decoder.accept(&part)).await?;
            state = after.or(state);
        }
        let (ticket, decoder, answer) =
            self.with(ticket, decoder, 0.0, move |decoder| decoder.answer(state, &manner)).await?;
        self.work = Some((ticket, decoder));
        Ok(answer)
    }

    /// Waits until the session may be recognised.
    async fn begin(&mut self) -> Result<(Ticket, Decoder), End> {
        let sessions = &self.shared.sessions;
        let share = sessions.arrive(self.peer.address.ip()).map_err(End::refused)?;
        let ticket = sessions.admit(share).await.map_err(End::refused)?;
        self.shared.metrics.session(Kind::Socket);
        let (model, manner) = (self.shared.model.clone(), self.manner.clone());
        let speakers = self.shared.speakers.clone();
        let new = move || Decoder::new(&model, speakers.as_ref(), &manner);
        let made = self.shared.workers.run(&self.turn, new).await;
        match made {
            Some(Ok(decoder)) => {
                if let Some(low) = self.shared.model.low_rate(self.manner.rate as f32) {
                    self.shared.report(Event::LowRate { address: self.peer.address, low });
                }
                Ok((ticket, decoder))
            }
            Some(Err(error)) => Err(End::closed(close_code::POLICY, "model", reason(&error))),
            None => Err(End::refused(Refusal::Stopping)),
        }
    }

    /// Ends the sound, and returns the answer.
    async fn end(&mut self) -> Result<Value, End> {
        let manner = self.manner.clone();
        // (A byte of half a sample is lost.)
        self.bytes = SampleBytes::default();
        let Some((ticket, decoder)) = self.work.take() else { return Ok(silence(&manner)) };
        let (ticket, decoder, answer) =
            self.with(ticket, decoder, 0.0, move |decoder| decoder.end(&manner)).await?;
        self.work = Some((ticket, decoder));
        Ok(answer)
    }

    /// Has a thread work with the decoder, which goes there and comes back.
    async fn with<T: Send + 'static>(
        &mut self,
        ticket: Ticket,
        mut decoder: Decoder,
        seconds: f64,
        work: impl FnOnce(&mut Decoder) -> nnet3_online::Result<T> + Send + 'static,
    ) -> Result<(Ticket, Decoder, T), End> {
        // (The ticket goes along: a session whose client has gone ends when its work does.)
        let done = self.shared.workers.run(&self.turn, move || {
            let begin = Instant::now();
            let outcome = work(&mut decoder);
            (ticket, decoder, outcome, begin.elapsed())
        });
        let Some((ticket, decoder, outcome, took)) = done.await else {
            return Err(End::refused(Refusal::Stopping));
        };
        self.shared.metrics.recognized(seconds, took);
        match outcome {
            Ok(value) => Ok((ticket, decoder, value)),
            Err(error) => Err(End::closed(close_code::ERROR, "recognition", error.to_string())),
        }
    }
}

/// The end of a session whose client sent something that is no message.
fn of_error(error: axum::Error) -> End {
    let error = error.into_inner();
    match error.downcast_ref::<tungstenite::Error>() {
        Some(tungstenite::Error::Capacity(error)) => End::closed(close_code::SIZE, "size", error.to_string()),
        Some(tungstenite::Error::Protocol(error)) => {
            End::closed(close_code::PROTOCOL, "protocol", error.to_string())
        }
        Some(tungstenite::Error::Utf8(error)) => End::closed(close_code::INVALID, "protocol", error.clone()),
        _ => End::Gone,
    }
}
