//! A reader that was written only from `journal-format.md` (`tests/reader/reader.py`), against the engine's journals:
//! both accept and refuse the same bytes, and read the same in them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use tempfile::TempDir;
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::journal::{
    Corrupt, Header, Journal, Owner, Record, RecordedChange, RecordedPart, SwapMethod, VERSION, scan,
};
use txedit::testing::internals::identity::{Identity, Timestamp};
use txedit::testing::internals::journal::record::{Chain, encode};
use txedit::testing::internals::path::RelPath;
use txedit::testing::internals::plan::{Access, FileState, LINK_MODE};
use txedit::{Anchor, Change as Asked, Count, Digest, Edit, FileRequest, Matching, Request};

use crate::support::mounts::run;
use crate::support::workspace::{Workspace, running};

const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reader/reader.py");

/// A Python that has blake3: the one that is there, else one in an environment of the tests' own.
fn python() -> Option<&'static Path> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let has_blake3 = |python: &Path| run(python.to_str().unwrap_or_default(), ["-c", "import blake3"]);
        let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reader-python");
        for python in [PathBuf::from("python3"), own.join("bin/python3")] {
            if has_blake3(&python).is_ok() {
                return Ok(python);
            }
        }
        run("python3", [OsStr::new("-m"), OsStr::new("venv"), own.as_os_str()])?;
        let python = own.join("bin/python3");
        run(python.to_str().unwrap_or_default(), ["-m", "pip", "install", "--quiet", "blake3"])?;
        has_blake3(&python)?;
        Ok(python)
    });
    match found {
        Ok(python) => Some(python),
        Err(reason) => {
            eprintln!("skipped: no Python with the blake3 package: {reason}");
            None
        }
    }
}

