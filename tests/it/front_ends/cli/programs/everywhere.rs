//! Programs in copies, on other file systems, as other users, and in odd places.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::super::view::users::{of_user, shut_in};
use super::{Ran, SCRIPTS, command, is_here, nothing_stays, ran, run, tree, workspace};
use crate::support::is_without;
use crate::support::mounts::{self, Kind};

#[test]
fn where_there_is_no_view_a_copy_gives_the_same() {
    let Some((here, program)) = of_user() else { return };
    let root = here.path();
    for (number, script) in SCRIPTS.iter().enumerate() {
        let (tried, plain) = (workspace(), workspace());
        let folder = root.join(number.to_string());
        let copied = Command::new("cp").args(["-a", tried.path().to_str().unwrap(), folder.to_str().unwrap()]).status();
        assert!(copied.unwrap().success());
        super::super::view::users::give(&folder);
        let before = tree(&folder);
        let alone = Command::new("sh").args(["-c", &format!("set -e; {script}")]).current_dir(plain.path()).status();
        assert!(alone.unwrap().success(), "{script}");
        let line = ["--root", folder.to_str().unwrap(), "run", "--json", "--", "sh", "-c", script];
        let json = shut_in(&here, &program, &line).exits(0).json();
        assert_eq!(json["program"]["in"], json!("copy"), "{script}: {json}");
        assert_eq!(tree(&folder), tree(&plain.path()), "{script}: {json}");
        assert!(!folder.join(".txedit/view").exists(), "{script}");
        if json["transaction_id"].is_string() {
            shut_in(&here, &program, &["--root", folder.to_str().unwrap(), "undo"]).exits(0);
        }
        assert_eq!(tree(&folder), before, "{script}");
    }
}

#[test]
fn each_file_system_gives_the_same() {
    if !is_here() {
        return;
    }
    let all = [
        (Kind::Ext4, "view"),
        (Kind::Xfs, "view"),
        (Kind::Btrfs, "view"),
        (Kind::Overlay, "copy"),
        (Kind::FuseOverlay, "copy"),
    ];
    for (kind, place) in all {
        mounts::with(kind, |root| {
            fs::write(root.join("a"), "one\n").unwrap();
            fs::write(root.join("b"), "two\n").unwrap();
            fs::create_dir_all(root.join("gone/deep")).unwrap();
            fs::write(root.join("gone/deep/c"), "three\n").unwrap();
            let before = tree(root);
            let txedit = |line: &[&str]| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
                command.arg("--root").arg(root).args(line).current_dir(root);
                Ran::from(command.output().unwrap())
            };
            let script = "sed -i s/one/1/ a; rm -r gone; mkdir -p new/empty; echo n > new/n; mv b c; ln -s a link";
            let json = txedit(&["run", "--json", "--", "sh", "-ec", script]).exits(0).json();
            assert_eq!(json["program"]["in"], json!(place), "{kind:?}: {json}");
            let mut wanted = before.clone();
            for gone in ["gone", "gone/deep", "gone/deep/c", "b"] {
                wanted.remove(Path::new(gone));
            }
            let made = [
                ("a", "644 1\n"),
                ("c", "644 two\n"),
                ("new", "folder 755"),
                ("new/empty", "folder 755"),
                ("new/n", "644 n\n"),
                ("link", "symlink to a"),
            ];
            wanted.extend(made.map(|(name, told)| (name.into(), told.to_owned())));
            assert_eq!(tree(root), wanted, "{kind:?}: {json}");
            txedit(&["undo"]).exits(0);
            assert_eq!(tree(root), before, "{kind:?}");
        });
    }
}

#[test]
fn it_can_do_what_it_wants_to_what_is_not_its_own() {
    if !is_here() {
        return;
    }
    let here = workspace();
    here.write(".git/HEAD", "ref: refs/heads/main\n");
    ran(&here, &[], "echo 1 > a").exits(0);
    let before = tree(&here.path());
    let deeds = [
        "rm -rf .txedit; mkdir .txedit; echo x > .txedit/x",
        "! echo x > .git/HEAD 2> /dev/null; ! rm -rf .git 2> /dev/null",
        "! rmdir \"$PWD\" 2> /dev/null; cd /; ! rm -rf \"$TXEDIT_VIEW/.git\" 2> /dev/null",
        "touch a; cat a > /dev/null; mv a t; mv t a",
    ];
    for deed in deeds {
        let json = ran(&here, &["--json"], deed).exits(0).json();
        assert_eq!(
            (&json["files_edited"], &json["transaction_id"]),
            (&json!(0), &serde_json::Value::Null),
            "{deed}: {json}"
        );
        assert_eq!(tree(&here.path()), before, "{deed}");
        nothing_stays(&here);
    }
    assert_eq!(here.run(&["log", "--json"]).exits(0).json()["transactions"].as_array().unwrap().len(), 1);
}

