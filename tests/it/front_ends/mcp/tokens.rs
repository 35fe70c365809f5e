//! What answers cost: every byte of them is read by a model, in this call and in each later one.
//!
//! Tokens are those of `o200k_base`, which `tests/mcp/run` counts. Here bytes are bounded: a token of such text has 3.2
//! bytes or more.

#![expect(clippy::print_stdout, clippy::cast_precision_loss, reason = "a table of small numbers is to be seen")]

use serde_json::{Value, json};

use super::{Root, Session};

const BYTES_OF_A_TOKEN: f64 = 3.2;

/// The text of an answer, as a model reads it.
fn text(session: &mut Session, tool: &str, arguments: &Value) -> String {
    let answer = session.call_raw(tool, arguments);
    let text = answer["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["success"], true, "{text}");
    text
}

fn lines(count: usize) -> String {
    let line = |line| format!("let value_{line} = compute_{line}(\"first\", \"second {line}\");\n");
    (0..count).map(line).collect::<Vec<_>>().concat()
}

#[test]
fn answers_fit_their_budgets() {
    let names: Vec<String> = (0..30).map(|n| format!("src/module_{n}/parser.rs")).collect();
    let content = lines(100);
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "old_name();\nold_name();\n")).collect();
    files.push(("a.rs", &content));
    let root = Root::with(&files);
    let mut session = root.open(&[]);
    let edit = |n: usize| json!({"old_string": format!("compute_{n}("), "new_string": format!("compute_all_{n}(")});
    let edits: Vec<Value> = (0..100).map(edit).collect();
    let rows = [
        (
            "100 edits in one file",
            4_400.0,
            text(&mut session, "multi_edit", &json!({"file_path": "a.rs", "edits": edits})),
        ),
        (
            "a rename in 30 files",
            1_000.0,
            text(
                &mut session,
                "replace_in_files",
                &json!({"pattern": "old_name", "replacement": "new_name", "word": true}),
            ),
        ),
    ];
    println!("| answer | bytes | tokens, at 3.2 bytes each | goal |");
    for (what, goal, answer) in &rows {
        let tokens = answer.len() as f64 / BYTES_OF_A_TOKEN;
        println!("| {what} | {} | {tokens:.0} | {goal} |", answer.len());
        assert!(tokens <= *goal, "{what}: {answer}");
    }
    // Quotes and line breaks stand as they are.
    let own = root.read("a.rs");
    let read = session.call_raw("read_files", &json!({"paths": ["a.rs"]}));
    let blocks: Vec<&str> = read["content"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    let bytes: usize = blocks.iter().map(|block| block.len()).sum();
    println!("| a file of {} bytes | {bytes} | | 1.1 times its own |", own.len());
    assert_eq!((blocks.len(), blocks[1]), (2, &*own));
    assert!((bytes as f64) < own.len() as f64 * 1.1, "{bytes}");
}

#[test]
fn what_is_left_out_is_there_if_it_is_asked_for() {
    let root = Root::with(&[("a", "one\n")]);
    let mut session = root.open(&[]);
    let file = json!({"file_path": "a", "edits": [{"old_string": "one", "new_string": "two"}]});
    let all = session.done("multi_edit_files", &json!({"files": [file], "verbose": true}));
    let file = &all["file_results"][0];
    assert!(file["hash_before"].is_string() && file["hash_after"].is_string(), "{all}");
    assert_eq!(file["edits"][0]["lines"], json!([1]));
    assert!(file["diff"].as_str().unwrap().contains("-one\n+two\n"), "{all}");
    let undo = session.done("undo_transaction", &json!({}));
    assert_eq!(undo["file_results"][0]["hash_after"], Value::Null, "{undo}");
    let again = json!({"pattern": "one", "replacement": "two", "verbose": true});
    let found = session.done("replace_in_files", &again);
    assert!(found["file_results"][0]["hash_after"].is_string(), "{found}");
}
