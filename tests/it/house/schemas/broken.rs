//! Compares two schemas: what somebody relies on who knows the one, and is not so in the other.

use serde_json::{Map, Value};

/// Who relies on a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// A caller reads what the program writes.
    Written,
    /// A caller writes what the program reads.
    Read,
}

/// A schema within its document.
#[derive(Clone, Copy)]
struct Within<'a> {
    document: &'a Value,
    schema: &'a Value,
}

impl<'a> Within<'a> {
    /// The schema itself, where this one refers to another of the document.
    fn resolved(self) -> Self {
        let Some(reference) = self.schema.get("$ref").and_then(Value::as_str) else { return self };
        let schema = self.document.pointer(reference.trim_start_matches('#'));
        Self { schema: schema.unwrap_or_else(|| panic!("no {reference}")), ..self }.resolved()
    }

    fn at(self, schema: &'a Value) -> Self {
        Self { schema, ..self }
    }

    fn required(self) -> Vec<&'a str> {
        self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The words that it lists, if it is one of several words.
    fn words(self) -> Vec<&'a Value> {
        let listed = self.schema["enum"].as_array().into_iter().flatten();
        let described = self.schema["oneOf"].as_array().into_iter().flatten().filter_map(|one| one.get("const"));
        listed.chain(described).collect()
    }

    fn properties(self) -> Option<&'a Map<String, Value>> {
        self.schema["properties"].as_object()
    }
}

/// What does not hold any longer of `old` in `new`, each with its place.
pub(super) fn broken(old: &Value, new: &Value, direction: Direction) -> Vec<String> {
    let mut found = Vec::new();
    compare("", Within { document: old, schema: old }, Within { document: new, schema: new }, direction, &mut found);
    found
}

fn compare(place: &str, old: Within<'_>, new: Within<'_>, direction: Direction, found: &mut Vec<String>) {
    let (old, new) = (old.resolved(), new.resolved());
    let (before, now) = (&old.schema["type"], &new.schema["type"]);
    if before != now {
        found.push(format!("{place} is {now}, and was {before}"));
        return;
    }
    let is_constant = |schema: Within<'_>| schema.schema.get("const").cloned();
    if is_constant(old) != is_constant(new) {
        found.push(format!("{place} is another constant"));
    }
    let words = new.words();
    let gone = old.words().into_iter().filter(|word| !words.is_empty() && !words.contains(word));
    found.extend(gone.map(|word| format!("{place} has {word} no longer")));

    let (had, has) = (old.required(), new.required());
    let (relied_on, given, what) = match direction {
        Direction::Written => (had, has, "may be missing"),
        Direction::Read => (has, had, "is required"),
    };
    let lost = relied_on.iter().filter(|name| !given.contains(name));
    found.extend(lost.map(|name| format!("{place}/{name} {what}")));

    for (name, schema) in old.properties().into_iter().flatten() {
        let inner = format!("{place}/{name}");
        match new.properties().and_then(|properties| properties.get(name)) {
            Some(other) => compare(&inner, old.at(schema), new.at(other), direction, found),
            None => found.push(format!("{inner} is gone")),
        }
    }
    if let (Some(one), Some(other)) = (old.schema.get("items"), new.schema.get("items")) {
        compare(&format!("{place}/*"), old.at(one), new.at(other), direction, found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log() -> Value {
        json!({"type": "object", "required": ["owner"],
            "properties": {"owner": {"type": "string"}, "files": {"type": "array", "items": {"$ref": "#/$defs/File"}}},
            "$defs": {"File": {"type": "object", "properties": {
                "lines": {"type": "integer"},
                "state": {"oneOf": [{"const": "old"}, {"const": "new"}]}}}}})
    }

    fn changed(pointer: &str, value: Value) -> Value {
        let mut other = log();
        *other.pointer_mut(pointer).unwrap() = value;
        other
    }

    #[test]
    fn what_callers_miss_is_found_wherever_it_stands() {
        for (pointer, value, expected) in [
            ("/$defs/File/properties", json!({}), "/files/*/lines is gone"),
            ("/$defs/File/properties/lines/type", json!("string"), "/files/*/lines is \"string\", and was \"integer\""),
            ("/$defs/File/properties/state/oneOf/0/const", json!("gone"), "/files/*/state has \"old\" no longer"),
            ("/required", json!([]), "/owner may be missing"),
        ] {
            let found = broken(&log(), &changed(pointer, value), Direction::Written);
            assert_eq!(found.first().map(String::as_str), Some(expected), "{found:?}");
        }
        let more = changed("/required", json!(["owner", "files"]));
        assert_eq!(broken(&log(), &more, Direction::Written), Vec::<String>::new());
        assert_eq!(broken(&log(), &more, Direction::Read), ["/files is required"]);
    }

    #[test]
    fn a_new_field_is_none() {
        let mut more = log();
        more["$defs"]["File"]["properties"]["mode"] = json!({"type": "string"});
        for direction in [Direction::Written, Direction::Read] {
            assert_eq!(broken(&log(), &more, direction), Vec::<String>::new());
            assert_eq!(broken(&more, &log(), direction), ["/files/*/mode is gone"]);
        }
    }
}
