//! Reads one line, up to a length.

use rmcp::model::ErrorData;
use tokio::io::AsyncBufReadExt;

use crate::mcp::refusal::{RefusedMessage, id_at_end, id_at_start};

/// A line as far as it was read.
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// The number of bytes dropped because the line is too long; the last of them are in `tail`.
    dropped: usize,
    tail: Vec<u8>,
    max_bytes: usize,
}

/// The bytes kept of the end of a line that is too long: some clients write the id last.
const TAIL_BYTES: usize = 256;

impl LineBuffer {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { bytes: Vec::new(), dropped: 0, tail: Vec::new(), max_bytes }
    }

    /// Reads on to the end of the line; `false` if the input ends before. Cancel-safe: bytes taken from the input are
    /// put into the line at once, and nothing is waited for after the last of them.
    pub(super) async fn fill(&mut self, input: &mut (impl AsyncBufReadExt + Unpin)) -> bool {
        loop {
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
            if ends {
                return true;
            }
        }
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

    /// The whole line, and room for the next.
    pub(super) fn take(&mut self) -> Result<Vec<u8>, RefusedMessage> {
        let refused = (self.dropped > 0).then(|| self.too_long());
        self.tail.clear();
        self.dropped = 0;
        let line = std::mem::take(&mut self.bytes);
        refused.map_or(Ok(line), Err)
    }

    fn too_long(&self) -> RefusedMessage {
        let message = format!(
            "the message has {} bytes, {} are the most that is read: split the request",
            self.bytes.len() + self.dropped,
            self.max_bytes
        );
        let id = id_at_start(&self.bytes).or_else(|| id_at_end(&self.tail));
        RefusedMessage::new(ErrorData::invalid_request(message, None), id)
    }
}
