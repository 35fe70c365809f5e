//! Reads the head of a message: its method and id. Refuses a message that two readers could read differently, or from
//! which too much would be built.
//!
//! This comes before anything is built from a message: what is parsed takes up to a hundred times the memory of its
//! text, and it no longer knows that a field was given twice.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use rmcp::model::{ErrorData, RequestId};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::refusal::{RefusedMessage, id_at_start, is_id};
use crate::limits;

/// `serde_json` takes an object for the text in it if its first field has such a name.
const RESERVED: &str = "$serde_json::private::";

/// What says where a message goes.
#[derive(Debug, Default)]
pub(super) struct MessageHead<'a> {
    id: Option<&'a RawValue>,
    method: Option<Cow<'a, str>>,
}

impl<'a> MessageHead<'a> {
    /// The head of a message, if that is JSON. Whatever else it lacks, whoever parses it says so.
    pub(super) fn read(text: &'a [u8]) -> Result<Self, RefusedMessage> {
        let mut scan =
            MessageScan { head: Self::default(), left: limits::MESSAGE_VALUES, place: Vec::new(), fault: None };
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let scanned = ScanValue(&mut scan).deserialize(&mut deserializer).and_then(|()| deserializer.end());
        let MessageScan { head, fault, .. } = scan;
        if let Some(error) = fault {
            return Err(RefusedMessage::new(error, id_at_start(text)));
        }
        if let Err(error) = scanned {
            return Err(RefusedMessage::of(text, &error));
        }
        match head.id {
            Some(id) if head.method.is_some() && is_id(id) && parse_id(id).is_none() => {
                let message = "the id of a request is a text or a whole number of 64 bits: send it with such an id";
                Err(RefusedMessage::new(ErrorData::invalid_request(message, None), Some(id.to_owned())))
            }
            _ => Ok(head),
        }
    }

    /// The id, if the message is a request.
    pub(super) fn request_id(&self) -> Option<RequestId> {
        self.method.as_ref()?;
        parse_id(self.id?)
    }

    pub(super) fn method(&self) -> &str {
        self.method.as_deref().unwrap_or_default()
    }
}

fn parse_id(id: &RawValue) -> Option<RequestId> {
    serde_json::from_str(id.get()).ok()
}

/// A step on the way to a value.
enum Step<'a> {
    Field(Cow<'a, str>),
    Entry(usize),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => f.write_str(name),
            Self::Entry(index) => index.fmt(f),
        }
    }
}

/// What is known of a message so far.
struct MessageScan<'a> {
    head: MessageHead<'a>,
    /// The values that it may still have.
    left: usize,
    place: Vec<Step<'a>>,
    fault: Option<ErrorData>,
}

impl<'a> MessageScan<'a> {
    /// Ends the scan. The error of serde says nothing more.
    fn refuse<E: serde::de::Error>(&mut self, message: String) -> E {
        let is_of_arguments = matches!(self.place.first(), Some(Step::Field(name)) if name == "params");
        self.fault = Some(if is_of_arguments {
            ErrorData::invalid_params(message, None)
        } else {
            ErrorData::invalid_request(message, None)
        });
        E::custom("refused")
    }

    /// The field `name` of the value that is scanned, for messages.
    fn field(&self, name: &str) -> String {
        let steps = self.place.iter().map(Step::to_string).chain([name.to_owned()]);
        steps.collect::<Vec<_>>().join(".")
    }

    fn scan_field<A: MapAccess<'a>>(&mut self, name: Cow<'a, str>, map: &mut A) -> Result<(), A::Error> {
        if name.starts_with(RESERVED) {
            let message = format!("no object has a field of the name `{}`: leave it out", self.field(&name));
            return Err(self.refuse(message));
        }
        match (self.place.is_empty(), &*name) {
            (true, "id") => {
                let id: &RawValue = map.next_value()?;
                if id.get().starts_with(['{', '[']) {
                    return Err(self.refuse("the id of a request is a text or a whole number".to_owned()));
                }
                self.head.id = Some(id);
                return Ok(());
            }
            (true, "method") => {
                let method: &RawValue = map.next_value()?;
                let Ok(name) = FieldName.deserialize(method) else {
                    return Err(self.refuse("the method of a request is a text".to_owned()));
                };
                self.head.method = Some(name);
                return Ok(());
            }
            _ => {}
        }
        self.place.push(Step::Field(name));
        map.next_value_seed(ScanValue(self))?;
        self.place.pop();
        Ok(())
    }
}

