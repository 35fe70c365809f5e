//! Messages as lines on stdin and stdout.
//!
//! `rmcp` has such a transport too; it passes over lines that are too long or not JSON without a word, and leaves a
//! client waiting. This one answers them.

mod message;

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{self, Sender};
use tokio::task::JoinHandle;

use super::server::Server;
use super::shared::ServerState;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

/// Answers that may wait for a client that does not read.
const WAITING: usize = 64;

/// Serves the client on stdin until it ends. A client that says nothing, or only looks around, is no failure.
pub(super) async fn serve(shared: &Arc<ServerState>) -> Result<()> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let lines = LineTransport::new(input, output, limits::MESSAGE_BYTES);
    let failed = |why: String| Error::new(ErrorKind::UnknownError, format!("cannot serve the client: {why}"));
    match serve_server_with_ct(Server::new(Arc::clone(shared)), lines, shared.stop.child_token()).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|e| failed(e.to_string())),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Lines in, lines out.
struct LineTransport<R> {
    input: BufReader<R>,
    line: LineBuffer,
    /// True if a request came that settles the protocol's revision; `rmcp` gives up on anything else before that.
    settled: bool,
    /// `None` once closed.
    output: Option<Sender<Vec<u8>>>,
    writing: Option<JoinHandle<()>>,
}

impl<R: AsyncRead + Unpin + Send> LineTransport<R> {
    fn new<W: AsyncWrite + Unpin + Send + 'static>(input: R, output: W, max_bytes: usize) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        let writing = tokio::spawn(write(output, receiver));
        let input = BufReader::with_capacity(limits::CHUNK_BYTES, input);
        Self { input, line: LineBuffer::new(max_bytes), settled: false, output: Some(sender), writing: Some(writing) }
    }

    /// Answers a line that cannot be passed on. Safe to be dropped before it is done.
    async fn refuse(&mut self, refusal: RefusedLine) -> io::Result<()> {
        let message: ServerJsonRpcMessage = JsonRpcMessage::error(refusal.error, refusal.id);
        let bytes = encode(&message)?;
        let output = self.output.as_ref().ok_or_else(closed)?;
        output.send(bytes).await.map_err(|_| closed())
    }

    /// The message of a line, `None` where it is of no interest yet.
    fn message(&mut self, line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, RefusedLine> {
        let message = message::read(line).map_err(|error| RefusedLine::of(line, &error))?;
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
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        async move { output.ok_or_else(closed)?.send(encode(&item)?).await.map_err(|_| closed()) }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // Where this is dropped and called anew, the part of a line that was read stays in `line`, and a whole line
            // stays until it was passed on or answered.
            if !self.line.is_whole && !self.line.fill(&mut self.input).await {
                return None;
            }
            let refusal = if self.line.dropped > 0 {
                self.line.too_long()
            } else {
                let line = std::mem::take(&mut self.line.bytes);
                let message = self.message(line.trim_ascii());
                self.line.bytes = line;
                match message {
                    _ if self.line.bytes.trim_ascii().is_empty() => {
                        self.line.clear();
                        continue;
                    }
                    Ok(message) => {
                        self.line.clear();
                        match message {
                            Some(message) => return Some(message),
                            None => continue,
                        }
                    }
                    Err(refusal) => refusal,
                }
            };
            tracing::debug!("refused a line: {}", refusal.error.message);
            if self.refuse(refusal).await.is_err() {
                return None;
            }
            self.line.clear();
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        match self.writing.take() {
            Some(writing) => writing.await.map_err(io::Error::other),
            None => Ok(()),
        }
    }
}

