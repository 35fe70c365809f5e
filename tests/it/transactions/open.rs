//! Transactions over several calls: staged, previewed, carried over, committed or dropped.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use txedit::error::Detail;
use txedit::report::Staged;
use txedit::wire::request;
use txedit::{Digest, Edit, Error, ErrorKind, Outcome, Patch, PathRule, Preview, Report, Request, Result, Run};

use crate::support::is_full;
use crate::support::workspace::{Workspace, running};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "files": [{ "file_path": path, "edits": [{ "old_string": old, "new_string": new }] }] })
}

impl Workspace {
    pub(crate) fn stage(&self, id: Option<&str>, request: &Value) -> Result<Staged> {
        let request = request::parse(request.to_string().as_bytes())?.into_request(PathRule::AbsoluteOrRelative)?;
        self.engine.stage(&request, id, running())
    }

    pub(crate) fn open(&self, request: &Value) -> String {
        self.stage(None, request).unwrap().id.unwrap()
    }

    pub(crate) fn preview(&self, id: &str) -> Result<Preview> {
        self.engine.preview(id, running())
    }

    pub(crate) fn commit(&self, id: &str) -> Result<Report> {
        self.engine.commit_staged(id, None, None, running())
    }

    fn commit_plan(&self, id: &str, plan_hash: Digest) -> Result<Report> {
        self.engine.commit_staged(id, Some(plan_hash), None, running())
    }
}

#[track_caller]
fn refused(error: &Error, kind: ErrorKind) {
    assert_eq!((error.kind(), error.outcome()), (kind, Outcome::Unchanged), "{error}");
}

#[test]
fn later_edits_see_what_is_staged_and_files_see_nothing() {
    let workspace = Workspace::with(&[("a", "one\ntwo\n"), ("b", "three\n"), ("gone", "gone\n")]);
    let before = workspace.tree();
    let id = workspace.open(&edit("a", "one", "1"));
    // Absolute or relative, it is the same file.
    let again = workspace.stage(Some(&id), &edit(&workspace.name("a"), "1\ntwo", "1\n2")).unwrap();
    assert_eq!(again.report.files[0].edits.len(), 1, "only what was added is told");
    workspace.stage(Some(&id), &json!({"files": [{"file_path": "b", "rename_to": "c"}]})).unwrap();
    workspace.stage(Some(&id), &edit("c", "three", "3")).unwrap();
    workspace.stage(Some(&id), &json!({"files": [{"file_path": "new", "content": "x\n"}]})).unwrap();
    workspace.stage(Some(&id), &edit("new", "x", "y")).unwrap();
    workspace.stage(Some(&id), &json!({"files": [{"file_path": "gone", "delete": true}]})).unwrap();
    let missing = workspace.stage(Some(&id), &edit("a", "one", "uno")).unwrap_err();
    refused(&missing, ErrorKind::MatchNotFound);
    assert_eq!((missing.file(), missing.edit()), (Some(0), Some(0)), "in the words of what was added");
    let missing = workspace.stage(Some(&id), &edit("b", "three", "3")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::ValidationFailed);
    workspace.tree().assert_same(&before);

    let preview = workspace.preview(&id).unwrap();
    let diffs: String = preview.report.files.iter().filter_map(|file| file.extras.diff.clone()).collect();
    for line in ["-one\n", "+1\n", "+2\n", "-three\n", "+3\n", "+y\n", "-gone\n"] {
        assert!(diffs.contains(line), "{line:?} is not in\n{diffs}");
    }
    workspace.tree().assert_same(&before);

    let report = workspace.commit(&id).unwrap();
    assert_eq!(workspace.read("a"), "1\n2\n");
    assert_eq!((workspace.read("c"), workspace.read("new")), ("3\n".to_owned(), "y\n".to_owned()));
    assert!(!workspace.path("b").exists() && !workspace.path("gone").exists());
    let told: Vec<_> = preview.report.files.iter().map(|file| file.hash_after).collect();
    assert_eq!(report.files.iter().map(|file| file.hash_after).collect::<Vec<_>>(), told);
    // An answer that was lost is given again.
    let again = workspace.commit(&id).unwrap();
    assert_eq!((again.transaction, again.already_applied), (report.transaction, true));
    refused(&workspace.preview(&id).unwrap_err(), ErrorKind::UnknownTransaction);
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

#[test]
fn what_is_dropped_or_unknown_is_told_so() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let id = workspace.open(&edit("a", "one", "1"));
    workspace.engine.roll_back(&id, running()).unwrap();
    refused(&workspace.commit(&id).unwrap_err(), ErrorKind::UnknownTransaction);
    refused(&workspace.commit("nonsense").unwrap_err(), ErrorKind::UnknownTransaction);
    refused(&workspace.commit("20200101T000000.000000Z-0123456789abcdef").unwrap_err(), ErrorKind::TransactionExpired);
    assert_eq!(workspace.read("a"), "one\n");
    assert_eq!(fs::read_dir(workspace.path(".txedit/open")).unwrap().count(), 0);
}

