//! Messages as lines on stdin and stdout.
//!
//! `rmcp` has such a transport as well; it silently skips lines that are too long or not JSON, and leaves the client
//! waiting. This one answers them. It also bounds what a client may ask for before it reads the answers, and ends in
//! time once the input has ended.

mod line;
mod message;
mod requests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetExtensions as _, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{self, Sender};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use self::line::LineBuffer;
use self::requests::{HandlerShare, RequestPlace, Requests};
use super::head::MessageHead;
use super::refusal::RefusedMessage;
use super::server::Server;
use super::shared::ServerState;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

/// The most lines that wait to be written.
const WAITING: usize = 64;

/// The time that passes without an answer, once the input has ended, until the requests that are left are cancelled. A
/// script that writes its requests and closes the input gets its answers; a call that waits for a lock or for a check
/// does not outlive its client.
const LAST_REQUESTS: Duration = Duration::from_millis(750);

/// Serves the client on stdin until it ends. A client that sends nothing, or only lists things, is no failure.
pub(super) async fn serve(shared: &Arc<ServerState>) -> Result<()> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let mut lines = LineTransport::new(input, output, limits::MESSAGE_BYTES, shared.stop.clone());
    lines.roots_changed = shared.workspace.staleness();
    let failed = |why: String| Error::new(ErrorKind::UnknownError, format!("cannot serve the client: {why}"));
    match serve_server_with_ct(Server::new(Arc::clone(shared)), lines, shared.stop.child_token()).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|e| failed(e.to_string())),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// A line to be written, and the place of its request until then.
type OutputLine = (Vec<u8>, Option<RequestPlace>);

/// The transport: reads and writes lines.
struct LineTransport<R> {
    input: BufReader<R>,
    line: LineBuffer,
    requests: Requests,
    /// The answer to a line that was refused, until the output takes it.
    refusal: Option<Vec<u8>>,
    /// True once a request has settled the protocol's revision; before that, `rmcp` gives up on anything else.
    settled: bool,
    /// Set where the client says that its roots have changed: here, since what it sends next is handled at the same time.
    roots_changed: Arc<AtomicBool>,
    /// When the input ended.
    ended: Option<Instant>,
    /// Cancelled once the input has ended, and all is answered that will be.
    stop: CancellationToken,
    /// `None` once closed.
    output: Option<Sender<OutputLine>>,
    writing: Option<JoinHandle<()>>,
}

