//! `POST /transcribe`: a recording comes, its text goes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Body as _;
use nnet3_online::formats::{self, Format, Parts, Segment};
use nnet3_online::text;
use tokio::time::{timeout, timeout_at};

use crate::decoding::Recording;
use crate::metrics::Kind;
use crate::process::Trouble;
use crate::protocol;
use crate::sessions::Refusal;
use crate::shared::Shared;
use crate::sound::Sound;
use crate::workers::Turn;

/// Bytes that are written to a file at once.
const BLOCK: usize = 1 << 20;
/// The name of a recording that has no other.
const UNNAMED: &str = "recording";
/// A header of the answer for each part of the recording that is missing or damaged.
const WARNING: &str = "x-recording-warning";

/// Values in the address of a request.
pub type Values = HashMap<String, String>;

/// The reason why there is no text.
pub struct Failure {
    status: StatusCode,
    text: String,
}

impl Failure {
    pub fn new(status: StatusCode, text: impl Into<String>) -> Failure {
        Failure { status, text: text.into() }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, refusal.to_string())
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        let status = match trouble {
            Trouble::Recording(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Trouble::Server(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Trouble::Stalled(_) => StatusCode::GATEWAY_TIMEOUT,
        };
        Failure::new(status, trouble.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = format!("{}\n", protocol::error(&self.text));
        let headers = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status, headers, body).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("5"));
        }
        response
    }
}

/// Refuses bodies that hold a recording in a form or compressed.
pub fn check_kind(headers: &HeaderMap) -> Result<(), Failure> {
    let text =
        |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase());
    let refused = |found: &str| {
        let text = format!(
            "expected the bytes of a recording as the body (curl --data-binary @FILE), found {found}"
        );
        Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
    };
    if text(header::CONTENT_TYPE).is_some_and(|kind| kind.trim_start().starts_with("multipart/")) {
        return refused("a form (multipart)");
    }
    match text(header::CONTENT_ENCODING).as_deref() {
        None | Some("" | "identity") => Ok(()),
        Some(_) => refused("a compressed body (Content-Encoding)"),
    }
}

/// The failure of work without a thread, which only an end of the server causes.
fn stopped() -> Failure {
    Refusal::Stopping.into()
}

/// Recognises the recording in a body. The address may have `format` (`json`, `text`, `srt` or `vtt`) and `name`, the name
/// of the recording in JSON.
pub async fn transcribe(
    shared: &Arc<Shared>,
    address: IpAddr,
    wishes: &Values,
    body: Body,
) -> Result<Response, Failure> {
    let (format, kind) = form(wishes.get("format").map(String::as_str))?;
    let refused = |refusal: &Refusal| shared.metrics.refused(refusal.label());
    let share = shared.sessions.arrive(address).inspect_err(refused)?;
    // Recordings that arrive have places of their own, so that slow clients do not take those of sessions.
    let Ok(place) = shared.uploads.try_acquire() else {
        shared.metrics.refused("uploads");
        let text = "the server is full: too many recordings arrive; try again later";
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, text));
    };
    let file = receive(shared, body).await?;
    drop(place);
    let ticket = shared.sessions.admit(share).await.inspect_err(refused)?;
    shared.metrics.session(Kind::Recording);
    let (segments, warnings) = recognize(shared, file).await?;
    drop(ticket);
    let text = match format {
        // (Lines of `Format::Text` begin with a name.)
        Format::Text => {
            let texts: Vec<String> = segments.iter().map(|segment| text(&segment.words)).collect();
            format!("{}\n", texts.join(" "))
        }
        _ => {
            let name = wishes.get("name").map_or(UNNAMED, String::as_str);
            let text = formats::write(format, Parts::default(), name, &segments);
            if format == Format::Json { with_warnings(text, &warnings) } else { text }
        }
    };
    let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
    for warning in &warnings {
        if let Ok(value) = header::HeaderValue::from_str(&warning.escape_default().to_string()) {
            response.headers_mut().append(WARNING, value);
        }
    }
    Ok(response)
}

/// Adds the member `warnings` to the JSON of a recording, if there are any.
fn with_warnings(json: String, warnings: &[String]) -> String {
    match serde_json::from_str::<serde_json::Value>(&json) {
        Ok(mut value) if value.is_object() && !warnings.is_empty() => {
            value["warnings"] = warnings.into();
            format!("{value}\n")
        }
        _ => json,
    }
}