#[test]
fn txedit_in_it_works_on_what_it_sees_with_a_state_folder_of_the_view() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let txedit = env!("CARGO_BIN_EXE_txedit");
    let script = format!(
        "{txedit} --root . edit a --old one --new 1; {txedit} --root . edit b --old two --new 2; {txedit} --root . undo; \
         {txedit} --root . run -- sh -c 'echo in > inner'; {txedit} --root . log"
    );
    let json = ran(&here, &["--json"], &script).exits(0).json();
    assert_eq!(json["files_edited"], json!(2), "{json}");
    let read = |name: &str| fs::read_to_string(here.path().join(name)).unwrap();
    assert_eq!([read("a"), read("b"), read("inner")], ["1\n", "two\n", "in\n"]);
    assert_eq!(here.run(&["log", "--json"]).exits(0).json()["transactions"].as_array().unwrap().len(), 1);
    here.run(&["undo"]).exits(0);
    assert_eq!(read("a"), "one\n");
}

#[test]
fn names_are_any_bytes() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let json =
        ran(&here, &["--json"], "printf n > \"$(printf 'caf\\351')\"; mkdir \"$(printf 'd\\377')\"").exits(0).json();
    assert_eq!(json["files_edited"], json!(2), "{json}");
    let name = here.path().join(OsString::from_vec(b"caf\xe9".to_vec()));
    assert_eq!(fs::read_to_string(&name).unwrap(), "n");
    here.run(&["undo"]).exits(0);
    assert!(!name.exists());
}

#[test]
fn a_disk_that_it_fills_is_as_it_was() {
    if !is_here() {
        return;
    }
    mounts::with(Kind::Ext4, |root| {
        fs::write(root.join("a"), "one\n").unwrap();
        let txedit = |script: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
            command.args(["run", "--json", "--root"]).arg(root).args(["--", "sh", "-c", script]).current_dir(root);
            Ran::from(command.output().unwrap())
        };
        let before = tree(root);
        let json = txedit("echo 1 > a; dd if=/dev/zero of=big bs=1M 2> /dev/null").exits(7).json();
        assert_eq!((&json["error_code"], &json["outcome"]), (&json!("PROGRAM_FAILED"), &json!("unchanged")), "{json}");
        assert_eq!(tree(root), before);
        // It has room for it, and the transaction has none for its own.
        let json = txedit("echo 1 > a; dd if=/dev/zero of=big bs=1M 2> /dev/null; rm -f smaller; exit 0").json();
        assert!(json["success"] == json!(true) || json["error_code"] == json!("DISK_FULL"), "{json}");
        if json["success"] != json!(true) {
            assert_eq!(tree(root), before, "{json}");
        }
        assert!(!root.join(".txedit/view").exists());
    });
}

#[test]
fn what_it_writes_takes_no_second_place() {
    if is_without("holes") {
        return;
    }
    if !is_here() {
        return;
    }
    for kind in [Kind::Ext4, Kind::Tmpfs, Kind::Xfs, Kind::Btrfs] {
        mounts::with(kind, |root| {
            fs::write(root.join("small"), "old\n").unwrap();
            let before = tree(root);
            // Of 256 to 320 MiB in all.
            let script = "head -c 20M /dev/urandom > piece; for i in 1 2 3 4 5 6 7; do cat piece; done > big; \
                          for i in 1 2 3; do cat piece > piece$i; done; rm piece; echo new > small; \
                          sha256sum big piece? > sums";
            let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
            command.args(["run", "--json", "--root"]).arg(root).args(["--", "sh", "-ec", script]).current_dir(root);
            let json = run(&mut command).exits(0).json();
            assert_eq!(json["program"]["in"], json!("view"), "{kind:?}: {json}");
            let summed = Command::new("sha256sum").args(["--check", "--quiet", "sums"]).current_dir(root).status();
            assert!(summed.unwrap().success(), "{kind:?}");
            assert_eq!(fs::read_to_string(root.join("small")).unwrap(), "new\n");
            let mut undo = Command::new(env!("CARGO_BIN_EXE_txedit"));
            run(undo.arg("undo").arg("--root").arg(root).current_dir(root)).exits(0);
            assert_eq!(tree(root), before, "{kind:?}");
        });
    }
}

