//! Takes lists, objects, numbers and booleans also from a JSON text: several clients send the arguments of a tool so.
//!
//! Only where the type that is asked for is no text: `"5"` is a number of matches, and stays a text to look for. What
//! does not parse is refused as what it is, a text.

use std::cell::Cell;
use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Number, Value};

use crate::limits;

/// The number of values that may still be read from texts of one message, as many at first as it may have itself.
pub(super) struct TextValues(Cell<usize>);

impl Default for TextValues {
    fn default() -> Self {
        Self(Cell::new(limits::MESSAGE_VALUES))
    }
}

/// A value that may be written as a text.
pub(super) struct Lenient<'t>(pub(super) Value, pub(super) &'t TextValues);

impl Lenient<'_> {
    /// The value in the text, if it is of the wanted kind; else the value as it came.
    pub(super) fn unpack(self, is_wanted: fn(&Value) -> bool) -> Result<Value, Error> {
        let Value::String(text) = &self.0 else { return Ok(self.0) };
        let mut json = serde_json::Deserializer::from_str(text);
        let refused = Cell::new(None);
        let read = Unpacked { left: self.1, refused: &refused }.deserialize(&mut json);
        let read = read.and_then(|value| json.end().map(|()| value));
        match (read, refused.take()) {
            (_, Some(why)) => Err(Error::custom(why)),
            (Ok(value), None) if is_wanted(&value) => Ok(value),
            _ => Ok(self.0),
        }
    }
}

macro_rules! from_text {
    ($($method:ident $is_wanted:path,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.unpack($is_wanted)?.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Lenient<'_> {
    type Error = Error;

    from_text! {
        deserialize_bool Value::is_boolean,
        deserialize_i64 Value::is_number,
        deserialize_u32 Value::is_number,
        deserialize_u64 Value::is_number,
        deserialize_f64 Value::is_number,
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let values = self.1;
        match self.unpack(Value::is_array)? {
            Value::Array(list) => {
                visitor.visit_seq(SeqDeserializer::new(list.into_iter().map(|value| Self(value, values))))
            }
            other => other.deserialize_seq(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let values = self.1;
        match self.unpack(Value::is_object)? {
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| (name, Self(value, values)));
                visitor.visit_map(MapDeserializer::new(fields))
            }
            other => other.deserialize_map(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            value => visitor.visit_some(Self(value, self.1)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u128 f32 char str string bytes byte_buf unit unit_struct tuple tuple_struct identifier
        ignored_any
    }
}

impl IntoDeserializer<'_, Error> for Lenient<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Builds the value of a text as strictly as a message is read: of so many values at most, and each field once.
#[derive(Clone, Copy)]
struct Unpacked<'u> {
    left: &'u TextValues,
    /// Why the text is refused, although it is JSON.
    refused: &'u Cell<Option<String>>,
}

impl Unpacked<'_> {
    fn refuse<E: serde::de::Error>(self, why: String) -> E {
        let error = E::custom(&why);
        self.refused.set(Some(why));
        error
    }
}

impl<'de> DeserializeSeed<'de> for Unpacked<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let Some(left) = self.left.0.get().checked_sub(1) else {
            let most = limits::MESSAGE_VALUES;
            return Err(self.refuse(format!("it has more than {most} values, which are the most that are read")));
        };
        self.left.0.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unpacked<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(self)?;
            if fields.contains_key(&name) {
                return Err(self.refuse(format!("the field `{name}` is given twice: give it once")));
            }
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::error::{Detail, Error};
    use crate::request::edit::{Anchor, Count};
    use crate::request::validate::PathRule;
    use crate::request::{Change, Request};
    use crate::wire::tools::{ReadFiles, parse_flat, parse_multi_edit, parse_request};

    fn request(arguments: Value) -> crate::error::Result<Request> {
        parse_request(serde_json::from_value(arguments).unwrap(), PathRule::AbsoluteOrRelative)
    }

    fn message(error: &Error) -> &str {
        let Detail::Findings(findings) = error.details() else { panic!("{error:?}") };
        &findings[0].message
    }

    #[test]
    fn what_comes_as_a_json_text_is_what_it_would_be() {
        let edit = json!({"old_string": "[1]", "new_string": "2", "expected_matches": 2});
        let file = json!({"file_path": "a", "edits": [edit]});
        let plain = request(json!({"files": [file], "dry_run": true})).unwrap();
        let edit = json!({"old_string": "[1]", "new_string": "2", "expected_matches": "2"});
        for edits in [json!([edit]), json!([edit.to_string()]), json!([edit]).to_string().into()] {
            let file = json!({"file_path": "a", "edits": edits});
            for files in [json!([file]), json!([file.to_string()]), json!([file]).to_string().into()] {
                let packed = request(json!({"files": files, "dry_run": " true"})).unwrap();
                assert_eq!(format!("{packed:?}"), format!("{plain:?}"), "{files}");
            }
        }
        let Change::Edit { edits, .. } = &plain.files[0].change else { panic!("{plain:?}") };
        let Anchor::Text { text, count, .. } = &edits[0].anchor else { panic!("{edits:?}") };
        assert_eq!((&text[..], *count), (&b"[1]"[..], Count::Exactly(2)), "a text that is JSON stays a text");
        let one =
            json!({"file_path": "a", "edits": "[{\"old_string\":\"x\",\"new_string\":\"y\"}]", "dry_run": "false"});
        let one = parse_multi_edit(serde_json::from_value(one).unwrap(), PathRule::AbsoluteOrRelative).unwrap();
        assert_eq!((one.files[0].path.as_path(), one.dry_run), (Path::new("a"), false));
        let read = json!({"paths": "[\"a\", \"b\"]", "max_bytes": "7"});
        let read: ReadFiles = parse_flat(serde_json::from_value(read).unwrap()).unwrap();
        assert_eq!((read.paths.unwrap().len(), read.max_bytes), (2, Some(7)));
    }

    #[test]
    fn another_text_is_refused_as_a_text() {
        for (value, told) in [
            (json!("tru"), "takes true or false, not the string \"tru\""),
            (json!("1"), "takes true or false, not the string \"1\""),
            (json!("true false"), "takes true or false, not the string \"true false\""),
            (json!(1), "takes true or false, not 1"),
        ] {
            let error = request(json!({"files": [], "dry_run": value})).unwrap_err();
            assert_eq!(message(&error), told);
        }
        let error = request(json!({"files": "[{]"})).unwrap_err();
        assert_eq!(message(&error), "takes an array, not the string \"[{]\"");
    }

    #[test]
    fn a_json_text_is_read_as_strictly_as_a_message() {
        let file = r#"{"file_path": "a", "delete": true, "file_path": "b"}"#;
        let error = request(json!({"files": [file]})).unwrap_err();
        assert_eq!(message(&error), "the field `file_path` is given twice: give it once");
        // Together, not each: every text is paid for by one message.
        let half = format!("[[{}0]]", "0,".repeat(limits::MESSAGE_VALUES / 2));
        let halves = json!({"files": [{"file_path": "a", "edits": half}, {"file_path": "b", "edits": half}]});
        let Detail::Findings(findings) = request(halves).unwrap_err().details().clone() else { panic!() };
        let told = findings.iter().filter(|finding| finding.message.contains("1000000 values"));
        assert_eq!(told.count(), 1);
        let deep = "[".repeat(200_000);
        assert!(request(json!({"files": deep})).is_err());
    }
}
