//! The same on real file systems: each call of a commit, a rollback and a recovery fails, through [`FaultFs`].

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::{Fs, OsFs};
use txedit::{Engine, ErrorKind, Outcome, RecoverOptions, Request, Result, Run, Settings};

use super::share;
use crate::proof::crash::was_rolled_back;
use crate::proof::explore::scripts::{creates, deletes, renames, replaces, request};
use crate::support::mounts::{self, Kind};

/// EPERM, ENOENT, EINTR, EIO, EACCES, EXDEV, ENOSPC, EROFS, EDQUOT.
const ERRNOS: [i32; 9] = [1, 2, 4, 5, 13, 18, 28, 30, 122];

fn three() -> Request {
    request(vec![replaces("a", "one", "two"), creates("deep/new", "new two\n"), deletes("b"), renames("c", "moved")])
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// All of the user's files.
fn files(root: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with(".txedit") => {}
                true => folders.push(path),
                false => drop(found.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap())),
            }
        }
    }
    found
}

/// A workspace as it is before each trial.
fn workspace(root: &Path) {
    if root.exists() {
        fs::remove_dir_all(root).unwrap();
    }
    fs::create_dir(root).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(root.join(name), format!("{name} one\n")).unwrap();
    }
}

fn engine(fs: Arc<dyn Fs>, root: &Path) -> Result<Engine> {
    let settings = Settings::default().lock_timeout(std::time::Duration::ZERO).program("faults");
    Engine::with_fs(fs, root, settings)
}

fn apply(fs: Arc<dyn Fs>, root: &Path) -> Result<()> {
    engine(fs, root)?.apply(&three(), Run::default()).map(drop)
}

fn recover(fs: Arc<dyn Fs>, root: &Path) -> Result<()> {
    engine(fs, root)?.recover(None, RecoverOptions::default()).map(drop)
}

/// What comes before a trial's faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing: the faults are in a commit.
    Nothing,
    /// Somebody takes the name that is swapped last, so that a commit goes back.
    InTheWay,
    /// A commit stops at this call: the faults are in the recovery.
    Stopped(u64),
}

/// What a trial was asked to do, and what it came to.
struct Trial {
    calls: Vec<FaultCall>,
    fired: bool,
    result: Result<()>,
}

/// Runs once, with this rule, and checks what is true of the files then and after a recovery.
fn trial(root: &Path, before: Before, old: &Files, new: &Files, rule: Option<Rule>) -> Trial {
    workspace(root);
    if let Before::Stopped(nth) = before {
        let stopping = FaultFs::new(Arc::new(OsFs::new()));
        stopping.add(Rule::fail(nth, 5).from_then_on());
        // Nothing that it tries from then on comes to pass, as if it was killed.
        drop(apply(Arc::new(stopping), root));
    }
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let mut theirs = Files::new();
    if before == Before::InTheWay {
        let moved = root.join("moved");
        theirs.insert("moved".into(), b"somebody else's\n".to_vec());
        let swap = move |call: &FaultCall| call.operation == FaultOperation::Rename && call.to.as_ref() == Some(&moved);
        let path = root.join("moved");
        faults.add(Rule::before(1, move |_| fs::write(&path, "somebody else's\n").unwrap()).matching(swap));
    }
    let fired = faults.fired();
    let has_rule = rule.is_some();
    if let Some(rule) = rule {
        faults.add(rule);
    }
    let fs: Arc<dyn Fs> = Arc::<FaultFs>::clone(&faults);
    let result = if let Before::Stopped(_) = before { recover(fs, root) } else { apply(fs, root) };
    assert_eq!(faults.syncs_tried_again(), [], "{result:?}");
    let with_theirs = |files: &Files, now: &Files| {
        let theirs = theirs.iter().filter(|(path, content)| now.get(*path) == Some(content));
        files
            .clone()
            .into_iter()
            .chain(theirs.map(|(path, content)| (path.clone(), content.clone())))
            .collect::<Files>()
    };
    let check = |allowed: &[&Files], when: &str| {
        let now = files(root);
        assert!(allowed.iter().any(|files| with_theirs(files, &now) == now), "{when}, {result:?}: {now:?}");
    };
    let reported = match (&result, before) {
        (_, Before::Stopped(_)) => None,
        (Ok(()), _) => Some(new),
        (Err(error), _) => (error.outcome() != Outcome::RecoveryRequired).then_some(old),
    };
    if let Some(files) = reported {
        check(&[files], "reported");
    }
    recover(Arc::new(OsFs::new()), root).unwrap();
    match reported {
        Some(files) => check(&[files], "recovered after a report"),
        None => check(&[old, new], "recovered"),
    }
    let left = |section: &str| {
        let folders = fs::read_dir(root.join(".txedit").join(section)).into_iter().flatten();
        folders.filter(|folder| !was_rolled_back(&folder.as_ref().unwrap().path())).count()
    };
    assert_eq!((left("txn"), left("trash")), (0, 0), "{result:?}");
    let fired = has_rule && faults.fired() > fired + u64::from(!theirs.is_empty());
    Trial { calls: faults.calls(), fired, result }
}

