//! Programs beside others that change the same files.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::{Ran, command, is_here, nothing_stays, ran, tree, wait_for, workspace};

/// What somebody does while the program runs.
type Deed = fn(&Path);

/// Lets the program do its work, then somebody else, and returns what is told.
fn meanwhile(here: &super::Workspace, script: &str, deed: Deed) -> Ran {
    let outside = tempfile::tempdir().unwrap();
    let (ready, go) = (outside.path().join("ready"), outside.path().join("go"));
    let script = format!("{script}; touch {}; while [ ! -e {} ]; do sleep 0.01; done", ready.display(), go.display());
    let child = command(here, &["--json"], &script).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| ready.exists());
    deed(&here.path());
    fs::write(go, "").unwrap();
    Ran::from(child.wait_with_output().unwrap())
}

/// A program, what somebody does to the same files, and the path that is told.
const CONFLICTS: [(&str, Deed, &str); 13] = [
    ("echo 1 > a", |root| fs::write(root.join("a"), "theirs\n").unwrap(), "a"),
    ("sed -i s/one/1/ a", |root| fs::write(root.join("a"), "two\n").unwrap(), "a"),
    (
        "echo 1 > a",
        |root| {
            // With the size and the time that it had.
            let time = fs::metadata(root.join("a")).unwrap().modified().unwrap();
            fs::write(root.join("a"), "eno\n").unwrap();
            fs::File::options().write(true).open(root.join("a")).unwrap().set_modified(time).unwrap();
        },
        "a",
    ),
    ("echo 1 > a", |root| fs::remove_file(root.join("a")).unwrap(), "a"),
    ("sed -i s/one/1/ a", |root| fs::remove_file(root.join("a")).unwrap(), "a"),
    ("echo mine > new", |root| fs::write(root.join("new"), "theirs\n").unwrap(), "new"),
    ("rm a", |root| fs::write(root.join("a"), "theirs\n").unwrap(), "a"),
    ("rm -r gone", |root| fs::write(root.join("gone/g"), "theirs\n").unwrap(), "gone/g"),
    ("rm -r gone", |root| fs::write(root.join("gone/theirs"), "theirs\n").unwrap(), "gone/theirs"),
    ("mv sub/in elsewhere", |root| fs::write(root.join("sub/in/d"), "theirs\n").unwrap(), "sub/in/d"),
    (
        "echo 1 > sub/c",
        |root| {
            fs::rename(root.join("sub"), root.join("theirs")).unwrap();
            fs::create_dir(root.join("sub")).unwrap();
            fs::write(root.join("sub/c"), "another\n").unwrap();
        },
        "sub/c",
    ),
    (
        "ln -sfn b to-a",
        |root| {
            fs::remove_file(root.join("to-a")).unwrap();
            std::os::unix::fs::symlink("theirs", root.join("to-a")).unwrap();
        },
        "to-a",
    ),
    ("chmod 600 a", |root| fs::write(root.join("a"), "theirs\n").unwrap(), "a"),
];

#[test]
fn nobodys_work_is_lost() {
    if !is_here() {
        return;
    }
    for (script, deed, path) in CONFLICTS {
        let (here, theirs) = (workspace(), workspace());
        deed(&theirs.path());
        let json = meanwhile(&here, script, deed).exits(3).json();
        assert_eq!(json["error_code"], json!("CONCURRENT_MODIFICATION"), "{script}: {json}");
        assert_eq!(json["outcome"], json!("unchanged"), "{script}: {json}");
        let told = json["context"]["conflicts"].as_array().unwrap();
        assert!(told.iter().any(|conflict| conflict["path"] == json!(path)), "{script}: {json}");
        assert_eq!(tree(&here.path()), tree(&theirs.path()), "{script}");
        nothing_stays(&here);
        assert_eq!(here.run(&["log", "--json"]).exits(0).json()["transactions"], json!([]));
    }
}

#[test]
fn both_sides_of_a_conflict_are_told() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let told = meanwhile(&here, "echo mine > a", |root| fs::write(root.join("a"), "theirs\n").unwrap());
    let diff = told.exits(3).json()["context"]["conflicts"][0]["diff"].as_str().unwrap().to_owned();
    assert!(diff.contains("-theirs\n+mine\n"), "{diff}");
}

fn txedit(root: &Path, line: &[&str]) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
    let ran = Ran::from(command.args(["--json", "--root"]).arg(root).args(line).current_dir(root).output().unwrap());
    ran.exits(0).json()
}

/// The conflict about a path.
fn about<'j>(json: &'j serde_json::Value, path: &str) -> &'j serde_json::Value {
    let conflicts = json["context"]["conflicts"].as_array().unwrap();
    conflicts.iter().find(|conflict| conflict["path"] == json!(path)).unwrap_or_else(|| panic!("{path}: {json}"))
}

