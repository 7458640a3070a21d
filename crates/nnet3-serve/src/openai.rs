//! `POST /v1/audio/transcriptions`, as clients of OpenAI's interface send it.
//!
//! The fields `model`, `language`, `prompt`, `temperature` and others choose among models that this server does not have: they
//! have no effect. Fields that OpenAI does not have are a warning, since other servers have more. `channels` is our own.

use std::sync::Arc;

use axum::extract::Multipart;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use kaldi_sound::Channels;
use nnet3_online::formats::{Format, Segment};
use nnet3_online::{Word, text};
use serde_json::{Value, json};

use crate::events;
use crate::form::Fields;
use crate::shared::{Call, Shared};
use crate::upload::{self, Choices, Failure, Heard, Received, Recognition, Upload, Values, whole};

/// The name of the server's only model.
const MODEL: &str = "nnet3";

/// Fields with a meaning here, and those of OpenAI without one.
const FIELDS: [&str; 14] = [
    "channels",
    "chunking_strategy",
    "include",
    "known_speaker_names",
    "known_speaker_references",
    "language",
    "model",
    "prompt",
    "response_format",
    "stream",
    "stream_options",
    "temperature",
    "timestamp_granularities",
    "user",
];

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    /// With segments, with words, or with both.
    Verbose {
        segments: bool,
        words: bool,
    },
    /// As `/transcribe` writes it.
    Plain(Format),
}

/// The answer that a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    form: Form,
    /// True if the text is to come as events, sentence by sentence.
    stream: bool,
}

/// Recognises the recording of a form.
pub async fn transcriptions(shared: &Arc<Shared>, call: Call, values: &Values, form: Multipart) -> Response {
    match answer(shared, call, values, form).await {
        Ok(response) => response,
        Err(failure) => failed(failure),
    }
}

async fn answer(
    shared: &Arc<Shared>,
    call: Call,
    values: &Values,
    form: Multipart,
) -> Result<Response, Failure> {
    let wishes = |fields: &Fields| {
        let language = shared.language.as_deref().or(fields.get("language")).unwrap_or_default();
        // (As OpenAI's service does.)
        let channels = upload::channels_of(fields.get("channels"))?.or(Some(Channels::Mix));
        let choices = Choices { channels, speakers: false };
        let wanted = wanted(fields)?;
        if wanted.stream && channels == Some(Channels::Each) {
            let text = "stream: not for channels=each, whose sentences are put in order at the end";
            return Err(Failure::new(StatusCode::BAD_REQUEST, text));
        }
        Ok(((wanted, language.to_owned(), unknown(values, fields)), choices))
    };
    let received = upload::receive(shared, call.address.ip(), Upload::Form(form), wishes).await?;
    let Received { file, wishes: (Wanted { form, stream }, language, unknown), choices, ticket } = received;
    let mut recognition = Recognition::begin(shared, file, choices, ticket).await?;
    if stream {
        let mut response = events::respond(shared.clone(), recognition, call);
        unknown.iter().for_each(|warning| upload::add_warning(&mut response, warning));
        return Ok(response);
    }
    while recognition.next(shared).await?.is_some() {}
    let mut heard = recognition.finish(shared).await?;
    heard.warnings.extend(unknown);
    let body = match form {
        Form::Plain(format) => return Ok(upload::respond(&heard, format, upload::UNNAMED)),
        Form::Json => json!({ "text": whole(&heard.segments) }),
        Form::Verbose { segments, words } => verbose(&heard, &language, segments, words),
    };
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response();
    upload::add_warnings(&mut response, &heard);
    Ok(response)
}

/// The text of a failure for clients of OpenAI's interface.
pub fn error(failure: &Failure) -> Value {
    let kind = if failure.status.is_client_error() { "invalid_request_error" } else { "server_error" };
    json!({ "error": { "message": failure.text, "type": kind, "param": null, "code": null } })
}

/// A failure as clients of OpenAI's interface read it.
pub fn failed(failure: Failure) -> Response {
    let body = error(&failure);
    let mut response = failure.into_response();
    *response.body_mut() = format!("{body}\n").into();
    response
}

