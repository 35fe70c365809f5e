//! Transactions over several file systems, on the real system: mounts in the workspace, and what is to be done while one of
//! them is away.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::journal::JournalState;
use txedit::{
    Change, Check, Edit, Engine, ErrorKind, FileRequest, IfExists, Outcome, RecoverOptions, RenameTo, Request,
    Retention, Run, Settings, UndoOptions,
};

use crate::support::is_without;
use crate::support::mounts::{self, Kind, run};

/// A workspace with a file `a`, and a file `m/b` on another file system, which can be unmounted and mounted again.
struct Mounted {
    root: PathBuf,
    outside: PathBuf,
}

impl Mounted {
    fn mount(&self) {
        run("mount", ["--bind", self.outside.to_str().unwrap(), self.root.join("m").to_str().unwrap()]).unwrap();
    }

    fn unmount(&self) {
        // A program that another test is just starting shares the open files of this process for a moment.
        let is_away = (0..100).any(|_| {
            let unmounted = run("umount", [self.root.join("m")]);
            if unmounted.is_err() {
                std::thread::sleep(Duration::from_millis(50));
            }
            unmounted.is_ok()
        });
        assert!(is_away, "it is unmounted within five seconds");
    }

    fn write(&self, path: &str, content: &str) {
        fs::write(self.root.join(path), content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    fn engine(&self) -> Engine {
        Engine::open(&self.root).unwrap()
    }

    fn files(&self) -> [String; 2] {
        ["a", "m/b"].map(|path| self.read(path))
    }

    fn parts(&self) -> usize {
        fs::read_dir(self.outside.join(".txedit/parts")).map_or(0, Iterator::count)
    }
}

/// Runs a test where the other file system is of another kind than the root's, and where it is another mount of the same.
fn with_both(test: impl Fn(&Mounted)) {
    if is_without("mounts of the same file system") {
        return;
    }
    let on = |root: &Path, outside: PathBuf| {
        let mounted = Mounted { root: root.join("w"), outside };
        for folder in [&mounted.root.join("m"), &mounted.outside] {
            fs::create_dir_all(folder).unwrap();
        }
        mounted.mount();
        mounted.write("a", "one\n");
        mounted.write("m/b", "one\n");
        test(&mounted);
        mounted.unmount();
    };
    mounts::with(Kind::Ext4, |root| {
        on(root, root.join("outside"));
        mounts::with(Kind::Tmpfs, |other| {
            fs::remove_dir_all(root.join("w")).unwrap();
            on(root, other.join("outside"));
        });
    });
}

fn both() -> Request {
    let edit = || Edit::replace("one", "two");
    Request::new().edit("a", edit()).edit("m/b", edit())
}

/// A history of nothing.
fn nothing() -> Retention {
    let mut retention = Retention::default();
    retention.count = 0;
    retention
}

#[test]
fn files_on_two_file_systems_are_one_transaction_and_so_is_its_undo() {
    with_both(|mounted| {
        let engine = mounted.engine();
        let mut tried = both();
        tried.dry_run = true;
        let plan = engine.apply(&tried, Run::default()).unwrap();
        assert!(plan.dry_run && mounted.parts() == 0);
        let report = engine.apply(&both(), Run::default()).unwrap();
        assert_eq!(mounted.files(), ["two\n", "two\n"]);
        assert_eq!(engine.log(9, None).unwrap()[0].files.len(), 2);
        engine.undo(report.transaction.as_deref(), false, Run::default()).unwrap();
        assert_eq!(mounted.files(), ["one\n", "one\n"]);
        engine.undo(None, false, Run::default()).unwrap_err();
        assert_eq!(mounted.parts(), 2);
        engine.prune(&nothing()).unwrap();
        assert_eq!(mounted.parts(), 0, "what is pruned leaves nothing there");
    });
}

#[test]
fn a_file_moves_to_another_file_system_with_its_metadata() {
    use std::os::unix::fs::PermissionsExt as _;
    with_both(|mounted| {
        fs::set_permissions(mounted.root.join("a"), fs::Permissions::from_mode(0o751)).unwrap();
        let rename = |from: &str, to: &str| {
            FileRequest::new(from, Change::Rename(RenameTo { path: to.into(), if_exists: IfExists::Fail }))
        };
        let request = Request::of_files(vec![rename("a", "m/new/deep/a"), rename("m/b", "b")]);
        mounted.engine().apply(&request, Run::default()).unwrap();
        assert_eq!(mounted.read("b"), "one\n");
        assert_eq!(fs::metadata(mounted.root.join("m/new/deep/a")).unwrap().permissions().mode() & 0o777, 0o751);
        mounted.engine().undo_last(1, &UndoOptions::default(), Run::default()).unwrap();
        assert_eq!(mounted.files(), ["one\n", "one\n"]);
        assert!(!mounted.root.join("m/new").exists());
    });
}

#[test]
fn a_check_that_fails_takes_both_back() {
    with_both(|mounted| {
        let fails = Check::new(vec!["sh".into(), "-c".into(), "grep -q two a && grep -q two m/b && exit 3".into()]);
        let mut checked = both();
        checked.check = Some(fails);
        let error = mounted.engine().allowing_checks().apply(&checked, Run::default()).unwrap_err();
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::CheckFailed, Outcome::RolledBack), "{error}");
        assert!(error.to_string().contains("exit status: 3"), "it has seen both: {error}");
        assert_eq!(mounted.files(), ["one\n", "one\n"]);
    });
}

