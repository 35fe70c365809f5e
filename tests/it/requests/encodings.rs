//! Files in other encodings than UTF-8: by their mark, or because the request names it.

use std::fs;

use serde_json::{Value, json};
use txedit::error::{Detail, EncodingFault};
use txedit::{ErrorKind, Outcome, Patch, Report, Request, UndoOptions, wire};

use crate::support::workspace::{Workspace, running};

/// A text in UTF-16, little-endian, with its mark.
fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

fn edit(old: &str, new: &str, encoding: Option<&str>) -> Value {
    let mut file = json!({ "file_path": "a", "edits": [{ "old_string": old, "new_string": new }] });
    if let Some(label) = encoding {
        file["encoding"] = label.into();
    }
    json!({ "files": [file] })
}

fn with(content: &[u8]) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("a", content);
    workspace
}

fn bytes(workspace: &Workspace, path: &str) -> Vec<u8> {
    fs::read(workspace.path(path)).unwrap()
}

/// The answer over the wire.
fn answer(request: &Value, report: &Report) -> Value {
    let request = wire::parse(request.to_string().as_bytes()).unwrap();
    let request = request.into_request(txedit::PathRule::AbsoluteOrRelative).unwrap();
    serde_json::to_value(wire::success_multi(report, &request)).unwrap()
}

#[test]
fn utf_16_is_edited_by_its_mark_and_reverted() {
    let before = utf16("größe = 1\r\nzwei\r\n");
    let workspace = with(&before);
    let report = workspace.apply(&edit("größe = 1\n", "größe = 2\nneu = '日本'\n", None)).unwrap();
    let after = utf16("größe = 2\r\nneu = '日本'\r\nzwei\r\n");
    assert_eq!(bytes(&workspace, "a"), after);
    assert_eq!(report.files[0].hash_after, Some(txedit::Digest::of(&after)), "the hash is that of the bytes");
    let shown = workspace.engine.show(report.transaction.as_deref().unwrap()).unwrap();
    assert!(shown.files[0].diff.contains("+neu = '日本'"), "{}", shown.files[0].diff);
    assert_eq!(shown.files[0].lines, Some((2, 1)));
    workspace.undo(None).unwrap();
    assert_eq!(bytes(&workspace, "a"), before);
}

#[test]
fn a_named_encoding_is_edited_and_shown_as_text() {
    let workspace = with(b"caf\xe9 = 1\n\xe9\n");
    let mut request = edit("café = 1", "café = 2 €", Some("windows-1252"));
    (request["dry_run"], request["include_content"]) = (true.into(), true.into());
    let report = workspace.apply(&request).unwrap();
    let shown = answer(&request, &report);
    let file = &shown["file_results"][0];
    assert_eq!(file["final_content"], "café = 2 €\né\n");
    assert!(file["diff"].as_str().unwrap().contains("-café = 1\n+café = 2 €\n"), "{file}");
    assert_eq!(file["warnings"], Value::Null);
    request["dry_run"] = false.into();
    workspace.apply(&request).unwrap();
    assert_eq!(bytes(&workspace, "a"), b"caf\xe9 = 2 \x80\n\xe9\n");
}

#[test]
fn what_cannot_be_said_in_it_is_refused_by_character() {
    let workspace = with(b"\x93\xfa\x96\x7b one\n");
    let mut request = edit("日本", "本日", Some("shift_jis"));
    let edits = request["files"][0]["edits"].as_array_mut().unwrap();
    edits.push(json!({ "old_string": "one", "new_string": "1 €" }));
    let error = workspace.refuses(&request);
    assert_eq!((error.kind(), error.file(), error.edit()), (ErrorKind::InvalidEncoding, Some(0), Some(1)));
    assert_eq!(error.message(), "U+20AC '€' cannot be written in Shift_JIS");
    assert!(matches!(error.details(), Detail::Encoding(EncodingFault::Unmappable('€'))), "{error:?}");
    request["files"][0]["edits"].as_array_mut().unwrap().pop();
    workspace.apply(&request).unwrap();
    assert_eq!(bytes(&workspace, "a"), b"\x96\x7b\x93\xfa one\n");
}

#[test]
fn a_label_is_checked_before_anything_is_read() {
    let workspace = with(b"one\n");
    let error =
        workspace.finds(&edit("one", "two", Some("klingon")), &[(ErrorKind::ValidationFailed, "files/0/encoding")]);
    assert!(error.to_string().contains("no encoding is called \"klingon\""), "{error}");
    let request = json!({ "files": [{ "file_path": "a", "delete": true, "encoding": "latin1" }] });
    workspace.finds(&request, &[(ErrorKind::ValidationFailed, "files/0/encoding")]);
}

