//! Every sync left out, one at a time. Those of a commit and of an undo by walking through them; those of a rollback and
//! of a recovery each by a test of its own: they need somebody else, or a second crash, at the right moment.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use txedit::fs::Fs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Policy, SimFs};
use txedit::testing::{Explorer, Foreign, ForeignDeed, Role, Script};

use crate::proof::explore::{as_on_fuse, scripts};

/// What a sync is of, without the id of its transaction.
pub(super) fn site(call: &FaultCall) -> String {
    let of = if call.operation == FaultOperation::SyncFileSystem { "file system by " } else { "" };
    let path = call.path.to_string_lossy();
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_id = txedit::journal::is_id(name.as_ref());
    format!("{of}{}", if is_id { "its folder" } else { name })
}

fn syncs(call: &FaultCall) -> bool {
    matches!(call.operation, FaultOperation::Sync | FaultOperation::SyncFileSystem)
}

type Sites = Arc<Mutex<BTreeSet<String>>>;

/// The `nth` sync of each process of this role is left out, and noted.
fn leaving_out(script: Script, role: Role, nth: u64, sites: &Sites) -> Script {
    let sites = Arc::clone(sites);
    script.disturb(move |_: &SimFs, now, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        if now != role {
            return fs;
        }
        let faults = FaultFs::new(fs);
        let sites = Arc::clone(&sites);
        let note = move |call: &FaultCall| sites.lock().unwrap().extend([site(call)]);
        faults.add(Rule::before(nth, note).matching(syncs));
        faults.add(Rule::pretend(nth).matching(syncs));
        Arc::new(faults)
    })
}

/// Which syncs nobody misses: each is left out, and crashes are tried, alone and with `deeds` before one of the last calls.
fn not_missed(script: &Script, role: Role, deeds: &[(&str, ForeignDeed)], last: u64) -> Vec<String> {
    let mut not_missed = BTreeSet::new();
    for nth in 1.. {
        let sites = Sites::default();
        let broken = leaving_out(script.clone(), role, nth, &sites);
        let is_noticed = is_noticed_alone(&broken) || is_noticed_among_others(&broken, deeds, last);
        let sites = std::mem::take(&mut *sites.lock().unwrap());
        if sites.is_empty() {
            assert!(nth > 1, "there is no sync at all");
            return not_missed.into_iter().collect();
        }
        if !is_noticed {
            not_missed.extend(sites);
        }
    }
    unreachable!("syncs come to an end")
}

fn is_noticed_alone(script: &Script) -> bool {
    let explorer = Explorer { images: 24, images_in_recovery: 8, depth: 1, ..Explorer::default() };
    explorer.explore(script).is_err()
}

fn is_noticed_among_others(script: &Script, deeds: &[(&str, ForeignDeed)], last: u64) -> bool {
    let explorer = Explorer { images: 12, images_in_recovery: 4, depth: 1, ..Explorer::default() };
    let calls = Explorer::calls(script).unwrap();
    (calls.saturating_sub(last)..=calls).any(|call| {
        deeds.iter().any(|(path, deed)| {
            let foreign = Foreign { call, path: path.into(), deed: deed.clone() };
            explorer.explore_with(script, &[foreign]).is_err()
        })
    })
}

/// Somebody writes on in the file that was there before the edit, through a handle of before.
fn late() -> Vec<(&'static str, ForeignDeed)> {
    vec![("/w/a", ForeignDeed::AppendToOld(b"late\n".to_vec()))]
}

/// Where syncing each file is quicker, as on ext4.
fn on_ext4() -> Script {
    let ext4 = Script::new("on ext4", |machine| {
        scripts::files(machine);
        machine.volume("/w", |volume| volume.sync_each = true).unwrap();
    });
    ext4.apply(scripts::request(vec![scripts::replaces("a", "one", "two"), scripts::creates("deep/new", "new two\n")]))
}

#[test]
fn each_sync_of_a_commit_is_missed() {
    assert_eq!(not_missed(&scripts::three(), Role::Act, &[], 0), [""; 0]);
}

