//! Ends sessions over HTTP in which nothing has happened for some time. One whose call is still running is not idle.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::time::Instant;

use super::http::SESSION;
use super::shared::ServerState;

/// The shortest and the longest time between two looks.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// What the sessions are doing.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Activity>>);

#[derive(Debug)]
struct Activity {
    /// The last request, or the end of the last call.
    last: Instant,
    /// The calls that are running.
    calls: usize,
}

impl Activity {
    fn new() -> Self {
        Self { last: Instant::now(), calls: 0 }
    }
}

/// A call that is running in a session, until it is dropped.
#[derive(Debug)]
pub(super) struct RunningCall {
    sessions: Arc<Sessions>,
    session: String,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if let Some(activity) = self.sessions.lock().get_mut(&self.session) {
            activity.calls = activity.calls.saturating_sub(1);
            activity.last = Instant::now();
        }
    }
}

impl Sessions {
    /// Counts a call, until what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>, session: String) -> RunningCall {
        self.lock().entry(session.clone()).or_insert_with(Activity::new).calls += 1;
        RunningCall { sessions: Arc::clone(self), session }
    }

    /// Those of the open sessions that have been idle for so long. One that is not known yet begins now.
    fn idle<'s>(&self, open: impl Iterator<Item = &'s str>, most: Duration) -> Vec<&'s str> {
        let mut known = self.lock();
        let mut before = std::mem::take(&mut *known);
        let mut idle = Vec::new();
        for session in open {
            let activity = before.remove(session).unwrap_or_else(Activity::new);
            if activity.calls == 0 && activity.last.elapsed() >= most {
                idle.push(session);
            }
            known.insert(session.to_owned(), activity);
        }
        idle
    }

    fn touch(&self, session: &str) {
        if let Some(activity) = self.lock().get_mut(session) {
            activity.last = Instant::now();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Activity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn session_in(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

/// The session of a request, if it came over HTTP and has one.
pub(super) fn session_of(context: &RequestContext<RoleServer>) -> Option<String> {
    session_in(&context.extensions.get::<Parts>()?.headers).map(str::to_owned)
}

/// Notes that a session is used.
pub(super) async fn touched(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    if let Some(session) = session_in(request.headers()) {
        sessions.touch(session);
    }
    next.run(request).await
}

/// Ends idle sessions, until the shutdown.
pub(super) async fn end_idle(manager: Arc<LocalSessionManager>, shared: Arc<ServerState>, most: Duration) {
    let pause = (most / 8).clamp(SHORTEST, LONGEST);
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.stop.cancelled() => return,
        }
        let open: Vec<_> = manager.sessions.read().await.keys().cloned().collect();
        let idle = shared.sessions.idle(open.iter().map(|id| &**id), most);
        for id in open.iter().filter(|id| idle.contains(&&***id)) {
            tracing::debug!("an idle session is ended");
            let _ = manager.close_session(id).await;
        }
    }
}
