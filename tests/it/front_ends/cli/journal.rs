//! `txedit journal`: a journal of the library, read by the program.

use std::fs;

use txedit::Digest;
use txedit::journal::{Header, Journal, Owner, Record, RecordedChange, SwapMethod};
use txedit::testing::internals::identity::Identity;
use txedit::testing::internals::journal::record::encode;
use txedit::testing::internals::path::RelPath;
use txedit::testing::internals::plan::{Access, FileState};

use super::Workspace;

const ID: &str = "20260102T030405.678901Z-0123456789abcdef";

fn journal() -> Journal {
    let identity = |inode| Identity { inode, born: None };
    let access = Some(Access { user: 1000, group: 100, attributes: Some(Digest::of(b"attributes")) });
    let state =
        |content: &[u8]| FileState { digest: Digest::of(content), size: content.len() as u64, mode: 0o644, access };
    let owner = Owner { program: "txedit".into(), process: 7, user: 1000, host: "here".into() };
    let header = Header {
        version: SwapMethod::Exchange.version(),
        id: ID.into(),
        workspace: "w".into(),
        folder: identity(1),
        boot: "b".into(),
        owner,
        reverts: Vec::new(),
        opened: None,
        key: None,
        request: None,
        swap: SwapMethod::Exchange,
        parts: Vec::new(),
        label: Some("two\nlines".into()),
        session: None,
        campaign: None,
    };
    let change = RecordedChange::Edit {
        before: state(b"old"),
        after: state(b"newer"),
        staged: identity(2),
        original: identity(3),
    };
    let record = Record { path: RelPath::new("src/a.rs").unwrap(), change };
    Journal { header, entries: vec![record].into(), back_on_crash: false }
}

#[test]
fn a_journal_is_printed_for_people_and_for_scripts() {
    let here = Workspace::new();
    fs::write(here.path().join("journal.done"), encode(&journal())).unwrap();
    let ran = here.run(&["journal", "journal.done"]);
    let text = &ran.exits(0).stdout;
    for part in ["verifies", ID, "done", "src/a.rs", &Digest::of(b"newer").to_hex(), "two\\nlines"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = here.run(&["journal", "journal.done", "--json"]).exits(0).json();
    assert_eq!(json["success"], true);
    assert_eq!(json["transaction_id"], ID);
    assert_eq!(json["state"], "done");
    let entry = &json["entries"][0];
    assert_eq!((&entry["path"], &entry["kind"]), (&"src/a.rs".into(), &"edit".into()));
    assert_eq!(entry["before"]["digest"], Digest::of(b"old").to_hex());
    assert_eq!(entry["after"]["size"], 5);
    assert_eq!((&entry["after"]["user"], &entry["after"]["group"]), (&1000.into(), &100.into()));
    assert_eq!(entry["after"]["attributes"], Digest::of(b"attributes").to_hex());
}

#[test]
fn a_journal_that_does_not_verify_is_refused_with_its_line() {
    let here = Workspace::new();
    let mut bytes = encode(&journal());
    let at = bytes.windows(8).position(|w| w == b"src/a.rs").unwrap();
    bytes[at] = b'S';
    fs::write(here.path().join("journal"), &bytes).unwrap();
    let ran = here.run(&["journal", "journal"]);
    assert!(ran.exits(2).stderr.contains("line 2"), "{ran:?}");
    let json = here.run(&["journal", "journal", "--json"]).exits(2).json();
    assert_eq!(json["error_code"], "VALIDATION_FAILED");
    let missing = here.run(&["journal", "nothing", "--json"]).exits(2).json();
    assert_eq!(missing["error_code"], "FILE_NOT_FOUND");
}
