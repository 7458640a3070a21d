//! The server: its addresses, its beginning and its end.

use std::net::{self, SocketAddr};
use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Extension, Query, Request, State as AppState, WebSocketUpgrade};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use nnet3_online::{Model, Speakers};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::access::{Access, Denial};
use crate::browsers;
use crate::connections::{self, NoPlace, Peer, Places};
use crate::decoding::{Decoder, Manner};
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::openai;
use crate::page;
use crate::process::DecoderProgram;
use crate::sessions::Sessions;
use crate::shared::{Call, Event, Shared};
use crate::socket;
use crate::upload::{self, Failure, Upload, Values};
use crate::workers::Workers;
use crate::wyoming;

/// Bytes of a buffer of a socket, and of answers that wait in it. (Reading stops before these are as many.)
const BUFFER: usize = 16 << 10;
const MOST_WAITING: usize = 16 << 20;
/// Pause after a connection that could not be accepted: there may be too many open files for a while.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest time for the last answers after the last session.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Settings of a server.
#[derive(Clone)]
pub struct Settings {
    pub access: Access,
    pub limits: Limits,
    /// Threads that recognise.
    pub threads: NonZero<usize>,
    /// Rate of sound of clients that do not name it, in Hz. `None`: the model's.
    pub rate: Option<u32>,
    /// The program that decodes recordings, so that a decoder's fault cannot end the server. `None`: the server does it.
    pub decoder: Option<DecoderProgram>,
    /// The language of the model, such as `en`, for clients that ask.
    pub language: Option<String>,
    /// Tells speakers apart, for clients that ask.
    pub speakers: Option<Speakers>,
}

/// A reason for the server to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// SIGTERM or SIGINT came. After a second one the server does not wait for sessions.
    BySignal,
}

/// A server that is ready to run.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Listeners,
}

/// Ports that are taken, before a model is loaded.
pub struct Listeners {
    clients: (net::TcpListener, SocketAddr),
    wyoming: Option<(net::TcpListener, SocketAddr)>,
}

impl Listeners {
    /// Listens on an address, and on that of the Wyoming protocol if there is one. Port 0: a free one.
    ///
    /// # Errors
    /// A port that is taken, or an address that is not one of this machine.
    pub fn bind(address: SocketAddr, wyoming: Option<SocketAddr>) -> Result<Listeners> {
        let bind = |address| -> Result<(net::TcpListener, SocketAddr)> {
            let failed = |source| Error::Listen { address, source };
            let listener = net::TcpListener::bind(address).map_err(failed)?;
            listener.set_nonblocking(true).map_err(failed)?;
            let local = listener.local_addr().map_err(failed)?;
            Ok((listener, local))
        };
        Ok(Listeners { clients: bind(address)?, wyoming: wyoming.map(bind).transpose()? })
    }
}

