//! The owner of the workspace, another user, exchanges every name in it at speed while root works there.
//!
//! The attacker is this test program again, as that user. He may do what the kernel lets him; nothing of root's outside
//! the workspace may change, and nothing of root's may appear where root's requests did not put it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultFs, FaultOperation, Rule};
use txedit::testing::Errno;
use txedit::{Error, RecoverOptions, UndoOptions};

use super::{Place, SOMEBODY, give, is_root, plant};
use crate::proof::power::dice::Dice;
use crate::support::name_of;
use crate::support::workspace::{Tree, Workspace, running};

const ATTACKED: &str = "TXEDIT_TEST_ATTACKED";
const SEED: &str = "TXEDIT_TEST_ATTACK_SEED";
const HAND: &str = "TXEDIT_TEST_ATTACK_HAND";

/// What an attacker says at his end.
const EXCHANGES: &str = "exchanges: ";

/// How long one scene is attacked before it is judged and made anew.
const SCENE: Duration = Duration::from_secs(3);

/// Exchanges that an attacker makes at most before he rests for a moment: whoever is attacked all the time comes to
/// nothing that could go wrong.
const BURST: usize = 64;

/// What one attacker exchanges, first and second. No name is in the hands of two of them: each puts everything back.
type Pairs = &'static [(&'static str, &'static str)];

const STATE: Pairs = &[(".txedit", "planted"), (".txedit", "outside-link"), (".txedit", "aside"), ("planted", "aside")];
const STATE_AND_ROOTS: Pairs =
    &[(".txedit", "planted"), (".txedit", "outside-link"), (".txedit", "roots"), (".txedit", "aside")];
const TARGETS: Pairs = &[("d", "d-link"), ("d", "e"), ("a", "a-link"), ("d/f", "d/link"), ("d/f", "d/hard")];
const TARGETS_AND_ROOTS: Pairs = &[("d", "d-link"), ("d", "roots"), ("e", "roots"), ("a", "a-link"), ("d/f", "d/link")];

/// The pairs of both attackers of a scene.
const HANDS: [[Pairs; 2]; 2] = [[STATE, TARGETS_AND_ROOTS], [STATE_AND_ROOTS, TARGETS]];

#[test]
fn attacker_entry() {
    let Some(root) = std::env::var_os(ATTACKED) else { return };
    std::env::set_current_dir(root).unwrap();
    let number = |name| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let mut dice = Dice::new(number(SEED));
    let pairs = HANDS.as_flattened()[usize::try_from(number(HAND)).unwrap()];
    let mut exchanges = 0_u64;
    // Until the parent has had enough, or is gone.
    while !Path::new("stop").exists() && rustix::process::getppid().is_some_and(|parent| !parent.is_init()) {
        for _ in 0..dice.below(BURST) {
            exchanges += u64::from(act(pairs, &mut dice));
        }
        let most = if dice.one_of(1, 4) { 20_000 } else { 2_000 };
        std::thread::sleep(Duration::from_micros(dice.roll() % most));
    }
    eprintln!("{EXCHANGES}{exchanges}");
}

/// There and back. Answers whether he could.
fn act(pairs: Pairs, dice: &mut Dice) -> bool {
    let exchange = |one: &str, other: &str| renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok();
    let (one, other) = dice.pick(pairs);
    if other == "d/hard" {
        // What the kernel forbids with protected_hardlinks.
        drop(fs::hard_link("../outside/file", other));
    }
    if one == ".txedit" && dice.one_of(1, 16) {
        drop(fs::rename(one, "gone").and_then(|()| fs::rename("gone", one)));
    }
    let done = exchange(one, other);
    if done {
        if dice.one_of(1, 8) {
            std::thread::sleep(Duration::from_micros(dice.roll() % 500));
        }
        exchange(one, other);
    }
    done
}

/// A workspace of somebody's, with a folder of root's in it and traps for whoever follows a name.
fn scene() -> Place {
    let place = Place::new();
    let at = place.root.parent().unwrap();
    fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o711)).unwrap();
    fs::write(place.outside.join("file"), "root's, outside").unwrap();
    for section in ["txn", "open", "history", "kept", "trash", "d"] {
        fs::create_dir(place.outside.join(section)).unwrap();
    }
    fs::write(place.outside.join("d/f"), "content 0").unwrap();
    give(&place.root, SOMEBODY);
    let path = |name: &str| place.root.join(name);
    for folder in ["d", "e", "aside"] {
        fs::create_dir(path(folder)).unwrap();
        fs::write(path(folder).join("f"), "content 0").unwrap();
        give(&path(folder).join("f"), SOMEBODY);
        give(&path(folder), SOMEBODY);
    }
    fs::write(path("a"), "content 0").unwrap();
    give(&path("a"), SOMEBODY);
    for (link, target) in [("outside-link", "../outside"), ("d-link", "../outside/d"), ("a-link", "../outside/file")] {
        symlink(target, path(link)).unwrap();
    }
    symlink("../../outside/file", path("d/link")).unwrap();
    fs::create_dir(path("roots")).unwrap();
    fs::write(path("roots/f"), "root's").unwrap();
    plant(&path("planted"), "roots/f", "root's", "somebody's");
    place
}

