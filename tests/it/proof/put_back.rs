//! A commit is killed at each of its calls, and somebody puts some of the files back, as `git checkout` does: what a recovery
//! leaves is all old or all new; once the journal is done, it names each file that was put back.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::Fs;
use txedit::fs::sim::{Action, SimFs, Volume};
use txedit::journal::SwapMethod;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::journal::recover::Class;
use txedit::{Edit, Engine, RecoverOptions, Report, Request, Result, Run, Settings};

use crate::support::is_full;

/// What git knows, with the content before.
const TRACKED: [(&str, &str); 4] = [("/w/a", "old a\n"), ("/w/b", "old b\n"), ("/w/c", "old c\n"), ("/w/d", "old d\n")];
const PATHS: [&str; 6] = ["/w/a", "/w/b", "/w/c", "/w/d", "/w/moved", "/w/new"];

type Texts = [Option<Vec<u8>>; PATHS.len()];

fn request() -> Request {
    let edit = || Edit::replace("old", "new");
    Request::new().edit("a", edit()).delete("b").rename("c", "moved").create("new", "new\n").edit("d", edit())
}

fn texts(sim: &SimFs) -> Texts {
    PATHS.map(|path| sim.read(path).ok())
}

fn engine(sim: &SimFs, process: u32) -> Result<Engine> {
    let settings =
        Settings::default().user_state(PathBuf::from("/states")).lock_timeout(Duration::ZERO).program("put back");
    Engine::with_fs(Arc::new(sim.process(process)) as Arc<dyn Fs>, Path::new("/w"), settings)
}

fn apply(sim: &SimFs) -> Result<Report> {
    engine(sim, 1)?.apply(&request(), Run::default())
}

fn workspace(on: fn(&mut Volume)) -> SimFs {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.make_folders("/states").unwrap();
    for (path, old) in TRACKED {
        sim.create(path, old).unwrap();
    }
    sim.volume("/w", on).unwrap();
    sim.advance(Duration::from_secs(60));
    sim
}

/// How a program puts a file back.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// As git does: under the name of what it has deleted.
    Anew,
    Renamed,
    InPlace,
}

/// Puts those files back that are not as they were; answers which.
fn put_back(sim: &SimFs, chosen: usize, manner: Manner) -> Vec<&'static str> {
    let mut back = Vec::new();
    for (_, (path, old)) in TRACKED.iter().enumerate().filter(|(at, _)| chosen & 1 << at != 0) {
        let now = sim.read(path).ok();
        if now.as_deref() == Some(old.as_bytes()) {
            continue;
        }
        match manner {
            _ if now.is_none() => sim.create(path, old),
            Manner::Anew => sim.delete(path).and_then(|()| sim.create(path, old)),
            Manner::Renamed => sim.replace(path, old),
            Manner::InPlace => sim.write_in_place(path, old),
        }
        .unwrap();
        back.push(*path);
    }
    back
}

/// Returns whether the transaction was committed: what others write from then on is theirs.
fn is_done(sim: &SimFs) -> bool {
    sim.entries("/w/.txedit/txn").unwrap().iter().any(|(path, _)| path.ends_with("journal.done"))
}

/// Recovers, and judges what is there.
fn judge(sim: &SimFs, protocol: &'static Protocol, [old, new]: [&Texts; 2], back: &[&str]) {
    let (before, is_done) = (texts(sim), is_done(sim));
    let done = engine(sim, 3).and_then(|engine| engine.with_protocol(protocol).recover(None, RecoverOptions::new()));
    let now = texts(sim);
    let done = done.unwrap();
    assert!(done.iter().all(|done| !done.required), "nobody has written anything else: {done:?}");
    let told = format!("{done:?}");
    if is_done {
        let is_named = |path: &&str| told.contains(&format!("{} is not new", path.trim_start_matches("/w/")));
        assert!(now == before && back.iter().all(is_named), "{now:?}: {told}");
    } else {
        assert!(now == *old || now == *new && back.is_empty(), "the files are a mixture: {now:?}: {told}");
    }
    assert!(engine(sim, 4).unwrap().status().unwrap().interrupted.is_empty(), "{told}");
}

fn everywhere(on: fn(&mut Volume), manner: Manner, protocol: &'static Protocol) -> usize {
    let whole = workspace(on);
    let old = texts(&whole);
    apply(&whole).unwrap();
    let new = texts(&whole);
    let (mut judged, mut at) = (0, 0);
    while {
        let sim = workspace(on);
        let start = sim.calls();
        sim.set_hook(move |call| if call.number == start + at { Action::Kill } else { Action::Continue });
        let is_killed = apply(&sim).is_err();
        sim.clear_hook();
        let is_hot = sim.entries("/w/.txedit/txn").is_ok_and(|found| !found.is_empty());
        // In a state that nothing was swapped in, nothing is put back.
        if is_killed && is_hot && texts(&sim) != old {
            for chosen in 0..1 << TRACKED.len() {
                let sim = sim.fork();
                let back = put_back(&sim, chosen, manner);
                judge(&sim, protocol, [&old, &new], &back);
                judged += 1;
            }
        }
        at += if is_full() { 1 } else { 3 };
        is_killed
    } {}
    judged
}

#[test]
fn files_that_somebody_puts_back_after_a_kill_make_no_mixture() {
    for swap in [SwapMethod::Exchange, SwapMethod::Rename, SwapMethod::Link] {
        let on: fn(&mut Volume) = match swap {
            SwapMethod::Exchange => |_| {},
            SwapMethod::Rename => |volume| volume.exchange = false,
            SwapMethod::Link => |volume| (volume.exchange, volume.no_replace) = (false, false),
        };
        for manner in [Manner::Anew, Manner::Renamed, Manner::InPlace] {
            let judged = everywhere(on, manner, &PROTOCOL);
            eprintln!("{swap:?}, {manner:?}: {judged}");
            assert!(judged > 100, "{swap:?}, {manner:?}: {judged}");
        }
    }
}

/// The original is in the slot, as under a file that somebody edited; but then the others stay new.
#[test]
#[should_panic(expected = "files are a mixture")]
fn a_file_that_was_put_back_and_is_taken_for_an_edited_one_is_noticed() {
    static MUTANT: Protocol = Protocol {
        classify: |record, observed| match (PROTOCOL.classify)(record, observed) {
            Class::PutBack => Class::OnTop,
            class => class,
        },
        ..PROTOCOL
    };
    everywhere(|_| {}, Manner::Anew, &MUTANT);
}
