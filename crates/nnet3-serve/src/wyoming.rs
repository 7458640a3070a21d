//! The Wyoming protocol, as Home Assistant speaks it: events over TCP, each a line of JSON, then more JSON, then bytes.
//!
//! A client sends `describe`, or `transcribe`, `audio-start`, `audio-chunk`s and `audio-stop`, and gets `info` or `transcript`.
//! The protocol knows no secret.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nnet3_online::{SampleBytes, Steps};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::connections::Peer;
use crate::decoding::Recording;
use crate::metrics::Kind;
use crate::process::Trouble;
use crate::protocol::RATES;
use crate::sessions::{Refusal, Ticket};
use crate::shared::{Event, Shared};
use crate::upload::whole;
use crate::workers::Turn;

/// Bytes of a line of JSON, and of the JSON behind it, at most.
const MOST_JSON: u64 = 1 << 20;
/// Longest time for a client to take an answer.
const ANSWER: Duration = Duration::from_secs(20);
/// Channels, at most.
const MOST_CHANNELS: u64 = 64;

/// An event of a client.
struct Message {
    kind: String,
    data: Map<String, Value>,
    payload: Vec<u8>,
}

/// The end of a conversation before its time.
enum End {
    /// The client has gone.
    Gone,
    /// The server ends it.
    Closed { reason: String, label: &'static str },
}

impl End {
    fn wrong(reason: impl Into<String>) -> End {
        End::Closed { reason: reason.into(), label: "protocol" }
    }
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Gone
    }
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> End {
        End::Closed { reason: refusal.to_string(), label: refusal.label() }
    }
}

impl From<Trouble> for End {
    fn from(trouble: Trouble) -> End {
        End::Closed { reason: trouble.to_string(), label: "recognition" }
    }
}

/// A sound that is recognised.
struct Work {
    ticket: Ticket,
    recording: Box<Recording>,
    /// In Hz.
    rate: u32,
    channels: usize,
    bytes: SampleBytes,
    /// Samples that wait for a whole step.
    waiting: Steps,
    seconds: f64,
    began: Instant,
}

struct Conversation<'s> {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    shared: &'s Arc<Shared>,
    address: SocketAddr,
    work: Option<Work>,
    turn: Turn,
    /// True if the operator knows of the low rate.
    warned: bool,
}

/// Serves a client until one of the two has enough, or `stop` is true and no sound is recognised.
pub async fn serve(stream: TcpStream, peer: Peer, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let _slower = stream.set_nodelay(true);
    let (reader, writer) = stream.into_split();
    let mut conversation = Conversation {
        reader: BufReader::new(reader),
        writer,
        shared: &shared,
        address: peer.address,
        work: None,
        turn: Turn::default(),
        warned: false,
    };
    if let Err(End::Closed { reason, label }) = conversation.converse(&mut stop).await {
        shared.metrics.ended(label);
        shared.report(Event::Ended { address: conversation.address, reason: reason.clone() });
        let _gone = conversation.send("error", json!({ "text": reason, "code": label })).await;
    }
}

