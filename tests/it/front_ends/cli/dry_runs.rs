//! What a dry run prints is a patch: `txedit apply` and `git apply` make of it the tree that the request makes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::Workspace;
use crate::support::is_full;

/// Names that git quotes or ends with a tab, and such as are in each other's way.
const NAMES: [&str; 8] = ["a", "b c", "d/e", "d/é", "q\"uote", "n\tab", "deep/er/f", "tail "];

/// Lines of files, also such as look like those of a patch, or are not UTF-8.
const LINES: [&[u8]; 9] =
    [b"one\n", b"two\n", b"three\n", b"-- x\n", b"+++ b/a\n", b"@@ -1 +1 @@\n", b"\n", b"crlf\r\n", b"\xff\n"];

/// A file of the tree: its content, and whether it is executable.
type FileOfTree = (Vec<u8>, bool);

fn content() -> impl Strategy<Value = Vec<u8>> {
    let lines = proptest::collection::vec(select(&LINES[..]), 0..14);
    (lines, any::<bool>()).prop_map(|(lines, is_ended)| {
        let mut content = lines.concat();
        content.pop_if(|_| !is_ended);
        content
    })
}

fn tree() -> impl Strategy<Value = BTreeMap<&'static str, FileOfTree>> {
    let names = subsequence(NAMES.to_vec(), 3..=NAMES.len());
    names.prop_flat_map(|names| {
        let file = (content(), any::<bool>());
        proptest::collection::vec(file, names.len()).prop_map(move |files| names.iter().copied().zip(files).collect())
    })
}

/// What a request does with one file, or makes beside it.
#[derive(Debug, Clone)]
enum Step {
    Nothing,
    Delete,
    Write(String),
    Edit(Index),
    Rename,
    EditAndRename(Index),
    Mode(bool),
    MakeFolderOf,
    Create(String),
}

fn step() -> impl Strategy<Value = Step> {
    let text = || "[ab\n]{0,12}";
    prop_oneof![
        Just(Step::Nothing),
        Just(Step::Delete),
        text().prop_map(Step::Write),
        any::<Index>().prop_map(Step::Edit),
        Just(Step::Rename),
        any::<Index>().prop_map(Step::EditAndRename),
        any::<bool>().prop_map(Step::Mode),
        Just(Step::MakeFolderOf),
        text().prop_map(Step::Create),
    ]
}

/// The entries of a request for a file, which is there.
fn entries(name: &str, (content, _): &FileOfTree, step: &Step) -> Vec<Value> {
    let edit = |at: &Index| {
        let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
        let old =
            if lines.is_empty() { "none" } else { std::str::from_utf8(lines[at.index(lines.len())]).unwrap_or("one") };
        json!([{"old_string": old, "new_string": "new\nlines\n", "replace_all": true}])
    };
    let to = format!("{name} moved");
    match step {
        Step::Nothing => vec![],
        Step::Delete => vec![json!({"file_path": name, "delete": true})],
        Step::Write(text) => vec![json!({"file_path": name, "content": text, "if_exists": "replace"})],
        Step::Edit(at) => vec![json!({"file_path": name, "edits": edit(at)})],
        Step::Rename => vec![json!({"file_path": name, "rename_to": to})],
        Step::EditAndRename(at) => vec![json!({"file_path": name, "edits": edit(at), "rename_to": to})],
        Step::Mode(runs) => vec![json!({"file_path": name, "mode": if *runs { "755" } else { "644" }})],
        Step::MakeFolderOf => {
            let inner = format!("{name}/in it");
            vec![json!({"file_path": name, "delete": true}), json!({"file_path": inner, "content": "x\n"})]
        }
        Step::Create(text) => vec![json!({"file_path": to, "content": text})],
    }
}

fn write(here: &Workspace, tree: &BTreeMap<&str, FileOfTree>) {
    for (name, (content, runs)) in tree {
        let path = here.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(if *runs { 0o755 } else { 0o644 })).unwrap();
    }
}

/// The files of a workspace as git knows them: neither folders nor other bits of a mode.
fn files(here: &Workspace) -> BTreeMap<PathBuf, FileOfTree> {
    let (mut files, mut open) = (BTreeMap::new(), vec![here.path()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                open.extend((!entry.ends_with(".txedit")).then_some(entry));
            } else {
                let runs = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
                files.insert(entry.strip_prefix(here.path()).unwrap().to_owned(), (fs::read(&entry).unwrap(), runs));
            }
        }
    }
    files
}

