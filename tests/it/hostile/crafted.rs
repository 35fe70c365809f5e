//! What somebody put into the sections of a state folder costs the commands that find it next to nothing, is listed,
//! and left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use txedit::fs::fault::{FaultFs, FaultOperation, Rule};
use txedit::fs::{Identity, OsFs};
use txedit::journal::{Record, RecordedChange};
use txedit::report::{Interrupted, RecoveryAction};
use txedit::testing::Errno;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::journal::record::encode;
use txedit::testing::internals::path::RelPath;
use txedit::{Decision, RecoverOptions, Result};

use super::{ID, Place, SOMEBODY, edit, give, is_root, journal, state_of};
use crate::support::workspace::{Workspace, running};

/// Entries of a journal that was copied here.
const ENTRIES: usize = 20_000;

const SECTIONS: [&str; 5] = ["txn", "open", "history", "kept", "trash"];

/// An id for the n-th entry of a section.
fn id(n: usize) -> String {
    format!("{}{n:04x}", &ID[..36])
}

/// A workspace with one commit, on a file system that counts.
fn counted(place: &Place) -> (Arc<FaultFs>, Workspace) {
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let workspace = Workspace::on(faults.clone(), &place.root);
    workspace.write("a", "old");
    edit(&workspace, "old", "new").unwrap();
    (faults, workspace)
}

type Command = fn(&Workspace) -> Result<()>;

/// Everything that looks at the sections, each leaving the file as it was.
const COMMANDS: [(&str, Command); 8] = [
    ("status", |it| it.engine.status().map(drop)),
    ("log", |it| it.engine.log(10, None).map(drop)),
    ("kept", |it| it.engine.kept().map(drop)),
    ("recover", |it| it.engine.recover(None, RecoverOptions::default()).map(drop)),
    ("plan", |it| it.engine.recover(None, RecoverOptions::new().plan_only(true)).map(drop)),
    ("apply", |it| edit(it, "new", "newer").map(drop)),
    ("undo", |it| it.undo(None).map(drop)),
    ("stage", |it| {
        let request = json!({"files": [{"file_path": "a", "edits": [{"old_string": "new", "new_string": "x"}]}]});
        let request = txedit::wire::request::parse(request.to_string().as_bytes())?;
        let request = request.into_request(txedit::PathRule::AbsoluteOrRelative)?;
        let staged = it.engine.stage(&request, None, running())?;
        it.engine.roll_back(&staged.id.unwrap(), running()).map(drop)
    }),
];

#[test]
fn what_is_foreign_costs_a_command_few_reads() {
    let place = Place::new();
    let (faults, workspace) = counted(&place);
    let usual: Vec<_> = COMMANDS.map(|(_, command)| cost(&faults, &workspace, command)).into();
    let record = |n: usize| Record {
        path: RelPath::new(Path::new(&format!("made/{n}"))).unwrap(),
        change: RecordedChange::Create { after: state_of("x"), staged: Identity { inode: 1, born: None } },
    };
    let copied = encode(&journal(None, (0..ENTRIES).map(record).collect()));
    for (n, (section, name)) in
        [("txn", "journal"), ("history", "journal.done"), ("kept", "journal.undo")].into_iter().enumerate()
    {
        let folder = place.state().join(section).join(id(n));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(name), String::from_utf8(copied.clone()).unwrap().replace(ID, &id(n))).unwrap();
        let folder = place.state().join(section).join(id(n + 10));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(name), &copied).unwrap();
    }
    let open = place.state().join("open").join(ID);
    fs::create_dir(&open).unwrap();
    fs::File::create(open.join("transaction.json")).unwrap().set_len(64 << 20).unwrap();
    for ((name, command), (calls, bytes)) in COMMANDS.into_iter().zip(usual) {
        let (more_calls, more_bytes) = cost(&faults, &workspace, command);
        eprintln!("{name}: {calls} calls, {bytes} bytes; beside foreign transactions {more_calls}, {more_bytes}");
        assert!(more_calls < calls + 1_000, "{name}: {more_calls} calls, not {calls}");
        assert!(more_bytes < bytes + (4 << 20), "{name}: {more_bytes} bytes, not {bytes}");
    }
}

#[test]
fn a_journal_that_is_read_before_its_header_is_asked_is_noticed() {
    static WHOLE: Protocol = Protocol { is_born_here: |_, _, _, _| true, ..PROTOCOL };
    let place = Place::new();
    let (faults, workspace) = counted(&place);
    let record = |n: usize| Record {
        path: RelPath::new(Path::new(&format!("made/{n}"))).unwrap(),
        change: RecordedChange::Create { after: state_of("x"), staged: Identity { inode: 1, born: None } },
    };
    let folder = place.state().join("txn").join(ID);
    fs::create_dir(&folder).unwrap();
    // Of this very workspace: else that alone is a reason to read no more.
    let id = fs::read_to_string(place.state().join("id")).unwrap();
    let mut crafted = journal(None, (0..ENTRIES).map(record).collect());
    crafted.header.workspace = id.split(' ').next().unwrap().to_owned();
    fs::write(folder.join("journal"), encode(&crafted)).unwrap();
    let read = |workspace: &Workspace| {
        faults.reset();
        workspace.engine.status().unwrap();
        faults.bytes_read()
    };
    let by_header = read(&workspace);
    let Workspace { engine, .. } = Workspace::on(faults.clone(), &place.root);
    faults.reset();
    engine.with_protocol(&WHOLE).status().unwrap();
    let whole = faults.bytes_read();
    assert!(by_header < 1 << 20 && whole > 4 << 20, "{by_header} bytes by the header, {whole} without");
}