/// Writes what comes until there is nothing more to come, or nobody to read it.
async fn write(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn encode(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the client is gone")
}

/// A line that is not passed on, and what its sender is told.
#[derive(Debug)]
struct RefusedLine {
    error: ErrorData,
    id: Option<RequestId>,
}

impl RefusedLine {
    /// For a line that is no message.
    fn of(line: &[u8], error: &serde_json::Error) -> Self {
        use serde_json::error::Category;
        let is_json = match error.classify() {
            Category::Data => true,
            Category::Syntax | Category::Eof | Category::Io => {
                serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
            }
        };
        if !is_json {
            return Self { error: ErrorData::parse_error(format!("not JSON: {error}"), None), id: None };
        }
        let message = if line.starts_with(b"[") {
            "not a message: send each message of a batch as a line of its own"
        } else {
            "not a message of JSON-RPC 2.0"
        };
        Self { error: ErrorData::invalid_request(message, None), id: id_at_start(line) }
    }
}

/// A line as far as it is read.
struct LineBuffer {
    bytes: Vec<u8>,
    /// Bytes that are not kept since there are too many; the last of them are in `tail`.
    dropped: usize,
    tail: Vec<u8>,
    is_whole: bool,
    max_bytes: usize,
}

/// Bytes kept of the end of a line that is too long: some clients write the id last.
const TAIL_BYTES: usize = 256;

impl LineBuffer {
    fn new(max_bytes: usize) -> Self {
        Self { bytes: Vec::new(), dropped: 0, tail: Vec::new(), is_whole: false, max_bytes }
    }

    /// Reads on to the end of the line; `false` where the input ends before. Safe to be dropped and called anew: what
    /// is taken from the input is put into the line at once.
    async fn fill(&mut self, input: &mut (impl AsyncBufReadExt + Unpin)) -> bool {
        while !self.is_whole {
            let (taken, ends) = match input.fill_buf().await {
                Ok([]) | Err(_) => return false,
                Ok(available) => {
                    let end = memchr::memchr(b'\n', available);
                    let part = &available[..end.unwrap_or(available.len())];
                    self.add(part);
                    (part.len() + usize::from(end.is_some()), end.is_some())
                }
            };
            input.consume(taken);
            self.is_whole = ends;
        }
        true
    }

    fn add(&mut self, part: &[u8]) {
        let room = self.max_bytes.saturating_sub(self.bytes.len());
        let (kept, over) = part.split_at(room.min(part.len()));
        self.bytes.extend_from_slice(kept);
        if !over.is_empty() {
            self.dropped += over.len();
            let tail = &over[over.len().saturating_sub(TAIL_BYTES)..];
            self.tail.drain(..(self.tail.len() + tail.len()).saturating_sub(TAIL_BYTES).min(self.tail.len()));
            self.tail.extend_from_slice(tail);
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        // One large message is no reason to keep its memory.
        self.bytes.shrink_to(limits::CHUNK_BYTES);
        self.tail.clear();
        self.dropped = 0;
        self.is_whole = false;
    }

    fn too_long(&self) -> RefusedLine {
        let message = format!(
            "the message has {} bytes, {} are the most that is read: split the request",
            self.bytes.len() + self.dropped,
            self.max_bytes
        );
        let id = id_at_start(&self.bytes).or_else(|| id_at_end(&self.tail));
        RefusedLine { error: ErrorData::invalid_request(message, None), id }
    }
}

/// The id of a message of which only the start is there, if it stands before what is missing.
fn id_at_start(start: &[u8]) -> Option<RequestId> {
    use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
    struct Find<'a>(&'a mut Option<RequestId>);
    impl<'de> Visitor<'de> for Find<'_> {
        type Value = ();
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a message")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                if key == "id" {
                    *self.0 = Some(map.next_value()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }
    impl<'de> DeserializeSeed<'de> for Find<'_> {
        type Value = ();
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_map(self)
        }
    }
    let mut id = None;
    // The error says only that the end is missing.
    let _ = Find(&mut id).deserialize(&mut serde_json::Deserializer::from_slice(start));
    id
}

/// The id of a message of which only the end is there. The brace that ends a line closes the message itself, so that
/// an `"id": …` right before it is the message's own.
fn id_at_end(tail: &[u8]) -> Option<RequestId> {
    let at = memchr::memmem::rfind(tail, b"\"id\"")?;
    let value = tail[at + 4..].trim_ascii().strip_prefix(b":")?.trim_ascii().strip_suffix(b"}")?;
    serde_json::from_slice(value).ok()
}

#[cfg(test)]
mod tests;
