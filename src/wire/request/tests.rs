use proptest::prelude::*;

use super::*;
use crate::error::{Detail, Finding};
use crate::request::edit::{Anchor, Count, Matching};
use crate::request::validate::PathRule;
use crate::request::{Change, IfExists, Mode};

fn ask(json: &str) -> Result<crate::request::Request> {
    parse(json.as_bytes())?.into_request(PathRule::AbsoluteOrRelative)
}

fn findings(json: &str) -> Vec<Finding> {
    let error = ask(json).expect_err(json);
    assert_eq!(error.kind(), ErrorKind::ValidationFailed);
    let Detail::Findings(findings) = error.details() else { panic!("findings are expected") };
    findings.clone()
}

/// Kind, place and message of each finding.
#[track_caller]
fn expect(json: &str, expected: &[(ErrorKind, &str, &str)]) {
    let found = findings(json);
    let found: Vec<_> = found.iter().map(|f| (f.kind, f.path.join("/"), f.message.as_str())).collect();
    let expected: Vec<_> =
        expected.iter().map(|(kind, place, message)| (*kind, (*place).to_owned(), *message)).collect();
    assert_eq!(found, expected, "{json}");
}

const V: ErrorKind = ErrorKind::ValidationFailed;

/// A request of one file entry.
fn one(entry: &str) -> String {
    format!(r#"{{"files": [{{"file_path": "a", {entry}}}]}}"#)
}

/// A request of one file with these edits.
fn edits(edits: &str) -> String {
    one(&format!(r#""edits": [{edits}]"#))
}

#[test]
fn a_request_becomes_what_it_asks() {
    let request = ask(r#"{ "dry_run": true, "backup": true, "label": "l", "files": [
        {"file_path": "a", "rename_to": "b", "if_exists": "replace", "mode": "0755", "edits": [
            {"old_string": "1", "new_string": "1"},
            {"old_string": "2", "new_string": "", "expected_matches": 2, "match": "exact", "replace_all": false},
            {"old_string": "3", "new_string": "4", "replace_all": true, "expected_matches": null}]},
        {"file_path": "c", "content": "x", "delete": false,
         "expected_hash": "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
        {"file_path": "d", "delete": true},
        {"file_path": "e", "rename_to": "f"},
        {"file_path": "g", "mode": "6"}]}"#)
    .unwrap();
    assert!(request.dry_run && request.backup && !request.include_content);
    assert_eq!(request.label.as_deref(), Some("l"));
    let [edited, written, deleted, moved, mode] = request.files.as_slice() else { panic!("five files are expected") };
    let Change::Edit { edits, rename: Some(to) } = &edited.change else { panic!("{edited:?}") };
    assert_eq!((to.path.to_str(), to.if_exists), (Some("b"), IfExists::Replace));
    let anchors: Vec<_> = edits.iter().map(|edit| edit.anchor.clone()).collect();
    let text = |text: &str, count| Anchor::Text { text: text.into(), count, matching: Matching::Exact };
    assert_eq!(anchors, [text("1", Count::Once), text("2", Count::Exactly(2)), text("3", Count::All)]);
    assert_eq!(edits[2].replacement, b"4");
    assert_eq!(edited.mode, Some(Mode::Bits(0o755)));
    assert!(matches!(&written.change, Change::Write { content, if_exists: IfExists::Fail } if content == b"x"));
    assert_eq!(written.expected_hash, Some(crate::digest::Digest::of(b"")));
    assert!(matches!(deleted.change, Change::Delete), "{deleted:?}");
    assert!(matches!(&moved.change, Change::Rename(to) if to.path.to_str() == Some("f")), "{moved:?}");
    assert!(matches!((&mode.change, mode.mode), (Change::Mode, Some(Mode::Bits(0o6)))), "{mode:?}");
}

#[test]
fn folders_and_symlinks_are_asked_for_by_fields_of_their_own() {
    let request = ask(r#"{ "files": [
        {"file_path": "a", "make_folder": true, "mode": "700"},
        {"file_path": "b", "remove_folder": true, "make_folder": false},
        {"file_path": "c", "symlink_to": "../x", "if_exists": "replace"}]}"#)
    .unwrap();
    let [made, removed, linked] = request.files.as_slice() else { panic!("three files are expected") };
    assert!(matches!((&made.change, made.mode), (Change::MakeFolder, Some(Mode::Bits(0o700)))), "{made:?}");
    assert!(matches!(removed.change, Change::RemoveFolder), "{removed:?}");
    let Change::Symlink { target, if_exists: IfExists::Replace } = &linked.change else { panic!("{linked:?}") };
    assert_eq!(target, b"../x");
}

#[test]
fn invalid_json_is_reported_with_its_place() {
    expect("{\"files\": [\n  {]}", &[(V, "files/0", "not JSON: key must be a string at line 2, column 4")]);
    expect("", &[(V, "", "not JSON: EOF while parsing a value at line 1, column 0")]);
    expect("{\"files\": []} x", &[(V, "", "not JSON: trailing characters at line 1, column 15")]);
    expect("[]", &[(V, "", "takes an object that holds a request, not an array at line 1, column 0")]);
}

#[test]
fn a_list_is_no_object_at_any_level() {
    let edit = r#"["one", "two", null, null, null]"#;
    let file = r#"["a", null, null, "x", null, null, null, null]"#;
    let request = format!(r#"[[{{"file_path": "a", "delete": true}}], true, null, null, null, null, "{}"]"#, "label");
    for (json, place, what) in [
        (edits(edit), "files/0/edits/0", "an edit"),
        (format!(r#"{{"files": [{file}]}}"#), "files/0", "a file"),
        (request, "", "a request"),
    ] {
        let found = findings(&json);
        assert_eq!((found.len(), found[0].path.join("/").as_str()), (1, place), "{found:?}");
        let expected = format!("takes an object that holds {what}, not an array");
        assert!(found[0].message.starts_with(&expected), "{found:?}");
    }
}

#[test]
fn unknown_fields_are_refused_by_name_at_every_level() {
    let found = findings(
        r#"{"checks": ["true"],
 "files": [{"file_path": "a", "edit": []},
  {"file_path": "b", "edits": [
   {"old": 1}]}]}"#,
    );
    let places: Vec<_> = found.iter().map(|f| f.path.join("/")).collect();
    assert_eq!(places, ["checks", "files/0/edit", "files/1/edits/0/old"]);
    assert!(found[0].message.starts_with("unknown field `checks`, expected one of `files`, "), "{}", found[0].message);
    assert!(found[0].message.ends_with(" at line 1, column 9"), "{}", found[0].message);
    assert!(found[1].message.ends_with(" at line 2, column 36"), "{}", found[1].message);
    assert!(found[2].message.ends_with(" at line 4, column 9"), "{}", found[2].message);
}

#[test]
fn a_wrong_type_hides_nothing_else() {
    let json = r#"{"files": [
        {"file_path": 1},
        {"file_path": "b", "mode": 755, "delete": true},
        {"file_path": "c", "edits": [{"old_string": "x"}, {"old_string": "y", "new_string": 2}, {"new_string": "z"}]},
        {"file_path": "d", "edits": []}]}"#;
    expect(
        json,
        &[
            (V, "files/0/file_path", "takes a string, not 1 at line 2, column 23"),
            (V, "files/1/mode", "takes a string, not 755 at line 3, column 38"),
            (V, "files/2/edits/1/new_string", "takes a string, not 2 at line 4, column 93"),
            (V, "files/2/edits/0/new_string", "Edit 1 of 3 has no new_string"),
            (V, "files/2/edits/2/old_string", "Edit 3 of 3 has no old_string"),
            (ErrorKind::EmptyEdits, "files/3/edits", "`edits` is empty: give at least one edit"),
        ],
    );
}

#[test]
fn a_field_given_twice_is_refused() {
    let found = findings(r#"{"files": [{"file_path": "a", "file_path": "b", "delete": true}]}"#);
    assert_eq!(found[0].path, ["files", "0"]);
    assert!(found[0].message.starts_with("duplicate field `file_path`"), "{}", found[0].message);
}

#[test]
fn what_is_missing_is_named_for_all_files_at_once() {
    expect("{}", &[(V, "files", "`files` is empty: name at least one file")]);
    expect(r#"{"files": []}"#, &[(V, "files", "`files` is empty: name at least one file")]);
    expect(
        r#"{"files": [
            {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "z"}]},
            {"edits": []},
            {"file_path": "c"}]}"#,
        &[
            (V, "files/0/edits/1/new_string", "Edit 2 of 2 has no new_string"),
            (V, "files/1/file_path", "`file_path` is missing"),
            (ErrorKind::EmptyEdits, "files/1/edits", "`edits` is empty: give at least one edit"),
            (
                V,
                "files/2",
                "nothing is asked of the file: give `edits`, `content`, `delete`, `rename_to` or `mode`; or in a plan \
                 `symlink_to`, `make_folder` or `remove_folder`",
            ),
        ],
    );
}

