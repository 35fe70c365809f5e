//! Journals that nobody wrote in earnest: cut, flipped, and mutated with digests that fit.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};
use txedit::RecoverOptions;
use txedit::journal::scan;
use txedit::report::RecoveryAction;
use txedit::testing::internals::journal::record::Chain;

use super::child::{self, End, Moment, Role, command, killed_at};
use super::scene::{self, Node, Scene, Tree, names, tree};
use super::{engine, is_full};
use crate::support::mounts::{self, Kind};

/// A transaction that was killed in mid-swap, beside a folder that is none of its business.
struct Hot {
    scene: Scene,
    outside: PathBuf,
    before: Tree,
    folder: PathBuf,
    journal: Vec<u8>,
}

impl Hot {
    fn new(scratch: &Path) -> Self {
        fs::create_dir(scratch).unwrap();
        let outside = scratch.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "precious").unwrap();
        let mut scene = Scene::new(&scratch.join("w"));
        symlink(&outside, scene.root.join("link")).unwrap();
        scene.old.insert("link".into(), Node::Other);
        scene.new.insert("link".into(), Node::Other);
        let killed = killed_at(command(Role::Apply, &scene.root, scene::REQUEST), Moment::Swap(5));
        assert_eq!(child::run(killed), End::Killed);
        let folder = scene.root.join(".txedit/txn").join(&names(&scene.root, "txn")[0]);
        let journal = fs::read(folder.join("journal")).unwrap();
        Self { before: tree(&outside), outside, scene, folder, journal }
    }

    fn write(&self, journal: &[u8]) {
        fs::write(self.folder.join("journal"), journal).unwrap();
    }

    /// Recovers, whatever comes of it: nothing outside is touched, nor a file of which the journal says nothing true.
    #[track_caller]
    fn recover(&self, told: &str) -> bool {
        let recovered = engine(&self.scene.root).recover(None, RecoverOptions::default());
        drop(engine(&self.scene.root).status());
        assert_eq!(tree(&self.outside), self.before, "{told}: {recovered:?}");
        let bystander = fs::read_to_string(self.scene.root.join("src/bystander.txt"));
        assert_eq!(bystander.unwrap(), "old one, old two\n", "{told}: {recovered:?}");
        recovered.is_ok_and(|all| all.iter().all(|one| one.action == RecoveryAction::Left && one.required))
    }

    /// The journal does not verify: it is listed, and nothing is touched.
    #[track_caller]
    fn is_left_alone(&self, told: &str) {
        let before = self.scene.now();
        assert!(self.recover(told), "{told}");
        assert_eq!(self.scene.now(), before, "{told}");
        assert!(self.folder.exists(), "{told}");
    }
}

fn on_tmpfs(test: impl FnOnce(&Path)) {
    mounts::with(Kind::Tmpfs, test);
}

#[test]
fn a_journal_cut_anywhere_is_refused() {
    on_tmpfs(|root| {
        let hot = Hot::new(&root.join("a"));
        for length in 0..hot.journal.len() {
            assert!(scan(&hot.journal[..length]).is_err(), "cut at {length}");
            if is_full() || length % 37 == 0 {
                hot.write(&hot.journal[..length]);
                hot.is_left_alone(&format!("cut at {length}"));
            }
        }
        hot.write(&hot.journal);
        assert!(super::kills::recover_and_look(&hot.scene, "whole again"));
    });
}

#[test]
fn a_journal_with_any_bit_flipped_is_refused() {
    on_tmpfs(|root| {
        let hot = Hot::new(&root.join("a"));
        for at in 0..hot.journal.len() {
            for bit in 0..8 {
                let mut journal = hot.journal.clone();
                journal[at] ^= 1 << bit;
                assert!(scan(&journal).is_err(), "byte {at}, bit {bit}");
                if is_full() || (at * 8 + bit) % 211 == 0 {
                    hot.write(&journal);
                    hot.is_left_alone(&format!("byte {at}, bit {bit}"));
                }
            }
        }
    });
}

/// The JSON of each line.
fn lines(journal: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(journal).unwrap();
    text.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

/// A journal of these lines, with digests that fit.
fn chained(lines: &[String]) -> Vec<u8> {
    let mut chain = Chain::default();
    let line = |json: &String| format!("{} {json}\n", chain.next(json.as_bytes()).to_hex());
    lines.iter().map(line).collect::<String>().into_bytes()
}

/// All places in a value, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    if let Value::Object(fields) = value {
        fields.iter().for_each(|(name, inner)| places(inner, &format!("{at}/{name}"), found));
    }
}