/// An open transaction that lapsed years ago.
fn lapsed(workspace: &Workspace) -> String {
    let id = workspace.open(&edit("a", "one", "1"));
    let open = workspace.path(".txedit/open");
    let file = open.join(&id).join("transaction.json");
    let text = fs::read_to_string(&file).unwrap();
    let stored: Value = serde_json::from_str(&text).unwrap();
    // As it is written, but for the time: whatever begins in another way is not read on.
    let lapsed = text.replace(&format!("\"expires\":{}", stored["expires"]), "\"expires\":1600000000");
    assert_ne!(lapsed, text);
    fs::write(&file, lapsed).unwrap();
    // It was opened before that: one that was opened just now is not looked at.
    let older = format!("20200912T000000.000000Z{}", &id[id.find('-').unwrap()..]);
    fs::rename(open.join(&id), open.join(&older)).unwrap();
    older
}

#[test]
fn an_open_transaction_that_lapsed_is_swept() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    let id = lapsed(&workspace);
    let open = || workspace.engine.status().unwrap().open;
    assert!(open()[0].is_expired);
    refused(&workspace.preview(&id).unwrap_err(), ErrorKind::TransactionExpired);
    // By each command about open transactions.
    let next = workspace.open(&edit("b", "one", "1"));
    assert_eq!(open().iter().map(|open| &open.id).collect::<Vec<_>>(), [&next]);
}

#[test]
fn one_commit_in_many_sweeps_open_transactions() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    lapsed(&workspace);
    let commits = (1..2_000).find(|number| {
        let (old, new) = if number % 2 == 1 { ("one", "two") } else { ("two", "one") };
        workspace.apply(&edit("b", old, new)).unwrap();
        workspace.engine.status().unwrap().open.is_empty()
    });
    assert!(commits.is_some());
}

#[test]
fn an_open_transaction_that_was_copied_here_is_not_listed() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let id = workspace.open(&edit("a", "one", "1"));
    let copy = "20990101T000000.000000Z-0123456789abcdef";
    let open = workspace.path(".txedit/open");
    fs::create_dir(open.join(copy)).unwrap();
    fs::copy(open.join(&id).join("transaction.json"), open.join(copy).join("transaction.json")).unwrap();
    refused(&workspace.commit(copy).unwrap_err(), ErrorKind::UnknownTransaction);
    assert_eq!(workspace.read("a"), "one\n");
}

const BASE: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";

#[test]
fn a_foreign_edit_of_other_lines_is_carried_along() {
    let workspace = Workspace::with(&[("a", BASE)]);
    let id = workspace.open(&edit("a", "c\n", "C\n"));
    workspace.stage(Some(&id), &edit("a", "d\n", "D\n")).unwrap();
    let planned = workspace.preview(&id).unwrap();
    workspace.write("a", "new\na\nb\nc\nd\ne\nf\ng\nH\n");
    refused(&workspace.commit_plan(&id, planned.plan_hash).unwrap_err(), ErrorKind::ConcurrentModification);
    let now = workspace.preview(&id).unwrap();
    assert_ne!(now.plan_hash, planned.plan_hash);
    assert_eq!(now.report.files[0].edits.len(), 2);
    let report = workspace.commit_plan(&id, now.plan_hash).unwrap();
    assert_eq!(workspace.read("a"), "new\na\nb\nC\nD\ne\nf\ng\nH\n");
    let foreign = report.files[0].extras.rebased.clone().unwrap();
    assert!(foreign.contains("+new\n") && foreign.contains("+H\n") && !foreign.contains("+C\n"), "{foreign}");
}

