//! What processes that were killed have left on other file systems than that of their journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::sim::{Action, SimCall, SimFs};
use txedit::settings::Swap;
use txedit::{Edit, Engine, ErrorKind, Request, Retention, Run, Settings};

fn machine() -> SimFs {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.mount("/w/m").unwrap();
    for path in ["/w/a", "/w/m/e"] {
        sim.create(path, "old\n").unwrap();
    }
    sim.advance(Duration::from_secs(60));
    sim
}

fn engine_at(sim: &SimFs, process: u32, root: &str) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO);
    Engine::with_fs(Arc::new(sim.process(process)), Path::new(root), settings).unwrap()
}

fn engine(sim: &SimFs, process: u32) -> Engine {
    engine_at(sim, process, "/w")
}

fn edits(new: &str) -> Request {
    let edit = || Edit::replace_all("old", new);
    Request::new().edit("a", edit()).edit("m/e", edit())
}

/// A commit that is killed before a call.
fn killed(sim: &SimFs, before: impl Fn(&SimCall<'_>) -> bool + Send + Sync + 'static) {
    sim.set_hook(move |call| if before(call) { Action::Kill } else { Action::Continue });
    engine(sim, 1).apply(&edits("new"), Run::default()).unwrap_err();
    sim.clear_hook();
}

/// The folders in a section of a state folder.
fn in_section(sim: &SimFs, section: &str) -> Vec<PathBuf> {
    let all = sim.entries("/w").unwrap().into_iter().map(|(path, _)| path);
    all.filter(|path| path.parent().is_some_and(|parent| parent.ends_with(section))).collect()
}

/// From a workspace that is on the other file system itself, too.
#[test]
fn what_is_interrupted_above_a_mount_is_found_from_it() {
    for root in ["/w/m", "/w/m/sub"] {
        let sim = machine();
        sim.make_folders("/w/m/sub").unwrap();
        sim.create("/w/m/sub/f", "old\n").unwrap();
        let request = edits("new").edit("m/sub/f", Edit::replace_all("old", "new"));
        sim.set_hook(|call| {
            if call.to.is_some_and(|to| to.ends_with("journal.done")) { Action::Kill } else { Action::Continue }
        });
        engine(&sim, 1).apply(&request, Run::default()).unwrap_err();
        sim.clear_hook();
        let inner = engine_at(&sim, 2, root);
        let name = if root == "/w/m" { "e" } else { "f" };
        let done = inner.apply(&Request::new().edit(name, Edit::replace_all("new", "newest")), Run::default()).unwrap();
        assert!(done.warnings.iter().any(|told| told.contains("recovered")), "{done:?}");
        assert!(engine(&sim, 3).recover(None, txedit::RecoverOptions::new()).unwrap().is_empty());
        assert_eq!(sim.read(format!("{root}/{name}")).unwrap(), b"newest\n");
        assert_eq!(sim.read("/w/a").unwrap(), b"new\n");
    }
}

/// Two disks that are mounted at one path in turn: what one has to say is no word about the other.
#[test]
fn another_file_system_at_the_mount_is_not_taken_for_one_whose_part_was_removed() {
    let sim = machine();
    engine(&sim, 1).apply(&edits("older"), Run::default()).unwrap();
    // What tells one from the other is the state folder there.
    sim.rename("/w/m/.txedit", "/w/m/other").unwrap();
    let exchange = || {
        for [from, to] in [[".txedit", "x"], ["other", ".txedit"], ["x", "other"]] {
            sim.rename(Path::new("/w/m").join(from), Path::new("/w/m").join(to)).unwrap();
        }
    };
    engine(&sim, 2).apply(&Request::new().edit("m/e", Edit::replace_all("older", "oldest")), Run::default()).unwrap();
    let pruned = engine(&sim, 3).prune(&Retention::default().count(0)).unwrap();
    assert_eq!((pruned.ids.len(), pruned.in_trash.len()), (1, 1), "{pruned:?}");
    exchange();
    let pruned = engine(&sim, 4).prune(&Retention::default().count(0)).unwrap();
    assert!(pruned.in_trash.is_empty(), "{pruned:?}");
    assert_eq!(
        [".txedit/parts", "other/parts"].map(|parts| in_section(&sim, parts)),
        [const { Vec::<PathBuf>::new() }; 2]
    );
}

#[test]
fn file_systems_that_have_no_way_in_common_are_refused() {
    let refused = |way: fn(&SimFs), why: &str, kind: ErrorKind| {
        let sim = machine();
        way(&sim);
        let settings = Settings::default().swap(Swap::InPlace).user_state(Path::new("/states").to_owned());
        let engine = Engine::with_fs(Arc::new(sim.process(1)), Path::new("/w"), settings).unwrap();
        let error = engine.apply(&edits("new"), Run::default()).unwrap_err();
        assert!(error.kind() == kind && error.message().contains(why), "{error}");
        assert_eq!(["/w/a", "/w/m/e"].map(|path| sim.read(path).unwrap()), [b"old\n", b"old\n"]);
        assert_eq!(in_section(&sim, "txn"), Vec::<PathBuf>::new());
        // Each for itself is done.
        engine.apply(&Request::new().edit("a", Edit::replace_all("old", "new")), Run::default()).unwrap();
    };
    let overwrites = |sim: &SimFs| {
        sim.volume("/w/m", |it| (it.exchange, it.no_replace, it.links) = (false, false, false)).unwrap();
    };
    refused(overwrites, "files in /w/m can only be overwritten", ErrorKind::CrossDevice);
    // One has no links, and the other no other way.
    let differ = |sim: &SimFs| {
        sim.volume("/w", |it| (it.exchange, it.links) = (false, false)).unwrap();
        sim.volume("/w/m", |it| (it.exchange, it.no_replace) = (false, false)).unwrap();
    };
    refused(differ, "a file cannot have a second name (link) in /w", ErrorKind::UnsupportedFileSystem);
}

#[test]
fn a_state_folder_on_another_file_system_than_the_root_is_refused() {
    let sim = machine();
    sim.mount("/w/.txedit").unwrap();
    let error = engine(&sim, 1).apply(&edits("new"), Run::default()).unwrap_err();
    assert!(error.kind() == ErrorKind::CrossDevice && error.message().contains("unmount it"), "{error}");
    assert_eq!(sim.read("/w/a").unwrap(), b"old\n");
}

#[test]
fn what_was_staged_and_never_named_goes_with_the_next_commit_there() {
    let sim = machine();
    killed(&sim, |call| call.path.ends_with("journal.new"));
    let [left] = &in_section(&sim, ".txedit/parts")[..] else { panic!("one part is left") };
    // The first one moves what is left of it in `txn/` to the trash, from which the next deletes it.
    for (process, new) in [(2, "older"), (3, "oldest"), (4, "eldest old")] {
        engine(&sim, process).apply(&edits(new), Run::default()).unwrap();
    }
    assert!(!in_section(&sim, ".txedit/parts").contains(left), "it is swept");
    assert_eq!(in_section(&sim, ".txedit/parts").len(), 3, "one for each transaction in history");
}

#[test]
fn what_may_hold_an_original_stays() {
    let sim = machine();
    killed(&sim, |call| call.verb == "rename" && call.path.ends_with("journal"));
    let [left] = &in_section(&sim, ".txedit/parts")[..] else { panic!("one part is left") };
    assert_eq!(sim.read("/w/m/e").unwrap(), b"new\n", "it was swapped");
    // A person moves its folder away, so that nothing leads to the part.
    let [folder] = &in_section(&sim, ".txedit/txn")[..] else { panic!("it is interrupted") };
    sim.rename(Path::new("/w").join(folder), "/away").unwrap();
    sim.create("/w/m/f", "old\n").unwrap();
    for (process, new) in [(2, "older"), (3, "oldest")] {
        engine(&sim, process).apply(&Request::new().edit("m/f", Edit::replace("old", new)), Run::default()).unwrap();
    }
    let slot = sim.read(Path::new("/w").join(left).join("000001")).unwrap();
    assert_eq!(slot, b"old\n");
}

/// As long as it is not swapped nothing is older there than the part.
#[test]
fn what_another_workspace_has_staged_there_stays() {
    let sim = machine();
    sim.make_folders("/w/inner").unwrap();
    sim.mount("/w/inner/n").unwrap();
    sim.set_hook(|call| if call.path.ends_with("journal.new") { Action::Kill } else { Action::Continue });
    let request = Request::new().create("n/new", "new\n").create("b", "new\n");
    engine_at(&sim, 1, "/w/inner").apply(&request, Run::default()).unwrap_err();
    sim.clear_hook();
    let [staged] = &in_section(&sim, "n/.txedit/parts")[..] else { panic!("one part is there") };
    for (process, name) in [(2, "one"), (3, "two")] {
        engine(&sim, process).apply(&Request::new().create(format!("inner/n/{name}"), ""), Run::default()).unwrap();
    }
    assert!(in_section(&sim, "n/.txedit/parts").contains(staged));
}
