//! File systems, mounts and names under which a view is, or a copy.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use txedit::check::CheckIn;
use txedit::{Check, Edit, Engine, Request, Run, Settings};

use super::super::Workspace;
use super::{Ran, checked, command, ended, is_here, nothing_stays, started, wait_for};
use crate::support::mounts::{self, Kind, run};

/// Edits a file there, with a check in a view; returns where that ran.
fn edited(root: &Path, asked: &str) -> String {
    fs::write(root.join("a"), "one\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
    command.args(["edit", "a", "--old", "one", "--new", "two", "--json", "--check-in", asked, "--check"]);
    command.args(["grep -q two a && echo x > other && rm -f gone", "--root"]).arg(root).current_dir(root);
    let json = Ran::from(command.output().unwrap()).exits(0).json();
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "two\n");
    json["check"]["in"].as_str().unwrap().to_owned()
}

#[test]
fn each_file_system_has_a_view_or_a_copy() {
    if !is_here() {
        return;
    }
    let all = [
        (Kind::Ext4, "view", "view"),
        (Kind::Xfs, "view", "view"),
        (Kind::Btrfs, "view", "view"),
        (Kind::Overlay, "copy", "tree"),
        (Kind::FuseOverlay, "copy", "tree"),
    ];
    for (kind, view, auto) in all {
        mounts::with(kind, |root| {
            fs::write(root.join("gone"), "g\n").unwrap();
            assert_eq!(edited(root, "view"), view, "{kind:?}");
            assert!(root.join("gone").exists() && !root.join("other").exists(), "{kind:?}");
            assert_eq!(edited(root, "auto"), auto, "{kind:?}");
            assert!(!root.join(".txedit/view").exists(), "{kind:?}");
        });
    }
    // A tmpfs is an upper layer since Linux 6.6.
    mounts::with(Kind::Tmpfs, |root| eprintln!("tmpfs: {}", edited(root, "view")));
}

#[test]
fn what_is_mounted_in_it_can_be_read_there_and_not_written() {
    if !is_here() {
        return;
    }
    mounts::with(Kind::Ext4, |root| {
        let inside = root.join("data");
        fs::create_dir(&inside).unwrap();
        run("mount", ["-t", "tmpfs", "txedit", inside.to_str().unwrap()]).unwrap();
        fs::write(inside.join("f"), "data\n").unwrap();
        fs::write(root.join("a"), "one\n").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
        command.args(["edit", "a", "--old", "one", "--new", "two", "--json", "--check-in", "view", "--check"]);
        command.args(["grep -q data data/f && ! touch data/g 2> /dev/null", "--root"]).arg(root).current_dir(root);
        let ran = Ran::from(command.output().unwrap());
        run("umount", [&inside]).unwrap();
        assert_eq!(ran.exits(0).json()["check"]["in"], json!("view"));
    });
}

#[test]
fn any_name_may_be_that_of_the_root() {
    if !is_here() {
        return;
    }
    let here = Workspace::new();
    for name in [&b"a:b,c"[..], b"lower=\\x\\040 y", b"caf\xe9\n"] {
        let root = here.path().join(OsString::from_vec(name.to_vec()));
        fs::create_dir(&root).unwrap();
        assert_eq!(edited(&root, "view"), "view", "{}", root.display());
    }
}

#[test]
fn two_views_of_one_folder_know_nothing_of_each_other() {
    if !is_here() {
        return;
    }
    let here = Workspace::new();
    here.write("a", "a\n").write("b", "b\n");
    fs::create_dir(here.path().join("t")).unwrap();
    let begin = |file: &str, waits: &str| {
        let line = ["edit", file, "--old", file, "--new", "new", "--json", "--through", "t"];
        let check = format!("test \"$(cat {file})\" = new; echo x > shared; touch t/{file}; {waits}; cat shared");
        let mut command = command(&here, &line, &check);
        started(&mut command)
    };
    // The first one runs beyond the end of the second.
    let first = begin("a", "while [ ! -e t/go ]; do sleep 0.02; done");
    wait_for(|| here.path().join("t/a").exists());
    let second = ended(begin("b", "true"));
    assert_eq!(second.exits(0).json()["check"]["output"], json!("x\n"));
    here.write("t/go", "");
    let first = ended(first);
    assert_eq!(first.exits(0).json()["check"]["output"], json!("x\n"));
    nothing_stays(&here);
}

#[test]
fn a_program_that_serves_no_views_gets_a_copy() {
    let here = Workspace::new();
    here.write("a", "one\n");
    let settings = Settings::default().check_in(CheckIn::View);
    let engine = Engine::open_with(here.path(), settings).unwrap().allowing_checks();
    let check = Check::new(["sh", "-c", "grep -q two a && test \"$TXEDIT_VIEW\" = \"$PWD\""].map(Into::into).to_vec());
    let request = Request::new().edit("a", Edit::replace("one", "two")).check(check);
    let report = engine.apply(&request, Run::default()).unwrap();
    assert_eq!(report.check.unwrap().place.word(), "copy");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "two\n");
    nothing_stays(&here);
}

#[test]
fn attributes_and_owners_are_seen_as_they_will_be() {
    if !is_here() || run("setfattr", ["--version"]).is_err() {
        return;
    }
    let here = Workspace::new();
    here.write("d/a", "one\n");
    let path = here.path().join("d/a");
    run("setfattr", ["-n", "user.colour", "-v", "green", path.to_str().unwrap()]).unwrap();
    run("chmod", ["2750", here.path().join("d").to_str().unwrap()]).unwrap();
    let check = "getfattr --only-values -n user.colour d/a; stat -c ' %a %U' d/a d; touch d/new; stat -c %G d/new";
    let ran = checked(&here, &["edit", "d/a", "--old", "one", "--new", "two", "--json"], check).exits(0).json();
    let (owner, group) =
        (run("stat", ["-c", "%U", path.to_str().unwrap()]), run("stat", ["-c", "%G", path.to_str().unwrap()]));
    let (owner, group) = (owner.unwrap(), group.unwrap());
    let expected = format!("green 644 {}\n 2750 {}\n{}\n", owner.trim(), owner.trim(), group.trim());
    assert_eq!(ran["check"]["output"], json!(expected), "{ran}");
}
