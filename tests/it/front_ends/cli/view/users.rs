//! Who may have a view: root, ordinary users, and nobody where name spaces are forbidden.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::super::Workspace;
use super::{APPLY, NEW, OLD, Ran, holds, is_here, nothing_stays, wait_for, workspace};

const USER: u32 = 12_345;

/// A program that an ordinary user may run, and a workspace of his.
pub(in crate::front_ends::cli) fn of_user() -> Option<(Workspace, std::path::PathBuf)> {
    if !is_here() || !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return None;
    }
    let here = workspace();
    // The build folder may be closed to others.
    let program = here.path().join("txedit");
    fs::copy(env!("CARGO_BIN_EXE_txedit"), &program).unwrap();
    fs::set_permissions(here.path(), fs::Permissions::from_mode(0o755)).unwrap();
    give(&here.path());
    Some((here, program))
}

pub(in crate::front_ends::cli) fn give(path: &Path) {
    lchown(path, Some(USER), Some(USER)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
}

/// The program as that user.
pub(in crate::front_ends::cli) fn as_user(here: &Workspace, program: &Path, line: &[&str]) -> Ran {
    Ran::from(of(here, Command::new("setpriv"), program, line).output().unwrap())
}

/// The same in a user name space that allows no other: the limit holds in it alone.
pub(in crate::front_ends::cli) fn shut_in(here: &Workspace, program: &Path, line: &[&str]) -> Ran {
    // Only a program that is started once root is mapped has his rights.
    let shut = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv \"$@\"";
    let script = format!("read mapped && exec sh -c '{shut}' sh \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--user", "sh", "-c", &script, "sh"]);
    let mut command = of(here, command, program, line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let own = fs::read_link("/proc/self/ns/user").unwrap();
    let process = Path::new("/proc").join(child.id().to_string());
    wait_for(|| fs::read_link(process.join("ns/user")).unwrap() != own);
    for map in ["uid_map", "gid_map"] {
        fs::write(process.join(map), "0 0 65536").unwrap();
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    Ran::from(child.wait_with_output().unwrap())
}

fn of(here: &Workspace, mut command: Command, program: &Path, line: &[&str]) -> Command {
    let user = USER.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(program).args(line);
    command.current_dir(here.path()).env("HOME", "/").env_remove("TXEDIT_CHECK_IN").env_remove("XDG_CONFIG_HOME");
    command
}

#[test]
fn an_ordinary_user_has_one_and_is_who_he_is_in_it() {
    let Some((here, program)) = of_user() else { return };
    fs::set_permissions(here.path().join("sub"), fs::Permissions::from_mode(0o2770)).unwrap();
    fs::write(here.path().join("of-root"), "r\n").unwrap();
    let check =
        "id -u; stat -c %u a; cat of-root > /dev/null; ! touch .git/x 2> /dev/null; grep CapEff /proc/self/status";
    let line = [&APPLY[..], &["--check-in", "view", "--check", check]].concat();
    let json = as_user(&here, &program, &line).exits(0).json();
    let told = format!("{USER}\n{USER}\nCapEff:\t0000000000000000\n");
    assert_eq!((&json["check"]["in"], &json["check"]["output"]), (&json!("view"), &json!(told)), "{json}");
    fs::remove_file(here.path().join("of-root")).unwrap();
    holds(&here, &NEW);
    nothing_stays(&here);
    let stat = fs::metadata(here.path().join("sub/b")).unwrap();
    assert_eq!((stat.uid(), stat.mode() & 0o7777), (USER, 0o755));
}

#[test]
fn where_name_spaces_are_forbidden_the_tree_is_used_or_what_is_missing_is_said() {
    let Some((here, program)) = of_user() else { return };
    // Whoever asks for a view, and for nothing else, gets a copy.
    let copied = "set -e; test \"$TXEDIT_VIEW\" = \"$PWD\"; cat a sub/b new/deep/c was2 was flat/below; test ! -e old; test -x sub/b; \
                  test ! -e .txedit; echo formatted > was; echo x > other; rm plan.json; echo kept > through/kept; chmod 700 a";
    let line = [&APPLY[..], &["--check-in", "view", "--through", "through", "--check", copied]].concat();
    let json = shut_in(&here, &program, &line).exits(0).json();
    assert_eq!((&json["check"]["in"], &json["check"]["dropped"]), (&json!("copy"), &json!(2)), "{json}");
    assert_eq!(json["check"]["dropped_files"], json!(["other", "plan.json"]), "{json}");
    assert_eq!(fs::read_to_string(here.path().join("through/kept")).unwrap(), "kept\n");
    fs::remove_dir_all(here.path().join("through")).unwrap();
    let new = NEW.map(|file| if file.starts_with("was=") { "was=formatted\n" } else { file });
    holds(&here, &new);
    assert_eq!(fs::metadata(here.path().join("a")).unwrap().mode() & 0o777, 0o700);
    nothing_stays(&here);
    shut_in(&here, &program, &["undo"]).exits(0);
    let line = [&APPLY[..], &["--check-in", "view", "--check", "exit 1"]].concat();
    let json = shut_in(&here, &program, &line).exits(7).json();
    assert_eq!((&json["context"]["check"]["in"], &json["outcome"]), (&json!("copy"), &json!("unchanged")), "{json}");
    holds(&here, &OLD);
    // One that would be too large is not made.
    fs::File::create(here.path().join("large")).unwrap().set_len(3 << 30).unwrap();
    let refused = shut_in(&here, &program, &line);
    if refused.status != Some(7) {
        // A file system that shares copies has room for it.
        let json = refused.exits(2).json();
        assert_eq!((&json["error_code"], &json["outcome"]), (&json!("NO_VIEW"), &json!("unchanged")), "{json}");
        let error = json["error"].as_str().unwrap();
        assert!(error.contains("name spaces") && error.contains("2048 MiB"), "{json}");
    }
    fs::remove_file(here.path().join("large")).unwrap();
    nothing_stays(&here);
    let doctor = shut_in(&here, &program, &["doctor", "--json"]).exits(0).json();
    assert_eq!(doctor["checks_in"], json!("tree"), "{doctor}");
    assert!(doctor["no_view"]["why"].as_str().unwrap().contains("name spaces"), "{doctor}");
    assert!(doctor["no_view"]["advice"].as_str().unwrap().contains("user.max_user_namespaces"), "{doctor}");
    assert_eq!(as_user(&here, &program, &["doctor", "--json"]).exits(0).json()["checks_in"], json!("view"));
    let line = [&APPLY[..], &["--check", "test \"$TXEDIT_VIEW\" = '' && grep -q 1 a"]].concat();
    let json = shut_in(&here, &program, &line).exits(0).json();
    assert_eq!(json["check"]["in"], json!("tree"), "{json}");
    holds(&here, &NEW);
}
