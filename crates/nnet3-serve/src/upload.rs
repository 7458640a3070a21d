//! `POST /transcribe`: a recording comes, as the body or in a form, and its text goes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::multipart::Field;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Body as _;
use kaldi_sound::Channels;
use nnet3_online::formats::{self, Format, Parts, Recognized, Segment};
use nnet3_online::text;
use tokio::time::{timeout, timeout_at};

use crate::decoding::Recording;
use crate::form::{self, Fields};
use crate::metrics::Kind;
use crate::openai;
use crate::process::Trouble;
use crate::protocol;
use crate::sessions::{Refusal, Ticket};
use crate::shared::{NO_SPEAKERS, Shared};
use crate::sound::Sound;
use crate::workers::Turn;

/// Bytes that are written to a file at once.
const BLOCK: usize = 1 << 20;
/// The name of a recording that has no other.
pub const UNNAMED: &str = "recording";
/// A header of the answer for each warning: about a part of the recording that is missing, damaged or left out, and about
/// parameters without a meaning.
const WARNING: &str = "x-recording-warning";
/// The parameters of `/transcribe`, beside the recording and `token`.
const PARAMETERS: [&str; 4] = ["format", "name", "channels", "speakers"];
/// Longest list of unknown parameters, and longest name, in characters.
const MOST_NAMES: usize = 200;
const LONGEST_NAME: usize = 40;

/// Values in the address of a request.
pub type Values = HashMap<String, String>;

/// The reason why there is no text.
pub struct Failure {
    pub status: StatusCode,
    pub text: String,
}

impl Failure {
    pub fn new(status: StatusCode, text: impl Into<String>) -> Failure {
        Failure { status, text: text.into() }
    }

    /// The answer at a path: in OpenAI's form at the paths of its interface.
    pub fn at(self, path: &str) -> Response {
        if path.starts_with("/v1/") { openai::failed(self) } else { self.into_response() }
    }
}

/// Facts about a recording for the operator's log: an extension of its answer.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// Seconds of its sound. `None` if it was not recognised.
    pub seconds: Option<f64>,
    /// The failure, or warnings.
    pub remarks: Vec<String>,
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
        response.extensions_mut().insert(Told { seconds: None, remarks: vec![self.text] });
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("5"));
        }
        response
    }
}

/// A recording as a client sends it.
pub enum Upload {
    /// The body is the recording.
    Bare(Body),
    /// The recording is a field of a form.
    Form(Multipart),
}

impl Upload {
    /// Finds out how a request has its recording.
    pub async fn of(request: Request) -> Result<Upload, Failure> {
        let headers = request.headers();
        let text = |name| {
            headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
        };
        if text(header::CONTENT_ENCODING).is_some_and(|coding| !matches!(coding.as_str(), "" | "identity")) {
            let text = "expected the bytes of a recording as the body (curl --data-binary @FILE), found a compressed \
                        body (Content-Encoding)";
            return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        match text(header::CONTENT_TYPE).as_deref().map(str::trim_start) {
            Some(kind) if kind.starts_with("multipart/form-data") => {
                Upload::form(request).await.map(Upload::Form)
            }
            Some(kind) if kind.starts_with("multipart/") => {
                let kind = kind.split(';').next().unwrap_or_default().trim_end();
                let text = format!(
                    "expected the bytes of a recording as the body, or a form of the type multipart/form-data; found {kind}"
                );
                Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
            }
            _ => Ok(Upload::Bare(request.into_body())),
        }
    }

    /// The form of a request, which must have one.
    pub async fn form(request: Request) -> Result<Multipart, Failure> {
        let form = Multipart::from_request(request, &()).await;
        form.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))
    }
}

/// The failure of work without a thread, which only an end of the server causes.
fn stopped() -> Failure {
    Refusal::Stopping.into()
}

/// The choices of a client for the recognition.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// Without it the first one, with a warning if there are others.
    pub channels: Option<Channels>,
    /// True if words have speakers.
    pub speakers: bool,
}

