//! Folders and symlinks by themselves, as people read about them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::Workspace;

fn workspace() -> Workspace {
    let here = Workspace::new();
    here.write("d/f", "x\n").write("e/f", "x\n");
    fs::create_dir_all(here.path().join("d/s/t")).unwrap();
    symlink("f", here.path().join("d/l")).unwrap();
    here
}

/// What the first line of an answer counts.
fn count_told(stdout: &str) -> String {
    let line = stdout.lines().next().unwrap_or_default();
    let counted = line.rsplit_once(": ").map(|(_, behind)| behind).or_else(|| line.split("  ").nth(2));
    counted.unwrap_or_default().split("  ").next().unwrap_or_default().to_owned()
}

#[test]
fn a_dry_run_tells_what_has_no_lines() {
    let here = workspace();
    let plan = json!({"dry_run": true, "files": [
        {"file_path": "d/s/t", "remove_folder": true},
        {"file_path": "n/m", "make_folder": true},
        {"file_path": "d/l", "rename_to": "d/l2"},
        {"file_path": "e/f", "rename_to": "e/g"},
        {"file_path": "empty", "content": ""},
        {"file_path": "d/f", "mode": "755"},
    ]});
    here.write("plan.json", &plan.to_string());
    let ran = here.run(&["apply", "plan.json"]);
    let told: Vec<_> = ran.exits(0).stdout.lines().map(str::trim).collect();
    let expected = [
        "remove_folder d/s/t",
        "folder  n/m",
        "diff --git a/d/f b/d/f",
        "old mode 100644",
        "new mode 100755",
        "diff --git a/d/l b/d/l2",
        "similarity index 100%",
        "rename from d/l",
        "rename to d/l2",
        "diff --git a/e/f b/e/g",
        "similarity index 100%",
        "rename from e/f",
        "rename to e/g",
        "diff --git a/empty b/empty",
        "new file mode 100644",
    ];
    assert_eq!(told, expected);
    assert!(ran.stderr.contains("4 files, 2 folders"), "{ran:?}");
}

#[test]
fn every_command_counts_folders_alike_and_tells_kinds_and_paths_apart() {
    let remove = |path: &str| json!({"file_path": path, "remove_folder": true});
    let make = |path: &str| json!({"file_path": path, "make_folder": true});
    let delete = |path: &str| json!({"file_path": path, "delete": true});
    let create = |path: &str| json!({"file_path": path, "content": "x\n"});
    for (files, expected) in [
        (vec![make("n/m")], "1 folder"),
        (vec![make("n/m"), make("n"), remove("d/s/t")], "2 folders"),
        (vec![remove("d/s/t"), create("deep/er/new")], "1 file, 1 folder"),
        (vec![delete("e/f"), remove("e")], "1 file"),
        (vec![make("n"), create("n/x"), make("k")], "1 file, 1 folder"),
        (vec![delete("e/f"), make("e/f")], "1 file"),
    ] {
        let here = workspace();
        let files = json!(files);
        here.write("plan.json", &json!({ "files": files }).to_string());
        let id = here.run(&["apply", "plan.json", "--json"]).exits(0).json()["transaction_id"].clone();
        let id = id.as_str().unwrap();
        here.run(&["undo"]).exits(0);
        let applied = here.run(&["apply", "plan.json", "-v"]);
        let undone = here.run(&["undo", "-v"]);
        let shown = here.run(&["show", id, "--stat"]);
        let logged = here.run(&["log", "-v"]);
        let journal = here.run(&["journal", &format!(".txedit/history/{id}/journal.done")]);
        let listed = [&applied, &undone, &shown, &logged].map(|ran| count_told(&ran.exits(0).stdout));
        assert_eq!(listed, [expected; 4], "{files}");
        for ran in [&applied, &undone, &shown, &logged, &journal] {
            let told = ran.exits(0).stdout.replace("remove_folder ", "");
            assert!(!told.contains("remove_folder"), "{ran:?}");
        }
    }
}
