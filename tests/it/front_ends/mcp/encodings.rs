//! Files in other encodings than UTF-8, read and edited over MCP.

use serde_json::json;

use super::Root;

fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect()
}

#[test]
fn utf_16_is_read_and_edited_as_text() {
    let root = Root::with(&[]);
    std::fs::write(root.path("a"), utf16("eins\nzwölf\ndrei\n")).unwrap();
    let mut session = root.open(&[]);
    let read = session.done("read_files", &json!({"paths": ["a"], "start_line": 2, "end_line": 2}));
    let file = &read["files"][0];
    assert_eq!(
        (&file["content"], &file["lines"], &file["bytes"]),
        (&json!("zwölf\n"), &json!(3), &json!(34)),
        "{read}"
    );
    assert_eq!((&file["encoding"], &file["malformed"]), (&json!("UTF-16BE"), &json!(null)), "{read}");
    let edits = json!([{"old_string": "zwölf", "new_string": "日本"}]);
    session.done("multi_edit", &json!({"file_path": "a", "edits": edits, "expected_hash": file["hash"]}));
    assert_eq!(std::fs::read(root.path("a")).unwrap(), utf16("eins\n日本\ndrei\n"));
}

#[test]
fn an_encoding_is_named_in_every_tool_that_edits_one_file() {
    let root = Root::with(&[]);
    std::fs::write(root.path("a"), b"caf\xe9\n\x81\n").unwrap();
    let mut session = root.open(&[]);
    let read = session.done("read_files", &json!({"paths": ["a"]}));
    let skipped = &read["skipped"][0];
    assert_eq!(skipped["error_code"], "INVALID_ENCODING", "{read}");
    assert!(skipped["recovery_hint"].as_str().unwrap().contains("send its `encoding`"), "{read}");
    let read = session.done("read_files", &json!({"paths": ["a"], "encoding": "big5"}));
    assert_eq!(read["files"][0]["malformed"], 2, "{read}");
    let refused = session.failed(
        "edit_file",
        &json!({"path": "a", "old_string": "caf", "new_string": "thé"}),
        "INVALID_ENCODING",
    );
    assert!(refused["recovery_hint"].as_str().unwrap().contains("send its `encoding`"), "{refused}");
    let arguments = json!({"path": "a", "old_string": "café", "new_string": "thé", "encoding": "latin1"});
    session.done("edit_file", &arguments);
    assert_eq!(std::fs::read(root.path("a")).unwrap(), b"th\xe9\n\x81\n");
    let edits = json!([{"old_string": "thé", "new_string": "t €"}]);
    let refused = session.failed(
        "multi_edit",
        &json!({"file_path": "a", "edits": edits, "encoding": "iso-8859-2"}),
        "INVALID_ENCODING",
    );
    assert!(refused["error"].as_str().unwrap().contains("U+20AC '€' cannot be written in ISO-8859-2"), "{refused}");
    assert!(refused["recovery_hint"].as_str().unwrap().starts_with("Send new_string without U+20AC"), "{refused}");
    session.done("multi_edit", &json!({"file_path": "a", "edits": edits, "encoding": "windows-1252"}));
    assert_eq!(std::fs::read(root.path("a")).unwrap(), b"t \x80\n\x81\n");
    session.failed("read_files", &json!({"paths": ["a"], "encoding": "klingon"}), "VALIDATION_FAILED");
}
