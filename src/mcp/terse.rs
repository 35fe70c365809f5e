//! Leaves out of a success what an agent seldom needs: each of its tokens is paid for, in every later call as well.
//!
//! Left out are the hashes of each file, that it was edited, and the edits that did what they were to do; what is unusual
//! stays. The argument `verbose` brings everything back, and the diffs.

use serde_json::{Map, Value};

/// Shortens the answer to a call that succeeded.
pub(super) fn shorten(answer: &mut Value) {
    let Value::Object(fields) = answer else { return };
    // What is left is not what the schema of that version says.
    fields.remove("schema_version");
    // No tool takes that of a dry run; that of a preview stays.
    if fields.get("dry_run") == Some(&Value::Bool(true)) {
        fields.remove("plan_hash");
    }
    let files = fields.get_mut("file_results").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        file.remove("success");
        file.remove("hash_after");
        shorten_file(file);
    }
    // The hash of a single file stays: the next edit may expect it.
    shorten_file(fields);
}

fn shorten_file(file: &mut Map<String, Value>) {
    file.remove("hash_before");
    if file.get("dry_run") == Some(&Value::Bool(false)) {
        file.remove("dry_run");
    }
    if file.get("operation").is_some_and(|operation| operation == "edit") {
        file.remove("operation");
    }
    let Some(Value::Array(edits)) = file.remove("edits") else { return };
    let unusual = edits.into_iter().enumerate().filter(|(_, edit)| !is_plain(edit));
    let unusual: Vec<Value> = unusual.map(|(index, edit)| numbered(index, edit)).collect();
    if !unusual.is_empty() {
        file.insert("edits".to_owned(), unusual.into());
    }
}

/// Returns whether an edit matched exactly, at one place.
fn is_plain(edit: &Value) -> bool {
    edit["match_kind"] == "exact" && edit["occurrences_replaced"] == 1
}

/// An edit with its place in the request, from 0, since not all are listed.
fn numbered(index: usize, mut edit: Value) -> Value {
    if let Value::Object(fields) = &mut edit {
        fields.remove("matched");
        fields.insert("edit_index".to_owned(), index.into());
    }
    edit
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_unusual_stays() {
        let edit = |kind: &str, replaced: usize| json!({"old_string": "a", "matched": true, "match_kind": kind, "occurrences_replaced": replaced});
        let file = |edits: Vec<Value>| json!({"success": true, "file_path": "/a", "operation": "edit", "dry_run": false, "hash_before": "1", "hash_after": "2", "edits": edits});
        let mut answer = json!({"success": true, "dry_run": false, "transaction_id": "t", "file_results":
            [file(vec![edit("exact", 1), edit("tolerant", 1)]), file(vec![edit("exact", 1)])]});
        shorten(&mut answer);
        let unusual = json!({"old_string": "a", "match_kind": "tolerant", "occurrences_replaced": 1, "edit_index": 1});
        let files = json!([{"file_path": "/a", "edits": [unusual]}, {"file_path": "/a"}]);
        assert_eq!(answer, json!({"success": true, "transaction_id": "t", "file_results": files}));
        let mut answer = file(vec![edit("exact", 3)]);
        shorten(&mut answer);
        assert_eq!((&answer["hash_after"], &answer["hash_before"]), (&json!("2"), &Value::Null));
        assert_eq!(answer["edits"][0]["occurrences_replaced"], 3);
        let [mut dry, mut preview] = [json!({"dry_run": true, "plan_hash": "1"}), json!({"plan_hash": "1"})];
        [&mut dry, &mut preview].into_iter().for_each(shorten);
        assert_eq!([&dry["plan_hash"], &preview["plan_hash"]], [&Value::Null, &json!("1")]);
    }
}