impl Server {
    /// Makes a server. `report` gets its events, on a thread of its own. Fails if the settings make no sense, if recordings
    /// cannot be kept or decoded, or if a thread cannot be started.
    pub fn new(
        model: Model,
        listeners: Listeners,
        settings: Settings,
        report: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Server> {
        settings.limits.check()?;
        let rate = settings.rate.unwrap_or(model.sample_rate() as u32);
        // A recogniser that cannot be made is an error now, not for each client.
        let manner = Manner { speakers: settings.speakers.is_some(), ..Manner::of_rate(rate) };
        Decoder::new(&model, settings.speakers.as_ref(), &manner)?;
        let file = upload::try_file().map_err(Error::Temporary)?;
        if let Some(decoder) = &settings.decoder {
            decoder.check(file)?;
        }
        let shared = Shared {
            model,
            rate,
            language: settings.language,
            speakers: settings.speakers,
            sessions: Sessions::new(&settings.limits),
            uploads: Semaphore::new(settings.limits.sessions),
            workers: Workers::start("recognition", settings.threads)?,
            files: Workers::start("files of recordings", NonZero::<usize>::MIN)?,
            metrics: Metrics::default(),
            access: settings.access,
            decoder: settings.decoder,
            limits: settings.limits,
            journal: Journal::start(report)?,
        };
        Ok(Server { shared: Arc::new(shared), listeners })
    }

    /// Serves clients until SIGTERM or SIGINT, and then until the running sessions have ended.
    pub fn run(self) -> Result<Stop> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> Result<Stop> {
        let Server { shared, listeners: Listeners { clients: (listener, address), wyoming } } = self;
        let listener = TcpListener::from_std(listener).map_err(Error::Start)?;
        let wyoming_address = wyoming.as_ref().map(|(_, address)| *address);
        let for_wyoming =
            wyoming.map(|(listener, _)| TcpListener::from_std(listener).map_err(Error::Start)).transpose()?;
        let mut terminate = signal(SignalKind::terminate()).map_err(Error::Start)?;
        // A client that goes away while it is written to must not end the process, as the signal of a broken pipe would.
        let _handled = signal(SignalKind::pipe()).map_err(Error::Start)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Start)?;
        shared.report(Event::Listening { address });
        if let Some(address) = wyoming_address {
            shared.report(Event::ListeningForWyoming { address });
        }
        let mut places = Places::new(shared.limits.connections(), shared.limits.connections_of_address);
        let (router, probes) = (router(shared.clone()), probe_router(shared.clone()));
        let (stop, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        let at_once = loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, address)) => match places.peer(address) {
                        Ok(peer) => {
                            connections.spawn(connections::serve(stream, peer, router.clone(), stopped.clone()));
                        }
                        Err(no_place) => {
                            let serving = connections::serve_probe(stream, no_place, probes.clone());
                            places.probe(connections.spawn(serving));
                        }
                    },
                    Err(error) => {
                        shared.report(Event::NotAccepted { cause: error.to_string() });
                        sleep(PAUSE).await;
                    }
                },
                accepted = accept(for_wyoming.as_ref()) => match accepted {
                    // (A client without a place learns nothing: the protocol has no word for it before its first event.)
                    Ok((stream, address)) => if let Ok(peer) = places.peer(address) {
                        connections.spawn(wyoming::serve(stream, peer, shared.clone(), stopped.clone()));
                    } else {
                        shared.metrics.refused("connections");
                    },
                    Err(error) => {
                        shared.report(Event::NotAccepted { cause: error.to_string() });
                        sleep(PAUSE).await;
                    }
                },
                Some(_ended) = connections.join_next() => {}
                _signal = terminate.recv() => if begin_to_stop(&shared) { break true },
                _signal = interrupt.recv() => if begin_to_stop(&shared) { break true },
                () = shared.sessions.ended(), if shared.sessions.is_stopping() => break false,
            }
        };
        stop.send_replace(true);
        if !at_once {
            // Answers that are on their way still arrive.
            let answers = timeout(LAST_ANSWERS, async { while connections.join_next().await.is_some() {} });
            tokio::select! {
                _late = answers => {}
                _signal = terminate.recv() => {}
                _signal = interrupt.recv() => {}
            }
        }
        shared.report(Event::Stopped);
        shared.journal.finish();
        Ok(Stop::BySignal)
    }
}

/// Waits for a connection, for ever without a listener.
async fn accept(listener: Option<&TcpListener>) -> std::io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Admits no sessions any more. True if the server has been told to stop before.
fn begin_to_stop(shared: &Shared) -> bool {
    if shared.sessions.is_stopping() {
        return true;
    }
    shared.sessions.stop();
    shared.report(Event::Stopping { running: shared.sessions.running() });
    false
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(root))
        .route("/transcribe", post(transcribe))
        .route("/v1/audio/transcriptions", post(transcriptions))
        .route("/v1/models", get(models))
        .route("/v1/models/{model}", get(model))
        .layer(DefaultBodyLimit::disable())
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(shared.clone(), browsers::guard))
        .with_state(shared)
}

/// Answers for connections without a place: probes have theirs, others learn the reason.
fn probe_router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz_without_place))
        .route("/metrics", get(metrics))
        .fallback(no_place)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(shared.clone(), browsers::guard))
        .with_state(shared)
}

async fn no_place(
    AppState(shared): AppState<Arc<Shared>>,
    Extension(no_place): Extension<NoPlace>,
    uri: Uri,
) -> Response {
    shared.metrics.refused(no_place.label());
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, no_place.to_string()).at(uri.path())
}

/// The paths of the server and their methods, for clients that ask for another one.
const PATHS: &str = "GET / (page and WebSocket), POST /transcribe, POST /v1/audio/transcriptions, GET /v1/models, \
                     GET /v1/models/nnet3, GET /healthz, GET /readyz, GET /metrics";

async fn not_found(uri: Uri) -> Response {
    let text = format!("there is no {}; there is {PATHS}", shown(uri.path()));
    Failure::new(StatusCode::NOT_FOUND, text).at(uri.path())
}

async fn wrong_method(method: Method, uri: Uri) -> Response {
    let text = format!("{} does not take {}; there is {PATHS}", shown(uri.path()), shown(method.as_str()));
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, text).at(uri.path())
}

/// The beginning of a client's text, for a message.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