impl<R: AsyncRead + Unpin + Send> LineTransport<R> {
    fn new<W: AsyncWrite + Unpin + Send + 'static>(
        input: R,
        output: W,
        max_bytes: usize,
        stop: CancellationToken,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        Self {
            input: BufReader::with_capacity(limits::CHUNK_BYTES, input),
            line: LineBuffer::new(max_bytes),
            requests: Requests::new(max_bytes),
            refusal: None,
            settled: false,
            roots_changed: Arc::default(),
            ended: None,
            stop,
            output: Some(sender),
            writing: Some(tokio::spawn(write(output, receiver))),
        }
    }

    /// Answers a line that is not passed on, as soon as the output takes it.
    fn refuse(&mut self, refused: &RefusedMessage) {
        tracing::debug!("refused a line: {}", refused.error.message);
        // Neither an id nor an error can fail to be written.
        self.refusal = refused.to_json().ok().map(terminated);
    }

    /// Hands the answer to a refused line to the output. Cancel-safe.
    async fn write_refusal(&mut self) -> io::Result<()> {
        if self.refusal.is_some() {
            let room = self.output.as_ref().ok_or_else(closed)?.reserve().await.map_err(|_| closed())?;
            if let Some(bytes) = self.refusal.take() {
                room.send((bytes, None));
            }
        }
        Ok(())
    }

    /// The message of the line that was read, if it is to be passed on now.
    fn accept(&mut self) -> Result<Option<ClientJsonRpcMessage>, RefusedMessage> {
        let mut line = self.line.take()?;
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let head = MessageHead::read(line.trim_ascii())?;
        let Some(id) = head.request_id() else { return self.parse(&line, None) };
        let method = head.method().to_owned();
        match self.requests.add(id.clone(), &method, &mut line) {
            Ok(None) => Ok(None),
            Ok(Some(share)) => self.parse(&line, Some((id, share))),
            Err(error) => Err(RefusedMessage::new(error, serde_json::value::to_raw_value(&id).ok())),
        }
    }

    /// The message of a line; `None` if it is to be ignored at this point.
    fn parse(
        &mut self,
        line: &[u8],
        share: Option<(RequestId, HandlerShare)>,
    ) -> Result<Option<ClientJsonRpcMessage>, RefusedMessage> {
        let line = line.trim_ascii();
        let mut message = message::read(line).map_err(|error| RefusedMessage::of(line, &error));
        match (&mut message, share) {
            (Ok(JsonRpcMessage::Request(request)), Some((_, share))) => {
                // Whatever handles the request holds its share until it has ended.
                request.request.extensions_mut().insert(share);
            }
            (_, Some((id, _))) => drop(self.requests.answered(&id)),
            (Ok(JsonRpcMessage::Notification(notification)), None) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.requests.cancelled(id);
                }
                if let ClientNotification::RootsListChangedNotification(_) = &notification.notification {
                    self.roots_changed.store(true, Ordering::SeqCst);
                }
            }
            _ => {}
        }
        let message = message?;
        if !self.settled {
            match &message {
                JsonRpcMessage::Request(request) => {
                    let is_probe =
                        matches!(request.request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_));
                    self.settled = !is_probe;
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(message))
    }

    /// Waits for the last answers, after the input has ended at `ended`; true once there is nothing more to wait for.
    /// Cancel-safe.
    async fn wind_up(&mut self, ended: Instant) -> bool {
        let until = self.requests.last_step().max(ended) + LAST_REQUESTS;
        tokio::select! {
            biased;
            () = self.requests.room() => return false,
            () = self.requests.all_answered() => {
                // The answers to refused lines as well.
                let _ = timeout_at(until, self.close()).await;
            }
            () = sleep_until(until) => self.refuse_queue(),
        }
        self.stop.cancel();
        true
    }

    /// Answers the requests that were never begun, as far as the client still reads.
    fn refuse_queue(&mut self) {
        let message =
            "the input ended before the request was begun, and nothing was changed: send it to another server";
        for id in self.requests.take_queue() {
            let error: ServerJsonRpcMessage = JsonRpcMessage::error(ErrorData::internal_error(message, None), Some(id));
            if let (Some(output), Ok(bytes)) = (&self.output, serde_json::to_vec(&error)) {
                let _ = output.try_send((terminated(bytes), None));
            }
        }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        let place = match &item {
            JsonRpcMessage::Response(answer) => self.requests.answered(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref().and_then(|id| self.requests.answered(id)),
            _ => None,
        };
        async move {
            let bytes = terminated(serde_json::to_vec(&item)?);
            drop(item);
            output.ok_or_else(closed)?.send((bytes, place)).await.map_err(|_| closed())
        }
    }

    /// If this future is dropped and called again, nothing is lost: what was read stays in `line` and in `requests`, and
    /// an answer that was not handed over in `refusal`.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.write_refusal().await.ok()?;
            let accepted = if let Some((id, line, share)) = self.requests.begin() {
                self.parse(&line, Some((id, share)))
            } else if let Some(ended) = self.ended {
                if self.wind_up(ended).await {
                    return None;
                }
                continue;
            } else {
                tokio::select! {
                    biased;
                    () = self.requests.room() => continue,
                    is_whole = self.line.fill(&mut self.input), if !self.requests.is_full() => {
                        if !is_whole {
                            self.ended = Some(Instant::now());
                            continue;
                        }
                    }
                }
                self.accept()
            };
            match accepted {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(refused) => self.refuse(&refused),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        if let Some(writing) = &mut self.writing {
            writing.await.map_err(io::Error::other)?;
            self.writing = None;
        }
        Ok(())
    }
}

/// Writes lines until there are no more, or the reader is gone.
async fn write(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<OutputLine>) {
    while let Some((line, place)) = lines.recv().await {
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
        drop(place);
    }
}

fn terminated(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the client is gone")
}

#[cfg(test)]
mod tests;