fn with_input(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

/// `git apply`, about to run in a folder.
fn git_apply(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn"]).current_dir(folder).env("GIT_CEILING_DIRECTORIES", folder);
    git
}

/// Tries one request; returns whether it changes anything.
fn check(tree: &BTreeMap<&'static str, FileOfTree>, steps: &[Step]) -> bool {
    let [done, by_git, by_itself] = [(); 3].map(|()| Workspace::new());
    for here in [&done, &by_git, &by_itself] {
        write(here, tree);
    }
    let entries: Vec<Value> =
        tree.iter().zip(steps).flat_map(|((name, file), step)| entries(name, file, step)).collect();
    let plan = json!({ "files": entries }).to_string();
    let before = files(&done);
    let line = ["apply", "-", "--durability", "process"];
    let dry = with_input(&mut done.command(&[&line[..], &["--dry-run"]].concat()), plan.as_bytes());
    let ran = with_input(&mut done.command(&line), plan.as_bytes());
    assert_eq!(dry.status.success(), ran.status.success(), "{plan}\n{dry:?}\n{ran:?}");
    let after = files(&done);
    if before == after {
        return false;
    }
    let patch = String::from_utf8_lossy(&dry.stdout).into_owned();
    let told = with_input(&mut git_apply(&by_git.path()), &dry.stdout);
    assert!(told.status.success(), "{}\n{plan}\n{patch}", String::from_utf8_lossy(&told.stderr));
    assert_eq!(files(&by_git), after, "git\n{plan}\n{patch}");
    let told = with_input(&mut by_itself.command(&line), &dry.stdout);
    assert!(told.status.success(), "{}\n{plan}\n{patch}", String::from_utf8_lossy(&told.stderr));
    assert_eq!(files(&by_itself), after, "txedit\n{plan}\n{patch}");
    true
}

#[test]
fn a_dry_run_is_a_patch_that_makes_the_same_tree() {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("skipped: there is no git");
        return;
    }
    let cases = if is_full() { 500 } else { 60 };
    let changed = std::cell::Cell::new(0);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let request = (tree(), proptest::collection::vec(step(), NAMES.len()));
    let tried = TestRunner::new(config).run(&request, |(tree, steps)| {
        changed.set(changed.get() + u32::from(check(&tree, &steps)));
        Ok(())
    });
    tried.unwrap();
    assert!(changed.get() > cases / 3, "only {} of {cases} requests changed anything", changed.get());
}

#[test]
fn a_dry_run_is_in_the_form_of_git() {
    let here = Workspace::new();
    here.write(".git/HEAD", "")
        .write("sub/a b", "one\ntwo\n")
        .write("gone", "x\n")
        .write("moved", "y\n")
        .write("run", "")
        .write("utf16", "");
    let plan = json!({"files": [
        {"file_path": "sub/a b", "edits": [{"old_string": "two", "new_string": "2"}]},
        {"file_path": "gone", "delete": true},
        {"file_path": "moved", "rename_to": "sub/there"},
        {"file_path": "run", "mode": "755"},
        {"file_path": "new", "content": "n"},
        {"file_path": "utf16", "content": "\u{0}", "if_exists": "replace"},
        {"file_path": "folder", "make_folder": true}]});
    here.write("plan.json", &plan.to_string());
    let mut command = here.command(&["apply", "../plan.json", "--dry-run"]);
    let ran = super::run(command.current_dir(here.path().join("sub")));
    let expected = "  folder  folder
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/new b/new
new file mode 100644
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+n
\\ No newline at end of file
diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/sub/a b b/sub/a b
--- a/sub/a b\t
+++ b/sub/a b\t
@@ -1,2 +1,2 @@
 one
-two
+2
diff --git a/moved b/sub/there
similarity index 100%
rename from moved
rename to sub/there
diff --git a/utf16 b/utf16
Binary files a/utf16 and b/utf16 differ
";
    assert_eq!(ran.exits(0).stdout, expected);
    // Uncut, however long.
    here.write("long", &"line\n".repeat(40_000));
    let ran = here.run(&["replace", "line", "row", "long", "--dry-run"]);
    assert_eq!(ran.exits(0).stdout.lines().filter(|line| *line == "+row").count(), 40_000);
}

#[test]
fn an_undo_and_a_program_are_tried_in_the_same_form() {
    let here = Workspace::new();
    here.write("a", "one\n");
    here.run(&["mv", "a", "b"]).exits(0);
    let undo = here.run(&["undo", "--dry-run"]);
    let moved = "diff --git a/b b/a\nsimilarity index 100%\nrename from b\nrename to a\n";
    assert_eq!(undo.exits(0).stdout, moved);
    let program = here.run(&["run", "--dry-run", "--", "mv", "b", "a"]);
    assert_eq!(program.exits(0).stdout, moved);
    here.write("plan.json", &json!({"files": [{"file_path": "b", "rename_to": "a"}]}).to_string());
    let id = here.run(&["stage", "plan.json"]).exits(0).stdout.trim().to_owned();
    assert_eq!(here.run(&["preview", &id]).exits(0).stdout, moved);
    let shown = here.run(&["show"]);
    assert!(shown.exits(0).stdout.ends_with("diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"));
}

/// What is half-done is not finished by a program that is only tried, and is not shown to it.
#[test]
fn a_program_is_not_tried_beside_what_is_interrupted() {
    let (here, id) = super::interrupted::killed_with(Workspace::new(), None);
    let before = super::interrupted::contents(&here);
    let ran = here.run(&["--json", "run", "--dry-run", "--", "touch", "ran"]);
    let json = ran.exits(6).json();
    assert_eq!((json["error_code"].as_str(), json["outcome"].as_str()), (Some("RECOVERY_REQUIRED"), Some("unchanged")));
    assert_eq!(json["transaction_id"], *id);
    assert!(json["error"].as_str().unwrap().contains("has left files half-done"), "{json}");
    assert_eq!(super::interrupted::contents(&here), before);
}