#[test]
fn a_foreign_edit_in_the_same_place_is_refused_with_both_sides() {
    for theirs in ["a\nb\nc!\nd\ne\nf\ng\nh\n", "a\nb\nd\ne\nf\ng\nh\n", "a\nb\nc\nc\nd\ne\nf\ng\nh\nc\n", "", "\0"] {
        let workspace = Workspace::with(&[("a", BASE)]);
        let id = workspace.open(&edit("a", "c\n", "C\n"));
        workspace.write("a", theirs);
        let error = workspace.commit(&id).unwrap_err();
        refused(&error, ErrorKind::ConcurrentModification);
        let Detail::Diverged(sides) = error.details() else { panic!("{error} shows no sides") };
        assert!(sides.ours.contains("-c\n+C\n") && !sides.theirs.is_empty(), "{sides:?}");
        assert_eq!(workspace.read("a"), theirs);
        // It is still open: the other program may take its change back.
        workspace.write("a", BASE);
        workspace.commit(&id).unwrap();
        assert_eq!(workspace.read("a"), BASE.replace('c', "C"));
    }
}

#[test]
fn what_says_its_hash_is_never_carried_over() {
    let workspace = Workspace::with(&[("a", BASE), ("b", BASE)]);
    let mut request = edit("a", "c\n", "C\n");
    request["files"][0]["expected_hash"] = json!(Digest::of(BASE.as_bytes()).to_hex());
    let id = workspace.open(&request);
    // The second one expects what the first has staged.
    let staged = BASE.replace('c', "C");
    let mut more = edit("a", "d\n", "D\n");
    more["files"][0]["expected_hash"] = json!(Digest::of(BASE.as_bytes()).to_hex());
    refused(&workspace.stage(Some(&id), &more).unwrap_err(), ErrorKind::HashMismatch);
    more["files"][0]["expected_hash"] = json!(Digest::of(staged.as_bytes()).to_hex());
    workspace.stage(Some(&id), &more).unwrap();
    workspace.write("a", format!("{BASE}more\n"));
    refused(&workspace.commit(&id).unwrap_err(), ErrorKind::ConcurrentModification);
    // Whole contents and deletions are for the file that was there.
    let id = workspace.open(&json!({"files": [{"file_path": "b", "delete": true}]}));
    workspace.write("b", "theirs\n");
    refused(&workspace.commit(&id).unwrap_err(), ErrorKind::ConcurrentModification);
    assert_eq!(workspace.read("b"), "theirs\n");
}

#[test]
fn a_commit_takes_the_plan_that_was_previewed_or_none() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    let id = workspace.open(&edit("a", "one", "1"));
    let hash = workspace.preview(&id).unwrap().plan_hash;
    workspace.stage(Some(&id), &edit("b", "one", "1")).unwrap();
    refused(&workspace.commit_plan(&id, hash).unwrap_err(), ErrorKind::HashMismatch);
    let hash = workspace.preview(&id).unwrap().plan_hash;
    workspace.commit_plan(&id, hash).unwrap();
    assert_eq!((workspace.read("a"), workspace.read("b")), ("1\n".to_owned(), "1\n".to_owned()));
}