fn form(name: Option<&str>) -> Result<(Format, &'static str), Failure> {
    match name.unwrap_or("json") {
        "json" => Ok((Format::Json, "application/json")),
        "text" => Ok((Format::Text, "text/plain; charset=utf-8")),
        "srt" => Ok((Format::Srt, "application/x-subrip; charset=utf-8")),
        "vtt" => Ok((Format::Vtt, "text/vtt; charset=utf-8")),
        other => {
            let other: String = other.chars().take(40).collect();
            Err(Failure::new(
                StatusCode::BAD_REQUEST,
                format!("format: expected json, text, srt or vtt, found '{other}'"),
            ))
        }
    }
}

/// Writes a body to a file without a name.
async fn receive(shared: &Arc<Shared>, mut body: Body) -> Result<File, Failure> {
    let limits = &shared.limits;
    let too_large = || {
        let text = format!("a recording may have {} bytes, and this one has more", limits.recording);
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    if body.size_hint().lower() > limits.recording as u64 {
        return Err(too_large());
    }
    let failed = |error: std::io::Error| {
        Failure::new(StatusCode::INSUFFICIENT_STORAGE, format!("the recording cannot be kept: {error}"))
    };
    let mut file = tempfile::tempfile().map_err(failed)?;
    let turn = Turn::default();
    let end = tokio::time::Instant::now() + limits.upload;
    let (mut block, mut size) = (Vec::new(), 0);
    loop {
        let frame = timeout(limits.idle, timeout_at(end, next(&mut body))).await;
        let data = match frame {
            Ok(Ok(Some(Ok(data)))) => data,
            Ok(Ok(None)) => break,
            Ok(Ok(Some(Err(error)))) => return Err(Failure::new(StatusCode::BAD_REQUEST, error.to_string())),
            Ok(Err(_)) | Err(_) => {
                shared.metrics.ended("idle");
                let text = "the recording comes too slowly";
                return Err(Failure::new(StatusCode::REQUEST_TIMEOUT, text));
            }
        };
        size += data.len();
        if size > limits.recording {
            return Err(too_large());
        }
        block.extend_from_slice(&data);
        if block.len() >= BLOCK {
            file = write(shared, &turn, file, std::mem::take(&mut block)).await?.map_err(failed)?;
        }
    }
    if size == 0 {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "expected a recording, found no bytes"));
    }
    file = write(shared, &turn, file, block).await?.map_err(failed)?;
    file.rewind().map_err(failed)?;
    Ok(file)
}

/// The next data of a body.
async fn next(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    loop {
        let frame =
            std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context)).await?;
        match frame.map(|frame| frame.into_data()) {
            Ok(Ok(data)) => return Some(Ok(data)),
            // (Trailers.)
            Ok(Err(_)) => {}
            Err(error) => return Some(Err(error)),
        }
    }
}

async fn write(
    shared: &Shared,
    turn: &Turn,
    mut file: File,
    block: Vec<u8>,
) -> Result<std::io::Result<File>, Failure> {
    shared.files.run(turn, move || file.write_all(&block).map(|()| file)).await.ok_or_else(stopped)
}

/// Recognises a recording, a piece at a time. Returns its sentences, and warnings about what is missing.
async fn recognize(shared: &Shared, file: File) -> Result<(Vec<Segment>, Vec<String>), Failure> {
    let begin = Instant::now();
    let mut sound = Sound::open(file, shared.decoder.clone(), shared.limits.decoder).await?;
    let (model, rate, turn) = (shared.model.clone(), sound.rate, Turn::default());
    let new = move || Recording::new(rate, &model);
    let mut recording = shared.workers.run(&turn, new).await.ok_or_else(stopped)??;
    let most = shared.limits.seconds;
    while let Some(samples) = sound.next().await? {
        let accept = move || recording.accept(&samples, most);
        recording = shared.workers.run(&turn, accept).await.ok_or_else(stopped)??;
    }
    let seconds = recording.seconds();
    let segments = shared.workers.run(&turn, move || recording.finish()).await.ok_or_else(stopped)??;
    shared.metrics.recognized(seconds, begin.elapsed());
    Ok((segments, std::mem::take(&mut sound.warnings)))
}

/// Makes a file with a recording of a few samples, to try if files can be made and decoded.
pub fn try_file() -> std::io::Result<File> {
    /// A wave of 80 samples at 8 kHz.
    const HEADER: &[u8; 44] =
        b"RIFF\xc4\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\xa0\0\0\0";
    let mut file = tempfile::tempfile()?;
    file.write_all(HEADER)?;
    file.write_all(&[0; 160])?;
    file.rewind()?;
    Ok(file)
}
