//! Messages as lines on stdin and stdout.
//!
//! `rmcp` has such a transport as well; it silently skips lines that are too long or not JSON, and leaves the client
//! waiting. This one answers them.

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

/// The most answers that wait for a client that does not read.
const WAITING: usize = 64;

/// Serves the client on stdin until it ends. A client that sends nothing, or only lists things, is no failure.
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

/// The transport: reads and writes lines.
struct LineTransport<R> {
    input: BufReader<R>,
    line: LineBuffer,
    /// True once a request has settled the protocol's revision; before that, `rmcp` gives up on anything else.
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

    /// Answers a line that cannot be passed on. Cancel-safe.
    async fn refuse(&mut self, refusal: RefusedLine) -> io::Result<()> {
        let message: ServerJsonRpcMessage = JsonRpcMessage::error(refusal.error, refusal.id);
        let bytes = encode(&message)?;
        let output = self.output.as_ref().ok_or_else(closed)?;
        output.send(bytes).await.map_err(|_| closed())
    }

    /// The message of a line; `None` if it is to be ignored at this point.
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
            // If this future is dropped and called again, the part of a line that was read stays in `line`, and a whole
            // line stays until it was passed on or answered.
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

/// Writes lines until there are no more, or the reader is gone.
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

/// A line that is not passed on, with the answer to its sender.
#[derive(Debug)]
struct RefusedLine {
    error: ErrorData,
    id: Option<RequestId>,
}

impl RefusedLine {
    /// For a line that is not a message.
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

/// A line as far as it was read.
struct LineBuffer {
    bytes: Vec<u8>,
    /// The number of bytes dropped because the line is too long; the last of them are in `tail`.
    dropped: usize,
    tail: Vec<u8>,
    is_whole: bool,
    max_bytes: usize,
}

/// The bytes kept of the end of a line that is too long: some clients write the id last.
const TAIL_BYTES: usize = 256;

impl LineBuffer {
    fn new(max_bytes: usize) -> Self {
        Self { bytes: Vec::new(), dropped: 0, tail: Vec::new(), is_whole: false, max_bytes }
    }

    /// Reads on to the end of the line; `false` if the input ends before. Cancel-safe: bytes taken from the input are
    /// put into the line at once.
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
        // Do not keep the memory of one large message.
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

/// The id of a message of which only the start was kept, if it is in that part.
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
    // The error only says that the end is missing.
    let _ = Find(&mut id).deserialize(&mut serde_json::Deserializer::from_slice(start));
    id
}

/// The id of a message of which only the end was kept. The brace that ends a line closes the message itself, so an
/// `"id": …` right before it is the message's own.
fn id_at_end(tail: &[u8]) -> Option<RequestId> {
    let at = memchr::memmem::rfind(tail, b"\"id\"")?;
    let value = tail[at + 4..].trim_ascii().strip_prefix(b":")?.trim_ascii().strip_suffix(b"}")?;
    serde_json::from_slice(value).ok()
}

#[cfg(test)]
mod tests;
