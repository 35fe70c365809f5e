//! Somebody else owns the workspace, or what it is in, and exchanges names while the engine works.

#[cfg(all(feature = "cli", target_os = "linux"))]
mod attacker;
mod crafted;
#[cfg(feature = "cli")]
mod traced;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use tempfile::TempDir;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::{Fs as _, OsFs, Stat};
use txedit::journal::{Header, Journal, Owner, Record, RecordedChange, SwapMethod};
use txedit::testing::Errno;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::journal::record::encode;
use txedit::testing::internals::path::RelPath;
use txedit::testing::internals::plan::{Access, FileState};
use txedit::{Digest, ErrorKind, Outcome, RecoverOptions};

use crate::support::is_without;
use crate::support::workspace::Workspace;

/// Whoever owns the workspace and is not root.
const SOMEBODY: u32 = 4711;

/// A workspace `w` beside a folder that is none of its business.
struct Place {
    _scratch: TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl Place {
    fn new() -> Self {
        let scratch = tempfile::Builder::new().prefix("txedit-hostile-").tempdir().unwrap();
        let at = scratch.path().canonicalize().unwrap();
        let (root, outside) = (at.join("w"), at.join("outside"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        Self { _scratch: scratch, root, outside }
    }

    fn state(&self) -> PathBuf {
        self.root.join(".txedit")
    }
}

fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

/// The only name in a folder.
fn only(folder: &Path) -> String {
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let [name] = &names[..] else { panic!("{names:?}") };
    name.to_str().unwrap().to_owned()
}

/// The disk is full in the moment in which the state folder is exchanged for a symlink to a folder that has a file by the
/// name of the staged one: whether that file is still there, and the staged one gone. What is to be deleted is deleted
/// `by_path` too, as a guard would do it that holds no folder.
fn a_full_disk_under_attack(by_path: bool) -> bool {
    let place = Place::new();
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let workspace = Workspace::on(faults.clone(), &place.root);
    workspace.write("a", "old");
    edit(&workspace, "old", "two").unwrap();
    let (state, outside) = (place.state(), place.outside.clone());
    let staged: Arc<Mutex<Option<PathBuf>>> = Arc::default();
    let seen = Arc::clone(&staged);
    faults.add(
        Rule::before(1, move |call| {
            let slot = call.path.strip_prefix(&state).unwrap();
            fs::create_dir_all(outside.join(slot).parent().unwrap()).unwrap();
            fs::write(outside.join(slot), "precious").unwrap();
            fs::rename(&state, state.with_file_name("aside")).unwrap();
            symlink(&outside, &state).unwrap();
            *seen.lock().unwrap() = Some(call.path.clone());
        })
        .of(FaultOperation::WriteAt),
    );
    faults.add(Rule::fail(1, Errno::NOSPC.raw_os_error()).of(FaultOperation::WriteAt));
    if by_path {
        let unlink = move |_: &FaultCall| {
            let Some(path) = staged.lock().unwrap().take() else { return };
            fs::remove_file(path).unwrap();
        };
        faults.add(Rule::before(1, unlink).matching(|call| call.operation != FaultOperation::WriteAt).from_then_on());
    }
    edit(&workspace, "two", "three").unwrap_err();
    let transactions = place.outside.join("txn");
    let slot = transactions.join(only(&transactions)).join("000000");
    let trash = place.root.join("aside/trash");
    let names: Vec<_> = fs::read_dir(&trash).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!names.is_empty() && names.iter().all(|left| !left.join("000000").exists()), "{names:?}");
    fs::read_to_string(slot).is_ok_and(|content| content == "precious")
}

#[test]
fn what_is_staged_is_deleted_through_the_held_folder() {
    assert!(a_full_disk_under_attack(false), "a file outside the root is gone");
}

#[test]
fn a_guard_that_unlinks_by_path_is_noticed() {
    assert!(!a_full_disk_under_attack(true), "it was not noticed");
}

/// Whether this process may give files away; says so where not.
fn is_root(what: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: {what} needs root");
    }
    is_root
}

fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
}

fn stat(path: &Path) -> Stat {
    let fs = OsFs::new();
    let folder = fs.open_folder(path.parent().unwrap()).unwrap();
    fs.stat(txedit::fs::Name::new(&folder, path.file_name().unwrap())).unwrap().unwrap()
}

const ID: &str = "20260101T000000.000000Z-0123456789abcdef";

/// A journal that was born in `folder`, or in none.
fn journal(folder: Option<&Path>, entries: Vec<Record>) -> Journal {
    let host = OsFs::new().host().unwrap();
    let header = Header {
        version: SwapMethod::Exchange.version(),
        id: ID.to_owned(),
        workspace: "0".repeat(32),
        folder: folder.map_or(txedit::fs::Identity { inode: 1, born: None }, |folder| stat(folder).identity),
        boot: host.boot,
        owner: Owner { program: "it".to_owned(), process: 1, user: 0, host: host.name },
        reverts: Vec::new(),
        opened: None,
        key: None,
        request: None,
        swap: SwapMethod::Exchange,
        parts: Vec::new(),
        label: None,
        session: None,
        campaign: None,
    };
    Journal { header, entries: entries.into(), back_on_crash: false }
}

