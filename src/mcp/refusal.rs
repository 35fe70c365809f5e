//! Refuses a message before it reaches a tool, by its own id.

use rmcp::model::ErrorData;
use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A message that is not passed on, with the answer to its sender.
#[derive(Debug)]
pub(super) struct RefusedMessage {
    pub(super) error: ErrorData,
    /// The id as it was written: `rmcp` has no word for some that JSON-RPC allows.
    id: Option<Box<RawValue>>,
}

impl RefusedMessage {
    /// With this id, if an answer can have it: a text or a number.
    pub(super) fn new(error: ErrorData, id: Option<Box<RawValue>>) -> Self {
        Self { error, id: id.filter(|id| is_id(id)) }
    }

    /// For a text that is not a message.
    pub(super) fn of(text: &[u8], error: &serde_json::Error) -> Self {
        use serde_json::error::Category;
        let is_json = match error.classify() {
            Category::Data => true,
            Category::Syntax | Category::Eof | Category::Io => serde_json::from_slice::<IgnoredAny>(text).is_ok(),
        };
        if !is_json {
            return Self::new(ErrorData::parse_error(format!("not JSON: {error}"), None), None);
        }
        let message = if text.starts_with(b"[") {
            "not a message: send each message of a batch as a line of its own".to_owned()
        } else if error.is_syntax() {
            // JSON, but nested too deeply, or with a number out of range.
            format!("not a message of JSON-RPC 2.0: {error}")
        } else {
            "not a message of JSON-RPC 2.0".to_owned()
        };
        Self::new(ErrorData::invalid_request(message, None), id_at_start(text))
    }

    /// The answer as JSON.
    pub(super) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct RefusalJson<'a> {
            jsonrpc: &'static str,
            id: Option<&'a RawValue>,
            error: &'a ErrorData,
        }
        serde_json::to_vec(&RefusalJson { jsonrpc: "2.0", id: self.id.as_deref(), error: &self.error })
    }
}

/// True for a text or a number.
pub(super) fn is_id(id: &RawValue) -> bool {
    id.get().starts_with(|first: char| matches!(first, '"' | '-' | '0'..='9'))
}

/// The id of a message of which only the start was kept, if it is in that part.
pub(super) fn id_at_start(start: &[u8]) -> Option<Box<RawValue>> {
    struct FindId<'a>(&'a mut Option<Box<RawValue>>);
    impl<'de> Visitor<'de> for FindId<'_> {
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
    impl<'de> DeserializeSeed<'de> for FindId<'_> {
        type Value = ();
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_map(self)
        }
    }
    let mut id = None;
    // The error only says that the end is missing.
    let _ = FindId(&mut id).deserialize(&mut serde_json::Deserializer::from_slice(start));
    id
}

/// The id of a message of which only the end was kept. The brace that ends a line closes the message itself, so an
/// `"id": …` right before it is the message's own.
pub(super) fn id_at_end(tail: &[u8]) -> Option<Box<RawValue>> {
    let at = memchr::memmem::rfind(tail, b"\"id\"")?;
    let value = tail[at + 4..].trim_ascii().strip_prefix(b":")?.trim_ascii().strip_suffix(b"}")?;
    serde_json::from_slice(value).ok()
}
