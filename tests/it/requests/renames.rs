//! Moves of every shape, each committed, looked at, and undone exactly.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use txedit::ErrorKind;
use txedit::report::Operation;

use crate::support::workspace::{Node, Workspace};

fn rename(from: &str, to: &str) -> Value {
    json!({ "file_path": from, "rename_to": to })
}

fn old() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

/// Three files that differ in everything that a move must carry along.
fn three() -> Workspace {
    let workspace = Workspace::with(&[("a", "first\n"), ("b", "second\n"), ("c", "third\n")]);
    for (at, (path, mode)) in [("a", 0o640), ("b", 0o755), ("c", 0o604)].into_iter().enumerate() {
        workspace.chmod(path, mode);
        let time = old() + Duration::from_secs(at as u64);
        fs::File::open(workspace.path(path)).unwrap().set_modified(time).unwrap();
        workspace.tool("setfattr", &["-n", "user.name", "-v", path], path).unwrap();
    }
    workspace
}

/// What a move carries along: bytes, mode, owner, attributes and time.
fn carried(node: &Node) -> Node {
    Node { inode: 0, links: 0, ..node.clone() }
}

/// Commits, compares which file is now where, undoes, and compares everything.
fn moved(workspace: &Workspace, files: &Value, now: &[(&str, &str)]) {
    let before = workspace.tree();
    let report = workspace.apply(&json!({ "files": files })).unwrap();
    let after = workspace.tree();
    for (to, from) in now {
        assert_eq!(carried(after.at(to)), carried(before.at(from)), "{from} is at {to} now");
    }
    assert!(workspace.root().join(".txedit/history").join(report.transaction.unwrap()).is_dir());
    workspace.undo(None).unwrap();
    let undone = workspace.tree();
    undone.clone().restorable().assert_same(&before.clone().restorable());
    // What only moves, and what nobody touched, keeps its time on the way back as well; what is restored does not, or
    // builds would trust what they made of the content that goes.
    for (path, node) in before.0.iter().filter(|(path, _)| workspace.root().join(path).is_file()) {
        let was_there = after.0.values().any(|other| other.content == node.content);
        assert_eq!(undone.0[path].modified == node.modified, was_there, "{}", path.display());
    }
}

fn listing(workspace: &Workspace) -> Vec<String> {
    workspace.tree().0.keys().map(|path| path.to_str().unwrap().to_owned()).collect()
}

#[test]
fn a_moved_file_keeps_everything() {
    let workspace = three();
    moved(&workspace, &json!([rename("a", "d")]), &[("d", "a"), ("b", "b"), ("c", "c")]);
    let report = workspace.apply(&json!({ "files": [rename("a", "d")] })).unwrap();
    assert_eq!(listing(&workspace), ["b", "c", "d"]);
    assert_eq!(report.files[0].operation, Operation::Rename);
    assert_eq!(report.files[0].extras.renamed_to.as_deref().unwrap().to_str(), Some("d"));
    assert_eq!(report.files[0].hash_before, report.files[0].hash_after);
}

#[test]
fn two_files_trade_names() {
    moved(&three(), &json!([rename("a", "b"), rename("b", "a")]), &[("a", "b"), ("b", "a"), ("c", "c")]);
}

#[test]
fn files_move_along_a_chain_in_any_order_of_the_request() {
    let workspace = three();
    let chain = json!([rename("a", "b"), rename("b", "c"), rename("c", "d")]);
    moved(&workspace, &chain, &[("b", "a"), ("c", "b"), ("d", "c")]);
    // In any order of the entries.
    let chain = json!([rename("c", "d"), rename("a", "b"), rename("b", "c")]);
    moved(&workspace, &chain, &[("b", "a"), ("c", "b"), ("d", "c")]);
    workspace.apply(&json!({ "files": chain })).unwrap();
    assert_eq!(listing(&workspace), ["b", "c", "d"]);
}

#[test]
fn three_files_trade_names_in_a_circle() {
    let circle = json!([rename("a", "b"), rename("b", "c"), rename("c", "a")]);
    moved(&three(), &circle, &[("b", "a"), ("c", "b"), ("a", "c")]);
}