/// What the reader prints, line by line.
fn read<A: AsRef<OsStr>>(python: &Path, arguments: impl IntoIterator<Item = A>) -> Vec<Value> {
    let output = Command::new(python).arg(READER).args(arguments).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What `txedit journal FILE --json` prints.
fn txedit(file: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_txedit")).args(["journal", "--json"]).arg(file).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What the reader read, in the words of `txedit journal`.
fn in_our_words(read: &Value) -> Value {
    let header = &read["header"];
    let mut ours = json!({
        "success": true, "schema_version": 1, "transaction_id": header["id"], "back_on_crash": read["back_on_crash"],
        "workspace": header["workspace"], "folder": header["folder"], "boot": header["boot"],
        "owner": header["owner"], "entries": read["entries"],
    });
    let optional =
        ["reverts", "reverts_also", "opened", "key", "request", "swap", "parts", "label", "session", "campaign"]
            .map(|name| (name, &header[name]));
    for (name, value) in [("state", &read["state"])].into_iter().chain(optional) {
        if !value.is_null() {
            ours[name] = value.clone();
        }
    }
    for entry in ours["entries"].as_array_mut().unwrap() {
        let entry = entry.as_object_mut().unwrap();
        // What it is for, `txedit journal` does not say.
        entry.remove("original");
        spell_path(entry);
    }
    for part in ours.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        spell_path(part.as_object_mut().unwrap());
    }
    ours
}

/// Spells a path that is no text as `txedit` shows it.
fn spell_path(entry: &mut serde_json::Map<String, Value>) {
    let Some(hex) = entry.remove("path_hex") else { return };
    let hex = hex.as_str().unwrap();
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
    let path = String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned();
    entry.insert("path".to_owned(), path.into());
}

/// Edits and deletes a file whose name is not UTF-8.
fn latin(workspace: &Workspace) {
    let name = OsStr::from_bytes(b"caf\xe9");
    fs::write(workspace.root().join(name), "old").unwrap();
    let anchor = Anchor::Text { text: b"old".to_vec(), count: Count::Once, matching: Matching::Exact };
    let edits = vec![Edit { anchor, replacement: b"new".to_vec() }];
    for change in [Asked::Edit { edits, rename: None }, Asked::Delete] {
        let file = FileRequest::new(name, change);
        let request = Request::of_files(vec![file]).label("caf\u{e9} \"\\\u{7f}\u{1}\u{2028}\t");
        workspace.engine.apply(&request, running()).unwrap();
    }
}

/// A workspace with transactions of every kind in its history.
fn history() -> Workspace {
    let workspace = Workspace::with(&[("a", "one two"), ("b", "bee"), ("src/c", "sea")]);
    let requests = [
        json!([{"file_path": "a", "edits": [{"old_string": "one", "new_string": "1"}]}, {"file_path": "b", "delete": true}]),
        json!([{"file_path": "new/deep/file", "content": "x"}, {"file_path": "src/c", "rename_to": "src/d"}]),
        json!([{"file_path": "link", "symlink_to": "a"}, {"file_path": "folder", "make_folder": true}, {"file_path": "a", "mode": "755"}, {"file_path": "na\u{ef}ve \"q\" \\ \u{1f600}", "content": ""}]),
    ];
    for files in requests {
        workspace.apply(&json!({"files": files, "label": "a label"})).unwrap();
    }
    workspace.undo(None).unwrap();
    latin(&workspace);
    workspace
}

/// A workspace with a transaction that could neither be finished nor rolled back: its folder is in `txn/`.
fn interrupted(marked: bool) -> Workspace {
    let scratch = tempfile::Builder::new().prefix("txedit-it-").tempdir().unwrap().keep();
    for name in ["a", "b"] {
        fs::write(scratch.join(name), "old").unwrap();
    }
    let fs = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let renames = |name: &'static str| {
        move |call: &FaultCall| {
            let is = |path: &Path| path.file_name().is_some_and(|file| file == name);
            call.operation == FaultOperation::Rename && (is(&call.path) || call.to.as_deref().is_some_and(is))
        }
    };
    fs.add(Rule::fail(1, 5).matching(renames("000001")));
    // Then either the mark or the swap back fails.
    fs.add(if marked {
        Rule::fail(2, 5).matching(renames("000000"))
    } else {
        Rule::fail(1, 5).matching(renames("journal.undo"))
    });
    let workspace = Workspace::on(fs, &scratch);
    let edits = json!([{"old_string": "old", "new_string": "new"}]);
    let files = json!([{"file_path": "a", "edits": edits}, {"file_path": "b", "edits": edits}]);
    workspace.apply(&json!({"files": files})).unwrap_err();
    workspace
}

/// All journals of a workspace.
fn journals(workspace: &Workspace) -> Vec<PathBuf> {
    let sections = ["txn", "history"].map(|section| workspace.path(&format!(".txedit/{section}")));
    let folders = sections.iter().filter_map(|section| fs::read_dir(section).ok()).flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap()).map(|file| file.unwrap());
    files.filter(|file| file.file_name().as_bytes().starts_with(b"journal")).map(|file| file.path()).collect()
}

#[test]
fn journals_of_the_engine_are_read_alike() {
    let Some(python) = python() else { return };
    let mut states = Vec::new();
    for (workspace, count) in [(history(), 6), (interrupted(false), 1), (interrupted(true), 1)] {
        let journals = journals(&workspace);
        assert_eq!(journals.len(), count);
        for (file, read) in journals.iter().zip(read(python, &journals)) {
            assert_eq!(in_our_words(&read), txedit(file), "{}", file.display());
            states.push(read["state"].as_str().unwrap().to_owned());
        }
        let listed = read(python, [OsStr::new("--list"), workspace.root().as_os_str()]);
        assert_eq!(listed.len(), count, "{listed:?}");
        assert!(listed.iter().all(|one| one["born_here"] == true && one.get("refused").is_none()), "{listed:?}");
        if count == 1 {
            fs::remove_dir_all(workspace.root()).unwrap();
        }
    }
    states.sort();
    states.dedup();
    assert_eq!(states, ["done", "sealed", "undo"]);
}

