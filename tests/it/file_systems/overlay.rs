//! An overlay whose layers are on different file systems: its folders get other numbers with each mount, and another birth
//! time when something in them is changed for the first time.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::testing::internals::fs::probe;
use txedit::wire::request;
use txedit::{Engine, Error, ErrorKind, Outcome, PathRule, RecoverOptions, Report};

use crate::support::is_without;
use crate::support::mounts::{self, Kind, run};
use crate::support::workspace::{running, settings};

/// The layers of an overlay, and where it is mounted.
struct Overlay<'a> {
    lower: &'a Path,
    upper: &'a Path,
}

impl Overlay<'_> {
    /// Mounts it for `test`, and unmounts it.
    fn mounted<T>(&self, test: impl FnOnce(&Engine, &Path) -> T) -> T {
        self.mounted_with("xino=off", test)
    }

    fn mounted_with<T>(&self, options: &str, test: impl FnOnce(&Engine, &Path) -> T) -> T {
        let root = self.upper.join("root");
        let (lower, upper) = (self.lower.display(), self.upper.display());
        let layers = format!("lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work,{options}");
        run("mount", ["-t", "overlay", "-o", &layers, "txedit", &root.to_string_lossy()]).unwrap();
        let engine = Engine::with_fs(Arc::new(OsFs::new()), &root, settings()).unwrap().allowing_checks();
        let answer = test(&engine, &root);
        drop(engine);
        // A program that another test has just started holds the handles of this one until its `exec`.
        let is_unmounted = (0..50).any(|_| {
            let result = run("umount", [&root]);
            if result.is_err() {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            result.is_ok()
        });
        assert!(is_unmounted, "it is unmounted within five seconds");
        answer
    }
}