#[test]
fn each_process_sees_the_open_transactions_of_others() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    let first = workspace.open(&edit("a", "one", "1"));
    let second = workspace.stage(None, &edit("a", "one", "2")).unwrap();
    assert_eq!(second.overlaps.len(), 1);
    assert_eq!((&second.overlaps[0].id, second.overlaps[0].path.to_str()), (&first, Some("a")));
    assert!(workspace.stage(None, &edit("b", "one", "2")).unwrap().overlaps.is_empty());
    // A name that a file is moved to is changed, too.
    let moved = workspace.open(&json!({ "files": [{ "file_path": "b", "rename_to": "./new" }] }));
    let third = workspace.stage(None, &json!({ "files": [{ "file_path": "new", "content": "n\n" }] })).unwrap();
    let overlaps: Vec<_> = third.overlaps.iter().map(|one| (&one.id, one.path.to_str())).collect();
    assert_eq!(overlaps, [(&moved, Some("new"))]);
    let at = workspace.engine.open_transactions(Some(Path::new("new"))).unwrap();
    assert_eq!(at.iter().map(|open| &open.id).collect::<Vec<_>>(), [&moved, third.id.as_ref().unwrap()]);
    let open = workspace.engine.status().unwrap().open;
    assert_eq!(open.len(), 5);
    assert_eq!(open[0].files, [("a".into(), "edit".to_owned())]);
    assert!(open[0].owner.starts_with("it, process "), "{}", open[0].owner);
}

#[test]
fn a_repetition_is_known() {
    let workspace = Workspace::with(&[("a", "x\n")]);
    let apply = |key: Option<&str>, idempotent, new: &str| {
        let mut request = edit("a", "x", new);
        if let Some(key) = key {
            request["idempotency_key"] = json!(key);
        }
        let mut request = request::parse(request.to_string().as_bytes())?.into_request(PathRule::AbsoluteOrRelative)?;
        request.idempotent = idempotent;
        workspace.engine.apply(&request, running())
    };
    // The result matches again: only the key, or the wish, tells that it is done.
    let first = apply(Some("k"), false, "x x").unwrap();
    let again = apply(Some("k"), false, "x x").unwrap();
    assert_eq!((&again.transaction, again.already_applied), (&first.transaction, true));
    assert_eq!(again.files[0].edits, first.files[0].edits);
    assert_eq!(again.files[0].hash_after, first.files[0].hash_after);
    refused(&apply(Some("k"), false, "y").unwrap_err(), ErrorKind::ValidationFailed);
    assert!(apply(None, true, "x x").unwrap().already_applied);
    assert_eq!(workspace.read("a"), "x x\n");
    workspace.write("a", "x\n");
    assert!(!apply(None, true, "x x").unwrap().already_applied, "the file is not as it was left");
    // With the hash that the caller saw.
    let mut request = edit("a", "x x", "z");
    request["files"][0]["expected_hash"] = json!(Digest::of(b"x x\n").to_hex());
    assert!(!workspace.apply(&request).unwrap().already_applied);
    assert!(workspace.apply(&request).unwrap().already_applied);
    workspace.write("a", "other\n");
    refused(&workspace.apply(&request).unwrap_err(), ErrorKind::HashMismatch);
}

/// A key counts where a request is applied: what says that it counts here would not be true.
#[test]
fn a_key_is_not_staged() {
    let workspace = Workspace::with(&[("a", "x\n")]);
    let mut request = edit("a", "x", "y");
    request["idempotency_key"] = json!("k");
    let error = workspace.stage(None, &request).unwrap_err();
    refused(&error, ErrorKind::ValidationFailed);
    assert!(error.to_string().contains("`idempotency_key` goes with"), "{error}");
}

/// Nor is what else a request says about its own commit: a plan that was reviewed, above all.
#[test]
fn what_counts_at_a_commit_is_not_staged() {
    let workspace = Workspace::with(&[("a", "x\n")]);
    let plain = || Request::new().edit("a", Edit::replace("x", "y"));
    let [mut hashed, mut again] = [plain(), plain()];
    (hashed.plan_hash, again.again) = (Some(Digest::of(b"another plan")), true);
    for (name, request) in [("plan_hash", hashed), ("again", again), ("campaign", plain().campaign("c"))] {
        let error = workspace.engine.stage(&request, None, Run::default()).unwrap_err();
        refused(&error, ErrorKind::ValidationFailed);
        assert!(error.to_string().contains(&format!("`{name}` goes with")), "{error}");
    }
}

