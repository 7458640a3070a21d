//! Headers for browsers: who asks, by which name, and which pages may read the answers.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::shared::Shared;
use crate::upload::Failure;

/// Paths for probes, which may call the server by any name: their answers are no secrets.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, OPTIONS");
/// Seconds for which a browser need not ask again.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");
/// A public page asks for an address of a private network.
const ASKS_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOWS_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Refuses requests by a wrong name, answers a browser's questions, and tells browsers which pages may read an answer.
pub async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let access = &shared.access;
    if !PROBES.contains(&request.uri().path())
        && let Err(denial) = access.check_name(request.headers())
    {
        shared.metrics.refused("name");
        return Failure::from(denial).at(request.uri().path());
    }
    let shared_with = access.shared_with(request.headers());
    let mut response = if request.method() == Method::OPTIONS {
        match access.check_origin(request.headers()) {
            Ok(()) => options(request.headers(), shared_with.is_some()),
            Err(denial) => {
                shared.metrics.refused("access");
                Failure::from(denial).at(request.uri().path())
            }
        }
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    if let Some(origin) = shared_with {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let readable = HeaderValue::from_static("Retry-After");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, readable);
    }
    if !access.origins.is_empty() {
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

/// The answer to the question what a client may do. A browser asks it before a page's script sends a token.
fn options(asked: &HeaderMap, is_shared: bool) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, METHODS);
    if is_shared {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        let allowed = HeaderValue::from_static("Authorization, Content-Type");
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        if asked.contains_key(ASKS_PRIVATE) {
            headers.insert(ALLOWS_PRIVATE, HeaderValue::from_static("true"));
        }
    }
    response
}