/// An overlay with the file `d/x` in its lower layer. Skipped where it cannot be mounted.
fn with(test: impl FnOnce(Overlay<'_>)) {
    mounts::with(Kind::Tmpfs, |lower| {
        mounts::with(Kind::Tmpfs, |upper| {
            fs::create_dir(lower.join("d")).unwrap();
            fs::write(lower.join("d/x"), "one\n").unwrap();
            for folder in ["root", "upper", "work"] {
                fs::create_dir(upper.join(folder)).unwrap();
            }
            test(Overlay { lower, upper });
        })
    });
}

fn apply(engine: &Engine, request: &Value) -> Result<Report, Error> {
    let request = request::parse(request.to_string().as_bytes()).unwrap();
    engine.apply(&request.into_request(PathRule::AbsoluteOrRelative).unwrap(), running())
}

#[test]
fn what_was_committed_before_a_mount_is_known_after_it() {
    if is_without("birth times, by which folders with other numbers are known") {
        return;
    }
    with(|overlay| {
        let edit = json!({
            "idempotency_key": "once",
            "files": [{ "file_path": "d/x", "edits": [{ "old_string": "one", "new_string": "one one" }] }],
        });
        let first = overlay.mounted(|engine, _| apply(engine, &edit).unwrap());
        overlay.mounted(|engine, root| {
            assert_eq!(engine.log(usize::MAX, None).unwrap().len(), 1);
            let again = apply(engine, &edit).unwrap();
            assert!(again.already_applied);
            assert_eq!(again.transaction, first.transaction);
            engine.undo(None, false, running()).unwrap();
            assert_eq!(fs::read_to_string(root.join("d/x")).unwrap(), "one\n");
        });
    });
}

/// As in an image of a container that was made of a workspace in use.
#[test]
fn a_state_folder_in_a_lower_layer_is_copied_and_not_said_to_be_moved() {
    with(|overlay| {
        let commit = |engine: &Engine, root: &Path, old: &str, new: &str| {
            let edits = json!([{ "old_string": old, "new_string": new }]);
            let report = apply(engine, &json!({ "files": [{ "file_path": "d/x", "edits": edits }] })).unwrap();
            let id = fs::read_to_string(root.join(".txedit/id")).unwrap();
            assert!(!report.warnings.iter().any(|warning| warning.contains("moved")), "{:?}", report.warnings);
            id
        };
        let engine = Engine::with_fs(Arc::new(OsFs::new()), overlay.lower, settings()).unwrap();
        commit(&engine, overlay.lower, "one", "two");
        overlay.mounted(|engine, root| {
            let id = commit(engine, root, "two", "three");
            assert_eq!(commit(engine, root, "three", "four"), id, "what holds is tried out once");
            engine.undo(None, false, running()).unwrap();
            assert_eq!(fs::read_to_string(root.join("d/x")).unwrap(), "three\n");
        });
    });
}

/// As two containers of one image, which was made of a workspace in use, with a volume that they share.
#[test]
fn what_another_container_has_staged_on_a_shared_volume_is_not_swept() {
    with(|overlay| {
        let image = overlay.upper.join("image");
        overlay.mounted(|engine, root| {
            apply(engine, &json!({ "files": [{ "file_path": "m/first", "content": "" }] })).unwrap();
            run("cp", ["-a", &*root.to_string_lossy(), &*image.to_string_lossy()]).unwrap();
        });
        let volume = overlay.upper.join("volume");
        let uppers = ["one", "two"].map(|name| overlay.upper.join(name));
        fs::create_dir(&volume).unwrap();
        for (upper, folder) in uppers.iter().flat_map(|upper| ["root", "upper", "work"].map(|folder| (upper, folder))) {
            fs::create_dir_all(upper.join(folder)).unwrap();
        }
        let [one, two] = uppers.each_ref().map(|upper| Overlay { lower: &image, upper });
        one.mounted(|_, one| {
            two.mounted(|engine_of_two, two| {
                for root in [one, two] {
                    run("mount", ["--bind", &*volume.to_string_lossy(), &*root.join("m").to_string_lossy()]).unwrap();
                }
                stop_at_the_second_swap(one);
                let others = json!({ "files": [
                    { "file_path": "d/x", "edits": [{ "old_string": "one", "new_string": "2" }] },
                    { "file_path": "m/other", "content": "" },
                ] });
                apply(engine_of_two, &others).unwrap();
                let engine = Engine::with_fs(Arc::new(OsFs::new()), one, settings()).unwrap();
                engine.recover(None, RecoverOptions::new()).unwrap();
                assert_eq!(["d/x", "m/new"].map(|name| fs::read_to_string(one.join(name)).unwrap()), ["two\n", "new"]);
                drop(engine);
                for root in [one, two] {
                    run("umount", ["-l", &*root.join("m").to_string_lossy()]).unwrap();
                }
            });
        });
    });
}

/// A commit of an edit of `d/x` and of a new file `m/new` that stops when the first of them is swapped, as if it was killed.
fn stop_at_the_second_swap(root: &Path) {
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let is_over = AtomicBool::new(false);
    let stops = move |call: &FaultCall| {
        let is_second = call.operation == FaultOperation::Rename && call.path.ends_with("000001");
        is_over.fetch_or(is_second, Ordering::Relaxed) || is_second
    };
    faults.add(Rule::fail(1, 5).matching(stops).from_then_on());
    let engine = Engine::with_fs(faults, root, settings()).unwrap();
    let edit = json!({ "files": [
        { "file_path": "d/x", "edits": [{ "old_string": "one", "new_string": "two" }] },
        { "file_path": "m/new", "content": "new" },
    ] });
    assert_eq!(apply(&engine, &edit).unwrap_err().outcome(), Outcome::RecoveryRequired);
    assert_eq!(fs::read_to_string(root.join("d/x")).unwrap(), "two\n");
}

#[test]
fn the_first_change_in_a_folder_of_the_lower_layer_is_nobody_elses() {
    with(|overlay| {
        overlay.mounted(|engine, root| {
            let report = apply(engine, &json!({ "files": [{ "file_path": "d/x", "delete": true }] })).unwrap();
            assert_eq!(report.attempts, 1);
            assert!(!root.join("d/x").exists());
            engine.undo(None, false, running()).unwrap();
            assert_eq!(fs::read_to_string(root.join("d/x")).unwrap(), "one\n");
        });
    });
    with(|overlay| {
        overlay.mounted(|engine, root| {
            let edit =
                json!({ "files": [{ "file_path": "d/x", "edits": [{ "old_string": "one", "new_string": "two" }] }] });
            assert_eq!(apply(engine, &edit).unwrap().attempts, 1);
            assert_eq!(fs::read_to_string(root.join("d/x")).unwrap(), "two\n");
        });
    });
}

#[test]
fn a_check_that_removes_a_folder_of_the_lower_layer_is_rolled_back() {
    with(|overlay| {
        overlay.mounted(|engine, root| {
            let edit = json!({
                "files": [{ "file_path": "d/x", "edits": [{ "old_string": "one", "new_string": "two" }] }],
                "check": ["sh", "-c", "rm -r d; false"],
            });
            let error = apply(engine, &edit).unwrap_err();
            assert_eq!(error.outcome(), Outcome::RolledBack, "{error}");
            assert_eq!(fs::read_to_string(root.join("d/x")).unwrap(), "one\n");
        });
    });
}

fn dry(engine: &Engine, request: &Value) -> Result<Report, Error> {
    let mut request = request.clone();
    request["dry_run"] = json!(true);
    apply(engine, &request)
}

#[test]
fn a_dry_run_says_that_nothing_can_be_written() {
    mounts::with(Kind::Tmpfs, |root| {
        fs::write(root.join("a"), "one\n").unwrap();
        let engine = Engine::with_fs(Arc::new(OsFs::new()), root, settings()).unwrap();
        let delete = json!({ "files": [{ "file_path": "a", "delete": true }] });
        assert!(dry(&engine, &delete).unwrap().warnings.is_empty());
        run("mount", ["-o", "remount,ro", &root.to_string_lossy()]).unwrap();
        for ask in [dry, apply] {
            let error = ask(&engine, &delete).unwrap_err();
            assert_eq!((error.kind(), error.outcome()), (ErrorKind::ReadOnlyFs, Outcome::Unchanged), "{error}");
        }
        run("mount", ["-o", "remount,rw", &root.to_string_lossy()]).unwrap();
    });
}

/// `d` becomes a file.
fn file_for_folder() -> Value {
    json!({ "files": [{ "file_path": "d/x", "delete": true }, { "file_path": "d", "content": "a file now\n" }] })
}

#[test]
fn a_folder_of_the_lower_layer_is_moved_where_the_overlay_does_it() {
    with(|overlay| {
        overlay.mounted_with("xino=off,redirect_dir=on", |engine, root| {
            assert_eq!(dry(engine, &file_for_folder()).unwrap().warnings, Vec::<String>::new());
            let report = apply(engine, &file_for_folder()).unwrap();
            assert_eq!(report.attempts, 1, "{report:?}");
            assert_eq!(fs::read_to_string(root.join("d")).unwrap(), "a file now\n");
            engine.undo(None, false, running()).unwrap();
            assert_eq!(fs::read_to_string(root.join("d/x")).unwrap(), "one\n");
        });
    });
}

#[test]
fn a_folder_that_an_overlay_does_not_move_blames_nobody() {
    if is_without("names of file systems, and so no overlay") {
        return;
    }
    with(|overlay| {
        overlay.mounted_with("redirect_dir=off", |engine, root| {
            // It cannot tell of which layer the folder is.
            let warnings = dry(engine, &file_for_folder()).unwrap().warnings;
            assert!(
                matches!(&*warnings, [one] if one.starts_with("d is on an overlay without redirect_dir")),
                "{warnings:?}"
            );
            let edit = json!({ "files": [{ "file_path": "d/x", "delete": true }] });
            assert_eq!(dry(engine, &edit).unwrap().warnings, Vec::<String>::new());
            let error = apply(engine, &file_for_folder()).unwrap_err();
            assert_eq!((error.kind(), error.outcome()), (ErrorKind::CrossDevice, Outcome::RolledBack), "{error}");
            assert!(error.warnings().is_empty() && error.not_old().is_empty(), "{error:?}");
            assert_eq!(fs::read_to_string(root.join("d/x")).unwrap(), "one\n");
        });
    });
}

/// What a power loss leaves of an overlay depends on where its upper layer is.
#[test]
fn an_overlay_survives_what_its_upper_layer_does() {
    if is_without("names of file systems") {
        return;
    }
    for (kind, survives) in [(Kind::NoJournal, false), (Kind::Ext4, true)] {
        mounts::with(kind, |upper| {
            for folder in ["root", "lower", "upper", "work"] {
                fs::create_dir(upper.join(folder)).unwrap();
            }
            let [root, lower, layer, work] =
                ["root", "lower", "upper", "work"].map(|name| upper.join(name).to_str().unwrap().to_owned());
            let layers = format!("lowerdir={lower},upperdir={layer},workdir={work}");
            run("mount", ["-t", "overlay", "-o", &layers, "txedit", &root]).unwrap();
            let found = probe::guarantees(Path::new(&root));
            run("umount", [&root]).unwrap();
            assert_eq!(found.unwrap().renames_survive, survives);
        });
    }
}
