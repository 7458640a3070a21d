//! Connections: a bounded number of clients, each with bounded patience.

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
use tower_service::Service;

use crate::patient::Patient;

/// Longest time from the beginning of a connection, or from an answer, to the end of the next request's headers.
const HEADERS: Duration = Duration::from_secs(10);
/// Longest time in which a client takes nothing of what is sent to it.
const WRITE: Duration = Duration::from_secs(10);
/// Bytes of headers.
const MOST_HEADERS: usize = 16 << 10;

/// The answer to a connection that is too much.
pub const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\n\
    Connection: close\r\nContent-Length: 65\r\n\r\n{\"error\":\"the server is full: too many connections; try later\"}\r\n";

/// The other side of a connection, which counts as long as this lives.
#[derive(Clone)]
pub struct Peer {
    pub address: SocketAddr,
    _place: Arc<OwnedSemaphorePermit>,
}

/// The places of connections.
pub struct Places(Arc<Semaphore>);

impl Places {
    pub fn new(most: usize) -> Places {
        Places(Arc::new(Semaphore::new(most)))
    }

    /// Gives a connection a place, or tells it that there is none.
    pub fn peer(&self, stream: &TcpStream, address: SocketAddr) -> Option<Peer> {
        match self.0.clone().try_acquire_owned() {
            Ok(place) => Some(Peer { address, _place: Arc::new(place) }),
            Err(_) => {
                // (The answer fits into an empty buffer, or the client does without.)
                let _gone = stream.try_write(FULL);
                None
            }
        }
    }
}

/// Answers the requests of a connection until it ends, or until `stop` is true and the present request is answered.
pub async fn serve(stream: TcpStream, peer: Peer, router: Router, mut stop: watch::Receiver<bool>) {
    // (Answers are short, and wait for nothing.)
    let _slower = stream.set_nodelay(true);
    let service = tower(router, peer);
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

/// The router, for requests of this client.
fn tower(router: Router, peer: Peer) -> OfPeer {
    OfPeer { router, peer }
}

#[derive(Clone)]
struct OfPeer {
    router: Router,
    peer: Peer,
}

impl Service<Request<hyper::body::Incoming>> for OfPeer {
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
        request.extensions_mut().insert(self.peer.clone());
        self.router.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::FULL;

    #[test]
    fn the_answer_has_the_length_that_it_names() {
        let text = std::str::from_utf8(FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{}", body.len());
    }
}
