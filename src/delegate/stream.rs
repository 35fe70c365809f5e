//! Reads the output of a delegate: JSON messages, one per line, or plain text.

use serde::Deserialize;
use serde_json::Value;

/// Reads the output as it comes. Of the messages only the last answer is kept.
#[derive(Debug, Default)]
pub(super) struct StreamReader {
    /// The incomplete line.
    line: Vec<u8>,
    /// All lines so far, as long as none is a message.
    plain: Vec<u8>,
    /// True once there was a message.
    is_stream: bool,
    answer: Option<String>,
}

/// An error in an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// It has no answer.
    Silent,
    /// The last message is incomplete.
    Cut,
    /// It is neither messages nor text.
    Garbage,
}

/// One message, with the fields that matter.
#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
}

impl StreamReader {
    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.line.extend_from_slice(&bytes[..=end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.take(&line);
        }
        self.line.extend_from_slice(bytes);
    }

    fn take(&mut self, line: &[u8]) {
        if let Some(message) = message(line) {
            self.is_stream = true;
            self.plain = Vec::new();
            if message.role == "assistant"
                && let Some(text) = text_of(&message.content)
            {
                self.answer = Some(text);
            }
        } else if !self.is_stream {
            self.plain.extend_from_slice(line);
        }
    }

    /// The answer, once the program has ended.
    pub(super) fn finish(mut self) -> Result<String, Flaw> {
        let last = std::mem::take(&mut self.line);
        let is_cut = last.trim_ascii_start().starts_with(b"{") && message(&last).is_none();
        self.take(&last);
        if self.is_stream {
            // An answer before an incomplete message is not the last one.
            return if is_cut { Err(Flaw::Cut) } else { self.answer.ok_or(Flaw::Silent) };
        }
        if is_cut && self.plain.trim_ascii_start().starts_with(b"{\"role\"") {
            return Err(Flaw::Cut);
        }
        if memchr::memchr(0, &self.plain).is_some() {
            return Err(Flaw::Garbage);
        }
        let text = String::from_utf8(self.plain).map_err(|_| Flaw::Garbage)?;
        if text.trim().is_empty() { Err(Flaw::Silent) } else { Ok(text.trim().to_owned()) }
    }
}

fn message(line: &[u8]) -> Option<Message> {
    let line = line.trim_ascii();
    if line.first() != Some(&b'{') {
        return None;
    }
    serde_json::from_slice(line).ok()
}

/// The text of a message: a string, or a list of parts, some of which are text. A message that only calls tools has
/// none.
fn text_of(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().concat()
        }
        _ => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &[u8]) -> Result<String, Flaw> {
        // In pieces of every size, since pipes split anywhere.
        let of_size = |size: usize| {
            let mut reader = StreamReader::default();
            output.chunks(size).for_each(|piece| reader.add(piece));
            reader.finish()
        };
        let whole = of_size(output.len().max(1));
        for size in [1, 2, 7, 64] {
            assert_eq!(of_size(size), whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn the_last_assistant_message_is_the_answer() {
        let output = br#"{"role":"meta","type":"system.version","version":"2.1.0"}
{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"1"}]}
{"role":"tool","tool_call_id":"1","content":"{\"role\":\"assistant\"}"}
a warning that is no message
{"role":"assistant","content":[{"type":"think","think":"hm"},{"type":"text","text":"It is "},{"type":"text","text":"so"}]}
{"role":"assistant","content":null,"tool_calls":[{"id":"2"}]}
{"role":"meta","type":"session.resume_hint"}
"#;
        assert_eq!(read(output), Ok("It is so".to_owned()));
        assert_eq!(read(output.trim_ascii_end()), Ok("It is so".to_owned()));
    }

    #[test]
    fn plain_text_is_an_answer_and_nothing_is_none() {
        assert_eq!(read(b"\nTwo lines,\n{as they are}\n\n"), Ok("Two lines,\n{as they are}".to_owned()));
        assert_eq!(read(b"{\"files\": []}"), Ok("{\"files\": []}".to_owned()));
        assert_eq!(read(b""), Err(Flaw::Silent));
        assert_eq!(read(b" \n\n"), Err(Flaw::Silent));
        assert_eq!(read(b"{\"role\":\"meta\"}\n"), Err(Flaw::Silent));
        assert_eq!(read(b"{\"role\":\"assistant\",\"content\":\" \"}\n"), Err(Flaw::Silent));
    }

    #[test]
    fn incomplete_or_binary_output_is_no_answer() {
        assert_eq!(read(b"{\"role\":\"assistant\",\"content\":\"a\"}\n{\"role\":\"assis"), Err(Flaw::Cut));
        assert_eq!(read(b"{\"role\":\"assistant\",\"content\":\"a"), Err(Flaw::Cut));
        assert_eq!(read(b"\xff\xfe\x00\x01garbage"), Err(Flaw::Garbage));
        assert_eq!(read(b"text\0"), Err(Flaw::Garbage));
        assert_eq!(read(b"caf\xe9\n"), Err(Flaw::Garbage));
    }
}