/// Where the value at `place` stands in a line: its keys keep their order, as the format has them.
fn span(line: &str, place: &str) -> std::ops::Range<usize> {
    let mut start = 0;
    for name in place.split('/').skip(1) {
        let key = format!("\"{name}\":");
        start += line[start..].find(&key).unwrap() + key.len();
    }
    let mut values = serde_json::Deserializer::from_str(&line[start..]).into_iter::<Value>();
    values.next().unwrap().unwrap();
    start..start + values.byte_offset()
}

/// What a journal could be made to say.
fn nasty(outside: &Path) -> Vec<Value> {
    let deep = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(2),
        json!(1e308),
        json!(u64::MAX),
        json!([]),
        json!({}),
        deep(100),
        json!(""),
        json!("."),
        json!(".."),
        json!("/"),
        json!(outside.join("file")),
        json!(outside.join("new")),
        json!("../outside/file"),
        json!("../outside/new"),
        json!("src/../../outside/file"),
        json!("link/file"),
        json!("link/new"),
        json!("link"),
        json!(".txedit/id"),
        json!("src/.TXEDIT/id"),
        json!(".git/hooks/post-checkout"),
        json!("src/bystander.txt"),
        json!("src/bystander.txt/new"),
        json!("src"),
        json!("src//one.txt"),
        json!("src/one.txt/"),
        json!("a\0b"),
        json!("n".repeat(5000)),
        json!("a/".repeat(3000)),
        json!("000001"),
        json!("../000000"),
        json!("edit"),
        json!("create"),
        json!("delete"),
        json!("folder"),
        json!("7777"),
        json!("+644"),
        json!("0".repeat(64)),
        json!("Z".repeat(64)),
        json!("2e2e2f6f7574736964652f66696c65"),
        json!("9223372036854775807.999999999"),
        json!("20260101T000000.000000Z-0123456789abcdef"),
    ]
}

/// The first line of each kind, the header and the seal: what one entry of a kind can be made to do, they all can.
fn of_each_kind(lines: &[String]) -> Vec<usize> {
    let mut kinds = BTreeSet::new();
    let kind = |line: &str| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().map(str::to_owned);
    // From the end, since what is not swapped yet is what a recovery would touch.
    (0..lines.len()).rev().filter(|index| is_full() || kinds.insert((*index == 0, kind(&lines[*index])))).collect()
}

#[test]
fn whatever_a_journal_says_nothing_outside_is_touched() {
    on_tmpfs(|root| {
        let mut fresh = 0;
        let mut next = || {
            fresh += 1;
            Hot::new(&root.join(fresh.to_string()))
        };
        let mut hot = next();
        let (mut verified, mut refused) = (0, 0);
        let originals = lines(&hot.journal);
        for index in of_each_kind(&originals) {
            let mut found = Vec::new();
            places(&serde_json::from_str(&originals[index]).unwrap(), "", &mut found);
            for place in found {
                for value in nasty(&hot.outside) {
                    let told = format!("line {index}, {place:?} = {value:?}");
                    // Inodes and names are another transaction's each time.
                    let mut lines = lines(&hot.journal);
                    let at = span(&lines[index], &place);
                    lines[index].replace_range(at, &value.to_string());
                    let journal = chained(&lines);
                    if scan(&journal).is_err() {
                        refused += 1;
                        if refused % 16 == 0 {
                            hot.write(&journal);
                            hot.is_left_alone(&told);
                        }
                        continue;
                    }
                    verified += 1;
                    hot.write(&journal);
                    hot.recover(&told);
                    fs::remove_dir_all(hot.outside.parent().unwrap()).unwrap();
                    hot = next();
                }
            }
        }
        eprintln!("{verified} journals verified and were tried, {refused} were refused");
        assert!(verified > 50 && refused > 500, "{verified} {refused}");
    });
}

