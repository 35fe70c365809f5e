//! A hostile client plays against a server as it is by default. Nothing outside the root may change or be read, nothing may
//! be run, and the server must go on serving.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Root, Session};

const SECRET: &str = "secret-that-nobody-may-see";

/// A root, with a folder beside it that holds a secret, and everything in the root that a client might abuse.
struct Stage {
    all: Root,
    root: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let all = Root::with(&[("secret", SECRET), ("ran.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n")]);
        let root = all.path("root");
        for folder in ["", ".git/hooks", "sub/.git", ".hg", "plain"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::set_permissions(all.path("ran.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        for (name, content) in
            [(".git/config", SECRET), ("sub/.git/HEAD", SECRET), ("a", "one\n"), ("plain/b", "one\n")]
        {
            fs::write(root.join(name), content).unwrap();
        }
        for (link, target) in
            [("out", ".."), ("file", "../secret"), ("hooks", ".git/hooks"), ("abs", "/etc"), ("loop", "loop")]
        {
            symlink(target, root.join(link)).unwrap();
        }
        Self { all, root }
    }

    fn open(&self) -> Session {
        let mut command = self.all.command(&[]);
        command.arg("--root").arg(&self.root);
        let mut session = Session::start(&mut command);
        session.initialize("2025-11-25");
        session
    }

    /// Every file outside the root, and in the folders of version control, with its content.
    fn guarded(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.all.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = path.symlink_metadata().unwrap().file_type();
                if kind.is_dir() {
                    folders.push(path);
                } else if !path.starts_with(&self.root) || is_of_version_control(&path) {
                    found.insert(path.clone(), fs::read(&path).unwrap_or_default());
                }
            }
        }
        found
    }

    /// Paths by which something forbidden is meant.
    fn targets(&self) -> Vec<String> {
        let beneath = [
            "../secret",
            "out/secret",
            "file",
            "abs/passwd",
            "loop",
            "hooks/pre-commit",
            ".git/config",
            ".git/hooks/pre-commit",
            ".GIT/config",
            ".g\u{200d}it/config",
            "GIT~1/config",
            "sub/.git/HEAD",
            "new/.git",
            ".hg/hgrc",
            ".svn/x",
            ".jj/x",
            "sub/../../secret",
            ".txedit/id",
            ".TxEdit/history/x",
            "plain/./../../secret",
            "a/b",
            "nul\0",
            "x/".repeat(3_000).leak(),
            "",
            ".",
        ];
        let beneath = beneath.map(|name| format!("{}/{name}", self.root.display()));
        let absolute = [
            self.all.name("secret"),
            "/etc/passwd".to_owned(),
            "/".to_owned(),
            "secret".to_owned(),
            "~/.ssh/authorized_keys".to_owned(),
            "file:///etc/passwd".to_owned(),
            "/proc/self/mem".to_owned(),
        ];
        beneath.into_iter().chain(absolute).collect()
    }
}

fn is_of_version_control(path: &Path) -> bool {
    path.components().any(|part| [".git", ".hg", ".svn", ".jj"].iter().any(|name| part.as_os_str() == *name))
}

/// Every way to write, or to read, a path.
fn attacks(path: &str) -> Vec<(&'static str, Value)> {
    let content = json!({"files": [{"file_path": path, "content": "evil", "if_exists": "replace", "mode": "755"}]});
    let moved = |from: &str, to: &str| json!({"files": [{"file_path": from, "rename_to": to, "if_exists": "replace"}]});
    let replaced = json!({"file_path": path, "edits": [{"old_string": "secret", "new_string": "evil"}]});
    vec![
        ("multi_edit_files", content.clone()),
        ("stage_edits", content),
        ("multi_edit_files", json!({"files": [{"file_path": path, "delete": true}]})),
        ("multi_edit_files", json!({"files": [{"file_path": path, "mode": "777"}]})),
        ("multi_edit_files", moved(path, "taken")),
        ("multi_edit", replaced),
        ("edit_file", json!({"path": path, "old_string": "secret", "new_string": "evil"})),
        ("apply_patch", json!({"patch": format!("*** Begin Patch\n*** Add File: {path}\n+evil\n*** End Patch\n")})),
        ("apply_patch", json!({"patch": format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+evil\n")})),
        ("apply_patch", json!({"patch": format!("{path}\n<<<<<<< SEARCH\nsecret\n=======\nevil\n>>>>>>> REPLACE\n")})),
        ("read_files", json!({"paths": [path]})),
        ("list_transactions", json!({"path": path})),
    ]
}

#[test]
fn nothing_outside_is_touched_or_read_and_nothing_is_run() {
    let stage = Stage::new();
    let before = stage.guarded();
    let mut session = stage.open();
    for path in stage.targets() {
        for (tool, arguments) in attacks(&path) {
            let answer = session.request("tools/call", &json!({"name": tool, "arguments": arguments})).to_string();
            assert!(!answer.contains(SECRET), "{tool} {path:?}: {answer}");
        }
    }
    let root = |name: &str| stage.root.join(name).to_str().unwrap().to_owned();
    let command = json!([stage.all.name("ran.sh")]);
    let checked = json!({"files": [{"file_path": root("a"), "delete": true}], "check": command});
    session.failed("multi_edit_files", &checked, "CHECKS_NOT_ALLOWED");
    let staged = session.done("stage_edits", &json!({"files": [{"file_path": root("new"), "content": "x"}]}));
    let id = staged["transaction_id"].clone();
    session.failed("commit_transaction", &json!({"transaction_id": id, "check": command}), "CHECKS_NOT_ALLOWED");
    for id in ["..", "../../secret", "", "/etc", "x\0", "20260101T000000.000000Z-0000000000000000"] {
        for tool in ["preview_transaction", "commit_transaction", "rollback_transaction", "undo_transaction"] {
            assert_eq!(session.call(tool, &json!({"transaction_id": id}))["success"], false, "{tool} {id:?}");
        }
        session.request("resources/read", &json!({"uri": format!("txedit://transactions/{id}/diff")}));
    }
    // A tree is searched without what is guarded, symlinks and all.
    let found = json!({"pattern": "secret", "replacement": "evil", "include": ["**", "../**", "/etc/**"]});
    session.call("replace_in_files", &found);
    assert_eq!(stage.guarded(), before);
    assert!(!stage.all.path("ran").exists());
    session.done("read_files", &json!({"paths": [root("a")]}));
}

#[test]
fn sizes_and_junk_do_not_stop_the_server() {
    let stage = Stage::new();
    let mut session = stage.open();
    let a = stage.root.join("a").to_str().unwrap().to_owned();
    let many: Vec<_> = (0..20_000).map(|_| json!({"file_path": a, "delete": true})).collect();
    session.call("multi_edit_files", &json!({"files": many}));
    session.call("read_files", &json!({"paths": vec![a.clone(); 20_000], "max_bytes": -1}));
    session.call("replace_in_files", &json!({"pattern": "(a*)*".repeat(2_000), "replacement": "$1", "regex": true}));
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for line in [deep, "{".repeat(1 << 20), format!("\"{}\"", "y".repeat(8 << 20)), "\u{0}\u{1}".to_owned()] {
        session.send_line(line.as_bytes());
        assert!(session.receive().expect("an answer")["error"].is_object());
    }
    session.done("read_files", &json!({"paths": [a]}));
    assert_eq!(fs::read_to_string(stage.root.join("a")).unwrap(), "one\n");
}
