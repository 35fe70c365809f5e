//! Shortens answers that are too long for a client, so that they stay true and say where the rest is.

use serde_json::Value;

use super::diffs::DiffUri;

/// The least bytes of a string that are left. No hash, id or code is longer, so that none is ever cut.
const LEAST_STRING: usize = 256;

/// The bytes of each string for which the number of entries of lists is chosen: of a diff the first hunks.
const USEFUL_STRING: usize = 2_048;

/// Cuts `answer` to `max_bytes` of text, which is returned: the lists to as many entries as fit, and then the strings to
/// as many bytes. Its totals still count everything. Only an answer that is long without its lists and strings stays
/// longer.
pub(super) fn cut(answer: &mut Value, max_bytes: usize, transaction: Option<&str>) -> String {
    let rest = match transaction {
        Some(id) => {
            let all = DiffUri::of(id);
            let part = all.template();
            format!("the resource {all} has every change, {part} that of a file in pieces; read_files the contents")
        }
        None => "ask for fewer files at once, or start the server with a larger --max-answer-bytes".to_owned(),
    };
    if let Value::Object(fields) = answer {
        fields.insert("truncated".to_owned(), format!("This answer was cut to {max_bytes} bytes: {rest}.").into());
    }
    let with = |string: usize, list: usize| {
        let mut shorter = answer.clone();
        shorten(&mut shorter, string, list);
        let text = shorter.to_string();
        (text.len() <= max_bytes).then_some((shorter, text))
    };
    let longest = longest_list(answer);
    let useful = most(1, longest, |list| with(USEFUL_STRING, list).is_some());
    // With so long strings not even one entry fits: then as many as do with the shortest.
    let list = useful.or_else(|| most(1, longest, |list| with(LEAST_STRING, list).is_some())).unwrap_or(1);
    let string = most(LEAST_STRING, max_bytes, |string| with(string, list).is_some()).unwrap_or(LEAST_STRING);
    let (shorter, text) = with(string, list).unwrap_or_else(|| {
        let mut shorter = answer.clone();
        shorten(&mut shorter, string, list);
        let text = shorter.to_string();
        (shorter, text)
    });
    *answer = shorter;
    text
}

/// The largest number from `least` to `most` with which something fits; what fits with one fits with every smaller one.
fn most(least: usize, most: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    if !fits(least) {
        return None;
    }
    let (mut known, mut above) = (least, most.max(least) + 1);
    while above - known > 1 {
        let middle = known + (above - known) / 2;
        if fits(middle) {
            known = middle;
        } else {
            above = middle;
        }
    }
    Some(known)
}

fn longest_list(value: &Value) -> usize {
    match value {
        Value::Array(entries) => entries.iter().map(longest_list).max().unwrap_or(0).max(entries.len()),
        Value::Object(fields) => fields.values().map(longest_list).max().unwrap_or(0),
        _ => 0,
    }
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
            // What says that the answer was cut, and where the rest is, is not cut itself.
            for (_, field) in fields.iter_mut().filter(|(name, _)| *name != "truncated") {
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
    let end = boundary(text, bytes);
    let more = text.len() - end;
    text.truncate(end);
    *text = format!("{text}… [{more} more bytes]");
}

/// The end of the last whole character up to a place in a text.
pub(super) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
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
        assert!(answer["files"].as_array().unwrap().len() > 10);
        let diff = answer["files"][0]["diff"].as_str().unwrap();
        assert!(diff.ends_with(" more bytes]"), "{diff}");
        assert_eq!(text, answer.to_string());
    }

    #[test]
    fn the_whole_budget_is_used() {
        for length in [50_000, 1_000_000] {
            let mut answer = json!({"success": true, "diff": "x".repeat(length), "files": ["a", "b"]});
            let text = cut(&mut answer, 40_000, None);
            assert!((39_950..=40_000).contains(&text.len()), "{}", text.len());
            assert_eq!(answer["files"], json!(["a", "b"]));
        }
        let names: Vec<_> = (0..100_000).map(|n| json!({"file_path": format!("/p/{n:06}")})).collect();
        let text = cut(&mut json!({"success": true, "files": names}), 40_000, None);
        assert!((39_900..=40_000).contains(&text.len()), "{}", text.len());
    }
}
