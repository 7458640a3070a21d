//! A recording whose text goes to its client while it is recognised: server-sent events, as OpenAI's service sends them for
//! `stream=true`.
//!
//! Each sentence is an event `transcript.text.delta` when it ends, and the last event is `transcript.text.done` with the whole text.
//! The text of all deltas together is the whole text. A failure in the middle is an event with `error`.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::openai;
use crate::shared::{Call, Shared};
use crate::upload::{Failure, Recognition, Told, whole};

/// Events that wait for a client. (While they do, its recording is not recognised any further.)
const WAITING: usize = 8;

/// The body of an answer: events.
struct Events(Receiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Answers with the text of a recording that is recognised from now on. The log has its line at the end.
pub fn respond(shared: Arc<Shared>, recognition: Recognition, call: Call) -> Response {
    let (give, events) = channel(WAITING);
    tokio::spawn(async move {
        let told = match text(&shared, recognition, &give).await {
            Ok(told) => told,
            Err(failure) => {
                let _nobody = send(&give, &openai::error(&failure)).await;
                Told { seconds: None, remarks: vec![failure.text] }
            }
        };
        shared.report_recording(&call, StatusCode::OK.as_u16(), told);
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    let mut response = (headers, Body::new(Events(events))).into_response();
    response.extensions_mut().insert(Unfinished);
    response
}

/// An extension of an answer whose line in the log comes later.
#[derive(Debug, Clone, Copy)]
pub struct Unfinished;

/// Recognises a recording, and sends its text.
async fn text(shared: &Shared, mut recognition: Recognition, give: &Sender<Bytes>) -> Result<Told, Failure> {
    let mut sent = String::new();
    while let Some(so_far) = recognition.next(shared).await? {
        if let Some(so_far) = so_far
            && !delta(give, &mut sent, so_far).await
        {
            return Ok(gone());
        }
    }
    let heard = recognition.finish(shared).await?;
    let text = whole(&heard.segments);
    if !delta(give, &mut sent, text).await {
        return Ok(gone());
    }
    let mut done = json!({ "type": "transcript.text.done", "text": sent });
    if !heard.warnings.is_empty() {
        done["warnings"] = heard.warnings.clone().into();
    }
    if !send(give, &done).await {
        return Ok(gone());
    }
    Ok(Told { seconds: Some(heard.seconds), remarks: heard.warnings })
}

/// The remark about a client that did not wait for the end.
fn gone() -> Told {
    Told { seconds: None, remarks: vec!["the client went away before the end".to_owned()] }
}

/// Sends the end of a text that begins with what was sent. Returns false if the client has gone.
async fn delta(give: &Sender<Bytes>, sent: &mut String, text: String) -> bool {
    let new = text.strip_prefix(sent.as_str()).unwrap_or_default();
    if new.is_empty() {
        return true;
    }
    let event = json!({ "type": "transcript.text.delta", "delta": new });
    *sent = text;
    send(give, &event).await
}

async fn send(give: &Sender<Bytes>, event: &Value) -> bool {
    give.send(format!("data: {event}\n\n").into()).await.is_ok()
}