/// Fails each call in every way, once and from then on; of these trials one in `share`. Answers how many.
fn inject(root: &Path, before: Before, share: usize, lot: &mut usize) -> usize {
    let (mut old, mut new) = (Files::new(), Files::new());
    for name in ["a", "b", "c"] {
        old.insert(name.into(), format!("{name} one\n").into_bytes());
    }
    new.insert("a".into(), b"a two\n".to_vec());
    new.insert("moved".into(), b"c one\n".to_vec());
    new.insert("deep/new".into(), b"new two\n".to_vec());
    let clean = trial(root, before, &old, &new, None);
    match (before, &clean.result) {
        (Before::InTheWay, Err(error)) => assert_eq!(error.kind(), ErrorKind::ConcurrentModification),
        (_, result) => assert!(result.is_ok(), "{result:?}"),
    }
    let mut injected = 0;
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for call in clean.calls {
        // Counted among those of its kind: so are the calls that follow.
        let nth = seen.entry(format!("{:?}", call.operation)).or_default();
        *nth += 1;
        let operation = call.operation;
        let moves_bytes =
            matches!(operation, FaultOperation::ReadAt | FaultOperation::WriteAt | FaultOperation::CopyRange);
        let fails = ERRNOS.iter().map(|errno| Rule::fail(*nth, *errno));
        let short = moves_bytes.then(|| Rule::short(*nth, 1));
        let after = (operation == FaultOperation::Rename).then(|| Rule::fail_after(*nth, 5));
        for rule in fails.chain(short).chain(after) {
            for rule in [rule.clone(), rule.from_then_on()] {
                *lot += 1;
                if !lot.is_multiple_of(share) {
                    continue;
                }
                injected += usize::from(trial(root, before, &old, &new, Some(rule.of(operation))).fired);
            }
        }
    }
    injected
}

fn everywhere(root: &Path, place: &str) -> usize {
    let root = root.canonicalize().unwrap().join("workspace");
    let mut lot = 0;
    let mut injected = inject(&root, Before::Nothing, share(23), &mut lot);
    injected += inject(&root, Before::InTheWay, share(37), &mut lot);
    // How many calls there are before a commit is through is for the place to say.
    let calls = {
        workspace(&root);
        let counting = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
        apply(Arc::<FaultFs>::clone(&counting) as Arc<dyn Fs>, &root).unwrap();
        counting.calls().len() as u64
    };
    for nth in (calls / 3..calls).step_by(29) {
        injected += inject(&root, Before::Stopped(nth), share(61), &mut lot);
    }
    eprintln!("{place}: {injected} faults");
    injected
}

#[test]
fn faults_in_a_temporary_folder_leave_old_or_new() {
    let scratch = tempfile::tempdir().unwrap();
    assert!(everywhere(scratch.path(), "temporary folder") > 100);
}

#[test]
fn faults_on_ext4_leave_old_or_new() {
    let injected = mounts::with(Kind::Ext4, |root| everywhere(root, "ext4"));
    assert!(injected.is_none_or(|injected| injected > 100));
}
