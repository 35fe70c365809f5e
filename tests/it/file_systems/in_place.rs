//! A file that is a mount point, on the real system: overwritten in place under a lease, as in a container.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::settings::Swap;
use txedit::{Edit, Engine, ErrorKind, Outcome, RecoverOptions, Request, Run, Settings, UndoOptions};

use crate::support::is_without;
use crate::support::mounts::{self, Kind, run};

/// Of several pages.
fn text(word: &str) -> String {
    format!("{word} line\n").repeat(5_000)
}

#[test]
fn a_bound_file_is_overwritten_and_comes_back_and_whoever_has_it_open_is_found() {
    if is_without("mounts of the same file system") {
        return;
    }
    mounts::with(Kind::Tmpfs, |root| {
        let (bound, outside) = (root.join("bound"), root.join("outside"));
        fs::write(&bound, "").unwrap();
        fs::write(&outside, text("old")).unwrap();
        run("mount", ["--bind", outside.to_str().unwrap(), bound.to_str().unwrap()]).unwrap();
        let settings = || Settings::default().swap(Swap::InPlace);
        let engine = Engine::open_with(root, settings()).unwrap();
        let request = Request::new().edit("bound", Edit::replace_all("old", "newer"));
        let inode = fs::metadata(&bound).unwrap().ino();

        let reader = fs::File::open(&bound).unwrap();
        let error = engine.apply(&request, Run::default()).unwrap_err();
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::ConcurrentModification, Outcome::RolledBack),
            "{error}"
        );
        drop(reader);
        let writer = OpenOptions::new().append(true).open(&bound).unwrap();
        engine.apply(&request, Run::default()).unwrap_err();
        drop(writer);
        assert_eq!(fs::read_to_string(&outside).unwrap(), text("old"));

        engine.apply(&request, Run::default()).unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), text("newer"));
        engine.undo_last(1, &UndoOptions::default(), Run::default()).unwrap();
        assert_eq!(fs::read_to_string(&bound).unwrap(), text("old"));
        assert_eq!(fs::metadata(&bound).unwrap().ino(), inode);

        // A failing disk in the middle: the first write is made, the second and the way back fail.
        let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
        let at = bound.clone();
        let into_it = move |call: &FaultCall| call.operation == FaultOperation::WriteAt && call.path == at;
        faults.add(Rule::short(1, 4096).matching(into_it.clone()));
        faults.add(Rule::fail(2, 5).matching(into_it).from_then_on());
        let failing = Engine::with_fs(faults, root, settings()).unwrap();
        let error = failing.apply(&request, Run::default()).unwrap_err();
        assert_eq!(error.outcome(), Outcome::RecoveryRequired, "{error}");
        assert!(fs::read_to_string(&bound).unwrap().starts_with("newer line\n"));
        engine.recover(None, RecoverOptions::new()).unwrap();
        assert_eq!(fs::read_to_string(&bound).unwrap(), text("old"));
        run("umount", [bound.to_str().unwrap()]).unwrap();
    });
}