/// Recognises a recording. The address or the form may have `format` (`json`, `text`, `srt` or `vtt`), `channels` (`first`,
/// `each`, `mix` or a number), `speakers` (`true` or `false`) and `name`, the name of the recording in JSON, which otherwise is
/// that of the form's file. Others are an error.
pub async fn transcribe(
    shared: &Arc<Shared>,
    address: IpAddr,
    values: &Values,
    upload: Upload,
) -> Result<Response, Failure> {
    let wishes = |fields: &Fields| {
        let is_unknown = |name: &&str| !PARAMETERS.contains(name) && *name != "token";
        let names = values.keys().map(String::as_str).chain(fields.names());
        if let Some(unknown) = listed(names.filter(is_unknown)) {
            let text = format!("expected the parameters {}; found {unknown}", PARAMETERS.join(", "));
            return Err(Failure::new(StatusCode::BAD_REQUEST, text));
        }
        let wish = |name: &str| values.get(name).map(String::as_str).or(fields.get(name)).map(str::to_owned);
        let stem = |file: &String| file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem).to_owned();
        let name = wish("name").or_else(|| fields.file_name.as_ref().map(stem));
        let format = format_of(wish("format").as_deref())?;
        let channels = channels_of(wish("channels").as_deref())?;
        let speakers = speakers_of(wish("speakers").as_deref(), shared.speakers.is_some())?;
        if speakers && channels == Some(Channels::Each) {
            let text = "speakers: not for channels=each, whose channels are the speakers";
            return Err(Failure::new(StatusCode::BAD_REQUEST, text));
        }
        Ok(((format, name.unwrap_or_else(|| UNNAMED.to_owned())), Choices { channels, speakers }))
    };
    let (heard, (format, name)) = hear(shared, address, upload, wishes).await?;
    Ok(respond(&heard, format, &name))
}

/// Receives a recording and recognises it. `wishes` reads the fields of the form before the recognition.
pub async fn hear<W>(
    shared: &Arc<Shared>,
    address: IpAddr,
    upload: Upload,
    wishes: impl Fn(&Fields) -> Result<(W, Choices), Failure>,
) -> Result<(Heard, W), Failure> {
    let Received { file, wishes, choices, ticket } = receive(shared, address, upload, wishes).await?;
    let mut recognition = Recognition::begin(shared, file, choices, ticket).await?;
    while recognition.next(shared).await?.is_some() {}
    Ok((recognition.finish(shared).await?, wishes))
}

/// A recording that may be recognised.
pub struct Received<W> {
    pub file: Kept,
    /// The wishes of its client.
    pub wishes: W,
    pub choices: Choices,
    /// The right to recognise it.
    pub ticket: Ticket,
}

/// Receives a recording, and waits until it may be recognised. `wishes` reads the fields of the form.
pub async fn receive<W>(
    shared: &Arc<Shared>,
    address: IpAddr,
    upload: Upload,
    wishes: impl Fn(&Fields) -> Result<(W, Choices), Failure>,
) -> Result<Received<W>, Failure> {
    let refused = |refusal: &Refusal| shared.metrics.refused(refusal.label());
    if let Upload::Bare(_) = upload {
        // (Wrong wishes are an error before the recording comes.)
        wishes(&Fields::default())?;
    }
    let share = shared.sessions.arrive(address).inspect_err(refused)?;
    // Recordings that arrive have places of their own, so that slow clients do not take those of sessions.
    let Ok(place) = shared.uploads.try_acquire() else {
        shared.metrics.refused("uploads");
        let text = "the server is full: too many recordings arrive; try again later";
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, text));
    };
    let (file, fields) = match upload {
        Upload::Bare(body) => (keep(shared, Source::Body(body)).await?, Fields::default()),
        Upload::Form(form) => form::receive(shared, form).await?,
    };
    drop(place);
    let (wishes, choices) = wishes(&fields)?;
    let ticket = shared.sessions.admit(share).await.inspect_err(refused)?;
    shared.metrics.session(Kind::Recording);
    Ok(Received { file, wishes, choices, ticket })
}

/// The answer with the text in one of the forms.
pub fn respond(heard: &Heard, format: Format, name: &str) -> Response {
    let Heard { segments, parts, seconds, warnings } = heard;
    let text = match format {
        // (Lines of `Format::Text` begin with a name.)
        Format::Text if !parts.speakers && !parts.channels => format!("{}\n", whole(segments)),
        _ => {
            let name = if format == Format::Text { "" } else { name };
            let recording = Recognized { name, segments, seconds: *seconds };
            let text = formats::write(format, *parts, &recording);
            if format == Format::Json { with_warnings(text, warnings) } else { text }
        }
    };
    let mut response = ([(header::CONTENT_TYPE, media_type(format))], text).into_response();
    add_warnings(&mut response, heard);
    response
}