#[test]
fn a_name_that_contradicts_the_mark_is_refused() {
    let workspace = with(&utf16("one\n"));
    for label in ["utf-8", "utf-16be", "windows-1252"] {
        let error = workspace.refuses(&edit("one", "two", Some(label)));
        assert_eq!(error.kind(), ErrorKind::InvalidEncoding, "{label}: {error}");
        assert!(matches!(error.details(), Detail::Encoding(EncodingFault::Contradicted)), "{error:?}");
    }
    workspace.apply(&edit("one", "two", Some("utf-16"))).unwrap();
    assert_eq!(bytes(&workspace, "a"), utf16("two\n"));
}

#[test]
fn what_is_not_utf_8_is_refused_with_what_to_send() {
    for content in [&b"o\0n\0e\0"[..], b"one \xe9"] {
        let workspace = with(content);
        let error = workspace.refuses(&edit("one", "é", None));
        assert_eq!(error.kind(), ErrorKind::InvalidEncoding, "{error}");
        assert!(matches!(error.details(), Detail::Encoding(EncodingFault::NotNamed)), "{error:?}");
        assert!(error.message().contains("name its encoding"), "{error}");
    }
}

#[test]
fn a_new_file_is_written_in_its_encoding() {
    let workspace = Workspace::new();
    let file = |name: &str, text: &str, label: &str| json!({ "file_path": name, "content": text, "encoding": label });
    let request = json!({ "files": [
        file("a", "日\n", "utf-16"), file("b", "日\n", "utf-16be"), file("c", "日\n", "euc-jp"), file("d", "é\n", "utf-8"),
    ] });
    workspace.apply(&request).unwrap();
    assert_eq!(bytes(&workspace, "a"), utf16("日\n"));
    assert_eq!(bytes(&workspace, "b"), b"\xfe\xff\x65\xe5\0\n");
    assert_eq!(bytes(&workspace, "c"), b"\xc6\xfc\n");
    assert_eq!(bytes(&workspace, "d"), "é\n".as_bytes());
    let error =
        workspace.apply(&json!({ "files": [file("new", "1\n", "koi8-r"), file("e", "€", "koi8-r")] })).unwrap_err();
    assert_eq!((error.kind(), error.file(), error.edit()), (ErrorKind::InvalidEncoding, Some(1), None));
    assert_eq!(error.outcome(), Outcome::Unchanged);
    assert!(!workspace.path("new").exists());
}

#[test]
fn malformed_bytes_stay_where_they_are() {
    let lone = [0x00, 0xd8];
    let workspace = with(&[&utf16("one\n")[..], &lone, &utf16("two\n")[2..]].concat());
    workspace.apply(&edit("two", "2", None)).unwrap();
    assert_eq!(bytes(&workspace, "a"), [&utf16("one\n")[..], &lone, &utf16("2\n")[2..]].concat());
    assert_eq!(workspace.refuses(&edit("\u{fffd}2", "2", None)).kind(), ErrorKind::MatchNotFound);
}

#[test]
fn a_large_file_is_decoded_as_a_whole() {
    let lines = (0..300_000).map(|n| format!("Zeile {n:06} ä\r\n")).collect::<Vec<_>>().concat();
    let workspace = with(&utf16(&lines));
    let report = workspace.apply(&edit("Zeile 200000 ä", "Zeile 日", None)).unwrap();
    assert_eq!(report.files[0].edits[0].lines, [200_001]);
    assert!(bytes(&workspace, "a") == utf16(&lines.replace("Zeile 200000 ä", "Zeile 日")));
    let latin: Vec<u8> = lines.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    workspace.write("a", &latin);
    workspace.apply(&edit("Zeile 200000 ä", "ö", Some("latin1"))).unwrap();
    assert_eq!(bytes(&workspace, "a").len(), latin.len() - 13);
}

#[test]
fn a_patch_of_the_text_is_applied() {
    let workspace = with(&utf16("eins\r\nzwei\r\ndrei\r\n"));
    let patch = "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n eins\n-zwei\n+zwölf\n drei\n";
    let request = Patch::read(patch.as_bytes(), None, None).unwrap().request;
    workspace.engine.apply(&request, running()).unwrap();
    assert_eq!(bytes(&workspace, "a"), utf16("eins\r\nzwölf\r\ndrei\r\n"));
}

#[test]
fn a_copy_takes_the_encoding_that_is_named() {
    use txedit::{Change, Edit, FileRequest};
    let workspace = with(b"caf\xe9\n");
    let change = Change::Copy { from: "a".into(), edits: vec![Edit::replace("café", "thé")] };
    let file = FileRequest::new("b", change).encoding("latin1".parse().unwrap());
    workspace.engine.apply(&Request::of_files(vec![file]), running()).unwrap();
    assert_eq!(bytes(&workspace, "b"), b"th\xe9\n");
}