fn state_of(content: &str) -> FileState {
    let access = Some(Access { user: 0, group: 0, attributes: None });
    FileState { digest: Digest::of(content.as_bytes()), size: content.len() as u64, mode: 0o644, access }
}

/// A state folder of somebody's with a transaction that is done but for its one swap: `path` from `old` to `new`. All
/// that a journal can be verified by is true of it.
fn plant(state: &Path, path: &str, old: &str, new: &str) {
    let folder = state.join("txn").join(ID);
    fs::create_dir_all(&folder).unwrap();
    let slot = folder.join("000000");
    fs::write(&slot, new).unwrap();
    fs::set_permissions(&slot, PermissionsExt::from_mode(0o644)).unwrap();
    let staged = stat(&slot).identity;
    let change = RecordedChange::Edit { before: state_of(old), after: state_of(new), staged, original: staged };
    let record = Record { path: RelPath::new(Path::new(path)).unwrap(), change };
    fs::write(folder.join("journal.done"), encode(&journal(Some(&folder), vec![record]))).unwrap();
    for path in [state, &state.join("txn"), &folder, &slot, &folder.join("journal.done")] {
        give(path, SOMEBODY);
        if path.is_dir() {
            fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
        }
    }
}

/// Somebody's workspace in which root has committed something.
fn of_somebody() -> Place {
    let place = Place::new();
    let workspace = Workspace::at(&place.root);
    workspace.write("a", "old");
    give(&place.root, SOMEBODY);
    give(&place.root.join("a"), SOMEBODY);
    edit(&workspace, "old", "new").unwrap();
    place
}

fn edit(workspace: &Workspace, old: &str, new: &str) -> txedit::Result<txedit::Report> {
    workspace.apply(&json!({"files": [{"file_path": "a", "edits": [{"old_string": old, "new_string": new}]}]}))
}

#[test]
fn a_state_folder_that_is_exchanged_after_the_look_is_not_acted_on() {
    if !is_root("a workspace of somebody else") {
        return;
    }
    for act in ["recover", "apply"] {
        for exchanged_before in 1.. {
            let place = of_somebody();
            let roots = place.root.join("roots");
            fs::create_dir(&roots).unwrap();
            fs::write(roots.join("f"), "root's").unwrap();
            let (state, planted) = (place.state(), place.root.join("planted"));
            plant(&planted, "roots/f", "root's", "somebody's");
            let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
            let workspace = Workspace::on(faults.clone(), &place.root);
            let (at, looked_at) = (planted.clone(), state.clone());
            faults.add(
                Rule::before(exchanged_before, move |_| exchange(&state, &at))
                    .matching(move |call| call.path == looked_at),
            );
            let done = match act {
                "recover" => workspace.engine.recover(None, RecoverOptions::default()).map(drop),
                _ => edit(&workspace, "new", "newer").map(drop),
            };
            let told = format!("{act}, exchanged before call {exchanged_before}: {done:?}");
            assert_eq!(fs::read_to_string(roots.join("f")).unwrap(), "root's", "{told}");
            assert_eq!(fs::metadata(roots.join("f")).unwrap().uid(), 0, "{told}");
            if faults.fired() == 0 {
                assert!(exchanged_before > 2, "{told}");
                break;
            }
        }
    }
}

/// A protocol that acts on a state folder whoever owns it.
static TRUSTING: Protocol = Protocol { is_private: |_, _, _| true, ..PROTOCOL };

#[test]
fn a_state_folder_of_somebody_else_would_be_acted_on_without_the_judgement() {
    if is_without("birth times") {
        return;
    }
    if !is_root("a workspace of somebody else") {
        return;
    }
    let place = of_somebody();
    let roots = place.root.join("roots");
    fs::create_dir(&roots).unwrap();
    fs::write(roots.join("f"), "root's").unwrap();
    fs::rename(place.state(), place.root.join("aside")).unwrap();
    plant(&place.state(), "roots/f", "root's", "somebody's");
    // What somebody can do to be believed, he does.
    let (state, root) = (stat(&place.state()).identity, stat(&place.root).identity);
    let spell = |it: txedit::fs::Identity| format!("{} {}", it.inode, it.born.unwrap());
    fs::write(place.state().join("id"), format!("{} {} {}\n", "0".repeat(32), spell(state), spell(root))).unwrap();
    fs::create_dir(place.state().join("history")).unwrap();
    let workspace = Workspace::at(&place.root);
    workspace.engine.recover(None, RecoverOptions::default()).unwrap_err();
    assert_eq!(fs::read_to_string(roots.join("f")).unwrap(), "root's");
    give(&place.state().join("txn"), 0);
    give(&place.state().join("txn").join(ID), 0);
    let Workspace { engine, .. } = Workspace::at(&place.root);
    engine.with_protocol(&TRUSTING).recover(None, RecoverOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(roots.join("f")).unwrap(), "somebody's", "the mutant is harmless");
}

