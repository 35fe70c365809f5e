//! Shortens answers that are too long for a client, so that they stay true and say where the rest is.

use serde_json::Value;

/// The most bytes of a string and entries of a list, tried in turn until the answer fits. No limit is below the length
/// of a hash, so hashes, ids and codes are never cut.
const STEPS: [(usize, usize); 6] = [(8_192, 200), (2_048, 50), (512, 20), (256, 10), (256, 4), (256, 1)];

/// Cuts `answer` to about `max_bytes` of text, which is returned. Its totals still count everything.
pub(super) fn cut(answer: &mut Value, max_bytes: usize, transaction: Option<&str>) -> String {
    let rest = match transaction {
        Some(id) => format!("the resource txedit://transactions/{id}/diff has every change, read_files the contents"),
        None => "ask for fewer files at once, or start the server with a larger --max-answer-bytes".to_owned(),
    };
    let pointer = format!("This answer was cut to {max_bytes} bytes: {rest}.");
    let mut text = String::new();
    for (string, list) in STEPS {
        shorten(answer, string, list);
        if let Value::Object(fields) = answer {
            fields.insert("truncated".to_owned(), pointer.clone().into());
        }
        text = answer.to_string();
        if text.len() <= max_bytes {
            break;
        }
    }
    text
}

fn shorten(value: &mut Value, string: usize, list: usize) {
    match value {
        Value::String(text) => shorten_string(text, string),
        Value::Array(entries) => {
            entries.truncate(list);
            for entry in entries {
                shorten(entry, string, list);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                shorten(field, string, list);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn shorten_string(text: &mut String, bytes: usize) {
    if text.len() <= bytes {
        return;
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let more = text.len() - end;
    text.truncate(end);
    *text = format!("{text}… [{more} more bytes]");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_answer_is_cut_and_says_so() {
        let files: Vec<_> =
            (0..5_000).map(|n| json!({"file_path": format!("/f{n}"), "diff": "ä".repeat(9_000)})).collect();
        let hash = "0".repeat(64);
        let mut answer =
            json!({"success": true, "hash_after": hash, "files": files, "summary": {"total_files": 5_000}});
        let text = cut(&mut answer, 40_000, Some("t1"));
        assert!(text.len() <= 40_000, "{}", text.len());
        assert_eq!(answer["summary"]["total_files"], 5_000);
        assert_eq!(answer["hash_after"], hash);
        assert!(answer["truncated"].as_str().unwrap().contains("txedit://transactions/t1/diff"));
        assert!(!answer["files"].as_array().unwrap().is_empty());
        let diff = answer["files"][0]["diff"].as_str().unwrap();
        assert!(diff.ends_with(" more bytes]"), "{diff}");
        assert_eq!(text, answer.to_string());
    }
}