#[test]
fn a_journal_with_keys_twice_missing_or_unknown_is_refused() {
    on_tmpfs(|root| {
        let hot = Hot::new(&root.join("a"));
        let originals = lines(&hot.journal);
        let refused = |index: usize, line: String, told: &str| {
            let mut lines = originals.clone();
            lines[index] = line;
            let journal = chained(&lines);
            assert!(scan(&journal).is_err(), "line {index}: {told}");
            hot.write(&journal);
            hot.is_left_alone(told);
        };
        for (index, original) in originals.iter().enumerate() {
            let Value::Object(fields) = serde_json::from_str(original).unwrap() else { panic!() };
            for (name, value) in &fields {
                let twice = format!("{{\"{name}\":{value},{}", &original[1..]);
                refused(index, twice, &format!("{name} twice"));
                if name == "request" {
                    // It may be left out: an undo has none.
                    continue;
                }
                let at = span(original, &format!("/{name}"));
                let mut fewer = original.clone();
                fewer.replace_range(at.start - name.len() - 3..at.end, "");
                let fewer = fewer.replace(",,", ",").replace("{,", "{").replace(",}", "}");
                refused(index, fewer, &format!("without {name}"));
            }
            refused(index, format!("{{\"unknown\":1,{}", &original[1..]), "an unknown key");
            refused(index, format!("[{original}]"), "an array");
            refused(index, "[".repeat(30_000), "deep nesting");
            refused(index, original.replacen(':', &format!(":{}", "9".repeat(400)), 1), "a huge number");
        }
        // Lines that are there twice, missing, or elsewhere.
        for index in 0..originals.len() {
            let mut lines = originals.clone();
            lines.remove(index);
            assert!(scan(&chained(&lines)).is_err(), "without line {index}");
            let mut lines = originals.clone();
            lines.insert(index, originals[index].clone());
            assert!(scan(&chained(&lines)).is_err(), "line {index} twice");
        }
    });
}

#[test]
fn slots_that_are_no_plain_files_are_left_alone() {
    for what in ["symlink", "pipe", "folder", "symlinked journal"] {
        let scratch = tempfile::tempdir().unwrap();
        let hot = Hot::new(&scratch.path().join("a"));
        let count = lines(&hot.journal).len() - 2;
        let slots = (0..count).map(|n| hot.folder.join(format!("{n:06}")));
        let places: Vec<PathBuf> =
            if what == "symlinked journal" { vec![hot.folder.join("journal")] } else { slots.collect() };
        for (n, place) in places.iter().enumerate() {
            let aside = scratch.path().join(format!("aside-{n}"));
            if fs::rename(place, &aside).is_err() {
                continue;
            }
            match what {
                "symlink" => symlink(hot.outside.join("file"), place).unwrap(),
                "symlinked journal" => symlink(&aside, place).unwrap(),
                "folder" => fs::create_dir(place).unwrap(),
                _ => drop(mounts::run("mkfifo", [place]).unwrap()),
            }
        }
        hot.recover(what);
        // What stands in a slot is taken for what came out of the swap, and goes back to its name as it is. Not one of
        // the contents that stood at a target is gone for another reason.
        let now = hot.scene.now();
        for (path, node) in &hot.scene.old {
            let new = hot.scene.new.get(path);
            let came_out = !matches!(now.get(path), Some(Node::File { .. }) | None);
            let is_old_or_new = now.get(path) == Some(node) || now.get(path) == new;
            assert!(came_out || is_old_or_new, "{what}: {} is {:?}", path.display(), now.get(path));
        }
    }
}

#[test]
fn a_symlink_on_the_way_to_a_target_leads_nowhere() {
    for folder in ["src", "lib", "made"] {
        let scratch = tempfile::tempdir().unwrap();
        let mut hot = Hot::new(&scratch.path().join("a"));
        let (inside, outside) = (hot.scene.root.join(folder), hot.outside.join(folder));
        if inside.exists() {
            fs::rename(&inside, &outside).unwrap();
        } else {
            fs::create_dir(&outside).unwrap();
        }
        symlink(&outside, &inside).unwrap();
        hot.before = tree(&hot.outside);
        let recovered = engine(&hot.scene.root).recover(None, RecoverOptions::default());
        assert_eq!(tree(&hot.outside), hot.before, "{folder}: {recovered:?}");
        let links = hot.scene.now();
        assert_eq!(links.get(Path::new(folder)), Some(&Node::Other), "{folder}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_lines_at_all_make_the_scanner_panic(lines in proptest::collection::vec(".{0,200}", 0..6)) {
        let lines: Vec<String> = lines.into_iter().map(|line| line.replace('\n', "")).collect();
        prop_assert!(scan(&chained(&lines)).is_err());
    }

    #[test]
    fn no_bytes_at_all_make_the_scanner_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(scan(&bytes).is_err());
    }
}
