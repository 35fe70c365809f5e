use super::*;
use crate::error::Detail;
use crate::request::edit::Edit;
use crate::request::edit::Matching;
use crate::request::{IfExists, Mode, RenameTo};

fn found(request: &Request, rule: PathRule) -> Vec<(ErrorKind, String)> {
    let Err(error) = check(request, rule) else { return Vec::new() };
    assert_eq!(error.kind(), ErrorKind::ValidationFailed);
    let Detail::Findings(findings) = error.details() else { panic!("findings are expected") };
    findings.iter().map(|f| (f.kind, f.path.join("/"))).collect()
}

fn text(text: &str) -> Edit {
    Edit {
        anchor: Anchor::Text { text: text.into(), count: Count::Once, matching: Matching::Exact },
        replacement: Vec::new(),
    }
}

fn file(path: &str, change: Change) -> FileRequest {
    FileRequest::new(path, change)
}

fn request(files: Vec<FileRequest>) -> Request {
    Request { files, ..Request::default() }
}

fn path_kinds(path: &str, rule: PathRule) -> Vec<ErrorKind> {
    let found = found(&request(vec![file(path, Change::Delete)]), rule);
    assert!(found.iter().all(|(_, place)| place == "files/0/file_path"), "{found:?}");
    found.into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn paths_are_validated_lexically() {
    use ErrorKind::{OutsideRoot, PathTraversal, RelativePath, ValidationFailed};
    let both = |path: &str| path_kinds(path, PathRule::AbsoluteOrRelative);
    let absolute = |path: &str| path_kinds(path, PathRule::Absolute);
    assert_eq!(both("src/a.rs"), []);
    assert_eq!(both("./src//a..b"), []);
    assert_eq!(absolute("/src/a.rs"), []);
    assert_eq!(absolute("src/a.rs"), [RelativePath]);
    assert_eq!(absolute("../a"), [PathTraversal, RelativePath]);
    assert_eq!(absolute("/a/../b"), [PathTraversal]);
    assert_eq!(both("a/.."), [PathTraversal]);
    assert_eq!(both(""), [ValidationFailed]);
    assert_eq!(absolute(""), [ValidationFailed]);
    assert_eq!(both("a\0b"), [ValidationFailed]);
    assert_eq!(both("/"), [ValidationFailed]);
    assert_eq!(both("./."), [ValidationFailed]);
    assert_eq!(both("newdir/"), [ValidationFailed]);
    assert_eq!(both("newdir/."), [ValidationFailed]);
    assert_eq!(both(&"n".repeat(255)), []);
    assert_eq!(both(&"n".repeat(256)), [ValidationFailed]);
    assert_eq!(both(&"a/".repeat(2_048)), [ValidationFailed]);
    assert_eq!(both("sub/.txedit/id"), [OutsideRoot]);
    assert_eq!(both(".TxEdit"), [OutsideRoot]);
    assert_eq!(both(".txedit2"), []);
}

#[test]
fn the_destination_of_a_move_is_a_path_too() {
    let to = || RenameTo { path: "../b".into(), if_exists: IfExists::Fail };
    let files =
        vec![file("a", Change::Rename(to())), file("c", Change::Edit { edits: vec![text("x")], rename: Some(to()) })];
    assert_eq!(
        found(&request(files), PathRule::AbsoluteOrRelative),
        [
            (ErrorKind::PathTraversal, "files/0/rename_to".to_owned()),
            (ErrorKind::PathTraversal, "files/1/rename_to".to_owned())
        ]
    );
}

#[test]
fn a_request_that_was_not_json_is_held_to_the_same_shape() {
    let range = || Edit { anchor: Anchor::Range { range: 0..1, expected: b"x".to_vec() }, replacement: Vec::new() };
    let zero = Edit {
        anchor: Anchor::Text { text: b"z".to_vec(), count: Count::Exactly(0), matching: Matching::Exact },
        replacement: Vec::new(),
    };
    let edits = |edits| Change::Edit { edits, rename: None };
    let mut many = request(vec![
        file("a", edits(Vec::new())),
        file("b", edits(vec![text("x"), text(""), text("x"), range(), range(), zero])),
        FileRequest { mode: Some(Mode::Bits(0o10_000)), ..file("c", Change::Mode) },
    ]);
    many.label = Some("l".repeat(limits::LABEL_BYTES + 1));
    let kinds = [
        (ErrorKind::ValidationFailed, "label"),
        (ErrorKind::EmptyEdits, "files/0/edits"),
        (ErrorKind::EmptyOldString, "files/1/edits/1/old_string"),
        (ErrorKind::DuplicateOldString, "files/1/edits/2/old_string"),
        (ErrorKind::ValidationFailed, "files/1/edits/5/expected_matches"),
        (ErrorKind::ValidationFailed, "files/2/mode"),
    ];
    assert_eq!(found(&many, PathRule::Absolute), kinds.map(|(kind, place)| (kind, place.to_owned())));
    assert_eq!(found(&Request::default(), PathRule::Absolute), [(ErrorKind::ValidationFailed, "files".to_owned())]);
}

#[test]
fn folders_and_symlinks_have_only_what_they_can_have() {
    let link = |target: &[u8]| Change::Symlink { target: target.to_vec(), if_exists: IfExists::Fail };
    let all = request(vec![
        FileRequest { mode: Some(Mode::Bits(0o700)), ..file("a", Change::MakeFolder) },
        FileRequest { mode: Some(Mode::Bits(0o700)), ..file("b", Change::RemoveFolder) },
        file("c", Change::MakeFolder).expect(crate::digest::Digest::of(b"")),
        file("d", link(b"")),
        file("e", link(b"a\0b")),
        file("f", link(&vec![b'x'; limits::PATH_BYTES + 1])),
        FileRequest { mode: Some(Mode::Bits(0o777)), ..file("g", link(b"any \xff bytes")) },
    ]);
    let invalid = |place: &str| (ErrorKind::ValidationFailed, place.to_owned());
    let places = ["1/mode", "2/expected_hash", "3/symlink_to", "4/symlink_to", "5/symlink_to", "6/mode"];
    let expected = places.map(|place| invalid(&format!("files/{place}")));
    assert_eq!(found(&all, PathRule::AbsoluteOrRelative), expected);
}

#[test]
fn more_files_or_edits_than_the_limit_are_too_large() {
    let mut findings = Findings::new();
    check_size(limits::FILES, &mut findings);
    check_anchors(0, vec![None; limits::EDITS].into_iter(), &mut findings);
    assert!(findings.is_empty());
    check_size(limits::FILES + 1, &mut findings);
    check_anchors(0, vec![None; limits::EDITS + 1].into_iter(), &mut findings);
    let kinds: Vec<_> = findings.as_slice().iter().map(|f| (f.kind, f.path.join("/"))).collect();
    let too_large = |place: &str| (ErrorKind::RequestTooLarge, place.to_owned());
    assert_eq!(kinds, [too_large("files"), too_large("files/0/edits")]);
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let mut findings = Findings::new();
    for index in 0..limits::FINDINGS + 7 {
        findings.push(ErrorKind::EmptyEdits, at_file(index, None), "x");
    }
    let error = findings.finish().unwrap_err();
    let Detail::Findings(list) = error.details() else { panic!("findings are expected") };
    assert_eq!(list.len(), limits::FINDINGS + 1);
    assert_eq!(list[limits::FINDINGS].message, "7 more findings are not listed");
}
