//! Words a fault in the types of a request as JSON has them: those of serde are Rust's.

/// The most characters of a value that a message repeats.
const SHOWN: usize = 50;

/// Other servers' names of fields, with ours.
const OTHER_NAMES: [(&[&str], &str); 5] = [
    (&["path", "file", "filePath", "filename", "target_file"], "file_path"),
    (&["file_path", "file", "filePath", "filename", "target_file"], "path"),
    (&["oldText", "old_text", "oldString", "old_str", "old", "search", "find"], "old_string"),
    (&["newText", "new_text", "newString", "new_str", "new", "replace", "replacement"], "new_string"),
    (&["replaceAll", "all"], "replace_all"),
];

/// The message of a fault that serde found.
pub(super) fn in_json_words(fault: &str) -> String {
    if let Some(unknown) = fault.strip_prefix("unknown field `")
        && let Some((name, known)) = unknown.split_once("`, expected ")
    {
        return unknown_field(name, known.split('`').skip(1).step_by(2));
    }
    let typed = fault.strip_prefix("invalid type: ").or_else(|| fault.strip_prefix("invalid value: "));
    match typed.and_then(|typed| typed.rsplit_once(", expected ")) {
        Some((given, wanted)) => format!("takes {}, not {}", wanted_type(wanted), given_value(given)),
        None => fault.to_owned(),
    }
}

/// The message about a field that is not one of the `known`.
pub(super) fn unknown_field<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let ours = OTHER_NAMES.iter().filter(|(others, _)| others.contains(&name)).map(|(_, ours)| *ours);
    if let Some(ours) = ours.into_iter().find(|ours| known.contains(ours)) {
        format!("unknown field `{name}`: here it is called `{ours}`")
    } else {
        let known: Vec<_> = known.iter().map(|known| format!("`{known}`")).collect();
        format!("unknown field `{name}`, expected one of {}", known.join(", "))
    }
}

fn wanted_type(serde: &str) -> &str {
    match serde {
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "an object",
        "i64" | "u32" | "u64" | "usize" => "a whole number",
        other => other,
    }
}

fn given_value(serde: &str) -> String {
    let value = |kind: &str| serde.strip_prefix(kind)?.strip_suffix('`');
    match serde {
        "sequence" => "an array".to_owned(),
        "map" => "an object".to_owned(),
        "unit value" => "null".to_owned(),
        _ => {
            if let Some(text) = serde.strip_prefix("string ") {
                format!("the string {}", shortened(text))
            } else {
                let kinds = ["boolean `", "integer `", "floating point `"];
                kinds.into_iter().find_map(value).unwrap_or(serde).to_owned()
            }
        }
    }
}

/// A quoted text, cut behind so many characters.
fn shortened(quoted: &str) -> String {
    match quoted.char_indices().nth(SHOWN + 1) {
        Some((end, _)) if quoted.len() > end + 1 => format!("{}…\"", quoted[..end].trim_end_matches('\\')),
        _ => quoted.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its types matter")]
    struct Fields {
        flag: Option<bool>,
        count: Option<usize>,
        list: Option<Vec<String>>,
        object: Option<std::collections::HashMap<String, String>>,
    }

    fn fault(value: Value) -> String {
        in_json_words(&serde_json::from_value::<Fields>(value).unwrap_err().to_string())
    }

    #[test]
    fn types_are_those_of_json() {
        for (value, told) in [
            (json!({"flag": "yes"}), "takes true or false, not the string \"yes\""),
            (json!({"flag": 1}), "takes true or false, not 1"),
            (json!({"count": -1}), "takes a whole number, not -1"),
            (json!({"count": 1.5}), "takes a whole number, not 1.5"),
            (json!({"count": [1]}), "takes a whole number, not an array"),
            (json!({"list": {}}), "takes an array, not an object"),
            (json!({"list": true}), "takes an array, not true"),
            (json!({"list": [null]}), "takes a string, not null"),
            (json!({"object": ["x, expected y"]}), "takes an object, not an array"),
            (json!({"flag": "x, expected y"}), "takes true or false, not the string \"x, expected y\""),
        ] {
            assert_eq!(fault(value.clone()), told, "{value}");
        }
    }

    #[test]
    fn a_long_value_is_cut() {
        for long in ["x".repeat(200), "ä".repeat(200), "\\".repeat(200)] {
            let told = fault(json!({"flag": long}));
            assert!(told.chars().count() < 100 && told.ends_with("…\""), "{told}");
        }
        assert_eq!(fault(json!({"flag": "x".repeat(50)})).matches('x').count(), 50);
    }

    #[test]
    fn names_of_other_servers_are_told_with_ours() {
        let known = ["old_string", "new_string", "replace_all"];
        assert_eq!(unknown_field("oldText", known), "unknown field `oldText`: here it is called `old_string`");
        assert_eq!(unknown_field("path", ["file_path"]), "unknown field `path`: here it is called `file_path`");
        assert_eq!(unknown_field("file_path", ["path"]), "unknown field `file_path`: here it is called `path`");
        let none = "unknown field `path`, expected one of `old_string`, `new_string`, `replace_all`";
        assert_eq!(unknown_field("path", known), none);
        assert_eq!(in_json_words(none), none);
        assert_eq!(
            fault(json!({"flags": true})),
            "unknown field `flags`, expected one of `flag`, `count`, `list`, `object`"
        );
        let two = "unknown field `oldText`, expected `old_string` or `new_string`";
        assert_eq!(in_json_words(two), "unknown field `oldText`: here it is called `old_string`");
    }
}