#[test]
fn attributes_and_owners_are_those_that_the_program_leaves() {
    if !is_here() || !rustix::process::geteuid().is_root() {
        return;
    }
    mounts::with(Kind::Ext4, |root| {
        fs::write(root.join("a"), "one\n").unwrap();
        let setup = Command::new("sh")
            .args(["-ec", "setfattr -n user.was -v 1 a; chown 7:8 a; chmod 640 a"])
            .current_dir(root)
            .status();
        assert!(setup.unwrap().success());
        let told = |what: &str| {
            let output = Command::new("sh").args(["-c", what]).current_dir(root).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let look = "getfattr -d -m user a 2> /dev/null; stat -c '%u:%g %a' a";
        let before = told(look);
        let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
        let script = "sh -c 'echo 1 >> a'; setfattr -n user.new -v 2 a; chown 9:10 a";
        command.args(["run", "--json", "--root"]).arg(root).args(["--", "sh", "-ec", script]).current_dir(root);
        run(&mut command).exits(0);
        assert_eq!(told(look), "# file: a\nuser.new=\"2\"\nuser.was=\"1\"\n\n9:10 640\n");
        let mut undo = Command::new(env!("CARGO_BIN_EXE_txedit"));
        run(undo.arg("undo").arg("--root").arg(root).current_dir(root)).exits(0);
        assert_eq!(told(look), before);
    });
}

/// A command that would be found by its options only.
#[test]
fn a_program_with_options_needs_no_separator() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let json = run(&mut here.command(&["run", "--json", "sed", "-i", "s/one/1/", "a"])).exits(0).json();
    assert_eq!(json["files_edited"], json!(1), "{json}");
    drop(command(&here, &[], "true"));
}

/// A copy has the owners and attributes of no file, so a change of them is told.
#[test]
fn what_a_program_does_to_owners_and_attributes_in_a_copy_is_told() {
    let Some((here, program)) = of_user() else { return };
    fs::write(here.path().join("b"), "two\n").unwrap();
    super::super::view::users::give(&here.path());
    let script =
        "setfattr -n user.k -v 1 a; echo more >> b; setfattr -n user.k -v 1 b; echo new > c; setfattr -n user.k -v 1 c";
    let json = shut_in(&here, &program, &["run", "--json", "--", "sh", "-ec", script]).exits(0).json();
    assert_eq!(json["program"]["in"], json!("copy"), "{json}");
    let wanted = json!([{ "reason": "file_metadata", "count": 2, "files": ["a", "b"] }]);
    assert_eq!(json["program"]["left_out"], wanted, "{json}");
    let json = shut_in(&here, &program, &["run", "--json", "--", "sh", "-ec", "echo again >> b"]).exits(0).json();
    assert_eq!(json["program"]["left_out"], serde_json::Value::Null, "{json}");
}

/// An overlay whose layers are on two file systems lists other numbers than some of its files have, and a folder has
/// another one now and then.
#[test]
fn on_an_overlay_of_two_file_systems_nobody_is_taken_for_another_program() {
    if is_without("names of file systems, and so no overlay") {
        return;
    }
    if !mounts::is_root() {
        eprintln!("skipped: only root mounts");
        return;
    }
    mounts::with(Kind::Tmpfs, |upper| {
        let here = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let [lower, root] = ["lower", "root"].map(|name| here.path().join(name));
        for folder in [&lower, &root, &upper.join("upper"), &upper.join("work"), &lower.join("old")] {
            fs::create_dir(folder).unwrap();
        }
        for name in ["a", "b", "c", "old/d"] {
            fs::write(lower.join(name), "one\n").unwrap();
        }
        let (lower, upper) = (lower.display(), upper.display());
        let layers = format!("lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work");
        mounts::run("mount", ["-t", "overlay", "-o", &layers, "txedit", root.to_str().unwrap()]).unwrap();
        let done = std::panic::catch_unwind(|| {
            fs::write(root.join("c"), "two\n").unwrap();
            fs::create_dir(root.join("up")).unwrap();
            fs::write(root.join("up/e"), "one\n").unwrap();
            fs::write(root.join("aa"), "one\n").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            let ran = |script: &str| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
                let line = ["run", "--json", "--", "sh", "-ec", script];
                Ran::from(command.arg("--root").arg(&root).args(line).current_dir(&root).output().unwrap())
            };
            for script in ["echo p >> a; echo p >> c", "rm -r up", "rm old/d", "echo q >> c"] {
                let json = ran(script).exits(0).json();
                assert_eq!(json["program"]["changed_meanwhile"], serde_json::Value::Null, "{script}: {json}");
            }
            assert!(!root.join("up").exists() && !root.join("old/d").exists());
            assert_eq!(fs::read_to_string(root.join("c")).unwrap(), "two\np\nq\n");
        });
        mounts::run("umount", [root.to_str().unwrap()]).unwrap();
        done.unwrap();
    });
}
