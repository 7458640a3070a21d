//! Connections: a bounded number of clients, each with bounded patience.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tower_service::Service;

use crate::address::{Share, Shares};
use crate::patient::Patient;

/// Longest time from the beginning of a connection, or from an answer, to the end of the next request's headers.
const HEADERS: Duration = Duration::from_secs(10);
/// Longest time in which a client takes nothing of what is sent to it.
const WRITE: Duration = Duration::from_secs(10);
/// Bytes of headers.
const MOST_HEADERS: usize = 16 << 10;

/// Connections beyond the limits that are open at a time. They are for probes: a server that is full still says that it
/// lives. Each new one ends the oldest, so that clients which say nothing keep out no probe.
const PROBES: usize = 32;
/// Longest time from the beginning of such a connection to the end of its request's headers, and to its end.
const PROBE_HEADERS: Duration = Duration::from_secs(2);
const PROBE: Duration = Duration::from_secs(5);

/// The reason why a connection has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    #[error("the server is full: too many connections; try again later")]
    Full,
    #[error("your address has {0} connections, which is the limit; try again later")]
    Address(usize),
}

impl NoPlace {
    /// The value of the label `reason` in figures.
    pub fn label(self) -> &'static str {
        match self {
            NoPlace::Full => "connections",
            NoPlace::Address(_) => "address",
        }
    }
}

/// The other side of a connection, which counts as long as this lives.
#[derive(Clone)]
pub struct Peer {
    pub address: SocketAddr,
    _place: Arc<(OwnedSemaphorePermit, Share)>,
}

/// The places of connections.
pub struct Places {
    all: Arc<Semaphore>,
    shares: Shares,
    of_address: Option<usize>,
    /// Connections without a place.
    probes: VecDeque<AbortHandle>,
}

impl Places {
    pub fn new(most: usize, of_address: Option<usize>) -> Places {
        Places {
            all: Arc::new(Semaphore::new(most)),
            shares: Shares::default(),
            of_address,
            probes: VecDeque::new(),
        }
    }

    /// Gives a connection a place.
    pub fn peer(&self, address: SocketAddr) -> Result<Peer, NoPlace> {
        let share = self.shares.take(address.ip(), self.of_address);
        let share = share.ok_or(NoPlace::Address(self.of_address.unwrap_or(0)))?;
        let place = self.all.clone().try_acquire_owned().map_err(|_| NoPlace::Full)?;
        Ok(Peer { address, _place: Arc::new((place, share)) })
    }

    /// Notes a connection without a place; the oldest of them may end.
    pub fn probe(&mut self, connection: AbortHandle) {
        self.probes.push_back(connection);
        if self.probes.len() > PROBES
            && let Some(oldest) = self.probes.pop_front()
        {
            oldest.abort();
        }
    }
}

/// Answers one request of a connection without a place. `router` answers probes, and refuses others.
pub async fn serve_probe(stream: TcpStream, no_place: NoPlace, router: Router) {
    let _slower = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PROBE_HEADERS)
        .max_buf_size(MOST_HEADERS)
        .keep_alive(false)
        .serve_connection(
            TokioIo::new(Patient::new(stream, PROBE_HEADERS)),
            TowerToHyperService::new(With { router, extension: no_place }),
        );
    let _ended = timeout(PROBE, connection).await;
}

/// Answers the requests of a connection until it ends, or until `stop` is true and the present request is answered.
pub async fn serve(stream: TcpStream, peer: Peer, router: Router, mut stop: watch::Receiver<bool>) {
    // (Answers are short, and wait for nothing.)
    let _slower = stream.set_nodelay(true);
    let service = With { router, extension: peer };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(MOST_HEADERS)
        .serve_connection(TokioIo::new(Patient::new(stream, WRITE)), TowerToHyperService::new(service))
        .with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
            // (An error is the client's.)
            _ended = connection.as_mut() => {}
            () = async { drop(stop.wait_for(|&stop| stop).await) } => {
                connection.as_mut().graceful_shutdown();
                let _ended = connection.await;
            }
    }
}

/// A router whose requests have an extension.
#[derive(Clone)]
struct With<E> {
    router: Router,
    extension: E,
}

impl<E: Clone + Send + Sync + 'static> Service<Request<hyper::body::Incoming>> for With<E> {
    type Response = <Router as Service<Request<Body>>>::Response;
    type Error = <Router as Service<Request<Body>>>::Error;
    type Future = <Router as Service<Request<Body>>>::Future;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        Service::<Request<Body>>::poll_ready(&mut self.router, context)
    }

    fn call(&mut self, request: Request<hyper::body::Incoming>) -> Self::Future {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(self.extension.clone());
        self.router.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_all_and_of_an_address() {
        let address = |text: &str| SocketAddr::new(text.parse().unwrap(), 1);
        let places = Places::new(2, Some(1));
        let here = places.peer(address("127.0.0.1")).ok().unwrap();
        assert_eq!(places.peer(address("127.0.0.1")).err(), Some(NoPlace::Address(1)));
        let _there = places.peer(address("10.0.0.1")).ok().unwrap();
        assert_eq!(places.peer(address("10.0.0.2")).err(), Some(NoPlace::Full));
        drop(here);
        assert!(places.peer(address("127.0.0.1")).is_ok());
    }
}
