//! Streamable HTTP: the same server for many clients, local ones only unless a token is required.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{self, Body};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::cors;
use super::head::MessageHead;
use super::idle;
use super::server::Server;
use super::shared::ServerState;
use super::{BearerToken, Http};
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::limits;
use crate::web::connections::accept;
use crate::web::{self, HoldsEngine, PageOptions, ReviewPage};
use crate::wire::hints::StepWords;

/// The path at which clients find the server.
const PATH: &str = "/mcp";

/// The path at which people find the page.
const REVIEW: &str = "/review";

/// The time that open streams may take to end at a shutdown.
const CLOSING: Duration = Duration::from_secs(1);

/// The header that identifies a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// Serves until the shutdown.
pub(super) async fn serve(shared: &Arc<ServerState>, http: &Http) -> Result<()> {
    check(http)?;
    let listener =
        TcpListener::bind(http.address).await.map_err(|e| Error::io("listen on", http.address.to_string(), e))?;
    let address = listener.local_addr().map_err(|e| Error::io("listen on", http.address.to_string(), e))?;
    let page = http.review.map(|words| page_of(shared, http, address, words)).transpose()?;
    announce(address, page.as_ref().map(|(_, token)| token));
    let router = router(shared, http, address).merge(page.map(|(page, _)| page).unwrap_or_default());
    let stop = &shared.stop;
    tokio::select! {
        () = accept(&listener, router, stop) => {}
        () = async { stop.cancelled().await; tokio::time::sleep(CLOSING).await } => {}
    }
    Ok(())
}

/// Refuses options that would let strangers in.
fn check(http: &Http) -> Result<()> {
    let refuse = |option: &str, message: String| {
        let path = vec![option.to_owned()];
        Err(Error::findings(vec![Finding { kind: ErrorKind::ValidationFailed, message, path, did_you_mean: None }]))
    };
    if http.token.is_none() && !http.address.ip().is_loopback() {
        let message = format!(
            "{} can be reached from other machines: give a token (--token-file or TXEDIT_MCP_TOKEN), or listen on 127.0.0.1",
            http.address
        );
        return refuse("--http", message);
    }
    Ok(())
}

/// Prints the server's address, since port 0 leaves the choice to the system, and that of the page with its token, which is in no
/// request for it. Stdout has no other use here.
#[expect(clippy::print_stdout, reason = "the address is the one result of starting a server over HTTP")]
fn announce(address: SocketAddr, page_token: Option<&String>) {
    println!("http://{}{PATH}", reachable(address));
    if let Some(token) = page_token {
        println!("{}#{token}", page_address(address));
    }
}

/// Where the page is found.
fn page_address(address: SocketAddr) -> String {
    format!("http://{}{REVIEW}/", reachable(address))
}

/// An address at which the server can be reached and answers. The unspecified one, at which it listens on all addresses,
/// is no name that a request may have.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn router(shared: &Arc<ServerState>, http: &Http, address: SocketAddr) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts(http, address))
        .with_allowed_origins(origins(http, address))
        .enforce_origin_validation()
        .with_max_request_body_bytes(limits::MESSAGE_BYTES)
        .with_cancellation_token(shared.stop.child_token());
    let connection = {
        let shared = Arc::clone(shared);
        move || Ok(Server::new(Arc::clone(&shared)))
    };
    let mut sessions = LocalSessionManager::default();
    // That would end a session in the middle of its own call, of which it does not know.
    sessions.session_config.keep_alive = None;
    let sessions = Arc::new(sessions);
    tokio::spawn(idle::end_idle(Arc::clone(&sessions), Arc::clone(shared), http.session_idle));
    let service: Service = StreamableHttpService::new(connection, Arc::clone(&sessions), config);
    let (judge, of_pages) = (service.clone(), service.clone());
    let router = Router::new()
        .route_service(PATH, service)
        .layer(middleware::from_fn(in_time))
        .layer(middleware::from_fn_with_state(sessions, bound))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared.sessions), idle::touched))
        .layer(middleware::from_fn_with_state(judge, known));
    let router = match &http.token {
        Some(token) => router.layer(middleware::from_fn_with_state(token.clone(), authorise)),
        None => router,
    };
    // A browser asks without a token whether a page may call at all.
    router.layer(middleware::from_fn_with_state(of_pages, cors::of_pages))
}

/// The page on which people review open transactions, and its token: whoever calls the tools cannot decide in a person's place.
/// It has guards of its own as well: no other page may call it.
fn page_of(shared: &Arc<ServerState>, http: &Http, address: SocketAddr, words: StepWords) -> Result<(Router, String)> {
    let (token, text) = BearerToken::random()?;
    let options = PageOptions {
        path: REVIEW,
        token,
        hosts: hosts(http, address),
        read_only: shared.options.read_only,
        check_limit: shared.options.check_limit,
        words,
    };
    let of_server = Arc::clone(shared);
    let source = move || {
        let first = of_server.present()?.into_iter().next();
        let first = first.ok_or_else(|| Error::new(ErrorKind::UnknownError, "the root is not known yet"))?;
        Ok(first as Arc<dyn HoldsEngine>)
    };
    shared.page.set(page_address(address)).ok();
    let page = ReviewPage::start(Box::new(source), options, shared.stop.clone(), shared.running.clone());
    Ok((web::router(page), text))
}

/// The names by which this server may be addressed. The name of a web page that points to this machine is not among
/// them.
fn hosts(http: &Http, address: SocketAddr) -> Vec<String> {
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    let ip: IpAddr = address.ip();
    if !ip.is_unspecified() && !hosts.contains(&ip.to_string()) {
        hosts.push(ip.to_string());
    }
    hosts.extend(http.hosts.iter().cloned());
    hosts
}

