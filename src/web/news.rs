//! Tells the pages that listen what happens: that the state has changed, by whichever process, and how a commit goes on.
//!
//! The state folder is listed twice a second while a page listens, which takes a fraction of a millisecond.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde::Serialize;
use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio_util::io::ReaderStream;

use super::ReviewPage;
use crate::engine::{Observer, Phase};

/// The time between two looks.
const INTERVAL: Duration = Duration::from_millis(500);

/// The time after which something is sent, so that a page that is gone is noticed.
const KEPT_ALIVE: Duration = Duration::from_secs(15);

/// The events that wait for a slow page; it is told to ask for the state if it misses any.
const WAITING: usize = 256;

/// The bytes that wait for a slow page.
const BUFFER: usize = 16 << 10;

/// The least time between two events about one phase.
const BETWEEN: Duration = Duration::from_millis(100);

/// The most bytes of a check's output that are passed on.
const OUTPUT_BYTES: usize = 256 << 10;

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum News {
    /// The state has changed.
    State,
    /// A call goes on.
    Progress { id: String, phase: &'static str, done: usize, total: usize },
    /// Its check has printed something.
    Output { id: String, text: String },
}

/// The pages that listen.
#[derive(Debug)]
pub(super) struct Listeners(Sender<News>);

impl Default for Listeners {
    fn default() -> Self {
        Self(broadcast::channel(WAITING).0)
    }
}

impl Listeners {
    pub(super) fn tell(&self, news: News) {
        // That nobody listens is no failure.
        let _ = self.0.send(news);
    }
}

/// Looks for changes of the state, until the shutdown.
pub(super) async fn keep_looking(page: Arc<ReviewPage>) {
    let mut known = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = page.stop.cancelled() => return,
        }
        if page.listeners.0.receiver_count() == 0 {
            known = None;
            continue;
        }
        let looking = Arc::clone(&page);
        let mark =
            tokio::task::spawn_blocking(move || (looking.source)().and_then(|held| held.engine().state_mark()).ok());
        let mark = Some(mark.await.ok().flatten());
        // At the first look, a page may have asked just before something changed.
        if mark != known {
            page.listeners.tell(News::State);
            known = mark;
        }
    }
}

/// The stream of what happens, from now on.
pub(super) fn stream(page: &Arc<ReviewPage>) -> Response {
    let (ours, theirs) = duplex(BUFFER);
    tokio::spawn(write(Arc::clone(page), page.listeners.0.subscribe(), ours));
    let mut answer = Response::new(Body::from_stream(ReaderStream::new(theirs)));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer
}

/// Writes what happens, until the page is gone.
async fn write(page: Arc<ReviewPage>, mut news: Receiver<News>, mut to: DuplexStream) {
    let mut text = event(&News::State);
    while to.write_all(text.as_bytes()).await.is_ok() {
        text = tokio::select! {
            next = news.recv() => match next {
                Ok(next) => event(&next),
                Err(RecvError::Lagged(_)) => event(&News::State),
                Err(RecvError::Closed) => return,
            },
            () = tokio::time::sleep(KEPT_ALIVE) => ":\n\n".to_owned(),
            () = page.stop.cancelled() => return,
        };
    }
}

fn event(news: &News) -> String {
    // JSON has no line break in it, which would end the event.
    format!("data: {}\n\n", serde_json::to_string(news).unwrap_or_default())
}

/// Passes on how a call goes on.
pub(super) struct Told<'p> {
    page: &'p ReviewPage,
    id: String,
    last: Mutex<(Option<(Phase, Instant)>, usize)>,
}

impl<'p> Told<'p> {
    pub(super) fn new(page: &'p ReviewPage, id: &str) -> Self {
        Self { page, id: id.to_owned(), last: Mutex::default() }
    }
}

impl Observer for Told<'_> {
    fn progress(&self, phase: Phase, done: usize, total: usize) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_soon = last.0.is_some_and(|(before, at)| before == phase && at.elapsed() < BETWEEN);
        if is_soon && done < total {
            return;
        }
        last.0 = Some((phase, Instant::now()));
        let phase = match phase {
            Phase::Read => "read",
            Phase::Stage => "stage",
            Phase::Swap => "swap",
            Phase::Check => "check",
            Phase::Rollback => "rollback",
        };
        self.page.listeners.tell(News::Progress { id: self.id.clone(), phase, done, total });
    }

    fn check_output(&self, bytes: &[u8]) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let text = &bytes[..bytes.len().min(OUTPUT_BYTES.saturating_sub(last.1))];
        last.1 += text.len();
        if !text.is_empty() {
            let text = String::from_utf8_lossy(text).into_owned();
            self.page.listeners.tell(News::Output { id: self.id.clone(), text });
        }
    }

    fn client(&self) -> Option<&str> {
        Some("review page")
    }
}
