//! What a program closes to the user who runs it, and what is closed where it runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::super::view::users::{as_user, of_user, shut_in};
use super::super::{Ran, Workspace};
use super::{is_here, nothing_stays, tree};
use crate::support::mounts::{self, Kind};

/// Runs a script as an ordinary user, in a view or in a copy.
fn script(here: &Workspace, program: &Path, is_copy: bool, options: &[&str], script: &str) -> Ran {
    let line = [&["run", "--json"][..], options, &["--", "sh", "-ec", script]].concat();
    if is_copy { shut_in(here, program, &line) } else { as_user(here, program, &line) }
}

fn refused(json: &Value, told: &str) {
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("PERMISSION_DENIED"), &json!("unchanged")), "{json}");
    let error = json["error"].as_str().unwrap();
    assert!(error.contains(told) && !json.to_string().contains(".txedit/"), "{json}");
}

#[test]
fn a_folder_or_file_that_it_closes_to_its_user_is_refused_by_name() {
    let Some((here, program)) = of_user() else { return };
    let before = tree(&here.path());
    for is_copy in [false, true] {
        for (does, told) in [
            ("mkdir closed; echo x > closed/y; chmod 000 closed", "closed to itself: closed"),
            ("mkdir -p in/closed; echo x > in/closed/y; chmod 300 in/closed", "closed to itself: in/closed"),
            ("chmod 200 a", "left a with the mode 200"),
            ("echo more >> a; chmod 000 a", "left a with the mode 0"),
            ("echo new > new; chmod 000 new", "left new with the mode 0"),
        ] {
            let json = script(&here, &program, is_copy, &[], does).json();
            refused(&json, told);
            assert_eq!(tree(&here.path()), before, "{does}");
            nothing_stays(&here);
        }
        // Its user can leave it out.
        let left = script(&here, &program, is_copy, &["--exclude", "a"], "chmod 200 a; echo n > n").exits(0).json();
        assert_eq!(left["files_edited"], json!(1), "{left}");
        as_user(&here, &program, &["undo"]).exits(0);
    }
}

/// A file that its owner may only read is one like any other.
#[test]
fn a_file_that_its_user_cannot_write_is_committed() {
    let Some((here, program)) = of_user() else { return };
    let before = tree(&here.path());
    for is_copy in [false, true] {
        let does = "chmod 444 a; echo new > new; chmod 400 new; echo more >> sub/b; chmod 440 sub/b";
        for options in [&[][..], &["--stage"]] {
            let json = script(&here, &program, is_copy, options, does).exits(0).json();
            if !options.is_empty() {
                as_user(&here, &program, &["commit", json["transaction_id"].as_str().unwrap()]).exits(0);
            }
            let after = tree(&here.path());
            let told = ["a", "new", "sub/b"].map(|name| after[Path::new(name)].clone());
            assert_eq!(told, ["444 one\n", "400 new\n", "440 two\nmore\n"], "{json}");
            as_user(&here, &program, &["undo"]).exits(0);
            assert_eq!(tree(&here.path()), before);
        }
    }
}

#[test]
fn one_that_could_not_be_started_is_told_in_a_copy_as_well() {
    let Some((here, program)) = of_user() else { return };
    let before = tree(&here.path());
    let line = ["run", "--json", "--keep-on-failure", "no-such-program"];
    let json = shut_in(&here, &program, &line).exits(7).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("PROGRAM_FAILED"), &json!("unchanged")), "{json}");
    assert!(json["error"].as_str().unwrap().contains("no-such-program"), "{json}");
    assert_eq!(tree(&here.path()), before);
    nothing_stays(&here);
}

#[test]
fn new_folders_with_an_owner_or_attributes_of_their_own_are_told() {
    if !is_here() || !rustix::process::geteuid().is_root() {
        return;
    }
    mounts::with(Kind::Ext4, |root| {
        fs::write(root.join("a"), "one\n").unwrap();
        let does =
            "mkdir -p plain/in given named/in; chown 7:8 given; setfattr -n user.name -v x named; mkdir given/in";
        let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
        command.args(["run", "--json", "--root"]).arg(root).args(["--", "sh", "-ec", does]).current_dir(root);
        let json = Ran::from(command.output().unwrap()).exits(0).json();
        let wanted = json!([{ "reason": "folder_metadata", "count": 2, "files": ["given", "named"] }]);
        assert_eq!(json["program"]["left_out"], wanted, "{json}");
        assert!(["plain/in", "given/in", "named/in"].iter().all(|path| root.join(path).is_dir()));
    });
}

/// A view that a killed process left, with a file that cannot be deleted: others are not kept from their work by it.
#[test]
fn what_is_left_of_a_view_and_cannot_be_deleted_keeps_nobody_from_his_work() {
    if !is_here() || !rustix::process::geteuid().is_root() {
        return;
    }
    mounts::with(Kind::Ext4, |root| {
        fs::write(root.join("a"), "one\n").unwrap();
        let txedit = |line: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
            Ran::from(command.arg("--root").arg(root).args(line).current_dir(root).output().unwrap())
        };
        txedit(&["edit", "a", "--old", "one", "--new", "1"]).exits(0);
        let left = root.join(".txedit/view/20260101T000000.000000Z-0123456789abcdef/upper");
        fs::create_dir_all(&left).unwrap();
        for folder in left.ancestors().take(3) {
            fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        }
        fs::write(left.join("fixed"), "x\n").unwrap();
        let attribute = |flag: &str| Command::new("chattr").arg(flag).arg(left.join("fixed")).status().unwrap();
        assert!(attribute("+i").success());
        txedit(&["edit", "a", "--old", "1", "--new", "2"]).exits(0);
        txedit(&["run", "--", "sh", "-c", "echo more >> a"]).exits(0);
        txedit(&["undo"]).exits(0);
        assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "2\n");
        assert!(left.join("fixed").exists());
        assert!(attribute("-i").success());
        txedit(&["edit", "a", "--old", "2", "--new", "3"]).exits(0);
        assert!(!root.join(".txedit/view").exists());
    });
}

/// Name spaces are forbidden, and nothing takes the place of a view: what is missing is said.
#[test]
fn where_there_is_neither_a_view_nor_room_for_a_copy_that_is_said() {
    let Some((here, program)) = of_user() else { return };
    fs::File::create(here.path().join("large")).unwrap().set_len(3 << 30).unwrap();
    super::super::view::users::give(&here.path());
    let before = fs::read(here.path().join("a")).unwrap();
    let shares = Command::new("cp").args(["--reflink=always", "a", "copy"]).current_dir(here.path()).status().unwrap();
    fs::remove_file(here.path().join("copy")).ok();
    if shares.success() {
        eprintln!("skipped: the file system shares copies");
        return;
    }
    let json = shut_in(&here, &program, &["run", "--json", "--", "sh", "-c", "echo 1 > a"]).exits(2).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("NO_VIEW"), &json!("unchanged")), "{json}");
    let error = json["error"].as_str().unwrap();
    assert!(error.contains("name spaces") && error.contains("2048 MiB"), "{json}");
    assert!(json["recovery_hint"].as_str().unwrap().contains("doctor"), "{json}");
    assert_eq!(fs::read(here.path().join("a")).unwrap(), before);
    nothing_stays(&here);
    // The same workspace has one where it is allowed.
    as_user(&here, &program, &["run", "--", "sh", "-c", "echo 1 > a"]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "1\n");
}