#[test]
fn of_a_first_commit_two_syncs_are_not_missed_here() {
    // `id` and `.gitignore` are made anew where a power cut left them incomplete; so is their folder's name for them. What
    // they are until then, and what the sync of the root is for: `each_sync_of_what_a_first_commit_makes_is_missed`. The tag
    // has no sync: nothing rests on it.
    let mut not_missed = not_missed(&scripts::edit().cold(), Role::Act, &[], 0);
    let remade = [".id-", "..gitignore-"];
    not_missed.retain(|site| !remade.iter().any(|name| site.starts_with(name)));
    assert_eq!(not_missed, [".txedit", "w"]);
}

/// A first commit whose `nth` sync is left out, and the power is lost once its `id` has its name: whether each disk has the
/// state folder, which the next process takes for durable by its `id`, though this one may be killed, and none has an `id`
/// that is whole beside a `.gitignore` that is not, which nobody would ever mend. Also which sync that was.
fn is_first_use_whole(nth: u64) -> (Option<String>, bool) {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    scripts::files(&machine);
    machine.sync_everything();
    let faults = Arc::new(FaultFs::new(Arc::new(machine.process(2))));
    let left_out = Sites::default();
    let noted = Arc::clone(&left_out);
    faults.add(Rule::before(nth, move |call| noted.lock().unwrap().extend([site(call)])).matching(syncs));
    faults.add(Rule::pretend(nth).matching(syncs));
    let cuts: Arc<Mutex<Vec<SimFs>>> = Arc::default();
    let (kept, acting) = (Arc::clone(&cuts), machine.clone());
    let named = |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.ends_with(".txedit/id"));
    faults.add(Rule::after(1, move |_| kept.lock().unwrap().push(acting.fork())).matching(named));
    super::scenes::first_commit(faults);
    let cuts = std::mem::take(&mut *cuts.lock().unwrap());
    assert!(!cuts.is_empty(), "the id got no name");
    let is_whole = cuts.iter().flat_map(|cut| cut.images(Policy::Unordered, 20_000, 1).images).all(|image| {
        let tree = image.tree();
        let content = |name: &str| tree.get(&Path::new("/w/.txedit").join(name)).map(|entry| &*entry.content);
        let has_id = content("id").is_some_and(|id| id.len() > 32 && id.ends_with(b"\n"));
        tree.contains_key(Path::new("/w/.txedit")) && (!has_id || content(".gitignore") == Some(b"*\n"))
    });
    let site = left_out.lock().unwrap().iter().next().cloned();
    (site, is_whole)
}

#[test]
fn each_sync_of_what_a_first_commit_makes_is_missed() {
    let mut missed = BTreeSet::new();
    for nth in 1.. {
        let (site, is_whole) = is_first_use_whole(nth);
        let Some(site) = site else {
            assert!(is_whole && nth > 2, "{nth} syncs");
            break;
        };
        if !is_whole {
            missed.insert(site.split('-').next().unwrap_or_default().to_owned());
        }
    }
    assert_eq!(Vec::from_iter(missed), ["..gitignore", ".txedit", "w"]);
}

#[test]
fn each_sync_of_an_undo_is_missed() {
    assert_eq!(not_missed(&scripts::edit_and_undo(), Role::Act, &[], 0), [""; 0]);
}

#[test]
fn of_a_commit_on_ext4_five_syncs_are_not_missed_here() {
    // - `a`: its original, which every script finds durable; missed where it is not: `an_original_that_is_not_synced_is_noticed`.
    // - `report.json`: no decision rests on it; missed by `a_report_that_is_not_synced_is_noticed`.
    // - `.txedit`: durable here; missed where its maker was killed: `a_state_folder_whose_maker_was_killed_…` in the corpus.
    // - `w`, `deep`: a rename is one operation for both of its folders, and the sync of the transaction's takes it along.
    let not_missed = not_missed(&on_ext4(), Role::Act, &late(), 6);
    assert_eq!(not_missed, [".txedit", "a", "deep", "report.json", "w"]);
}

