//! Processes and foreign writers on the same files: nobody's work is lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use txedit::{Engine, Error, ErrorKind};

use super::alone;
use super::child::{self, End, Role, append, command};
use super::second::all_contents;

/// Every file that is written by several ends so; new lines go before it.
const END: &str = "END\n";

/// `NAME TIMES WIDTH FOLDER FILES`: TIMES transactions, each of which adds a line with a word of its own to WIDTH of the
/// files `FOLDER/0`, `FOLDER/1`, ….  Answers how many were refused since another program had written meanwhile; each
/// was tried again.
pub(super) fn count(engine: &Engine, request: &str) -> Result<String, Error> {
    let words: Vec<&str> = request.split(' ').collect();
    let [name, folder] = [words[0], words[3]];
    let [times, width, files] = [1, 2, 4].map(|word| words[word].parse::<usize>().unwrap());
    let mut refused = 0;
    for time in 0..times {
        // Other files each time, in an order of its own: nobody may wait for anybody in a circle.
        let step = [1, 3, 7, 9][(time + name.len()) % 4];
        let chosen: BTreeSet<usize> = (0..width).map(|n| (time * 7 + n * step) % files).collect();
        let line = format!("<{name}-{time}>\n{END}");
        let line = serde_json::to_string(&line).unwrap();
        let edit = |file: &usize| {
            format!(r#"{{"file_path": "{folder}/{file}", "edits": [{{"old_string": "END\n", "new_string": {line}}}]}}"#)
        };
        let mut entries: Vec<String> = chosen.iter().map(edit).collect();
        if time % 2 == 1 {
            entries.reverse();
        }
        let request = child::parse(&format!(r#"{{"files": [{}]}}"#, entries.join(", ")));
        loop {
            match engine.apply(&request, alone()) {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::ConcurrentModification => refused += 1,
                // A foreign rename of a new file over an old one leaves an instant without a match, never without END.
                Err(error) => return Err(error),
            }
        }
        done(name, time);
    }
    Ok(format!("{refused}"))
}

/// Says at once what is done: only that may not be lost.
fn done(name: &str, time: usize) {
    child::say(&format!("done <{name}-{time}>"));
}

fn make_files(root: &Path, files: usize) -> Vec<PathBuf> {
    fs::create_dir(root.join("shared")).unwrap();
    let paths: Vec<PathBuf> = (0..files).map(|file| root.join("shared").join(file.to_string())).collect();
    for path in &paths {
        fs::write(path, END).unwrap();
    }
    paths
}

/// Waits for a child, which must have come to its end; answers what it said was done.
fn all_done(child: Child) -> (Vec<String>, usize) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let done = said.lines().filter_map(|line| line.strip_prefix("done ")).map(str::to_owned).collect();
    let refused = said.lines().find_map(|line| line.strip_prefix("child did: "));
    let refused = refused.unwrap_or_else(|| panic!("{output:?}")).parse().unwrap();
    (done, refused)
}

#[test]
fn two_processes_lose_none_of_each_others_edits() {
    let root = tempfile::tempdir().unwrap();
    let paths = make_files(root.path(), 1);
    let spawn = |name: &str| command(Role::Count, root.path(), &format!("{name} 100 1 shared 1")).spawn().unwrap();
    let children = [spawn("a"), spawn("b")];
    for child in children {
        let (done, refused) = all_done(child);
        assert_eq!((done.len(), refused), (100, 0), "whoever honours the locks is never refused");
    }
    let content = fs::read_to_string(&paths[0]).unwrap();
    assert_eq!(content.lines().count(), 201);
    for name in ["a", "b"] {
        // Each one's own edits are in their order.
        let places: Vec<usize> = (0..100).map(|n| content.find(&format!("<{name}-{n}>")).unwrap()).collect();
        assert!(places.is_sorted());
    }
}

#[test]
fn eight_processes_on_twenty_files_lose_none_of_their_edits() {
    let root = tempfile::tempdir().unwrap();
    let paths = make_files(root.path(), 20);
    let spawn = |n: usize| {
        let request = format!("{} 12 {} shared 20", "p".repeat(n + 1), 3 + n % 4);
        command(Role::Count, root.path(), &request).spawn().unwrap()
    };
    let children: Vec<Child> = (0..8).map(spawn).collect();
    for (n, child) in children.into_iter().enumerate() {
        let (done, refused) = all_done(child);
        assert_eq!((done.len(), refused), (12, 0));
        for word in done {
            let holders = paths.iter().filter(|path| fs::read_to_string(path).unwrap().contains(&word)).count();
            assert_eq!(holders, 3 + n % 4, "{word} is in every file of its transaction");
        }
    }
}

/// How many foreign edits each race is to have: `TXEDIT_RACE_WRITES=10000` for a long run.
fn wanted() -> usize {
    std::env::var("TXEDIT_RACE_WRITES").ok().and_then(|writes| writes.parse().ok()).unwrap_or(0)
}

/// Lets `disturb` write, as often as it can, while a process commits; answers how often each was at it.
fn disturbed(root: &Path, mut disturb: impl FnMut(usize)) -> (Vec<String>, usize, usize) {
    let mut child = command(Role::Count, root, "t 60 1 shared 1").spawn().unwrap();
    let mut writes = 0;
    while child.try_wait().unwrap().is_none() {
        disturb(writes);
        writes += 1;
        // Somewhere in a commit, each time elsewhere.
        std::thread::sleep(Duration::from_micros(1500 + (writes as u64 * 7919) % 4000));
        // On a busy machine no commit might ever fit between two writes.
        if writes % 64 == 0 {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    let (done, refused) = all_done(child);
    (done, refused, writes)
}

/// Races in a folder of their own, one after the other, until there were as many writes as wanted. A race answers its
/// writes, its refusals, and how many writes came too late.
fn races(what: &str, race: impl Fn(&Path, PathBuf) -> (usize, usize, usize)) {
    let started = Instant::now();
    let (mut races, mut writes, mut refused, mut late) = (0, 0, 0, 0);
    while races == 0 || writes < wanted() {
        let root = tempfile::tempdir().unwrap();
        let path = make_files(root.path(), 1).remove(0);
        let one = race(root.path(), path);
        (races, writes, refused, late) = (races + 1, writes + one.0, refused + one.1, late + one.2);
    }
    let seconds = started.elapsed().as_secs_f32();
    eprintln!(
        "{what}: {writes} writes in {races} races, {refused} refusals, {late} came too late, 0 lost, in {seconds:.1} s"
    );
}

#[test]
fn what_others_append_meanwhile_is_never_lost() {
    races("appended", |root, path| {
        let (done, refused, writes) = disturbed(root, |n| append(&path, &format!("<f-{n}>\n")));
        let content = fs::read_to_string(&path).unwrap();
        let everything = all_contents(root);
        for word in &done {
            assert!(content.contains(word.as_str()), "{word} was done");
        }
        let elsewhere = (0..writes).filter(|n| !content.contains(&format!("<f-{n}>"))).collect::<Vec<_>>();
        for n in &elsewhere {
            let word = format!("<f-{n}>");
            assert!(everything.iter().any(|content| content.contains(&word)), "{word} of {writes} is lost");
        }
        (writes, refused, elsewhere.len())
    });
}

#[test]
fn what_others_replace_meanwhile_is_never_lost() {
    races("replaced", |root, path| {
        let temporary = root.join("temporary");
        // What this writer overwrote itself: it looks, as every writer should and few do.
        let mut overwritten = String::new();
        let (done, refused, writes) = disturbed(root, |n| {
            let content = fs::read_to_string(&path).unwrap();
            fs::write(&temporary, content.replace(END, &format!("<f-{n}>\n{END}"))).unwrap();
            renameat_with(CWD, &temporary, CWD, &path, RenameFlags::EXCHANGE).unwrap();
            overwritten.push_str(&fs::read_to_string(&temporary).unwrap());
        });
        let everything = all_contents(root);
        let words = done.iter().cloned().chain((0..writes).map(|n| format!("<f-{n}>")));
        for word in words {
            let there = overwritten.contains(&word) || everything.iter().any(|content| content.contains(&word));
            assert!(there, "{word} is lost");
        }
        (writes, refused, 0)
    });
}

#[test]
fn a_role_that_fails_is_seen_to_fail() {
    let root = tempfile::tempdir().unwrap();
    make_files(root.path(), 1);
    fs::write(root.path().join("shared/0"), "no such line").unwrap();
    let end = child::run(command(Role::Count, root.path(), "a 1 1 shared 1"));
    assert!(matches!(&end, End::Failed(why) if why.starts_with("MATCH_NOT_FOUND unchanged")), "{end:?}");
}