impl From<Denial> for Failure {
    fn from(denial: Denial) -> Failure {
        let status = match denial {
            Denial::Origin(_) | Denial::Name(_) => StatusCode::FORBIDDEN,
            Denial::NoToken | Denial::WrongToken => StatusCode::UNAUTHORIZED,
        };
        Failure::new(status, denial.to_string())
    }
}

impl Shared {
    /// Checks that a client may use the server. (A browser cannot give a socket a header, but an address.)
    fn check(&self, headers: &HeaderMap, values: &Values) -> std::result::Result<(), Failure> {
        self.access.check(headers, values.get("token").map(String::as_str)).map_err(|denial| {
            self.metrics.refused("access");
            denial.into()
        })
    }
}

/// A session for a client that wants a WebSocket, as at the address of vosk-server; the page for others.
async fn root(
    AppState(shared): AppState<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    Query(values): Query<Values>,
    headers: HeaderMap,
    upgrade: std::result::Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        return page::page(shared.speakers.is_some(), shared.model.sample_rate());
    };
    if let Err(failure) = shared.check(&headers, &values) {
        return failure.into_response();
    }
    upgrade
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(MOST_WAITING)
        .max_message_size(shared.limits.message)
        .max_frame_size(shared.limits.message)
        .on_upgrade(move |socket| socket::serve(socket, shared, peer))
}

async fn transcribe(
    AppState(shared): AppState<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    Query(values): Query<Values>,
    request: Request,
) -> Response {
    let call = Call { address: peer.address, path: "/transcribe", begin: Instant::now() };
    let answer = async {
        shared.check(request.headers(), &values)?;
        let upload = Upload::of(request).await?;
        upload::transcribe(&shared, peer.address.ip(), &values, upload).await
    };
    let response = answer.await.unwrap_or_else(Failure::into_response);
    shared.report_answer(&call, &response);
    response
}

/// OpenAI's interface.
async fn transcriptions(
    AppState(shared): AppState<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    Query(values): Query<Values>,
    request: Request,
) -> Response {
    let call = Call { address: peer.address, path: "/v1/audio/transcriptions", begin: Instant::now() };
    let form = match shared.check(request.headers(), &values) {
        Ok(()) => Upload::form(request).await,
        Err(denial) => Err(denial),
    };
    let response = match form {
        Ok(form) => openai::transcriptions(&shared, call, &values, form).await,
        Err(failure) => openai::failed(failure),
    };
    shared.report_answer(&call, &response);
    response
}

async fn models(
    AppState(shared): AppState<Arc<Shared>>,
    Query(values): Query<Values>,
    headers: HeaderMap,
) -> Response {
    match shared.check(&headers, &values) {
        Ok(()) => openai::models(),
        Err(denial) => openai::failed(denial),
    }
}

async fn model(
    AppState(shared): AppState<Arc<Shared>>,
    uri: Uri,
    Query(values): Query<Values>,
    headers: HeaderMap,
) -> Response {
    match shared.check(&headers, &values) {
        Ok(()) => openai::model(uri.path().trim_start_matches("/v1/models/")),
        Err(denial) => openai::failed(denial),
    }
}

/// Tells that the server runs, and its load.
async fn healthz(AppState(shared): AppState<Arc<Shared>>) -> Response {
    let sessions = &shared.sessions;
    let body = json!({
        "status": if sessions.is_stopping() { "stopping" } else { "ok" },
        "sessions": sessions.running(),
        "waiting": sessions.waiting(),
    });
    ([(header::CONTENT_TYPE, "application/json")], format!("{body}\n")).into_response()
}

/// Tells if a new session would be admitted or might wait.
async fn readyz(AppState(shared): AppState<Arc<Shared>>) -> Response {
    match shared.sessions.refusal() {
        None => healthz(AppState(shared)).await,
        Some(refusal) => Failure::from(refusal).into_response(),
    }
}

/// Tells the same if the connection of the probe has no place. Without any place a new client would be refused; if only this
/// address has none left, others are admitted.
async fn readyz_without_place(
    AppState(shared): AppState<Arc<Shared>>,
    Extension(no_place): Extension<NoPlace>,
) -> Response {
    match no_place {
        NoPlace::Full => Failure::new(StatusCode::SERVICE_UNAVAILABLE, no_place.to_string()).into_response(),
        NoPlace::Address(_) => readyz(AppState(shared)).await,
    }
}

async fn metrics(
    AppState(shared): AppState<Arc<Shared>>,
    Query(values): Query<Values>,
    headers: HeaderMap,
) -> std::result::Result<Response, Failure> {
    shared.check(&headers, &values)?;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, shared.metrics.text(&shared.sessions, shared.journal.left_out())).into_response())
}