#[test]
fn transactions_of_others_are_named_with_what_both_sides_did() {
    if !is_here() {
        return;
    }
    let here = workspace();
    // One in front of the view is none of others.
    txedit(&here.path(), &["edit", "a", "--old", "one", "--new", "zero"]);
    let json = meanwhile(&here, "echo mine >> a; rm b; echo mine > new; ln -sfn mine to-a", |root| {
        txedit(root, &["edit", "a", "--old", "zero", "--new", "1"]);
        txedit(root, &["edit", "a", "--old", "1", "--new", "2"]);
        txedit(root, &["edit", "b", "--old", "two", "--new", "second"]);
        let plan = r#"{"files": [{"file_path": "new", "content": "theirs\n"},
            {"file_path": "to-a", "symlink_to": "theirs", "if_exists": "replace"}]}"#;
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(outside.path(), plan).unwrap();
        txedit(root, &["apply", outside.path().to_str().unwrap()]);
    });
    let json = json.exits(3).json();
    let log = txedit(&here.path(), &["log"]);
    let ids: Vec<_> = log["transactions"].as_array().unwrap().iter().map(|one| one["transaction_id"].clone()).collect();
    let [last, of_b, second, first, _] = &ids[..] else { panic!("{log}") };
    for (path, by, theirs, ours) in [
        ("a", vec![first, second], "-zero\n+2\n", " zero\n+mine\n"),
        ("b", vec![of_b], "-two\n+second\n", "-two\n"),
        ("new", vec![last], "+theirs\n", "+mine\n"),
        ("to-a", vec![last], "+theirs\n", "+mine\n"),
    ] {
        let conflict = about(&json, path);
        assert_eq!(
            (&conflict["changed_by"], &conflict["by_another_program"]),
            (&json!(by), &json!(null)),
            "{conflict}"
        );
        for (side, wanted) in [("theirs", theirs), ("ours", ours)] {
            let diff = conflict[side]
                .as_str()
                .unwrap_or_else(|| panic!("{side} of {conflict}"))
                .replace("\n\\ No newline at end of file", "");
            assert!(diff.contains(wanted), "{path}: {side}: {diff}");
        }
    }
    assert!(json["recovery_hint"].as_str().unwrap().starts_with("Run the program again"), "{json}");
    // The hint is true.
    ran(&here, &[], "echo mine >> a").exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "2\nmine\n");
}

/// What others write without transactions is told as that, and no content is told that nobody knows.
#[test]
fn another_program_beside_transactions_is_told() {
    if !is_here() {
        return;
    }
    let deeds: [(Deed, usize); 3] = [
        (|root| fs::write(root.join("a"), "theirs\n").unwrap(), 0),
        (
            |root| {
                txedit(root, &["edit", "a", "--old", "one", "--new", "1"]);
                fs::write(root.join("a"), "theirs\n").unwrap();
            },
            1,
        ),
        (
            |root| {
                fs::write(root.join("a"), "theirs\n").unwrap();
                txedit(root, &["edit", "a", "--old", "theirs", "--new", "1"]);
            },
            1,
        ),
    ];
    for (number, (deed, transactions)) in deeds.into_iter().enumerate() {
        let here = workspace();
        let json = meanwhile(&here, "echo mine > a", deed).exits(3).json();
        let conflict = about(&json, "a");
        assert_eq!(conflict["by_another_program"], json!(true), "{number}: {json}");
        assert_eq!(conflict["changed_by"].as_array().unwrap().len(), transactions, "{number}: {json}");
        // The slot of the transaction has what the program saw only where nobody came before it.
        assert_eq!(conflict["theirs"].is_string(), number == 1, "{number}: {json}");
        assert!(conflict["diff"].as_str().unwrap().contains("+mine\n"), "{number}: {json}");
    }
}

/// What somebody does beside the program, and which of it is told.
#[test]
fn what_others_change_besides_is_kept_and_told() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let others: Deed = |root| {
        fs::write(root.join("b"), "theirs\n").unwrap();
        fs::write(root.join("gone/new"), "theirs\n").unwrap();
        fs::remove_file(root.join("sub/c")).unwrap();
    };
    let json = meanwhile(&here, "cat b; echo 1 > a; rm gone/g", others).exits(0).json();
    assert_eq!(json["program"]["changed_meanwhile"], json!({"count": 2, "files": ["b", "gone/new"]}), "{json}");
    let read = |name: &str| fs::read_to_string(here.path().join(name)).unwrap_or_default();
    assert_eq!(
        [read("a"), read("b"), read("gone/new"), read("sub/c"), read("gone/g")],
        ["1\n", "theirs\n", "theirs\n", "", ""]
    );
}

/// Both did the same: there is nothing to lose.
#[test]
fn the_same_change_by_another_is_no_conflict() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let same: Deed = |root| {
        fs::write(root.join("a"), "same\n").unwrap();
        fs::remove_file(root.join("b")).unwrap();
    };
    let json = meanwhile(&here, "echo same > a; rm b; echo 3 > sub/c", same).exits(0).json();
    assert_eq!(json["files_edited"], json!(1), "{json}");
}
