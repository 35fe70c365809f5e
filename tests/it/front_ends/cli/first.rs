//! The first commit in a folder: it leaves old contents there, and says so once, by whatever way it came.

use std::fs;

use serde_json::json;

use super::{Ran, Workspace};

const WORDS: &str = "keeps old contents";

/// Does something to a new folder with a file `a`, which holds `one`.
fn first(act: &dyn Fn(&Workspace) -> Ran) -> (Workspace, Ran) {
    let here = Workspace::new();
    here.write("a", "one\n").write("sub/b", "one\n");
    let ran = act(&here);
    (here, ran)
}

fn plan() -> serde_json::Value {
    json!({"files": [{"file_path": "a", "content": "two\n", "if_exists": "replace"}]})
}

fn commits_what_was_staged(here: &Workspace, option: &'static str) -> Ran {
    here.write("plan.json", &plan().to_string());
    let staged = here.run(&["stage", "plan.json"]);
    assert!(!staged.exits(0).stderr.contains(WORDS), "{staged:?}");
    here.run(&["commit", staged.stdout.trim(), option])
}

#[test]
fn the_first_commit_says_that_old_contents_are_kept_and_the_next_one_does_not() {
    let ways: [&dyn Fn(&Workspace) -> Ran; 3] = [
        &|here| here.run(&["edit", "a", "--old", "one", "--new", "two"]),
        &|here| here.run(&["replace", "one", "two", "a"]),
        &|here| commits_what_was_staged(here, "--verbose"),
    ];
    for way in ways {
        let (here, ran) = first(way);
        assert_eq!(ran.exits(0).stderr.matches(WORDS).count(), 1, "{ran:?}");
        for again in [&["edit", "a", "--old", "two", "--new", "one"][..], &["undo"], &["replace", "one", "two", "sub"]]
        {
            let ran = here.run(again);
            assert!(!ran.exits(0).stderr.contains(WORDS), "{ran:?}");
        }
    }
}

#[test]
fn the_first_commit_tells_programs_as_well() {
    let ways: [&dyn Fn(&Workspace) -> Ran; 3] = [
        &|here| here.run(&["edit", "a", "--old", "one", "--new", "two", "--json"]),
        &|here| here.run(&["replace", "one", "two", "--json"]),
        &|here| commits_what_was_staged(here, "--json"),
    ];
    for way in ways {
        let (here, ran) = first(way);
        let json = ran.exits(0).json();
        assert!(json["warnings"][0].as_str().unwrap().contains(WORDS), "{json}");
        let again = here.run(&["edit", "a", "--old", "two", "--new", "one", "--json"]).exits(0).json();
        assert_eq!(again["warnings"], json!(null), "{again}");
    }
}

#[test]
fn a_commit_that_changes_nothing_is_not_the_first() {
    let (here, dry) = first(&|here| here.run(&["edit", "a", "--old", "one", "--new", "two", "--dry-run"]));
    assert!(!dry.exits(0).stderr.contains(WORDS), "{dry:?}");
    let failed = here.run(&["edit", "a", "--old", "one", "--new", "two", "--check", "false"]);
    assert!(!failed.exits(7).stderr.contains(WORDS), "{failed:?}");
    let done = here.run(&["edit", "a", "--old", "one", "--new", "two"]);
    assert!(done.exits(0).stderr.contains(WORDS), "{done:?}");
}

#[test]
fn the_first_commit_tags_the_folder_for_programs_that_leave_tagged_ones_out() {
    let edit = |here: &Workspace, old: &str, new: &str| here.run(&["edit", "a", "--old", old, "--new", new]);
    let (here, _) = first(&|here| edit(here, "one", "two"));
    let tag = here.path().join(".txedit/CACHEDIR.TAG");
    assert!(fs::read_to_string(&tag).unwrap().starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
    // A folder of a txedit that made none gets it, and keeps what it has.
    fs::remove_file(&tag).unwrap();
    let id = fs::read(here.path().join(".txedit/id")).unwrap();
    edit(&here, "two", "three").exits(0);
    assert!(tag.exists() && fs::read(here.path().join(".txedit/id")).unwrap() == id);
    here.run(&["undo"]).exits(0);
    // What its owner wrote there stays.
    fs::write(&tag, "mine").unwrap();
    edit(&here, "two", "three").exits(0);
    assert_eq!(fs::read_to_string(&tag).unwrap(), "mine");
    // A power cut left it empty: it is made anew, and nobody is told of a first commit.
    fs::write(&tag, "").unwrap();
    let again = edit(&here, "three", "four");
    assert!(!again.exits(0).stderr.contains(WORDS), "{again:?}");
    assert!(fs::read_to_string(&tag).unwrap().starts_with("Signature: "));
    let names: Vec<_> =
        fs::read_dir(here.path().join(".txedit")).unwrap().map(|name| name.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with(".CACHEDIR")), "{names:?}");
}