/// The text of all sentences.
pub fn whole(segments: &[Segment]) -> String {
    let spoken = segments.iter().filter(|segment| !segment.words.is_empty());
    spoken.map(|segment| text(&segment.words)).collect::<Vec<_>>().join(" ")
}

/// Adds a header for each warning, and the facts for the log.
pub fn add_warnings(response: &mut Response, heard: &Heard) {
    let told = Told { seconds: Some(heard.seconds), remarks: heard.warnings.clone() };
    response.extensions_mut().insert(told);
    heard.warnings.iter().for_each(|warning| add_warning(response, warning));
}

/// Adds the header of a warning.
pub fn add_warning(response: &mut Response, warning: &str) {
    if let Ok(value) = header::HeaderValue::from_str(&warning.escape_default().to_string()) {
        response.headers_mut().append(WARNING, value);
    }
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

fn format_of(name: Option<&str>) -> Result<Format, Failure> {
    match name.unwrap_or("json") {
        "json" => Ok(Format::Json),
        "text" => Ok(Format::Text),
        "srt" => Ok(Format::Srt),
        "vtt" => Ok(Format::Vtt),
        other => {
            let other: String = other.chars().take(40).collect();
            Err(Failure::new(
                StatusCode::BAD_REQUEST,
                format!("format: expected json, text, srt or vtt, found '{other}'"),
            ))
        }
    }
}

/// Reads a choice of channels.
pub fn channels_of(wish: Option<&str>) -> Result<Option<Channels>, Failure> {
    let parse = |wish: &str| {
        wish.parse().map_err(|expected: String| {
            let wish: String = wish.chars().take(LONGEST_NAME).collect();
            Failure::new(StatusCode::BAD_REQUEST, format!("channels: {expected}; found '{wish}'"))
        })
    };
    wish.filter(|wish| !wish.is_empty()).map(parse).transpose()
}

/// The names of parameters, shortened, in the order of the alphabet. `None` if there are none.
pub fn listed<'n>(names: impl Iterator<Item = &'n str>) -> Option<String> {
    let shown = |name: &str| name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect::<String>();
    let mut names: Vec<String> = names.map(shown).collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", ").chars().take(MOST_NAMES).collect())
}

/// True if words shall have speakers.
fn speakers_of(wish: Option<&str>, has_model: bool) -> Result<bool, Failure> {
    let bad = |text: String| Err(Failure::new(StatusCode::BAD_REQUEST, text));
    match wish.unwrap_or("false") {
        "false" | "0" | "" => Ok(false),
        "true" | "1" if has_model => Ok(true),
        "true" | "1" => bad(format!("speakers: {NO_SPEAKERS}")),
        other => {
            let other: String = other.chars().take(40).collect();
            bad(format!("speakers: expected true or false, found '{other}'"))
        }
    }
}

fn media_type(format: Format) -> &'static str {
    match format {
        Format::Json => "application/json",
        Format::Srt => "application/x-subrip; charset=utf-8",
        Format::Vtt => "text/vtt; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}

/// The bytes of a recording on their way.
pub enum Source<'f> {
    Body(Body),
    Field(Box<Field<'f>>),
}

impl Source<'_> {
    /// The next bytes; `None` at the end.
    async fn next(&mut self) -> Option<Result<Bytes, String>> {
        match self {
            Source::Body(body) => next(body).await.map(|data| data.map_err(|error| error.to_string())),
            Source::Field(field) => field.chunk().await.map_err(|error| error.body_text()).transpose(),
        }
    }

    /// The least number of bytes that will come.
    fn least(&self) -> u64 {
        match self {
            Source::Body(body) => body.size_hint().lower(),
            Source::Field(_) => 0,
        }
    }
}

/// A recording in a file without a name.
pub type Kept = File;

impl Shared {
    /// Waits for a client until `end`, and not for longer than a pause may be.
    pub async fn in_time<T>(
        &self,
        end: tokio::time::Instant,
        coming: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        match timeout(self.limits.idle, timeout_at(end, coming)).await {
            Ok(Ok(come)) => Ok(come),
            Ok(Err(_)) | Err(_) => {
                self.metrics.ended("idle");
                let text = "the recording comes too slowly (--max-idle, --max-upload)";
                Err(Failure::new(StatusCode::REQUEST_TIMEOUT, text))
            }
        }
    }
}