#[test]
fn a_state_folder_of_another_workspace_is_not_acted_on() {
    if !is_root("a workspace of somebody else") {
        return;
    }
    let place = of_somebody();
    let outer = place.root.parent().unwrap().join("outer");
    fs::create_dir(&outer).unwrap();
    fs::write(outer.join("a"), "new").unwrap();
    give(&outer, SOMEBODY);
    fs::rename(place.state(), outer.join(".txedit")).unwrap();
    let workspace = Workspace::at(&outer);
    workspace.undo(None).unwrap_err();
    let status = workspace.engine.status().unwrap();
    assert!(status.warnings[0].contains("was made for another folder"), "{:?}", status.warnings);
    let error = edit(&workspace, "new", "newer").unwrap_err();
    assert!(error.to_string().contains("was made for another folder"), "{error}");
    assert_eq!(workspace.read("a"), "new");
    // A workspace that was moved is the same.
    let moved = place.root.parent().unwrap().join("moved");
    fs::rename(outer.join(".txedit"), place.state()).unwrap();
    fs::rename(&place.root, &moved).unwrap();
    let workspace = Workspace::at(&moved);
    workspace.undo(None).unwrap();
    assert_eq!(workspace.read("a"), "old");
    // Root may say so: without its id, the state folder is one of the folder that it is in.
    fs::rename(moved.join(".txedit"), outer.join(".txedit")).unwrap();
    fs::remove_file(outer.join(".txedit/id")).unwrap();
    let workspace = Workspace::at(&outer);
    edit(&workspace, "new", "newer").unwrap();
    assert_eq!(workspace.engine.log(10, None).unwrap().len(), 3);
}

#[test]
fn a_folder_of_roots_does_not_become_a_state_folder() {
    if !is_root("a workspace of somebody else") {
        return;
    }
    let place = of_somebody();
    fs::rename(place.state(), place.root.join("aside")).unwrap();
    fs::create_dir(place.state()).unwrap();
    fs::set_permissions(place.state(), PermissionsExt::from_mode(0o700)).unwrap();
    fs::write(place.state().join("diary"), "root's").unwrap();
    let workspace = Workspace::at(&place.root);
    let error = edit(&workspace, "new", "newer").unwrap_err();
    assert!(error.to_string().contains("holds what txedit did not put there"), "{error}");
    assert_eq!(only(&place.state()), "diary");
    // An empty one is what a first use leaves that was cut off.
    fs::remove_file(place.state().join("diary")).unwrap();
    edit(&workspace, "new", "newer").unwrap();
}

#[test]
fn a_check_runs_in_the_root_that_is_held() {
    if is_without("paths of open folders") {
        return;
    }
    let place = Place::new();
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let workspace = Workspace::on(faults.clone(), &place.root);
    workspace.write("a", "old");
    let (root, outside) = (place.root.clone(), place.outside.clone());
    let is_check = |call: &FaultCall| call.to.iter().any(|to| to.ends_with("journal.check"));
    faults.add(Rule::after(1, move |_| exchange(&root, &outside)).of(FaultOperation::Rename).matching(is_check));
    let request = json!({
        "files": [{"file_path": "a", "edits": [{"old_string": "old", "new_string": "new"}]}],
        "check": ["sh", "-c", "echo here > here"],
    });
    let error = workspace.apply(&request).unwrap_err();
    assert_eq!(faults.fired(), 1);
    // What would be reported as committed at a path is not there.
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::FileNotFound, Outcome::RolledBack), "{error}");
    assert_eq!(fs::read_to_string(place.outside.join("a")).unwrap(), "old");
    assert!(place.outside.join("here").exists() && !place.root.join("here").exists());
}

#[test]
fn once_the_root_is_open_no_other_absolute_path_is() {
    let place = Place::new();
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let workspace = Workspace::on(faults.clone(), &place.root);
    workspace.write("a", "old");
    faults.reset();
    edit(&workspace, "old", "new").unwrap();
    let failing = json!({
        "files": [{"file_path": "d/b", "content": "b"}],
        "check": ["false"],
    });
    workspace.apply(&failing).unwrap_err();
    workspace.undo(None).unwrap();
    workspace.engine.status().unwrap();
    workspace.engine.recover(None, RecoverOptions::default()).unwrap();
    let absolute = |operation| [FaultOperation::OpenFolder, FaultOperation::Canonical].contains(&operation);
    let absolute: Vec<_> = faults.calls().into_iter().filter(|call| absolute(call.operation)).collect();
    assert!(absolute.is_empty(), "{absolute:?}");
}
