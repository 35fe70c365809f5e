//! What a browser wants to know before a web page may call: whether its origin is allowed, and what it may send and read.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::http::{SESSION, Service, unknown};

/// The methods of the protocol.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");

/// The headers of the protocol that a page may send.
const SENT: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name",
);

/// The time, in seconds, for which a browser need not ask again.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Answers what a browser asks about a page, and lets the page read the other answers. A page that is not allowed is
/// refused before it is asked for a token: it could learn nothing by sending one.
pub(super) async fn of_pages(State(service): State<Service>, request: Request, next: Next) -> Response {
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else { return next.run(request).await };
    if let Some(refused) = unknown(&service, request.uri().clone(), request.headers().clone()).await {
        return refused;
    }
    let is_preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut answer = if is_preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = answer.headers_mut();
    if is_preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, SENT);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    }
    allow(headers, origin);
    answer
}

fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let session = HeaderName::from_static(SESSION);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, session.into());
    // What a cache has for one origin is not for another.
    headers.append(header::VARY, header::ORIGIN.into());
}