#[test]
fn the_encoding_is_part_of_what_a_key_stands_for() {
    let workspace = with(b"caf\xe9\n");
    let mut request = edit("café", "thé", Some("latin1"));
    request["idempotency_key"] = "k".into();
    workspace.apply(&request).unwrap();
    assert!(workspace.apply(&request).unwrap().already_applied);
    request["files"][0]["encoding"] = "iso-8859-15".into();
    let error = workspace.apply(&request).unwrap_err();
    assert!(error.message().contains("key"), "{error}");
}

#[test]
fn an_open_transaction_keeps_the_encoding() {
    let workspace = with(b"caf\xe9 one\nx\ny\ntwo \xe9\n");
    let id = workspace.open(&edit("café one", "thé 1", Some("latin1")));
    // What is added is in the same encoding, named or not.
    workspace.stage(Some(&id), &edit("thé 1", "thé é 1", None)).unwrap();
    let error = workspace.stage(Some(&id), &edit("two", "2", Some("koi8-r"))).unwrap_err();
    assert!(error.to_string().contains("windows-1252") && error.to_string().contains("KOI8-R"), "{error}");
    let preview = workspace.preview(&id).unwrap();
    assert!(preview.report.files[0].extras.diff.as_deref().unwrap().contains("+thé é 1"), "{preview:?}");
    // Another program changes another line: the edits are carried over.
    workspace.write("a", b"new \xe9\ncaf\xe9 one\nx\ny\ntwo \xe9\n");
    let report = workspace.commit(&id).unwrap();
    assert!(report.files[0].extras.rebased.as_deref().unwrap().contains("+new é"), "{report:?}");
    assert_eq!(bytes(&workspace, "a"), b"new \xe9\nth\xe9 \xe9 1\nx\ny\ntwo \xe9\n");
}

#[test]
fn a_staged_new_file_is_encoded_by_the_commit() {
    let workspace = Workspace::new();
    let new = json!({ "files": [{ "file_path": "a", "content": "日 one\n", "encoding": "utf-16" }] });
    let id = workspace.open(&new);
    workspace.stage(Some(&id), &edit("日 one", "本 1", None)).unwrap();
    workspace.commit(&id).unwrap();
    assert_eq!(bytes(&workspace, "a"), utf16("本 1\n"));
}

#[test]
fn a_patch_is_staged_for_a_file_in_utf_16() {
    let workspace = with(&utf16("eins\nzwei\ndrei\n"));
    let patch = "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n eins\n-zwei\n+zwölf\n drei\n";
    let request = Patch::read(patch.as_bytes(), None, None).unwrap().request;
    let id = workspace.engine.stage(&request, None, running()).unwrap().id.unwrap();
    workspace.stage(Some(&id), &edit("zwölf", "12 ö", None)).unwrap();
    workspace.commit(&id).unwrap();
    assert_eq!(bytes(&workspace, "a"), utf16("eins\n12 ö\ndrei\n"));
}

#[test]
fn an_undo_goes_around_what_others_wrote_in_any_encoding() {
    for (label, before, after, more) in [
        ("iso-2022-jp", &b"\x1b$BI=\x1b(B1\nx\n"[..], &b"\x1b$B%=\x1b(B1\nx\n"[..], &b"\x1b$BI=\x1b(B\n"[..]),
        ("shift_jis", b"\x95\x5c1\nx\n", b"\x83\x5c1\nx\n", b"\x95\x5c\n"),
        ("latin1", b"caf\xe9 1\nx\n", b"caf\xe8 1\nx\n", b"\xff\n"),
    ] {
        let workspace = with(before);
        let (old, new) = if label == "latin1" { ("café 1", "cafè 1") } else { ("表1", "ソ1") };
        workspace.apply(&edit(old, new, Some(label))).unwrap();
        assert_eq!(bytes(&workspace, "a"), after);
        workspace.write("a", [after, more].concat());
        let options = UndoOptions::default().rebase(true);
        workspace.engine.undo_with(None, &options, running()).unwrap();
        assert_eq!(bytes(&workspace, "a"), [before, more].concat(), "{label}");
    }
}

#[test]
fn a_staged_edit_is_not_put_into_a_file_that_is_in_another_encoding_by_now() {
    let workspace = with(b"\x95\x5c\nmid\none\n");
    let id = workspace.open(&edit("one", "漢", Some("shift_jis")));
    workspace.write("a", "表\nmid\none\n");
    let error = workspace.commit(&id).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConcurrentModification, "{error}");
    assert_eq!(bytes(&workspace, "a"), "表\nmid\none\n".as_bytes());
}