/// The calls, and the bytes read, that a command takes.
fn cost(faults: &FaultFs, workspace: &Workspace, command: Command) -> (usize, u64) {
    faults.reset();
    command(workspace).unwrap();
    (faults.calls().len(), faults.bytes_read())
}

#[test]
fn of_a_copied_journal_the_first_files_are_listed() {
    let place = Place::new();
    let (_, workspace) = counted(&place);
    let record = |n: usize| Record {
        path: RelPath::new(Path::new(&format!("made/{n}"))).unwrap(),
        change: RecordedChange::Create { after: state_of("x"), staged: Identity { inode: 1, born: None } },
    };
    let folder = place.state().join("txn").join(ID);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("journal"), encode(&journal(None, (0..1_000).map(record).collect()))).unwrap();
    let status = workspace.engine.status().unwrap();
    let [one] = &status.interrupted[..] else { panic!("{status:?}") };
    assert_eq!((one.action.as_str(), one.files.len()), ("leave", txedit::limits::FOREIGN_FILES));
    assert!(one.reason().contains("more files than are listed"), "{}", one.reason());
    // A person who trusts it has all of it read.
    let trusted = RecoverOptions::new().trust_journal(true).plan_only(true);
    let planned = workspace.engine.recover(Some(ID), trusted).unwrap();
    assert_eq!(planned[0].files.len(), 1_000);
}

#[test]
fn what_is_no_transaction_is_listed_and_left() {
    let place = Place::new();
    let (_, workspace) = counted(&place);
    let mut put = Vec::new();
    for section in SECTIONS {
        let folder = place.state().join(section);
        fs::write(folder.join(id(1)), "a file").unwrap();
        drop(UnixListener::bind(folder.join(id(2))).unwrap());
        let inside = folder.join(id(3));
        fs::create_dir(&inside).unwrap();
        drop(UnixListener::bind(inside.join("journal.done")).unwrap());
        fs::create_dir(inside.join("transaction.json")).unwrap();
        put.extend([1, 2].map(|n| folder.join(id(n))));
        if is_root("a folder of somebody else") {
            let inside = folder.join(id(4));
            fs::create_dir(&inside).unwrap();
            fs::write(inside.join("000000"), "somebody's").unwrap();
            give(&inside, SOMEBODY);
            let inside = folder.join(id(5));
            fs::create_dir(&inside).unwrap();
            fs::set_permissions(&inside, PermissionsExt::from_mode(0o777)).unwrap();
            put.extend([4, 5].map(|n| folder.join(id(n))));
        }
    }
    for (name, command) in COMMANDS {
        command(&workspace).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let status = workspace.engine.status().unwrap();
    for path in put {
        assert!(path.symlink_metadata().is_ok(), "{} is gone", path.display());
        let named = path.strip_prefix(place.state()).unwrap().display().to_string();
        // Who may have been interrupted is listed, and waits for a person.
        let waiting =
            status.interrupted.iter().filter(|one| one.action == RecoveryAction::Wait).map(Interrupted::reason);
        let told = status.warnings.iter().cloned().chain(waiting).filter(|told| told.contains(&named)).count();
        assert_eq!(told, 1, "{named}: {status:#?}");
    }
}

#[test]
fn what_cannot_be_opened_is_listed_and_left() {
    for section in SECTIONS {
        for inside in ["", "journal.done", "000000", "transaction.json"] {
            let place = Place::new();
            let (faults, workspace) = counted(&place);
            // Of history it is one of its own: an unreadable original is one, too.
            let folder = place.state().join(section);
            let committed = place.state().join("history").join(super::only(&place.state().join("history")));
            let entry = folder.join(id(1));
            fs::create_dir(&entry).unwrap();
            fs::copy(committed.join("journal.done"), entry.join("journal.done")).unwrap();
            fs::write(entry.join("000000"), "unreadable").unwrap();
            fs::write(entry.join("transaction.json"), "{}").unwrap();
            let unreadable = entry.join(inside);
            faults.add(
                Rule::fail(1, Errno::ACCESS.raw_os_error())
                    .matching(move |call| {
                        let opens = [FaultOperation::OpenBeneath, FaultOperation::OpenFile].contains(&call.operation);
                        opens && call.path.as_os_str() == unreadable.as_os_str().to_str().unwrap().trim_end_matches('/')
                    })
                    .from_then_on(),
            );
            for (name, command) in COMMANDS {
                command(&workspace).unwrap_or_else(|error| panic!("{section} {inside} {name}: {error}"));
            }
        }
    }
}

#[test]
fn a_damaged_transaction_that_was_discarded_can_be_dropped() {
    let place = Place::new();
    let (_, workspace) = counted(&place);
    let folder = place.state().join("txn").join(ID);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("journal"), "damaged\n").unwrap();
    fs::write(folder.join("000000"), "perhaps an original").unwrap();
    let discard = RecoverOptions::new().decision(Decision::Discard);
    assert_eq!(workspace.engine.recover(Some(ID), discard).unwrap()[0].action.as_str(), "discarded");
    assert_eq!(workspace.engine.kept().unwrap()[0].id, ID);
    workspace.engine.kept_drop(ID).unwrap();
    assert!(workspace.engine.kept().unwrap().is_empty());
    assert!(!place.state().join("kept").join(ID).exists());
}
