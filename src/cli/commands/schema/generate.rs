//! Makes a schema from the type that reads or writes the JSON.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use crate::wire::VersionedAnswer;

/// The schema of what is read into a `T`.
pub(super) fn read<T: JsonSchema>() -> Map<String, Value> {
    make::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what a `T` is written as.
pub(super) fn written<T: JsonSchema>() -> Map<String, Value> {
    make::<VersionedAnswer<'_, T>>(SchemaSettings::draft2020_12().for_serialize())
}

fn make<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    AsWritten.transform(&mut schema);
    match schema.to_value() {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Takes out of a schema what is Rust's own.
struct AsWritten;

impl Transform for AsWritten {
    fn transform(&mut self, schema: &mut Schema) {
        // The sizes of Rust's numbers.
        schema.remove("format");
        without_null(schema);
        if let Some(Value::Object(definitions)) = schema.get_mut("$defs") {
            let named = std::mem::take(definitions);
            definitions.extend(named.into_iter().map(|(name, schema)| (plain_name(&name).to_owned(), schema)));
        }
        if let Some(Value::String(reference)) = schema.get_mut("$ref") {
            *reference = plain_name(reference).to_owned();
        }
        transform_subschemas(self, schema);
    }
}

/// The name of a type without the suffix that tells it from the type of the library.
fn plain_name(name: &str) -> &str {
    name.strip_suffix("Json").unwrap_or(name)
}

/// A field without a value is left out; none is null.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(any)) = schema.get_mut("anyOf") else { return };
    any.retain(|one| one.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(only)] = &any[..] {
        let only = only.clone();
        schema.remove("anyOf");
        only.into_iter().for_each(|(keyword, value)| {
            schema.insert(keyword, value);
        });
    }
}