#[test]
fn files_move_into_new_folders() {
    let workspace = three();
    fs::create_dir(workspace.path("there")).unwrap();
    let files = json!([rename("a", "there/x/y/a"), rename("b", "new/b"), rename("c", "new/sub/c")]);
    moved(&workspace, &files, &[("there/x/y/a", "a"), ("new/b", "b"), ("new/sub/c", "c")]);
    assert_eq!(listing(&workspace), ["a", "b", "c", "there"]);
    // What somebody put into a new folder meanwhile keeps that folder, and does not keep the undo from the rest.
    let before = workspace.tree();
    workspace.apply(&json!({ "files": files })).unwrap();
    workspace.write("new/theirs", "kept\n");
    workspace.undo(None).unwrap();
    assert_eq!(listing(&workspace), ["a", "b", "c", "new", "new/theirs", "there"]);
    fs::remove_dir_all(workspace.path("new")).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

#[test]
fn a_new_file_takes_the_place_of_one_that_moved() {
    let request = [
        json!({ "file_path": "a", "content": "new\n" }),
        json!({ "file_path": "a", "rename_to": "d",
            "edits": [{ "old_string": "first", "new_string": "moved" }] }),
    ];
    for order in [[0, 1], [1, 0]] {
        for asks in [json!({}), json!({ "dry_run": true }), json!({ "include_content": true })] {
            let workspace = three();
            let before = workspace.tree();
            let mut asked = asks.clone();
            asked["files"] = order.iter().map(|at| request[*at].clone()).collect();
            let report = workspace.apply(&asked).unwrap();
            let (new, moved) = (&report.files[order[0]], &report.files[order[1]]);
            assert_eq!((new.operation, moved.operation), (Operation::Create, Operation::Rename));
            assert_eq!((new.hash_before, moved.hash_before.is_some()), (None, true));
            if report.dry_run {
                let diff = moved.extras.diff.as_deref().unwrap();
                assert!(diff.contains("-first") && diff.contains("+moved"), "{diff}");
                let diff = new.extras.diff.as_deref().unwrap();
                assert!(diff.contains("/dev/null") && !diff.contains("first"), "{diff}");
                workspace.tree().assert_same(&before);
                continue;
            }
            assert_eq!((workspace.read("a").as_str(), workspace.read("d").as_str()), ("new\n", "moved\n"));
            let after = workspace.tree();
            assert_eq!(after.at("d").attributes, before.at("a").attributes);
            // A new file, not the old one with another content.
            workspace.write("beside", "");
            assert_eq!(workspace.mode("a"), workspace.mode("beside"));
            fs::remove_file(workspace.path("beside")).unwrap();
            assert!(after.at("a").attributes.iter().all(|(name, _)| name != "user.name"));
            workspace.undo(None).unwrap();
            workspace.tree().restorable().assert_same(&before.restorable());
        }
    }
}

#[test]
fn a_move_takes_edits_and_a_mode() {
    let workspace = three();
    let before = workspace.tree();
    let request = json!({ "files": [
        { "file_path": "a", "rename_to": "b", "edits": [{ "old_string": "first", "new_string": "1st" }] },
        { "file_path": "b", "rename_to": "a", "mode": "0700" },
        { "file_path": "c", "mode": "4755" },
    ] });
    let report = workspace.apply(&request).unwrap();
    let after = workspace.tree();
    assert_eq!((workspace.read("a").as_str(), workspace.read("b").as_str()), ("second\n", "1st\n"));
    assert_eq!((workspace.mode("a"), workspace.mode("b"), workspace.mode("c")), (0o700, 0o640, 0o4755));
    assert_eq!(
        (&after.at("b").attributes, after.at("a").modified),
        (&before.at("a").attributes, before.at("b").modified)
    );
    assert_eq!(after.at("c").modified, before.at("c").modified);
    assert_eq!(report.files[2].operation, Operation::Mode);
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

#[test]
fn a_move_replaces_a_file_only_where_that_is_asked_for() {
    let workspace = three();
    let before = workspace.tree();
    workspace.finds(&json!({ "files": [rename("a", "b")] }), &[(ErrorKind::FileExists, "files/0/rename_to")]);
    let mut onto = rename("a", "b");
    onto["if_exists"] = json!("replace");
    moved(&workspace, &json!([onto]), &[("c", "c")]);
    workspace.apply(&json!({ "files": [onto] })).unwrap();
    assert_eq!((workspace.read("b").as_str(), listing(&workspace)), ("first\n", vec!["b".to_owned(), "c".to_owned()]));
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

#[test]
fn a_path_can_be_vacated_and_taken_in_one_request() {
    let workspace = three();
    let before = workspace.tree();
    let request = json!({ "files": [
        { "file_path": "a", "delete": true },
        { "file_path": "a", "content": "new\n" },
        { "file_path": "b", "delete": true },
        { "file_path": "c", "rename_to": "b" },
    ] });
    workspace.apply(&request).unwrap();
    assert_eq!((workspace.read("a").as_str(), workspace.read("b").as_str()), ("new\n", "third\n"));
    assert_eq!(listing(&workspace), ["a", "b"]);
    assert!(workspace.tree().at("a").attributes.is_empty(), "it is a new file");
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

#[test]
fn a_move_of_a_file_onto_itself_is_refused() {
    let workspace = three();
    fs::hard_link(workspace.path("b"), workspace.path("second")).unwrap();
    for (from, to) in [("a", "a"), ("a", "./a")] {
        let mut onto = rename(from, to);
        onto["if_exists"] = json!("replace");
        workspace.finds(&json!({ "files": [onto] }), &[(ErrorKind::DuplicateFilePath, "files/0/rename_to")]);
    }
    let mut onto = rename("b", "second");
    onto["if_exists"] = json!("replace");
    workspace.finds(&json!({ "files": [onto] }), &[(ErrorKind::DuplicateFilePath, "files/0/rename_to")]);
}

/// Never what it leads to: `mv` means the name as well.
#[test]
fn a_move_onto_a_symlink_replaces_the_symlink_itself() {
    for target in ["a", "b", "nowhere", "d", "link"] {
        let workspace = three();
        fs::create_dir(workspace.path("d")).unwrap();
        symlink(target, workspace.path("link")).unwrap();
        symlink("c", workspace.path("to-c")).unwrap();
        workspace.finds(&json!({ "files": [rename("a", "link")] }), &[(ErrorKind::FileExists, "files/0/rename_to")]);
        let onto = |from: &str| json!({ "file_path": from, "rename_to": "link", "if_exists": "replace" });
        let same = [("b", "b"), ("c", "c"), ("d", "d"), ("to-c", "to-c")];
        moved(&workspace, &json!([onto("a")]), &[[("link", "a")].as_slice(), &same].concat());
        moved(&workspace, &json!([onto("to-c")]), &[[("link", "to-c"), ("a", "a")].as_slice(), &same[..3]].concat());
        let mut edited = onto("b");
        edited["edits"] = json!([{ "old_string": "second", "new_string": "2nd" }]);
        workspace.apply(&json!({ "files": [edited] })).unwrap();
        assert_eq!((workspace.read("link"), workspace.read("a")), ("2nd\n".to_owned(), "first\n".to_owned()));
        assert!(fs::symlink_metadata(workspace.path("link")).unwrap().is_file());
    }
}

#[test]
fn files_of_one_content_trade_modes_and_attributes() {
    // The same bytes under both names: a swap still trades modes and attributes.
    let workspace = three();
    workspace.write("b", "first\n");
    fs::File::open(workspace.path("b")).unwrap().set_modified(old()).unwrap();
    moved(&workspace, &json!([rename("a", "b"), rename("b", "a")]), &[("a", "b"), ("b", "a")]);
    // With one mode as well, they still have different attributes.
    workspace.chmod("b", workspace.mode("a"));
    let before = workspace.tree();
    assert_ne!(before.at("a").attributes, before.at("b").attributes);
    moved(&workspace, &json!([rename("a", "b"), rename("b", "a")]), &[("a", "b"), ("b", "a")]);
}
