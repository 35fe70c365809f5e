//! A person decides on each change, by keys on a terminal or by lines: what is taken is committed, and nothing else is.

mod edited;
mod ended;
mod hostile;
mod picks;
mod terminal;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::{Ran, Workspace, run};

/// Five lines that are changed, so far from each other that each is a change by itself.
const WORDS: [&str; 5] = ["one", "two", "three", "four", "five"];

/// A text with these lines, and others between them.
fn text(lines: &[&str]) -> String {
    let between: Vec<String> = (0..8).map(|line| format!("-{line}\n")).collect();
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n{}", between.concat())).collect();
    lines.concat()
}

/// The text with those of the words in capitals.
fn upper(taken: &[usize]) -> String {
    let word =
        |index: usize| if taken.contains(&index) { WORDS[index].to_uppercase() } else { WORDS[index].to_owned() };
    let lines: Vec<String> = (0..WORDS.len()).map(word).collect();
    text(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

impl Workspace {
    /// A workspace with two texts, and a plan that puts their words into capitals.
    fn of_words() -> Self {
        let here = Self::new();
        let edits = |words: &[&str]| -> Vec<Value> {
            words.iter().map(|word| json!({ "old_string": word, "new_string": word.to_uppercase() })).collect()
        };
        let plan = json!({ "label": "capitals", "files": [
            { "file_path": "a.txt", "edits": edits(&WORDS) },
            { "file_path": "b.txt", "edits": edits(&WORDS[..2]) },
        ]});
        here.write(".git/HEAD", "").write("a.txt", &upper(&[])).write("b.txt", &text(&WORDS[..2]));
        here.write("plan.json", &plan.to_string());
        here
    }

    fn stage(&self) -> String {
        self.run(&["stage", "plan.json"]).exits(0).stdout.trim().to_owned()
    }

    /// The program, which is answered with these lines.
    fn answering(&self, line: &[&str], answers: &str) -> Command {
        let answered = self.path().join("answers");
        let lines: Vec<&str> = answers.split_whitespace().flat_map(|answer| [answer, "\n"]).collect();
        fs::write(&answered, lines.concat()).unwrap();
        let mut command = self.command(line);
        command.stdin(File::open(&answered).unwrap()).env_remove("VISUAL").env_remove("EDITOR");
        command
    }

    #[track_caller]
    fn answered(&self, line: &[&str], answers: &str) -> Ran {
        run(&mut self.answering(line, answers))
    }

    /// The same with a script as the editor.
    #[track_caller]
    fn answered_with(&self, editor: &str, line: &[&str], answers: &str) -> Ran {
        run(self.answering(line, answers).env("EDITOR", self.editor(editor)))
    }

    /// A script that is an editor.
    fn editor(&self, script: &str) -> PathBuf {
        let path = self.path().join("editor");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[track_caller]
    fn has(&self, name: &str, content: &str) {
        assert_eq!(fs::read_to_string(self.path().join(name)).unwrap(), content, "{name}");
    }

    /// The ids of what is open.
    #[track_caller]
    fn open(&self) -> Vec<String> {
        let status = self.run(&["status", "--json"]).exits(0).json();
        let open = status["open"].as_array().into_iter().flatten();
        open.map(|one| one["transaction_id"].as_str().unwrap().to_owned()).collect()
    }

    /// The number of committed transactions.
    #[track_caller]
    fn committed(&self) -> usize {
        self.run(&["log", "--json"]).exits(0).json()["transactions"].as_array().unwrap().len()
    }
}

#[test]
fn three_of_five_changes_are_committed_and_the_rest_gives_the_whole() {
    let here = Workspace::of_words();
    let id = here.stage();
    let ran = here.answered(&["review", &id], "y n y y n d k");
    let mut told = ran.exits(0).stdout.lines();
    assert!(told.next().unwrap().starts_with("committed 20"), "{ran:?}");
    let rest = told.next().unwrap().strip_prefix("the rest is open as ").unwrap().to_owned();
    here.has("a.txt", &upper(&[0, 2, 3]));
    here.has("b.txt", &text(&WORDS[..2]));
    for part in [
        "\nfile 1 of 2: a.txt (edit), change 1 of 5\n@@ -1,4 +1,4 @@\n-one\n+ONE\n -0\n -1\n -2\n",
        "take this change? [y,n,a,d,A,D,e,q,?] y\n",
        "take this change? [y,n,A,D,e,u,q,?] n\n",
        "\nfile 2 of 2: b.txt (edit), change 1 of 2\n",
        "\ntaken of 2 files: 1\n  edit    a.txt  3 of 5 changes\n  edit    b.txt  left\ncommit? [k,d,n,u,?] k\n",
    ] {
        assert!(ran.stderr.contains(part), "{part:?} in:\n{}", ran.stderr);
    }
    assert_eq!(here.open(), [rest.as_str()]);
    here.run(&["commit", &rest]).exits(0);
    here.has("a.txt", &upper(&[0, 1, 2, 3, 4]));
    here.has("b.txt", &text(&["ONE", "TWO"]));
}

#[test]
fn the_rest_of_a_file_and_of_all_files_is_decided_at_once() {
    for (answers, a, b) in [
        ("n a d d", &[1, 2, 3, 4][..], &["one", "two"]),
        ("y d a d", &[0], &["ONE", "TWO"]),
        ("n A d", &[1, 2, 3, 4], &["ONE", "TWO"]),
        ("y D d", &[0], &["one", "two"]),
        ("y q d", &[0], &["one", "two"]),
        ("a y q d", &[0, 1, 2, 3, 4], &["ONE", "two"]),
    ] {
        let here = Workspace::of_words();
        here.stage();
        let ran = here.answered(&["review"], answers);
        assert!(ran.exits(0).stdout.ends_with("the rest is discarded\n"), "{answers}: {ran:?}");
        here.has("a.txt", &upper(a));
        here.has("b.txt", &text(b));
        assert!(here.open().is_empty());
    }
}

#[test]
fn a_change_is_split() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\nx\ntwo\nx\nthree\n");
    here.write(
        "plan.json",
        r#"{"files": [{"file_path": "a", "content": "ONE\nx\nTWO\nx\nTHREE\n", "if_exists": "replace"}]}"#,
    );
    here.stage();
    let ran = here.answered(&["review"], "s n y s n d");
    here.has("a", "one\nx\nTWO\nx\nthree\n");
    for part in [
        "\na (replace)\n@@ -1,5 +1,5 @@\n-one\n+ONE\n x\n-two\n",
        "[y,n,s,e,q,?] s\n\na (replace), change 1 of 3\n@@ -1,2 +1,2 @@\n-one\n+ONE\n x\n",
        "\na (replace), change 2 of 3\n@@ -2,3 +2,3 @@\n x\n-two\n+TWO\n x\n",
        // One difference cannot be split: the keys are explained.
        "change? [y,n,e,u,q,?] s\n  y  take this change\n",
    ] {
        assert!(ran.exits(0).stderr.contains(part), "{part:?} in:\n{}", ran.stderr);
    }
}

#[test]
fn answers_are_undone_one_by_one() {
    let here = Workspace::of_words();
    here.stage();
    // The second twice, then what was decided of all others, at the last question, and what was left in its place.
    let ran = here.answered(&["review"], "y n u y D u A u u n q u A d");
    here.has("a.txt", &upper(&[0, 2, 3, 4]));
    here.has("b.txt", &text(&["ONE", "TWO"]));
    assert!(ran.exits(0).stdout.ends_with("the rest is discarded\n"), "{ran:?}");
}

#[test]
fn files_that_are_no_text_are_taken_whole_or_left() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("gone", "g\n").write("moved", "m\n").write("mode", "x\n").write("same", "s\n");
    let plan = json!({ "files": [
        { "file_path": "gone", "delete": true },
        { "file_path": "moved", "edits": [{ "old_string": "m", "new_string": "M" }], "rename_to": "sub/moved" },
        { "file_path": "mode", "mode": "755" },
        { "file_path": "same", "edits": [{ "old_string": "s", "new_string": "s" }] },
        { "file_path": "new", "content": "n\n", "mode": "755" },
        { "file_path": "link", "symlink_to": "gone" },
        { "file_path": "folder", "make_folder": true },
    ]});
    here.write("plan.json", &plan.to_string());
    here.stage();
    let json = here.answered(&["review", "--json", "--rest", "keep"], "n y y n y y").exits(0).json();
    let path = |name: &str| here.path().join(name);
    assert!(path("gone").exists() && !path("moved").exists() && !path("new").exists() && path("folder").is_dir());
    here.has("sub/moved", "M\n");
    assert_eq!(fs::metadata(path("mode")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_link(path("link")).unwrap().to_str(), Some("gone"));
    let taken: Vec<_> = json["reviewed"].as_array().unwrap().iter().map(|file| &file["taken"]).collect();
    assert_eq!(taken, ["nothing", "all", "all", "nothing", "all", "all"]);
    let rest = here.open();
    assert_eq!(json["open_transaction_id"], rest[0].as_str());
    let ran = here.answered(&["review"], "y y y");
    for part in ["gone (delete)\n@@ -1 +0,0 @@\n-g\n", "new (create)\n  mode 755\n@@ -0,0 +1 @@\n+n\n"] {
        assert!(ran.exits(0).stderr.contains(part), "{part:?} in:\n{}", ran.stderr);
    }
    assert!(!path("gone").exists() && path("new").exists() && here.open().is_empty());
}

#[test]
fn what_is_said_of_a_file_besides_its_lines_is_shown() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("moved", "m\n").write("mode", "x\n").write("bytes", "\0one");
    let plan = json!({ "files": [
        { "file_path": "moved", "edits": [{ "old_string": "m", "new_string": "M" }], "rename_to": "sub/moved" },
        { "file_path": "mode", "mode": "700" },
        { "file_path": "bytes", "content": "\0two!", "if_exists": "replace" },
        { "file_path": "link", "symlink_to": "x" },
    ]});
    here.write("plan.json", &plan.to_string());
    here.stage();
    let ran = here.answered(&["review"], "n n n n");
    for part in [
        "moved (rename)\n  becomes sub/moved\n@@ -1 +1 @@\n-m\n+M\n",
        "mode (mode)\n  mode 644 becomes 700\ntake",
        "bytes (replace)\n  no text: 4 bytes become 5 bytes\ntake",
        "link (create)\n  becomes a symlink to x\ntake",
    ] {
        assert!(ran.exits(0).stderr.contains(part), "{part:?} in:\n{}", ran.stderr);
    }
}