#[test]
fn a_file_entry_asks_for_one_thing() {
    let delete = "exclude each other: `delete` goes alone";
    let content = "exclude each other: `content` goes alone or with `mode`";
    for (entry, message) in [
        (r#""delete": true, "mode": "644""#, format!("`delete` and `mode` {delete}")),
        (r#""delete": true, "rename_to": "b""#, format!("`delete` and `rename_to` {delete}")),
        (r#""delete": true, "content": """#, format!("`content` and `delete` {delete}")),
        (r#""content": "", "rename_to": "b""#, format!("`content` and `rename_to` {content}")),
        (
            r#""content": "", "edits": [{"old_string": "a", "new_string": "b"}]"#,
            format!("`edits` and `content` {content}"),
        ),
    ] {
        expect(&one(entry), &[(V, "files/0", &message)]);
    }
    for entry in [
        r#""edits": [{"old_string": "a", "new_string": "a"}], "rename_to": "b", "mode": "644""#,
        r#""content": "", "mode": "0""#,
        r#""content": "", "edits": null, "delete": false"#,
    ] {
        ask(&one(entry)).unwrap();
    }
}

#[test]
fn if_exists_has_two_words_and_two_companions() {
    expect(
        &one(r#""content": "", "if_exists": "append""#),
        &[(V, "files/0/if_exists", "`if_exists` takes \"fail\" or \"replace\"")],
    );
    expect(
        &one(r#""delete": true, "if_exists": "fail""#),
        &[(V, "files/0/if_exists", "`if_exists` goes with `content`, `rename_to` or `symlink_to` only")],
    );
}

#[test]
fn modes_and_digests_have_one_form_each() {
    for bad in ["", "888", "+755", "rwx", "0o755", "10000", "000000", " 755"] {
        expect(
            &one(&format!(r#""mode": "{bad}""#)),
            &[(V, "files/0/mode", "`mode` takes octal digits, \"7777\" at most, like \"755\"")],
        );
    }
    assert_eq!(ask(&one(r#""mode": "7777""#)).unwrap().files[0].mode, Some(Mode::Bits(0o7777)));
    let short = "a".repeat(63);
    let upper = "A".repeat(64);
    for bad in ["", "xyz", &short, &upper] {
        expect(
            &one(&format!(r#""delete": true, "expected_hash": "{bad}""#)),
            &[(V, "files/0/expected_hash", "a digest is 64 lower-case hex digits of blake3")],
        );
    }
}

#[test]
fn anchors_are_not_empty_and_not_there_twice() {
    expect(
        &edits(
            r#"{"old_string": "x", "new_string": "1"}, {"old_string": "", "new_string": "2"},
               {"old_string": "x", "new_string": "3"}, {"old_string": "X", "new_string": "3"}"#,
        ),
        &[
            (ErrorKind::EmptyOldString, "files/0/edits/1/old_string", "Edit 2 of 4 has an empty old_string"),
            (
                ErrorKind::DuplicateOldString,
                "files/0/edits/2/old_string",
                "Edit 3 of 4 has the same old_string as edit 1",
            ),
        ],
    );
}

#[test]
fn an_edit_says_once_how_often_it_must_match() {
    let edit = |rest: &str| edits(&format!(r#"{{"old_string": "x", "new_string": "y", {rest}}}"#));
    let place = "files/0/edits/0/expected_matches";
    let zero = "`expected_matches` is 0: an edit replaces at least one match";
    expect(&edit(r#""expected_matches": 0"#), &[(V, place, zero)]);
    let both = "`expected_matches` and `replace_all` exclude each other";
    expect(&edit(r#""expected_matches": 1, "replace_all": true"#), &[(V, place, both)]);
    let found = (V, "files/0/edits/0/match", "`match` takes \"exact\" or \"tolerant\"");
    expect(&edit(r#""match": "similar""#), &[found]);
    let found = findings(&edit(r#""expected_matches": -1"#));
    assert_eq!(found[0].path.join("/"), place);
}

#[test]
fn paths_are_looked_at_only_once_the_shape_is_right() {
    let bad_path = r#"{"file_path": "../a", "delete": true}"#;
    let traversal = (ErrorKind::PathTraversal, "files/0/file_path", "the path ../a has a `..` segment");
    expect(&format!(r#"{{"files": [{bad_path}]}}"#), &[traversal]);
    let found = findings(&format!(r#"{{"files": [{bad_path}, {{"file_path": "b"}}]}}"#));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, ["files", "1"]);
    let json = br#"{"files": [{"file_path": "a", "delete": true}]}"#;
    let error = parse(json).unwrap().into_request(PathRule::Absolute).unwrap_err();
    let Detail::Findings(found) = error.details() else { panic!("findings are expected") };
    assert_eq!(found[0].kind, ErrorKind::RelativePath);
}

#[test]
fn a_request_that_is_too_large_is_not_read() {
    let json = vec![b' '; usize::try_from(limits::REQUEST_BYTES).unwrap() + 1];
    assert_eq!(parse(&json).unwrap_err().kind(), ErrorKind::RequestTooLarge);
}

#[test]
fn bytes_that_are_not_utf_8_are_refused() {
    let error = parse(b"{\"files\": [{\"file_path\": \"a\xff\", \"delete\": true}]}").unwrap_err();
    let Detail::Findings(found) = error.details() else { panic!("findings are expected") };
    assert!(found[0].message.starts_with("not JSON: "), "{}", found[0].message);
}

fn any_edit() -> impl Strategy<Value = EditJson> {
    let text = || proptest::option::of(any::<String>());
    let flag = proptest::option::of(any::<bool>());
    (text(), text(), flag, proptest::option::of(any::<usize>()), text()).prop_map(
        |(old_string, new_string, replace_all, expected_matches, match_mode)| EditJson {
            if_missing: None,
            near_line: None,
            old_string,
            new_string,
            replace_all,
            expected_matches,
            match_mode,
        },
    )
}

fn any_file() -> impl Strategy<Value = FileRequestJson> {
    let text = || proptest::option::of(any::<String>());
    let edits = proptest::option::of(proptest::collection::vec(any_edit(), 0..3));
    let flag = || proptest::option::of(any::<bool>());
    let texts = (text(), text());
    (text(), text(), edits, text(), texts, (flag(), flag(), flag(), text()), text(), text(), text()).prop_map(
        |(file_path, expected_hash, edits, content, (if_exists, if_missing), flags, rename_to, mode, encoding)| {
            FileRequestJson {
                file_path,
                expected_hash,
                edits,
                content,
                if_exists,
                if_missing,
                delete: flags.0,
                symlink_to: flags.3,
                make_folder: flags.1,
                remove_folder: flags.2,
                rename_to,
                mode,
                encoding,
            }
        },
    )
}

/// JSON that sometimes uses the names of a request.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 5, |inner| {
        let names = ["files", "file_path", "edits", "old_string", "new_string", "mode", "expected_matches"];
        let name = prop_oneof![proptest::sample::select(names.to_vec()).prop_map(str::to_owned), any::<String>()];
        let object = proptest::collection::vec((name, inner.clone()), 0..5);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Into::into),
            object.prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// For any input the result is a request or findings.
fn answers(json: &[u8]) {
    if let Err(error) = parse(json).and_then(|request| request.into_request(PathRule::AbsoluteOrRelative)) {
        assert!(matches!(error.details(), Detail::Findings(findings) if !findings.is_empty()));
    }
}

proptest! {
    #[test]
    fn a_request_survives_being_written_and_read(
        files in proptest::option::of(proptest::collection::vec(any_file(), 0..3)),
        dry_run in proptest::option::of(any::<bool>()),
        label in proptest::option::of(any::<String>()),
    ) {
        let request = RequestJson { files, dry_run, label, ..RequestJson::default() };
        let json = serde_json::to_vec(&request).unwrap();
        prop_assert_eq!(parse(&json).unwrap(), request);
        answers(&json);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        answers(&bytes);
    }

    #[test]
    fn no_json_makes_it_panic(json in any_json(), cut in any::<proptest::sample::Index>()) {
        let json = serde_json::json!({ "files": [json] }).to_string().into_bytes();
        answers(&json);
        answers(&json[..cut.index(json.len())]);
    }
}