/// Starts the attacker. The program is his standard input: the folder that it is in need not be open to him.
fn attack(place: &Place, seed: u64, hand: usize) -> Child {
    let me = File::open(std::env::current_exe().unwrap()).unwrap();
    let user = SOMEBODY.to_string();
    Command::new("setpriv")
        .args(["--reuid", &user, "--regid", &user, "--clear-groups", "/proc/self/fd/0"])
        .args(["--exact", &name_of(module_path!(), "attacker_entry"), "--test-threads=1", "--nocapture"])
        .env(ATTACKED, &place.root)
        .env(SEED, seed.to_string())
        .env(HAND, hand.to_string())
        .stdin(me)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn edit_of(path: &str, from: &str, to: &str) -> Value {
    json!({"file_path": path, "edits": [{"old_string": from, "new_string": to}]})
}

/// One thing that root does. The file system fails in some of them, so that a rollback or a recovery is due.
fn work(place: &Place, dice: &mut Dice) -> (&'static str, Result<(), Error>) {
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let nth = 1 + dice.roll() % 8;
    let operation = dice.pick(&[FaultOperation::WriteAt, FaultOperation::Create, FaultOperation::MakeFolder]);
    let workspace = Workspace::on(faults.clone(), &place.root);
    let (from, to) = dice.pick(&[("content 0", "content 1"), ("content 1", "content 0")]);
    let all = [edit_of("a", from, to), edit_of("d/f", from, to), edit_of("e/f", from, to)];
    let mut request = json!({"files": all[dice.below(all.len())..].to_vec()});
    let apply = |request: Value| workspace.apply(&request).map(drop);
    match dice.below(14) {
        0..=4 => ("apply", apply(request)),
        5 => {
            request["check"] = json!(["false"]);
            ("checked", apply(request))
        }
        6 => {
            faults.add(Rule::fail(nth, Errno::NOSPC.raw_os_error()).of(operation).from_then_on());
            ("full", apply(request))
        }
        7..=8 => {
            faults.add(Rule::fail(nth, Errno::IO.raw_os_error()).of(FaultOperation::Rename).from_then_on());
            ("cut off", apply(request))
        }
        9 => ("recover", workspace.engine.recover(None, RecoverOptions::default()).map(drop)),
        10 => ("undo", workspace.undo(None).map(drop)),
        11 => ("redo", workspace.engine.redo(None, &UndoOptions::default(), running()).map(drop)),
        12 => ("status", workspace.engine.status().map(drop)),
        _ => ("stage", stage(&workspace, &request)),
    }
}

fn stage(workspace: &Workspace, request: &Value) -> Result<(), Error> {
    let request = txedit::wire::request::parse(request.to_string().as_bytes())?;
    let request = request.into_request(txedit::PathRule::AbsoluteOrRelative)?;
    let staged = workspace.engine.stage(&request, None, running())?;
    let id = staged.id.unwrap_or_default();
    workspace.engine.commit_staged(&id, None, None, running())?;
    Ok(())
}

/// Whether all that is root's is as it was.
fn judge(place: &Place, outside: &Tree) {
    Tree::of(&place.outside).assert_same(outside);
    for entry in fs::read_dir(&place.root).unwrap() {
        let path = entry.unwrap().path();
        let stat = fs::symlink_metadata(&path).unwrap();
        if !stat.is_dir() {
            continue;
        }
        let names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let is_state = names.iter().any(|name| name == "id");
        match stat.uid() {
            // His folder for root's state: nothing of root's got into it.
            SOMEBODY => {
                for name in names {
                    let path = path.join(name);
                    let owner = fs::symlink_metadata(&path).unwrap().uid();
                    let is_trap = fs::symlink_metadata(&path).unwrap().is_symlink();
                    assert!(owner == SOMEBODY || is_trap, "{} is root's", path.display());
                }
            }
            _ if is_state || names.is_empty() => {}
            _ if names.iter().all(|name| name != "f") => {
                let ours = ["txn", "open", "history", "kept", "trash", ".gitignore", "CACHEDIR.TAG"];
                assert!(names.iter().all(|name| ours.iter().any(|ours| name == ours)), "{names:?}");
            }
            _ => {
                assert_eq!(names, ["f"], "{}", path.display());
                assert_eq!(fs::read_to_string(path.join("f")).unwrap(), "root's");
                assert_eq!(fs::metadata(path.join("f")).unwrap().uid(), 0);
            }
        }
    }
}

#[test]
fn nothing_of_roots_changes_under_attack() {
    if !is_root("an attacker who is another user") {
        return;
    }
    if crate::support::mounts::run("setpriv", ["--version"]).is_err() {
        eprintln!("skipped: setpriv is missing");
        return;
    }
    let seconds = std::env::var("TXEDIT_TEST_ATTACK_SECONDS").map_or(3, |seconds| seconds.parse().unwrap());
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut dice = Dice::new(seconds);
    let mut exchanges = 0;
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    while Instant::now() < until {
        let place = scene();
        let outside = Tree::of(&place.outside);
        let first = 2 * dice.below(2);
        let attackers = [first, first + 1].map(|hand| attack(&place, dice.roll(), hand));
        let scene_until = (Instant::now() + SCENE).min(until);
        while Instant::now() < scene_until {
            let (what, done) = work(&place, &mut dice);
            let (well, ill) = counts.entry(what).or_default();
            *if done.is_ok() { well } else { ill } += 1;
        }
        fs::write(place.root.join("stop"), "").unwrap();
        for attacker in attackers {
            let ended = attacker.wait_with_output().unwrap();
            let told = String::from_utf8(ended.stderr).unwrap();
            assert!(ended.status.success(), "{told}");
            let count = told.lines().find_map(|line| line.strip_prefix(EXCHANGES)).unwrap();
            exchanges += count.parse::<u64>().unwrap();
        }
        judge(&place, &outside);
    }
    eprintln!("{seconds} s, {exchanges} exchanges; what root did, how often it went well and was refused: {counts:?}");
    assert!(exchanges > 100 && counts["apply"].0 > 0, "{exchanges} {counts:?}");
}