fn extreme() -> Journal {
    let born = |seconds| Some(Timestamp::new(seconds, 999_999_999));
    let identity = |inode, born| Identity { inode, born };
    let attributes = Some(Digest::of(b"attributes"));
    let state = |size, mode, attributes| {
        let access = Some(Access { user: u32::MAX, group: 0, attributes });
        FileState { digest: Digest::of(b"x"), size, mode, access }
    };
    let owner = Owner { program: "\u{0}\u{8}\u{c}\r/".into(), process: u32::MAX, user: 0, host: String::new() };
    let part = |path: &[u8]| RecordedPart {
        path: RelPath::new(OsStr::from_bytes(path)).unwrap(),
        folder: identity(7, None),
        state: "0f".into(),
    };
    let header = Header {
        version: VERSION,
        id: "00000000T000000.000000Z-ffffffffffffffff".into(),
        workspace: String::new(),
        folder: identity(u64::MAX, born(i64::MIN)),
        boot: "\u{10ffff}".into(),
        owner,
        reverts: vec![
            "99999999T999999.999999Z-0000000000000000".into(),
            "20260101T120000.000000Z-0123456789abcdef".into(),
        ],
        opened: Some("20260101T120000.000000Z-0123456789abcdef".into()),
        key: Some("a key".into()),
        request: Some(Digest::of(b"request")),
        swap: SwapMethod::Link,
        parts: vec![part(b"g"), part(b"m/\xff")],
        label: Some("\u{1b}[31m".into()),
        session: Some("a session".into()),
        campaign: Some("a campaign".into()),
    };
    let (before, after) = (state(u64::MAX, 0o7777, attributes), state(0, 0, None));
    let (staged, original) = (identity(0, None), identity((1 << 53) + 1, born(-1)));
    let record = |path: &[u8], change| Record { path: RelPath::new(OsStr::from_bytes(path)).unwrap(), change };
    let entries = vec![
        record(b"\xff", RecordedChange::Folder { staged }),
        record(b"...", RecordedChange::Edit { before, after, staged, original }),
        record(&[b'n'; 255], RecordedChange::Create { after, staged }),
        record(b".txedit.", RecordedChange::Delete { before, original }),
        record(b"f", RecordedChange::FileToFolder { before, staged, original }),
        record(b"g/h", RecordedChange::RemoveFolder { original }),
        record(b"link", RecordedChange::Edit { before: state(5, LINK_MODE, None), after, staged, original }),
        record(b"over", RecordedChange::Overwrite { before, after, staged, original }),
        record(b"g", RecordedChange::FolderToFile { after, staged, original }),
    ];
    Journal { header, entries: entries.into(), back_on_crash: true }
}

/// Small chance for the changes below, the same in each run.
fn below(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap() % limit
}

/// The journal with one line changed and all of it chained anew: it verifies, and may still be refused.
fn rewritten(bytes: &[u8], chance: &mut u64) -> Vec<u8> {
    const PIECES: [&[u8]; 28] = [
        b" ",
        b"\"",
        b"\\",
        b"/",
        b":",
        b",",
        b"{",
        b"}",
        b"0",
        b"1",
        b"-",
        b".0",
        b"e1",
        b"null",
        b"true",
        b"\\u0061",
        b"\\/",
        b"\xff",
        b"\xc3\xa9",
        b"..",
        b"\"a\":1,",
        b"A",
        b"f",
        b"\x00",
        b"999999999999999999999",
        b"\\ud800",
        b"\x7f",
        b"[]",
    ];
    let mut lines: Vec<Vec<u8>> =
        bytes.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()).map(|l| l[65..].to_vec()).collect();
    let number = below(chance, lines.len());
    let line = &mut lines[number];
    let at = below(chance, line.len());
    let end = (at + below(chance, 12)).min(line.len());
    let piece = PIECES[below(chance, PIECES.len())];
    match below(chance, 5) {
        0 => drop(line.splice(at..at, piece.iter().copied())),
        1 => drop(line.splice(at..end, piece.iter().copied())),
        2 => drop(line.drain(at..end)),
        3 => {
            let copy = line[at..end].to_vec();
            drop(line.splice(at..at, copy));
        }
        // Fields in another order.
        _ => {
            let fields: Vec<&[u8]> = line[1..line.len() - 1].split(|byte| *byte == b',').collect();
            let mut fields: Vec<Vec<u8>> = fields.into_iter().map(<[u8]>::to_vec).collect();
            let (one, other) = (below(chance, fields.len()), below(chance, fields.len()));
            fields.swap(one, other);
            *line = [b"{".to_vec(), fields.join(&b','), b"}".to_vec()].concat();
        }
    }
    line.retain(|byte| *byte != b'\n');
    let mut chain = Chain::default();
    lines.iter().flat_map(|line| [format!("{} ", chain.next(line)).as_bytes(), line, b"\n"].concat()).collect()
}

