//! Reads an object as an object only.
//!
//! What serde derives for a struct takes a list as well, its fields by position. No caller means that, and a list that
//! has one entry too many or too few would mean something else.

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_path_to_error::Track;

/// A struct that is read from an object.
pub(super) struct FromObject<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FromObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(ObjectOnly(deserializer)).map(Self)
    }
}

/// Takes an object, whatever is asked of it.
struct ObjectOnly<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ObjectOnly<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Reads a struct from an object; an error knows its place in it.
pub(super) fn read_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, serde_path_to_error::Error<D::Error>> {
    let mut track = Track::new();
    let read = FromObject::deserialize(serde_path_to_error::Deserializer::new(deserializer, &mut track));
    read.map(|FromObject(value)| value).map_err(|error| serde_path_to_error::Error::new(track.path(), error))
}