/// Scans a value and keeps nothing of it.
struct ScanValue<'s, 'a>(&'s mut MessageScan<'a>);

impl<'a> DeserializeSeed<'a> for ScanValue<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.0.left == 0 {
            let most = limits::MESSAGE_VALUES;
            let message = format!(
                "the message has more than {most} values, which are the most that are read: send it in several calls"
            );
            return Err(self.0.refuse(message));
        }
        self.0.left -= 1;
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for ScanValue<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key_seed(FieldName)? {
            if !names.insert(name.clone()) {
                let message = format!("the field `{}` is given twice: give it once", self.0.field(&name));
                return Err(self.0.refuse(message));
            }
            self.0.scan_field(name, &mut map)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        for index in 0.. {
            self.0.place.push(Step::Entry(index));
            if list.next_element_seed(ScanValue(self.0))?.is_none() {
                break;
            }
            self.0.place.pop();
        }
        self.0.place.pop();
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// A text, copied only if it has escapes.
struct FieldName;

impl<'a> DeserializeSeed<'a> for FieldName {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Cow<'a, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for FieldName {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, name: &'a str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (String, String) {
        let refused = MessageHead::read(text.as_bytes()).expect_err(text);
        let answer: serde_json::Value = serde_json::from_slice(&refused.to_json().unwrap()).unwrap();
        (answer["id"].to_string(), refused.error.message.into_owned())
    }

    #[test]
    fn the_head_is_found_wherever_it_stands() {
        let text = r#"{"params": {"id": 5, "method": "x", "list": [1, [], {}, null, -2.5]}, "id": "a\u0062", "method": "p\u0069ng"}"#;
        let head = MessageHead::read(text.as_bytes()).unwrap();
        assert_eq!((head.request_id(), head.method()), (Some(RequestId::String("ab".into())), "ping"));
        for text in
            ["[]", "5", "{}", r#"{"id": 1, "result": {}}"#, r#"{"method": "x"}"#, r#"{"method": "x", "id": null}"#]
        {
            let head = MessageHead::read(text.as_bytes()).unwrap();
            assert_eq!(head.request_id(), None, "{text}");
        }
    }

    #[test]
    fn a_refusal_has_the_id_and_names_the_place() {
        let (id, message) = refused(r#"{"params": {"a": [0, {"b": {"c": 1, "\u0063": 2}}]}, "method": "x", "id": 7}"#);
        assert_eq!((id.as_str(), message.as_str()), ("7", "the field `params.a.1.b.c` is given twice: give it once"));
        for text in [r#"{"id": {"a": 1}, "method": "x"}"#, r#"{"method": ["x"]}"#, r#"{"params": [}"#, ""] {
            assert_eq!(refused(text).0, "null", "{text}");
        }
    }

    #[test]
    fn values_are_counted() {
        let list = |entries: usize| format!(r#"{{"params":[{}0],"method":"x","id":1}}"#, "0,".repeat(entries - 1));
        // The message and the list are two of them; the head is none.
        assert!(MessageHead::read(list(limits::MESSAGE_VALUES - 2).as_bytes()).is_ok());
        assert!(refused(&list(limits::MESSAGE_VALUES - 1)).1.contains("1000000 values"));
    }

    #[test]
    fn what_is_nested_too_deeply_is_said_so() {
        let text = format!(r#"{{"id":1,"method":"x","params":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        let (id, message) = refused(&text);
        assert!(id == "1" && message.contains("recursion limit"), "{message}");
    }
}