/// The engine on a disk that fails after the first swap, and in the rollback.
fn stuck(mounted: &Mounted) {
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let is_slot = |path: &Path| path.file_name().is_some_and(|name| name == "000001");
    let second = move |call: &FaultCall| {
        call.operation == FaultOperation::Rename && (is_slot(&call.path) || call.to.as_deref().is_some_and(is_slot))
    };
    faults.add(Rule::fail(1, 5).matching(second));
    let undo = JournalState::Undo.file_name();
    faults.add(Rule::fail(1, 5).matching(move |call: &FaultCall| {
        call.operation == FaultOperation::Rename && call.to.as_deref().is_some_and(|to| to.ends_with(undo))
    }));
    let engine = Engine::with_fs(faults, &mounted.root, Settings::default()).unwrap();
    let error = engine.apply(&both(), Run::default()).unwrap_err();
    assert_eq!(error.outcome(), Outcome::RecoveryRequired, "{error}");
}

#[test]
fn what_is_interrupted_waits_for_a_file_system_that_is_not_mounted() {
    with_both(|mounted| {
        stuck(mounted);
        mounted.unmount();
        let engine = mounted.engine();
        mounted.write("c", "one\n");
        let report = engine.apply(&Request::new().edit("c", Edit::replace("one", "two")), Run::default()).unwrap();
        assert!(report.warnings.iter().any(|warning| warning.contains("mount it again")), "{:?}", report.warnings);
        let before = mounted.read("a");
        let error = engine.apply(&Request::new().edit("a", Edit::replace_all("o", "0")), Run::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RecoveryRequired, "{error}");
        engine.recover(None, RecoverOptions::new()).unwrap_err();
        assert_eq!(mounted.read("a"), before);
        assert_eq!(engine.status().unwrap().interrupted.len(), 1);
        mounted.mount();
        engine.recover(None, RecoverOptions::new()).unwrap();
        let [a, b] = mounted.files();
        assert_eq!(a, b);
        assert!(engine.status().unwrap().interrupted.is_empty());
    });
}

#[test]
fn an_undo_waits_for_a_file_system_that_is_not_mounted() {
    with_both(|mounted| {
        let engine = mounted.engine();
        engine.apply(&both(), Run::default()).unwrap();
        mounted.unmount();
        for dry_run in [true, false] {
            let error = engine.undo(None, dry_run, Run::default()).unwrap_err();
            assert_eq!((error.kind(), error.outcome()), (ErrorKind::CrossDevice, Outcome::Unchanged), "{error}");
            assert!(error.message().contains("mount it again"), "{error}");
        }
        assert_eq!(mounted.read("a"), "two\n");
        assert!(engine.log(9, None).unwrap()[0].warnings.iter().any(|warning| warning.contains("mount it again")));
        let pruned = engine.prune(&nothing()).unwrap();
        assert_eq!(pruned.in_trash.len(), 1, "{pruned:?}");
        mounted.mount();
        engine.prune(&nothing()).unwrap();
        assert_eq!(mounted.parts(), 0);
    });
}