/// Stages a patch.
fn stage_patch(workspace: &Workspace, id: Option<&str>, patch: &str) -> Result<Staged> {
    let patch = Patch::read(patch.as_bytes(), None, None)?;
    workspace.engine.stage(&patch.request, id, running())
}

#[test]
fn a_patch_is_staged_as_places_and_carried_over_like_texts() {
    let workspace = Workspace::with(&[("a", BASE), ("b", "one\ntwo\nthree\n")]);
    let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n\
                 diff --git a/b b/copy\nsimilarity index 60%\ncopy from b\ncopy to copy\n--- a/b\n+++ b/copy\n\
                 @@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    let id = stage_patch(&workspace, None, patch).unwrap().id.unwrap();
    // The next one is made for what is staged.
    let next = "--- a/a\n+++ b/a\n@@ -2,3 +2,3 @@\n b\n-C\n+CC\n d\n";
    stage_patch(&workspace, Some(&id), next).unwrap();
    refused(&stage_patch(&workspace, Some(&id), next).unwrap_err(), ErrorKind::MatchNotFound);
    workspace.write("a", format!("new\n{BASE}"));
    workspace.commit(&id).unwrap();
    assert_eq!(workspace.read("a"), format!("new\n{}", BASE.replace('c', "CC")));
    assert_eq!(workspace.read("copy"), "one\n2\nthree\n");
}

#[test]
fn one_file_has_one_name() {
    let workspace = Workspace::with(&[("real/a", "one\ntwo\n")]);
    symlink("real", workspace.path("folder")).unwrap();
    symlink("real/a", workspace.path("link")).unwrap();
    let id = workspace.open(&edit("folder/a", "one", "1"));
    workspace.stage(Some(&id), &edit("link", "1", "uno")).unwrap();
    let by_patch = "--- a/link\n+++ b/link\n@@ -1,2 +1,2 @@\n uno\n-two\n+2\n";
    stage_patch(&workspace, Some(&id), by_patch).unwrap();
    assert_eq!(workspace.preview(&id).unwrap().report.files.len(), 1);
    // The symlink itself is another file.
    workspace.stage(Some(&id), &json!({"files": [{"file_path": "link", "rename_to": "x"}]})).unwrap();
    workspace.commit(&id).unwrap();
    assert_eq!(workspace.read("real/a"), "uno\n2\n");
    assert!(fs::symlink_metadata(workspace.path("x")).unwrap().is_symlink());
}

fn content() -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-d]{1,2}", 1..6).prop_map(|lines| lines.join("\n") + "\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 1_000 } else { 250 }))]

    #[test]
    fn a_committed_plan_is_the_one_that_was_previewed(
        files in proptest::collection::vec((content(), content(), 0..4_u8), 1..4), new in content(),
    ) {
        let workspace = Workspace::new();
        for (index, (old, ..)) in files.iter().enumerate() {
            workspace.write(&format!("f{index}"), old);
        }
        let mut id = None;
        for (index, (old, new, kind)) in files.iter().enumerate() {
            let path = format!("f{index}");
            let first = old.lines().next().unwrap();
            let entry = match kind {
                0 => json!({"file_path": path, "content": new, "if_exists": "replace"}),
                1 => json!({"file_path": path, "delete": true}),
                2 => json!({"file_path": path, "rename_to": format!("moved/{path}")}),
                _ => json!({"file_path": path, "edits": [
                    {"old_string": first, "new_string": new.trim_end(), "replace_all": true}]}),
            };
            id = Some(workspace.stage(id.as_deref(), &json!({"files": [entry]})).unwrap().id.unwrap());
        }
        let id = id.unwrap();
        workspace.stage(Some(&id), &json!({"files": [{"file_path": "new", "content": new}]})).unwrap();
        let preview = workspace.preview(&id).unwrap();
        workspace.commit_plan(&id, preview.plan_hash).unwrap();
        for file in &preview.report.files {
            let path = workspace.root().join(file.extras.renamed_to.as_ref().unwrap_or(&file.path));
            let found = fs::read(path).ok().map(|bytes| Digest::of(&bytes));
            prop_assert_eq!(found, file.hash_after, "{:?}", file);
        }
    }
}