#[test]
fn of_a_commit_on_fuse_four_syncs_are_missed() {
    // A barrier there syncs each thing that it rests on, whether or not that was durable before: the original and all
    // that the first barrier had, in the second one once more. Of its renames both folders know, which
    // `the_syncs_of_all_folders_together_are_missed` leaves out together.
    let script = as_on_fuse(&scripts::edit());
    let mut missed = BTreeSet::new();
    for nth in 1.. {
        let sites = Sites::default();
        let explorer = Explorer { images: 12, images_in_recovery: 4, depth: 1, ..Explorer::default() };
        let is_noticed = explorer.explore(&leaving_out(script.clone(), Role::Act, nth, &sites)).is_err();
        let sites = std::mem::take(&mut *sites.lock().unwrap());
        if sites.is_empty() {
            break;
        }
        missed.extend(sites.into_iter().filter(|_| is_noticed));
    }
    assert_eq!(Vec::from_iter(missed), ["000000", "its folder", "journal.new", "txn"]);
}

#[test]
fn the_syncs_of_all_folders_together_are_missed() {
    let folders = |_: &SimFs, role, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        if role != Role::Act {
            return fs;
        }
        let faults = FaultFs::new(fs);
        let has_swapped = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&has_swapped);
        let swap = |call: &FaultCall| call.operation == FaultOperation::Rename && call.path.ends_with("000000");
        faults.add(Rule::after(1, move |_| has_swapped.store(true, Ordering::Relaxed)).matching(swap));
        faults.add(Rule::pretend(1).matching(move |call| syncs(call) && seen.load(Ordering::Relaxed)).from_then_on());
        Arc::new(faults)
    };
    assert!(is_noticed_alone(&on_ext4().disturb(folders)));
    assert!(is_noticed_alone(&as_on_fuse(&scripts::edit()).disturb(folders)));
}

/// Each function of the engine that syncs, with a test that misses the sync, or why none does.
const SYNCS: [(&str, &str, &str); 42] = [
    ("history/keys.rs", "keep", "a_key_that_is_not_durable_before_its_transaction_goes_is_noticed"),
    (
        "state_move.rs",
        "move_to",
        "none: without them a power loss leaves the folder where it was, whole, and every command finds it",
    ),
    ("store/folder.rs", "sync_part", "a_file_system_that_no_barrier_makes_durable_is_noticed"),
    ("store/parts.rs", "sync_names", "a_part_that_is_not_durable_before_the_journal_has_its_name_is_noticed"),
    ("store/parts.rs", "remove", "a_part_that_comes_back_without_its_transaction_is_noticed"),
    ("store/births.rs", "prove", "a_proof_that_is_not_durable_is_noticed"),
    ("store/births.rs", "make", "a_proof_that_is_not_durable_is_noticed"),
    (
        "store/files.rs",
        "replace_stepwise",
        "none: the name that it makes durable is that of `put_in_place`, whose test is on a disk that exchanges",
    ),
    ("store/folder/stepwise.rs", "sync_target", "an_original_that_loses_its_durable_name_is_noticed"),
    (
        "store/folder/overwrite.rs",
        "sync_overwritten",
        "what_was_written_that_is_not_durable_before_the_done_state_is_noticed",
    ),
    ("store/folder/overwrite.rs", "keep_in_place", "what_is_kept_of_an_overwritten_file_and_not_synced_is_noticed"),
    ("transaction/execute.rs", "barrier_of_contents", "a_commit_without_barrier_one_is_noticed"),
    ("transaction/execute.rs", "later_barrier", "a_commit_acknowledged_before_barrier_two_is_noticed"),
    ("transaction/execute.rs", "perform", "metadata_given_back_that_is_not_synced_is_noticed"),
    ("rollback/walk.rs", "walk", "a_rollback_before_the_undo_state_is_durable_is_noticed"),
    ("rollback/walk.rs", "drop_folder", "content_kept_and_not_synced_before_the_report_is_noticed"),
    ("recovery/finish.rs", "finish", "a_recovery_without_its_last_sync_is_noticed"),
    ("store/barrier.rs", "sync_all", "an_original_that_is_not_synced_is_noticed"),
    ("transaction/execute.rs", "sync_in_order", "what_is_not_written_out_in_order_is_noticed"),
    ("transaction/execute.rs", "sync_together", "threads_that_sync_together_sync_as_much_as_one"),
    ("store/files.rs", "put_in_place", "a_stage_acknowledged_before_its_name_is_durable_is_noticed"),
    ("store/files.rs", "replace", "none: of what is made in a new state folder, and made anew where it is not whole"),
    ("rollback/metadata.rs", "give", "permissions_that_are_not_handed_over_are_noticed"),
    ("history/kept.rs", "kept_drop", "none: what comes back of it is listed, and dropped once more"),
    ("open/mod.rs", "close", "a_trash_emptied_before_a_sync_is_noticed"),
    ("open/store.rs", "save", "staged_edits_that_are_not_synced_are_noticed"),
    ("open/store.rs", "become_rest", "a_rest_told_before_its_name_is_durable_is_noticed"),
    ("history/prune.rs", "prune_whole", "a_trash_emptied_before_a_sync_is_noticed"),
    ("recovery/mod.rs", "drop_unswapped", "a_drop_reported_before_it_is_durable_is_noticed"),
    ("recovery/mod.rs", "recover_one", "a_recovery_without_its_first_sync_is_noticed"),
    ("recovery/all.rs", "recover_all", "a_trash_emptied_before_a_sync_is_noticed"),
    ("recovery/named.rs", "recover_named", "a_trash_emptied_before_a_sync_is_noticed"),
    ("recovery/named.rs", "discard", "content_kept_and_not_synced_before_the_report_is_noticed"),
    ("store/home.rs", "sync", "each_sync_of_what_a_first_commit_makes_is_missed"),
    ("store/state/sections.rs", "need_section", "a_section_made_again_and_not_synced_is_noticed"),
    ("rollback/folder.rs", "sync_way", "a_folder_that_is_not_found_again_is_noticed"),
    ("store/folder.rs", "sync_folder", "an_unswapped_transaction_dropped_without_an_undo_state_and_a_sync_is_noticed"),
    ("store/folder.rs", "write_adopted", "an_adopted_journal_that_is_not_synced_is_noticed"),
    ("history/trash.rs", "after_commit", "none: of commits that are not durable, which promise nothing here"),
    ("history/trash.rs", "rescue", "content_kept_by_a_commit_and_not_synced_before_the_report_is_noticed"),
    ("history/trash.rs", "sync_and_drop", "none: what comes back of it is listed, and dropped once more"),
    ("history/trash.rs", "sync_and_empty", "a_trash_emptied_before_a_sync_is_noticed"),
];