/// The word of the reader for what the engine says.
fn word(corrupt: &Corrupt) -> &'static str {
    match corrupt {
        Corrupt::Torn { .. } => "torn",
        Corrupt::Digest { .. } => "digest",
        Corrupt::NoLine { .. } => "no line",
        Corrupt::Unexpected { .. } => "unexpected",
        Corrupt::Version(_) => "version",
    }
}

/// Both verdicts on each of these; how many were accepted.
fn agree(python: &Path, journals: &[Vec<u8>], reasons_too: bool) -> usize {
    let scratch = TempDir::new().unwrap();
    let file = |number: usize| scratch.path().join(number.to_string());
    for (number, bytes) in journals.iter().enumerate() {
        fs::write(file(number), bytes).unwrap();
    }
    let answers = read(python, (0..journals.len()).map(file));
    assert_eq!(answers.len(), journals.len());
    let mut accepted = 0;
    for (bytes, answer) in journals.iter().zip(answers) {
        let verdict = scan(bytes);
        let text = String::from_utf8_lossy(bytes);
        match (&verdict, answer.get("refused")) {
            (Ok(journal), None) => {
                assert_eq!(answer["entries"].as_array().unwrap().len(), journal.entries.len());
                accepted += 1;
            }
            (Err(why), Some(refused)) => {
                assert!(!reasons_too || refused == word(why), "{why}; {answer}; {text}");
            }
            _ => panic!("the engine: {verdict:?}; the reader: {answer}; {text}"),
        }
    }
    accepted
}

#[test]
fn journals_at_the_limits_are_read_alike() {
    let Some(python) = python() else { return };
    let scratch = TempDir::new().unwrap();
    let file = scratch.path().join("journal.undo");
    fs::write(&file, encode(&extreme())).unwrap();
    assert_eq!(in_our_words(&read(python, [&file])[0]), txedit(&file));
}

#[test]
fn a_journal_cut_short_or_flipped_anywhere_is_refused_by_both_for_the_same_reason() {
    let Some(python) = python() else { return };
    let bytes = encode(&extreme());
    let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
    let flipped = (0..bytes.len()).filter(|at| bytes[*at] != b'\n' && *at % 3 == 0).map(|at| {
        let mut bytes = bytes.clone();
        // Digits stay digits, so that both look at the digest.
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        bytes
    });
    let damaged: Vec<_> = cut.chain(flipped).collect();
    let unlike = |damaged: &Vec<u8>| *damaged != bytes;
    assert!(damaged.iter().all(unlike));
    assert_eq!(agree(python, &damaged, true), 0);
}

#[test]
fn whatever_verifies_is_accepted_or_refused_by_both() {
    let Some(python) = python() else { return };
    let count = std::env::var("TXEDIT_TEST_READER").map_or(2_000, |text| text.parse().unwrap());
    let mut chance = 1;
    let bytes = encode(&extreme());
    let rewritten: Vec<_> = (0..count).map(|_| rewritten(&bytes, &mut chance)).collect();
    let accepted: usize = rewritten.chunks(500).map(|some| agree(python, some, false)).sum();
    eprintln!("reader: {count} rewritten journals, {accepted} accepted by both, the rest refused by both");
    assert!(accepted > 0 && accepted < count, "{accepted} of {count}");
}
