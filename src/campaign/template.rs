//! Variables in texts: `{{NAME}}` stands for the value that a workspace has for `NAME`.

use std::collections::BTreeMap;

use serde_json::Value;

/// The text with the values of variables. A value is put in as it is; what is no variable stays as it stands.
pub(super) fn filled(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let (before, from) = rest.split_at(start);
        filled.push_str(before);
        let name = from[2..].split_once("}}").map(|(name, _)| name);
        if let Some((name, value)) = name.and_then(|name| Some((name, variables.get(name)?))) {
            filled.push_str(value);
            rest = &from[name.len() + 4..];
        } else {
            // Of three braces the last two may begin a name.
            filled.push('{');
            rest = &from[1..];
        }
    }
    filled.push_str(rest);
    filled
}

/// A variable that a text has in it.
pub(super) fn first_in(text: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    variables.keys().find(|name| text.contains(&format!("{{{{{name}}}}}"))).cloned()
}

/// Fills in each text of a JSON value. Names of fields stay as they are.
pub(super) fn fill(value: &mut Value, variables: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => *text = filled(text, variables),
        Value::Array(list) => list.iter_mut().for_each(|value| fill(value, variables)),
        // A check is a command: no shell reads a value.
        Value::Object(fields) => {
            fields.iter_mut().filter(|(name, _)| *name != "check").for_each(|(_, value)| fill(value, variables));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_are_filled_in_and_values_are_not_filled_again() {
        let variables = BTreeMap::from([("a".to_owned(), "{{b}}".to_owned()), ("b".to_owned(), "2".to_owned())]);
        let filled = |text| filled(text, &variables);
        assert_eq!(filled("{{a}} {{b}} {{c}} {{ b }} {b} {{"), "{{b}} 2 {{c}} {{ b }} {b} {{");
        assert_eq!(filled("{{{b}}} {{b"), "{2} {{b");
        assert_eq!(filled("ä{{b}}ö"), "ä2ö");
    }

    #[test]
    fn texts_of_a_plan_are_filled_in_whatever_is_in_a_value() {
        let mut plan = serde_json::json!({ "files": [{ "file_path": "{{b}}", "content": "x{{a}}", "{{a}}": 1 }] });
        fill(&mut plan, &BTreeMap::from([("a".into(), "\"}, {".into()), ("b".into(), "f".into())]));
        assert_eq!(plan, serde_json::json!({ "files": [{ "file_path": "f", "content": "x\"}, {", "{{a}}": 1 }] }));
    }
}