/// The functions in a source that sync, themselves or by another's name.
fn that_sync(source: &str) -> BTreeSet<String> {
    let calls = [
        "fs().sync(",
        "workspace.sync(",
        "workspace().sync(",
        "barrier::pass(",
        ".sync_everything(",
        "sync_all(",
        "sync_and_empty(",
        "sync_and_drop(",
        ".put_in_place(",
    ];
    let (mut function, mut found) = (String::new(), BTreeSet::new());
    for line in source.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        if let Some((_, from)) = line.split_once("fn ") {
            function = from.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        } else if calls.iter().any(|call| line.contains(call)) {
            found.insert(function.clone());
        }
    }
    found
}

/// All files beneath a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

#[test]
fn each_sync_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let engine = root.join("src/engine");
    let mut found = BTreeSet::new();
    for path in sources(&engine) {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&engine).unwrap().to_string_lossy().into_owned();
        found.extend(that_sync(&text).into_iter().map(|function| (name.clone(), function)));
    }
    // The doors of all others.
    for (file, function) in [("store/barrier.rs", "handle"), ("store/folder.rs", "sync_everything")] {
        assert!(found.remove(&(file.to_owned(), function.to_owned())), "{file}, {function}");
    }
    let known: BTreeSet<_> = SYNCS.iter().map(|(file, name, _)| ((*file).to_owned(), (*name).to_owned())).collect();
    assert_eq!(found, known, "a sync that no test is named for, or a name without a sync");
    let tests = [
        "mutants/mod.rs",
        "mutants/around.rs",
        "mutants/in_place.rs",
        "mutants/keys.rs",
        "mutants/several.rs",
        "mutants/late.rs",
        "mutants/meanwhile.rs",
        "mutants/named.rs",
        "mutants/open.rs",
        "mutants/played.rs",
        "mutants/stepwise.rs",
        "mutants/syncs.rs",
        "explore/barriers.rs",
        "explore/gate.rs",
    ]
    .map(|name| root.join("tests/it/proof").join(name));
    let tests = tests.map(|path| fs::read_to_string(path).unwrap()).concat();
    for (file, function, test) in SYNCS {
        assert!(test.starts_with("none: ") || tests.contains(&format!("fn {test}()")), "{file}, {function}: {test}");
    }
}
