//! A request of what a search found is known by its key, after a crash at any moment.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use txedit::fs::sim::{Action, Policy, SimFs};
use txedit::search::{Query, ReplaceGuard, SearchTree, digest};
use txedit::{
    Change, Digest, Durability, Edit, Engine, Error, ErrorKind, FileRequest, Report, Request, Result, Run, Settings,
};

const FILES: [&str; 2] = ["/w/a", "/w/sub/b"];

fn workspace() -> SimFs {
    let machine = SimFs::new();
    machine.make_folders("/w/sub").unwrap();
    for path in FILES {
        machine.create(path, "one\n").unwrap();
    }
    machine.sync_everything();
    machine
}

/// Replaces `one`, wherever it is, by a process of its own.
fn replace(machine: &SimFs, process: u32, with: &str, key: &str, again: bool) -> Result<Report> {
    let settings = Settings::default().durability(Durability::Power);
    let engine = Engine::with_fs(Arc::new(machine.process(process)), Path::new("/w"), settings)?;
    let query = Query { pattern: "one".into(), replacement: with.into(), ..Query::default() };
    let made_by = digest(key, &query, &SearchTree::default(), ReplaceGuard::default());
    let mut asked = Request::new();
    (asked.idempotency_key, asked.made_by, asked.again) = (Some(key.into()), Some(made_by), again);
    let find = || {
        let mut found = asked.clone();
        for path in FILES {
            let content = machine.read(path).unwrap();
            if content.windows(3).any(|there| there == b"one") {
                let change = Change::Edit { edits: vec![Edit::replace_all("one", with)], rename: None };
                found.files.push(FileRequest::new(path, change).expect(Digest::of(&content)));
            }
        }
        if found.files.is_empty() { Err(Error::new(ErrorKind::MatchNotFound, "nothing is found")) } else { Ok(found) }
    };
    engine.apply_found(&asked, find, Run::default()).1
}

fn contents(machine: &SimFs) -> Vec<String> {
    FILES.map(|path| String::from_utf8(machine.read(path).unwrap()).unwrap()).to_vec()
}

/// Killed before each of its calls, and after power cuts there: the same request is made once in the end.
#[test]
fn a_search_with_a_key_is_made_once_after_any_crash() {
    for with in ["two", "one one"] {
        for call in 0.. {
            let machine = workspace();
            let calls = Arc::new(AtomicU64::new(0));
            machine.set_hook(move |_| {
                if calls.fetch_add(1, Ordering::Relaxed) == call { Action::Kill } else { Action::Continue }
            });
            let done = replace(&machine, 1, with, "k", false);
            machine.clear_hook();
            let images = machine.images(Policy::Unordered, 20, call);
            let next = std::iter::once(machine.fork()).chain(images.into_iter().map(|image| SimFs::from_image(&image)));
            for next in next {
                let told = replace(&next, 2, with, "k", false);
                assert!(told.is_ok(), "killed before call {call}: {told:?}");
                assert_eq!(contents(&next), [format!("{with}\n"), format!("{with}\n")], "killed before call {call}");
                assert!(replace(&next, 3, with, "k", false).unwrap().already_applied);
            }
            if done.is_ok() {
                assert!(call > 30, "it was killed at {call} calls");
                break;
            }
        }
    }
}

#[test]
fn a_key_stands_for_one_search() {
    let machine = workspace();
    let id = replace(&machine, 1, "two", "k", false).unwrap().transaction;
    let error = replace(&machine, 2, "three", "k", false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ValidationFailed);
    assert!(error.message().contains("used for another request"), "{error}");
    // Another key is another request, of which there is nothing left to find.
    assert_eq!(replace(&machine, 3, "two", "other", false).unwrap_err().kind(), ErrorKind::MatchNotFound);

    let engine = Engine::with_fs(Arc::new(machine.process(4)), Path::new("/w"), Settings::default()).unwrap();
    let undo = engine.undo(id.as_deref(), false, Run::default()).unwrap().transaction;
    let told = replace(&machine, 5, "two", "k", false).unwrap();
    assert_eq!((told.already_applied, told.undone_by, contents(&machine)), (true, undo, vec!["one\n".to_owned(); 2]));
    let again = replace(&machine, 6, "two", "k", true).unwrap();
    assert_eq!((again.already_applied, contents(&machine)), (false, vec!["two\n".to_owned(); 2]));
}