/// The web pages that may call: the named ones and, if only this machine is served, those of this machine.
fn origins(http: &Http, address: SocketAddr) -> Vec<String> {
    let local = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned);
    let local = local.into_iter().filter(|_| address.ip().is_loopback());
    local.chain(http.origins.iter().cloned()).collect()
}

/// Limits the number of sessions. The token is checked before.
async fn bound(State(sessions): State<Arc<LocalSessionManager>>, request: Request, next: Next) -> Response {
    let is_new = !request.headers().contains_key(SESSION);
    if is_new && sessions.sessions.read().await.len() >= limits::SESSIONS {
        let message = "too many sessions are open: end one (DELETE), or wait until an idle one lapses";
        return (StatusCode::SERVICE_UNAVAILABLE, message).into_response();
    }
    next.run(request).await
}

/// The service that answers requests.
pub(super) type Service = StreamableHttpService<Server, LocalSessionManager>;

/// Refuses unknown hosts and origins before the body is read: a web page can send one of any size.
async fn known(State(service): State<Service>, request: Request, next: Next) -> Response {
    match unknown(&service, request.uri().clone(), request.headers().clone()).await {
        Some(refused) => refused,
        None => next.run(request).await,
    }
}

/// The answer to a request with an unknown host or origin. The request itself is not held meanwhile: no other thread
/// could go on with it.
pub(super) async fn unknown(service: &Service, uri: Uri, headers: HeaderMap) -> Option<Response> {
    let is_twice = |name: header::HeaderName| headers.get_all(name).iter().count() > 1;
    if is_twice(header::HOST) || is_twice(header::ORIGIN) {
        return Some(refused(StatusCode::BAD_REQUEST, "a request has one Host, and one Origin at most"));
    }
    let mut asked = vec![headers.clone()];
    if uri.authority().is_some() {
        // The target names a host as well.
        let mut headers = headers;
        headers.remove(header::HOST);
        asked.push(headers);
    }
    for headers in asked {
        // The service checks them before the method: it is called with a method that it does not have, and without a
        // body.
        let mut probe = Request::new(Body::empty());
        *probe.method_mut() = Method::OPTIONS;
        *probe.uri_mut() = uri.clone();
        *probe.headers_mut() = headers;
        let mut answer = service.handle(probe).await.map(Body::new);
        if answer.status() != StatusCode::METHOD_NOT_ALLOWED {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            return Some(answer);
        }
    }
    None
}

/// The answer to a request whose body is not read to its end.
fn refused(status: StatusCode, message: &'static str) -> Response {
    (status, [(header::CONNECTION, HeaderValue::from_static("close"))], message).into_response()
}

/// Waits for the whole body, for a limited time, and refuses what is no message for this server.
async fn in_time(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(limits::BODY_TIME, body::to_bytes(body, limits::MESSAGE_BYTES)).await {
        Ok(Ok(whole)) => match judged(&head.method, &whole) {
            None => next.run(Request::from_parts(head, Body::from(whole))).await,
            Some(refused) => refused,
        },
        Ok(Err(_)) => refused(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large: send the files in several calls"),
        Err(_) => refused(StatusCode::REQUEST_TIMEOUT, "the body did not come in time: send it at once"),
    }
}

/// The answer to a message that is refused before anything is built from it, as on stdio.
fn judged(method: &Method, body: &[u8]) -> Option<Response> {
    let refused = if method == Method::POST { MessageHead::read(body).err()? } else { return None };
    let answer = refused.to_json().unwrap_or_default();
    Some((StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], answer).into_response())
}

/// Admits callers who send the token.
async fn authorise(State(token): State<BearerToken>, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if header.is_some_and(|header| token.is_in(header)) {
        return next.run(request).await;
    }
    let ask = [(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
    (StatusCode::UNAUTHORIZED, ask, "Unauthorized: send the token as `Authorization: Bearer …`").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(address: &str, token: Option<&str>) -> Http {
        let token = token.and_then(BearerToken::new);
        Http {
            address: address.parse().unwrap(),
            token,
            hosts: Vec::new(),
            session_idle: limits::SESSION_IDLE,
            origins: Vec::new(),
            review: None,
        }
    }

    #[test]
    fn strangers_need_a_token() {
        assert!(check(&http("127.0.0.1:0", None)).is_ok());
        assert!(check(&http("[::1]:0", None)).is_ok());
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
            assert!(check(&http(address, None)).is_err(), "{address}");
            assert!(check(&http(address, Some("0123456789abcdef"))).is_ok(), "{address}");
        }
    }

    #[test]
    fn the_announced_address_is_one_that_answers() {
        for (listening, announced) in
            [("0.0.0.0:81", "127.0.0.1:81"), ("[::]:81", "[::1]:81"), ("192.0.2.1:81", "192.0.2.1:81")]
        {
            let address = reachable(listening.parse().unwrap());
            assert_eq!(address.to_string(), announced);
            assert!(hosts(&http(listening, None), listening.parse().unwrap()).contains(&address.ip().to_string()));
        }
    }

    #[test]
    fn the_address_itself_is_a_name_of_the_server() {
        let at = |address: &str| hosts(&http(address, None), address.parse().unwrap());
        assert_eq!(at("127.0.0.1:1").len(), 3);
        assert_eq!(at("0.0.0.0:1").len(), 3);
        assert_eq!(at("192.0.2.1:1").last().map(String::as_str), Some("192.0.2.1"));
    }
}
