//! Parts of one workspace, parts of a campaign, and work that others distribute.

use std::fs;

use serde_json::json;

use super::{NEW, OLD, all_are, campaign, new, numbers, planned, reports};
use crate::front_ends::cli::Workspace;

fn monorepo() -> Workspace {
    let here = Workspace::new();
    here.write("mono/.git/HEAD", "").write("mono/OWNERS", "libs @one\napps/x @two\n");
    for name in ["libs/a.rs", "libs/deep/b.rs", "apps/x/c.rs", "apps/y/d.rs"] {
        here.write(&format!("mono/{name}"), OLD);
    }
    here
}

#[test]
fn what_is_ignored_and_what_is_a_symlink_is_no_part() {
    let here = monorepo();
    here.write("mono/.gitignore", "built/\n").write("mono/built/e.rs", OLD);
    std::os::unix::fs::symlink("libs", here.path().join("mono/link")).unwrap();
    std::os::unix::fs::symlink("OWNERS", here.path().join("mono/to-owners")).unwrap();
    for by in ["folder", "count:9"] {
        fs::remove_dir_all(here.path().join("c")).ok();
        let line = ["--workspaces", "mono", "--replace", "greet()", "hello(greet())", "--shard-by", by];
        assert_eq!(new(&here, &line).exits(0).json()["planned"], 3, "{by}");
        campaign(&here, &["run"]).exits(0);
        assert_eq!((read(&here, "built/e.rs"), read(&here, "libs/a.rs")), (OLD.into(), NEW.into()), "{by}");
        campaign(&here, &["undo"]).exits(0);
    }
}

fn read(here: &Workspace, name: &str) -> String {
    fs::read_to_string(here.path().join("mono").join(name)).unwrap()
}

#[test]
fn each_part_of_a_workspace_is_a_transaction_of_its_own() {
    let here = monorepo();
    new(&here, &["--workspaces", "mono", "--replace", "greet()", "hello(greet())", "--shard-by", "folder"]).exits(0);
    here.write("mono/apps/x/c.rs", "other\n").write("mono/apps/y/d.rs", "other\n");
    // `OWNERS` is a part, too, and has nothing to do, as `apps` has.
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "1 done, 2 nothing_to_do");
    assert_eq!((read(&here, "libs/deep/b.rs"), read(&here, "apps/x/c.rs")), (NEW.into(), "other\n".into()));
    assert_eq!(numbers(&campaign(&here, &["undo"]).exits(0).json()), "2 nothing_to_do, 1 undone");
    assert_eq!(read(&here, "libs/a.rs"), OLD);
}

#[test]
fn a_plan_is_divided_by_owners_and_a_part_that_fails_leaves_the_others_done() {
    let here = monorepo();
    let edit = |name: &str| json!({ "file_path": name, "edits": [{ "old_string": "greet()", "new_string": "hello(greet())" }] });
    let plan = json!({ "files": [edit("libs/a.rs"), edit("apps/x/c.rs"), edit("apps/y/d.rs")] });
    here.write("plan.json", &plan.to_string());
    here.write("mono/apps/x/c.rs", "other\n");
    new(&here, &["--workspaces", "mono", "--plan", "plan.json", "--shard-by", "owners:OWNERS"]).exits(0);
    let ran = campaign(&here, &["run"]).exits(1).json();
    assert_eq!(
        (numbers(&ran), &ran["failures"][0]["example"]["workspace"]),
        ("1 done, 1 failed".into(), &json!("mono/@two"))
    );
    // What nobody owns is in no part.
    assert_eq!((read(&here, "libs/a.rs"), read(&here, "apps/y/d.rs")), (NEW.into(), OLD.into()));
    here.write("mono/apps/x/c.rs", OLD);
    assert_eq!(numbers(&campaign(&here, &["retry", "--failed"]).exits(0).json()), "2 done");
}

#[test]
fn a_part_has_the_changes_of_a_program_in_it_alone() {
    if !crate::front_ends::cli::view::is_here() {
        return;
    }
    let here = monorepo();
    let run = "find . -name '*.rs' | xargs sed -i 's/greet()/hello(greet())/'";
    new(&here, &["--workspaces", "mono", "--run", run, "--shard-by", "count:2"]).exits(0);
    // Both write each file; each part takes its own, once.
    let ran = campaign(&here, &["run", "--jobs", "1"]).exits(0).json();
    assert_eq!((&ran["done"], &ran["planned"]), (&json!(2), &json!(2)), "{ran}");
    assert!(
        ["libs/a.rs", "libs/deep/b.rs", "apps/x/c.rs", "apps/y/d.rs"]
            .iter()
            .all(|name| read(&here, name).starts_with("hello"))
    );
}

#[test]
fn others_distribute_the_work() {
    let here = planned(5);
    let pending = here.run(&["campaign", "pending", "c"]).exits(0).stdout.clone();
    assert_eq!(pending, "0\n1\n2\n3\n4\n");
    let worked = campaign(&here, &["work", "3", "1"]).exits(0).json();
    let made = worked["made"].as_array().unwrap();
    assert_eq!(made.iter().map(|one| one["workspace"].clone()).collect::<Vec<_>>(), [3, 1]);
    assert_eq!((&made[0]["outcome"], numbers(&worked)), (&json!("done"), "2 done, 3 unreported".into()));
    here.run(&["campaign", "shard", "1/2", "c", "--json"]).exits(0);
    assert_eq!(campaign(&here, &["pending"]).json()["workspaces"], json!([]));
    // Done once more by an engine that does not know: nothing is done twice, and an attempt that failed does not count.
    campaign(&here, &["work", "0", "1", "2", "3", "4"]).exits(0);
    assert_eq!(numbers(&campaign(&here, &["status"]).exits(0).json()), "5 done");
    assert_eq!(reports(&here).len(), 10);
    all_are(&here, NEW);
    here.write("repos/00/a.rs", "by hand\n");
    campaign(&here, &["work", "0"]).exits(0);
    assert_eq!(numbers(&campaign(&here, &["status"]).exits(0).json()), "5 done");
}

#[test]
fn a_command_runs_the_lines_of_its_input() {
    let here = planned(4);
    let ran = campaign(&here, &["run", "--with", "xargs -P 2 -d '\\n' -n 1 sh -c"]).exits(0).json();
    assert_eq!(numbers(&ran), "4 done");
    all_are(&here, NEW);
    // Nothing is left: the engine is not even started.
    campaign(&here, &["run", "--with", "nowhere-to-be-found"]).exits(0);
    campaign(&here, &["undo"]).exits(0);
    let missing = campaign(&here, &["run", "--again", "--with", "nowhere-to-be-found"]).exits(2).json();
    assert!(missing["error"].as_str().unwrap().contains("nowhere-to-be-found"), "{missing}");
    // One that does nothing leaves all of them unreported.
    let here = planned(2);
    assert_eq!(numbers(&campaign(&here, &["run", "--with", "cat >/dev/null; true"]).exits(1).json()), "2 unreported");
}