#[test]
fn what_is_there_for_a_workspace_above_is_no_workspace() {
    with_both(|mounted| {
        let id = mounted.engine().apply(&both(), Run::default()).unwrap().transaction.unwrap();
        let mut log = std::process::Command::new(env!("CARGO_BIN_EXE_txedit"));
        let log = log.args(["log", "--json"]).current_dir(mounted.root.join("m")).output().unwrap();
        assert!(String::from_utf8_lossy(&log.stdout).contains(&id), "{log:?}");
    });
}

#[test]
fn what_was_removed_there_is_told_and_leaves_the_rest_alone() {
    with_both(|mounted| {
        let engine = mounted.engine();
        engine.apply(&both(), Run::default()).unwrap();
        fs::remove_dir_all(mounted.root.join("m/.txedit")).unwrap();
        engine.apply(&Request::new().edit("a", Edit::replace("two", "three")), Run::default()).unwrap();
        engine.undo(None, false, Run::default()).unwrap();
        let error = engine.undo(None, false, Run::default()).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unchanged, "{error}");
        assert_eq!(mounted.files(), ["two\n", "two\n"]);
    });
}

#[test]
fn a_check_that_must_run_in_a_view_is_refused() {
    with_both(|mounted| {
        let edit =
            |path: &str| serde_json::json!({"file_path": path, "edits": [{"old_string": "one", "new_string": "two"}]});
        mounted.write("plan.json", &serde_json::json!({"files": [edit("a"), edit("m/b")]}).to_string());
        let mut apply = std::process::Command::new(env!("CARGO_BIN_EXE_txedit"));
        apply.args(["apply", "plan.json", "--json", "--check", "true"]).env("TXEDIT_CHECK_IN", "view");
        let refused = apply.current_dir(&mounted.root).output().unwrap();
        let answer = String::from_utf8_lossy(&refused.stdout).into_owned();
        assert!(
            answer.contains("NO_VIEW") && answer.contains("m/b is in a folder that is not copied in it"),
            "{answer}"
        );
        assert_eq!(mounted.files(), ["one\n", "one\n"]);
    });
}

#[test]
fn what_is_kept_there_is_not_called_nothing_while_it_is_away() {
    with_both(|mounted| {
        stuck(mounted);
        let engine = mounted.engine();
        let id = engine.status().unwrap().interrupted[0].id.clone();
        let discard = RecoverOptions::new().decision(txedit::Decision::Discard);
        engine.recover(Some(&id), discard).unwrap();
        mounted.unmount();
        let kept = engine.kept().unwrap();
        assert!(kept[0].contents[0].reason.contains("mount it again"), "{kept:?}");
        engine.kept_drop(&id).unwrap_err();
        mounted.mount();
        engine.kept_drop(&id).unwrap();
        assert_eq!(mounted.parts(), 0);
    });
}

/// The rest of it is as good as it was.
#[test]
fn what_is_kept_beside_a_part_that_was_removed_is_listed_and_restored() {
    with_both(|mounted| {
        stuck(mounted);
        let engine = mounted.engine();
        let id = engine.status().unwrap().interrupted[0].id.clone();
        fs::remove_dir_all(mounted.outside.join(".txedit/parts").join(&id)).unwrap();
        let error = engine.recover(Some(&id), RecoverOptions::new()).unwrap_err();
        assert!(error.message().contains("were removed there"), "{error}");
        engine.recover(Some(&id), RecoverOptions::new().decision(txedit::Decision::Discard)).unwrap();
        assert_eq!(mounted.read("a"), "two\n");
        let kept = engine.kept().unwrap();
        let contents: Vec<_> =
            kept[0].contents.iter().map(|kept| (&*kept.path, fs::read(&kept.kept_path).unwrap())).collect();
        assert_eq!(contents, [(&*mounted.root.join("a"), b"one\n".to_vec())]);
        engine.kept_restore(&id, None, Run::default()).unwrap();
        assert_eq!(mounted.read("a"), "one\n");
        engine.kept_drop(&id).unwrap();
        assert!(engine.kept().unwrap().is_empty());
    });
}

#[test]
fn a_state_folder_of_others_on_the_other_file_system_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    with_both(|mounted| {
        let state = mounted.root.join("m/.txedit");
        fs::create_dir(&state).unwrap();
        fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
        let error = mounted.engine().apply(&both(), Run::default()).unwrap_err();
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::PermissionDenied, Outcome::Unchanged), "{error}");
        assert_eq!(mounted.files(), ["one\n", "one\n"]);
    });
}
