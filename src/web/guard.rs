//! Who may call: nobody without the token, no page of another origin, and nobody by another name of this machine.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use super::ReviewPage;
use super::answer::refused;

/// Nothing but the files of the page itself, no script in its text, and no markup made of a text.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; \
     base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);

/// What every answer says to a browser.
const SAID: [(HeaderName, HeaderValue); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Refuses what comes by another name than one of this server, or from another page than its own; and says to the browser
/// what it must not do with the answer.
pub(super) async fn known(State(page): State<Arc<ReviewPage>>, request: Request, next: Next) -> Response {
    let mut answer = match stranger(request.uri(), request.headers(), &page.options.hosts) {
        Some((status, why)) => refused(status, why),
        None => next.run(request).await,
    };
    answer.headers_mut().extend(SAID);
    answer
}

/// Admits callers who send the token, and bodies that are JSON: a page of another origin cannot send either without
/// being asked first.
pub(super) async fn authorised(State(page): State<Arc<ReviewPage>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if !sent.is_some_and(|sent| page.options.token.is_in(sent)) {
        let mut answer = refused(StatusCode::UNAUTHORIZED, "send the token as `Authorization: Bearer …`");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return answer;
    }
    // A browser says from where a request comes; other clients say nothing.
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin") {
        return refused(StatusCode::FORBIDDEN, "only the page of this server may call it");
    }
    let is_json = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(is_json);
    if request.method() == Method::POST && !is_json {
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send JSON, with `Content-Type: application/json`");
    }
    next.run(request).await
}

fn is_json(media_type: &str) -> bool {
    media_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// The reason to refuse a request for where it goes to, or comes from.
fn stranger(uri: &Uri, headers: &HeaderMap, hosts: &[String]) -> Option<(StatusCode, &'static str)> {
    let one = |name: HeaderName| {
        let mut all = headers.get_all(name).iter();
        (all.next(), all.next().is_some())
    };
    let ((host, more_hosts), (origin, more_origins)) = (one(header::HOST), one(header::ORIGIN));
    let host = host.and_then(|host| host.to_str().ok());
    let (Some(host), false, false) = (host, more_hosts, more_origins) else {
        return Some((StatusCode::BAD_REQUEST, "a request has one Host, and one Origin at most"));
    };
    let target = uri.authority().map(Authority::as_str);
    if ![Some(host), target].into_iter().flatten().all(|host| is_one_of(host, hosts)) {
        return Some((StatusCode::FORBIDDEN, "this server has no such name"));
    }
    let is_own = |origin: &HeaderValue| {
        let own = |scheme: &str| origin.as_bytes().eq_ignore_ascii_case(format!("{scheme}://{host}").as_bytes());
        own("http") || own("https")
    };
    origin.filter(|origin| !is_own(origin)).map(|_| (StatusCode::FORBIDDEN, "only the page of this server may call it"))
}

/// Returns whether a host, with or without a port, has one of these names. A tunnel may have led here from any port.
fn is_one_of(host: &str, names: &[String]) -> bool {
    let name = if let Some(rest) = host.strip_prefix('[') {
        rest.split_once(']').filter(|(_, rest)| is_port(rest)).map(|(name, _)| name)
    } else {
        let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
        is_port(port).then_some(name)
    };
    name.is_some_and(|name| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// Returns whether this is nothing, or a colon and a number.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_with_any_port_and_as_nothing_else() {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]", "[::1]:70"] {
            assert!(is_one_of(host, &names), "{host}");
        }
        for host in [
            "",
            "localhost:",
            "localhost:x",
            "localhost.evil.example",
            "evil.example:80",
            "a@127.0.0.1",
            "::1",
            "[::1]x",
        ] {
            assert!(!is_one_of(host, &names), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_origin_is_a_stranger() {
        let names = ["localhost".to_owned()];
        let asked = |host: &[&str], origin: &[&str]| {
            let mut headers = HeaderMap::new();
            for (name, values) in [(header::HOST, host), (header::ORIGIN, origin)] {
                for value in values {
                    headers.append(&name, value.parse().unwrap());
                }
            }
            stranger(&Uri::from_static("/"), &headers, &names).map(|(status, _)| status.as_u16())
        };
        assert_eq!(asked(&["localhost:1"], &[]), None);
        assert_eq!(asked(&["localhost:1"], &["http://localhost:1"]), None);
        for origin in ["http://localhost:2", "http://localhost", "null", "http://localhost:1.evil.example", "file://"] {
            assert_eq!(asked(&["localhost:1"], &[origin]), Some(403), "{origin}");
        }
        assert_eq!(asked(&["localhost", "localhost"], &[]), Some(400));
        assert_eq!(asked(&["localhost"], &["http://localhost", "http://localhost"]), Some(400));
        assert_eq!(asked(&[], &[]), Some(400));
    }
}