impl Conversation<'_> {
    async fn converse(&mut self, stop: &mut watch::Receiver<bool>) -> Result<(), End> {
        loop {
            let has_work = self.work.is_some();
            let idle = self.shared.limits.idle;
            let message = tokio::select! {
                message = timeout(idle, read(&mut self.reader, self.shared.limits.message)) => match message {
                    Ok(message) => message?,
                    Err(_) if !has_work => return Ok(()),
                    Err(_) => {
                        let reason = format!("nothing came for {} s", idle.as_secs_f64());
                        return Err(End::Closed { reason, label: "idle" });
                    }
                },
                () = async { drop(stop.wait_for(|&stop| stop).await) }, if !has_work => return Ok(()),
                () = self.shared.sessions.stopped(), if !has_work => return Ok(()),
            };
            let Some(Message { kind, data, payload }) = message else { return Ok(()) };
            match kind.as_str() {
                "describe" => self.send("info", info(self.shared.language.as_deref())).await?,
                "ping" => self.send("pong", Value::Object(data)).await?,
                "audio-start" => self.begin(&data).await?,
                "audio-chunk" => {
                    if self.work.is_none() {
                        self.begin(&data).await?;
                    }
                    self.sound(&payload).await?;
                }
                "audio-stop" => self.end().await?,
                // (Among them transcribe, whose settings choose among models.)
                _ => {}
            }
        }
    }

    /// Waits until a sound of this form may be recognised. A sound before it that did not end is forgotten.
    async fn begin(&mut self, data: &Map<String, Value>) -> Result<(), End> {
        self.work = None;
        let number = |name: &str| data.get(name).and_then(Value::as_u64);
        let rate =
            number("rate").and_then(|rate| u32::try_from(rate).ok()).filter(|rate| RATES.contains(rate));
        let rate = rate.ok_or_else(|| {
            End::wrong(format!("rate: expected a number from {} to {} Hz", RATES.start(), RATES.end()))
        })?;
        if number("width") != Some(2) {
            return Err(End::wrong("width: expected samples of 2 bytes"));
        }
        let channels = number("channels").filter(|count| (1..=MOST_CHANNELS).contains(count));
        let channels =
            channels.ok_or_else(|| End::wrong(format!("channels: expected 1 to {MOST_CHANNELS}")))?;
        let sessions = &self.shared.sessions;
        let refused = |refusal: &Refusal| self.shared.metrics.refused(refusal.label());
        let share = sessions.arrive(self.address.ip()).inspect_err(refused)?;
        let ticket = sessions.admit(share).await.inspect_err(refused)?;
        self.shared.metrics.session(Kind::Socket);
        let model = self.shared.model.clone();
        let made = self.shared.workers.run(&self.turn, move || Recording::new(rate, 1, &model, None)).await;
        if let Some(low) = self.shared.model.low_rate(rate as f32).filter(|_| !self.warned) {
            self.warned = true;
            self.shared.report(Event::LowRate { address: self.address, low });
        }
        self.work = Some(Work {
            ticket,
            recording: made.ok_or(Refusal::Stopping)??,
            rate,
            channels: channels as usize,
            bytes: SampleBytes::default(),
            waiting: Steps::new(rate as f32),
            seconds: 0.0,
            began: Instant::now(),
        });
        Ok(())
    }

    /// Takes samples of the first channel.
    async fn sound(&mut self, payload: &[u8]) -> Result<(), End> {
        let Some(mut work) = self.work.take() else { return Ok(()) };
        let samples = work.bytes.take(payload, i16::from_le_bytes);
        // (Chunks have whole samples of all channels.)
        let samples: Vec<f32> = samples.into_iter().step_by(work.channels).collect();
        for step in work.waiting.add(&samples) {
            work = self.recognize(work, step).await?;
        }
        self.work = Some(work);
        Ok(())
    }

    async fn recognize(&mut self, work: Work, samples: Vec<f32>) -> Result<Work, End> {
        let most = self.shared.limits.seconds;
        let seconds = work.seconds + samples.len() as f64 / f64::from(work.rate);
        let Work { recording, .. } = work;
        let accept = move || recording.accept(&[samples], most);
        let recording = self.shared.workers.run(&self.turn, accept).await.ok_or(Refusal::Stopping)??;
        Ok(Work { recording, seconds, ..work })
    }

    /// Ends the sound, and sends its text.
    async fn end(&mut self) -> Result<(), End> {
        let Some(mut work) = self.work.take() else {
            return self.send("transcript", json!({ "text": "" })).await;
        };
        let samples = work.waiting.rest();
        if !samples.is_empty() {
            work = self.recognize(work, samples).await?;
        }
        let Work { ticket, recording, seconds, began, .. } = work;
        // A sound that is too short for a word is no fault of its client.
        let finished = self.shared.workers.run(&self.turn, move || recording.finish()).await;
        let segments = finished.ok_or(Refusal::Stopping)?.unwrap_or_default();
        drop(ticket);
        self.shared.metrics.recognized(seconds, began.elapsed());
        let mut data = json!({ "text": whole(&segments) });
        if let Some(language) = &self.shared.language {
            data["language"] = language.as_str().into();
        }
        self.send("transcript", data).await
    }

    async fn send(&mut self, kind: &str, data: Value) -> Result<(), End> {
        let data = data.to_string();
        let header = json!({ "type": kind, "version": VERSION, "data_length": data.len() });
        let bytes = format!("{header}\n{data}");
        match timeout(ANSWER, self.writer.write_all(bytes.as_bytes())).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }
}

/// The version of the protocol that this follows.
const VERSION: &str = "1.10.2";

/// The answer to `describe`: one program with one model.
fn info(language: Option<&str>) -> Value {
    let languages: Vec<&str> = language.into_iter().collect();
    let version = env!("CARGO_PKG_VERSION");
    let attribution = json!({ "name": "nnet3", "url": "" });
    let model = json!({
        "name": "model",
        "description": "The model of this server",
        "attribution": attribution,
        "installed": true,
        "version": version,
        "languages": languages,
    });
    let program = json!({
        "name": "nnet3",
        "description": "Speech recognition",
        "attribution": attribution,
        "installed": true,
        "version": version,
        "models": [model],
    });
    json!({ "asr": [program], "tts": [], "handle": [], "intent": [], "wake": [], "mic": [], "snd": [] })
}

/// Reads an event. `None` at the end of the stream.
async fn read(reader: &mut BufReader<OwnedReadHalf>, most: usize) -> Result<Option<Message>, End> {
    let mut line = Vec::new();
    if (&mut *reader).take(MOST_JSON).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    let object: Map<String, Value> = serde_json::from_slice(&line)
        .map_err(|error| End::wrong(format!("expected a line of JSON: {error}")))?;
    let length = |name: &str, most: u64| match object.get(name) {
        None | Some(Value::Null) => Ok(0),
        Some(value) => value
            .as_u64()
            .filter(|length| *length <= most)
            .ok_or_else(|| End::wrong(format!("{name}: expected a number of bytes up to {most}"))),
    };
    let (data_length, payload_length) =
        (length("data_length", MOST_JSON)?, length("payload_length", most as u64)?);
    let mut data = object.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
    if data_length > 0 {
        let mut bytes = vec![0; data_length as usize];
        reader.read_exact(&mut bytes).await?;
        let more: Map<String, Value> = serde_json::from_slice(&bytes)
            .map_err(|error| End::wrong(format!("data: expected JSON: {error}")))?;
        data.extend(more);
    }
    let mut payload = vec![0; payload_length as usize];
    reader.read_exact(&mut payload).await?;
    let kind = object.get("type").and_then(Value::as_str).ok_or_else(|| End::wrong("type: expected text"))?;
    Ok(Some(Message { kind: kind.to_owned(), data, payload }))
}
