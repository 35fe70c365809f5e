//! The schemas of the tools, simple enough for the strictest client.
//!
//! Input schemas come from the wire types: inlined, without `$ref`, unions, type lists or formats, with a description
//! on every property. Output schemas name the main properties and leave the rest open, for success and failure alike.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::wire::request::PLAN_ONLY;

/// The schema of a tool's arguments.
pub(super) fn input<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    let mut fields = object(schema);
    fields.remove("description");
    Arc::new(fields)
}

/// Reduces a schema to what every client knows. It visits only schemas, not properties that are named like a keyword.
fn simplify(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for keyword in ["title", "format", "default", "minimum"] {
        fields.remove(keyword);
    }
    // An object of any fields is what an object is.
    if fields.get("additionalProperties") == Some(&Value::Bool(true)) {
        fields.remove("additionalProperties");
    }
    // An optional field may be left out; null is not offered.
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(items) = fields.get_mut("items") {
        simplify(items);
        if let Value::Object(items) = items {
            items.remove("description");
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.retain(|name, _| !PLAN_ONLY.contains(&name.as_str()));
        properties.values_mut().for_each(simplify);
    }
}

/// The type of a property of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum PropertyKind {
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// A whole number.
    Count,
    /// An object.
    Object,
    /// A list of objects.
    Objects,
    /// A list of texts.
    Texts,
}

/// A property of an answer: name, kind, description.
pub(super) type Property = (&'static str, PropertyKind, &'static str);

/// The properties of every failure.
const FAILURE: &[Property] = &[
    ("error_code", PropertyKind::Text, "On failure: a stable code such as MATCH_NOT_FOUND."),
    ("error", PropertyKind::Text, "On failure: what went wrong."),
    ("message", PropertyKind::Text, "What is true of the files now."),
    ("recovery_hint", PropertyKind::Text, "On failure: what to send next."),
    ("retryable", PropertyKind::Flag, "On failure: whether the same call may succeed later."),
    ("outcome", PropertyKind::Text, "On failure: unchanged, rolled_back, partly_rolled_back or recovery_required."),
    ("errors", PropertyKind::Objects, "On VALIDATION_FAILED: every finding, with its path in the arguments."),
];

/// The schema of a tool's answer, for success and failure.
pub(super) fn output(properties: &[Property]) -> Arc<JsonObject> {
    let mut all = JsonObject::new();
    all.insert("success".to_owned(), json!({"type": "boolean", "description": "Whether it was done."}));
    for (name, kind, description) in properties.iter().chain(FAILURE) {
        let schema = match kind {
            PropertyKind::Text => json!({"type": "string", "description": description}),
            PropertyKind::Flag => json!({"type": "boolean", "description": description}),
            PropertyKind::Count => json!({"type": "integer", "description": description}),
            PropertyKind::Object => json!({"type": "object", "description": description}),
            PropertyKind::Objects => json!({"type": "array", "items": {"type": "object"}, "description": description}),
            PropertyKind::Texts => json!({"type": "array", "items": {"type": "string"}, "description": description}),
        };
        all.insert((*name).to_owned(), schema);
    }
    Arc::new(object(json!({"type": "object", "properties": all, "required": ["success"]})))
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    }
}