/// Writes a recording to a file without a name.
pub async fn keep(shared: &Shared, mut source: Source<'_>) -> Result<Kept, Failure> {
    let limits = &shared.limits;
    let too_large = || {
        let text = format!(
            "a recording may have {} bytes (--max-recording), and this one has more",
            limits.recording
        );
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    if source.least() > limits.recording as u64 {
        return Err(too_large());
    }
    let failed = |error: std::io::Error| {
        Failure::new(StatusCode::INSUFFICIENT_STORAGE, format!("the recording cannot be kept: {error}"))
    };
    let mut file = tempfile::tempfile().map_err(failed)?;
    let turn = Turn::default();
    let end = tokio::time::Instant::now() + limits.upload;
    let (mut block, mut size) = (Vec::new(), 0);
    while let Some(data) = shared.in_time(end, source.next()).await? {
        let data = data.map_err(|text| Failure::new(StatusCode::BAD_REQUEST, text))?;
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

/// A recording that was recognised.
pub struct Heard {
    /// Its sentences, in the order of time.
    pub segments: Vec<Segment>,
    /// The parts of its text besides words.
    pub parts: Parts,
    /// Its length.
    pub seconds: f64,
    /// Warnings about parts that are missing or left out.
    pub warnings: Vec<String>,
}

/// A recording that is recognised a piece at a time.
pub struct Recognition {
    sound: Sound,
    /// `None` while a thread has it.
    recording: Option<Box<Recording>>,
    turn: Turn,
    begin: Instant,
    choices: Choices,
    /// The number of sentences that have been told.
    told: usize,
    _ticket: Ticket,
}

impl Recognition {
    /// Begins with a recording.
    pub async fn begin(
        shared: &Shared,
        file: File,
        choices: Choices,
        ticket: Ticket,
    ) -> Result<Recognition, Failure> {
        let begin = Instant::now();
        let sound =
            Sound::open(file, shared.decoder.clone(), choices.channels, shared.limits.decoder).await?;
        let (model, rate, signals, turn) = (shared.model.clone(), sound.rate, sound.signals, Turn::default());
        let speakers = shared.speakers.clone().filter(|_| choices.speakers);
        let new = move || Recording::new(rate, signals, &model, speakers.as_ref());
        let recording = Some(shared.workers.run(&turn, new).await.ok_or_else(stopped)??);
        Ok(Recognition { sound, recording, turn, begin, choices, told: 0, _ticket: ticket })
    }

    /// Recognises the next piece. `None` after the last one. Returns the text so far if a sentence has ended.
    pub async fn next(&mut self, shared: &Shared) -> Result<Option<Option<String>>, Failure> {
        let Some(samples) = self.sound.next().await? else { return Ok(None) };
        let (recording, most) = (self.recording.take().ok_or_else(stopped)?, shared.limits.seconds);
        let accept = move || recording.accept(&samples, most);
        let recording = shared.workers.run(&self.turn, accept).await.ok_or_else(stopped)??;
        let segments = recording.segments();
        let is_new = segments.len() > self.told;
        self.told = segments.len();
        let so_far = is_new.then(|| whole(segments));
        self.recording = Some(recording);
        Ok(Some(so_far))
    }

    /// Ends the recording.
    pub async fn finish(mut self, shared: &Shared) -> Result<Heard, Failure> {
        let recording = self.recording.take().ok_or_else(stopped)?;
        let seconds = recording.seconds();
        let segments =
            shared.workers.run(&self.turn, move || recording.finish()).await.ok_or_else(stopped)??;
        shared.metrics.recognized(seconds, self.begin.elapsed());
        let Choices { channels, speakers } = self.choices;
        let parts = Parts { channels: channels == Some(Channels::Each), speakers, ..Parts::default() };
        let low = shared.model.low_rate(self.sound.rate as f32);
        let warnings = self.sound.warnings.drain(..).chain(low.iter().map(ToString::to_string)).collect();
        Ok(Heard { segments, parts, seconds, warnings })
    }
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

#[cfg(test)]
mod tests {
    use nnet3_online::Word;

    use super::*;

    #[test]
    fn sentences_without_words_leave_no_blanks() {
        let of = |words: &[&str]| {
            let word = |text: &&str| Word { text: (*text).to_owned(), start: 0.0, end: 1.0, confidence: 1.0 };
            Segment { words: words.iter().map(word).collect(), ..Segment::default() }
        };
        let segments = [of(&[]), of(&["kitchen"]), of(&[]), of(&["call", "home"]), of(&[])];
        assert_eq!(whole(&segments), "kitchen call home");
    }
}