/// The list of models, of which there is one.
pub fn models() -> Response {
    let body = json!({ "object": "list", "data": [description()] });
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// The description of a model by its name.
pub fn model(name: &str) -> Response {
    if name != MODEL {
        let name: String = name.chars().take(40).collect();
        let text = format!("there is no model '{name}'; the only model is {MODEL}");
        return failed(Failure::new(StatusCode::NOT_FOUND, text));
    }
    ([(header::CONTENT_TYPE, "application/json")], description().to_string()).into_response()
}

fn description() -> Value {
    json!({ "id": MODEL, "object": "model", "created": 0, "owned_by": MODEL })
}

/// A warning about parameters that neither OpenAI nor this server has.
fn unknown(values: &Values, fields: &Fields) -> Option<String> {
    let in_address = values.keys().map(String::as_str).filter(|name| *name != "token");
    let in_form = fields.names().filter(|name| !FIELDS.contains(name));
    upload::listed(in_address.chain(in_form))
        .map(|names| format!("parameters without a meaning here: {names}"))
}

fn wanted(fields: &Fields) -> Result<Wanted, Failure> {
    let bad = |text: String| Err(Failure::new(StatusCode::BAD_REQUEST, text));
    let shown = |text: &str| text.chars().take(40).collect::<String>();
    let stream = match fields.get("stream").unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "false" | "0" => false,
        "true" | "1" => true,
        other => return bad(format!("stream: expected true or false, found '{}'", shown(other))),
    };
    let units: Vec<&str> = fields.all("timestamp_granularities").collect();
    if let Some(other) = units.iter().find(|unit| !matches!(**unit, "word" | "segment")) {
        return bad(format!("timestamp_granularities: expected word or segment, found '{}'", shown(other)));
    }
    let form = match fields.get("response_format").unwrap_or("json") {
        form @ ("verbose_json" | "srt" | "vtt") if stream => {
            return bad(format!(
                "stream: expected response_format json or text, found '{form}', whose answer comes whole"
            ));
        }
        "verbose_json" => {
            let (words, segments) = (units.contains(&"word"), units.contains(&"segment"));
            Form::Verbose { words, segments: segments || !words }
        }
        form if !units.is_empty() => {
            return bad(format!(
                "timestamp_granularities: expected response_format verbose_json, found '{}'",
                shown(form)
            ));
        }
        "json" => Form::Json,
        "text" => Form::Plain(Format::Text),
        "srt" => Form::Plain(Format::Srt),
        "vtt" => Form::Plain(Format::Vtt),
        other => {
            return bad(format!(
                "response_format: expected json, text, srt, vtt or verbose_json, found '{}'",
                shown(other)
            ));
        }
    };
    Ok(Wanted { form, stream })
}

fn verbose(heard: &Heard, language: &str, with_segments: bool, with_words: bool) -> Value {
    let mut body = json!({
        "task": "transcribe",
        "language": language,
        "duration": rounded(heard.seconds),
        "text": whole(&heard.segments),
    });
    let spoken = || heard.segments.iter().filter(|segment| !segment.words.is_empty());
    if with_segments {
        body["segments"] = spoken().enumerate().map(|(id, segment)| of_segment(id, segment)).collect();
        if heard.parts.channels {
            for (object, segment) in body["segments"].as_array_mut().into_iter().flatten().zip(spoken()) {
                object["channel"] = segment.channel.into();
            }
        }
    }
    if with_words {
        body["words"] = spoken().flat_map(|segment| &segment.words).map(of_word).collect();
    }
    body
}

/// A sentence. This recogniser has no tokens and no temperature.
fn of_segment(id: usize, segment: &Segment) -> Value {
    let logs = segment.words.iter().map(|word| f64::from(word.confidence).max(1e-10).ln());
    json!({
        "id": id,
        "seek": 0,
        "start": rounded(segment.begin()),
        "end": rounded(segment.words.last().map_or(segment.start, |word| word.end)),
        "text": text(&segment.words),
        "tokens": [],
        "temperature": 0.0,
        "avg_logprob": rounded(logs.sum::<f64>() / segment.words.len().max(1) as f64),
    })
}

fn of_word(word: &Word) -> Value {
    json!({
        "word": word.text,
        "start": rounded(word.start),
        "end": rounded(word.end),
        "probability": rounded(word.confidence.into()),
    })
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
