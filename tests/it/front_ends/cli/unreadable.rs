//! A newest entry of history that cannot be read, or is not ours: no older one is taken for it, nothing is done twice, and
//! it is listed until a person discards it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Workspace;
use super::agreed::all_exit;

/// Harms the entry of history in a folder.
type Harm = fn(&Path);

fn mark(entry: &Path) -> PathBuf {
    entry.join("journal.done")
}

fn cut(entry: &Path, keep: impl Fn(usize) -> usize) {
    let bytes = fs::read(mark(entry)).unwrap();
    fs::write(mark(entry), &bytes[..keep(bytes.len())]).unwrap();
}

/// A journal that is no longer readable as one.
const DAMAGES: [(&str, Harm); 10] = [
    ("empty, as a power cut leaves it after `--durability process`", |entry| cut(entry, |_| 0)),
    ("cut in its header", |entry| cut(entry, |_| 100)),
    ("cut in its seal", |entry| cut(entry, |all| all - 1)),
    ("with another byte", |entry| {
        let mut bytes = fs::read(mark(entry)).unwrap();
        bytes[30] ^= 0x55;
        fs::write(mark(entry), bytes).unwrap();
    }),
    ("gone", |entry| fs::remove_file(mark(entry)).unwrap()),
    ("of an unknown state", |entry| fs::rename(mark(entry), entry.join("journal.foo")).unwrap()),
    ("of another state", |entry| fs::rename(mark(entry), entry.join("journal.undo")).unwrap()),
    ("twice there", |entry| fs::copy(mark(entry), entry.join("journal")).map(drop).unwrap()),
    ("a symlink", |entry| {
        fs::rename(mark(entry), entry.join("elsewhere")).unwrap();
        symlink("elsewhere", mark(entry)).unwrap();
    }),
    ("a folder", |entry| {
        fs::remove_file(mark(entry)).unwrap();
        fs::create_dir(mark(entry)).unwrap();
    }),
];

/// What was not written here, or is not this user's alone.
const STRANGERS: [(&str, Harm); 3] = [
    ("a copy", |entry| {
        let original = entry.with_extension("original");
        fs::rename(entry, &original).unwrap();
        fs::create_dir(entry).unwrap();
        fs::set_permissions(entry, PermissionsExt::from_mode(0o700)).unwrap();
        for file in fs::read_dir(&original).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), entry.join(file.file_name())).unwrap();
        }
        fs::remove_dir_all(original).unwrap();
    }),
    ("writable for others", |entry| fs::set_permissions(entry, PermissionsExt::from_mode(0o777)).unwrap()),
    ("a file", |entry| {
        fs::remove_dir_all(entry).unwrap();
        fs::write(entry, "").unwrap();
    }),
];

/// Somebody else's, where this is run by root.
const OWNER: (&str, Harm) = ("of another owner", |entry| chown(entry, Some(1234), None).unwrap());

/// Every harm, and whether it is damage.
fn harms() -> Vec<(&'static str, Harm, bool)> {
    let owner = rustix::process::geteuid().is_root().then_some(OWNER);
    let damages = DAMAGES.into_iter().map(|(name, harm)| (name, harm, true));
    damages.chain(STRANGERS.into_iter().chain(owner).map(|(name, harm)| (name, harm, false))).collect()
}

/// A commit of `a`, then one of `b`, each with a key; the folder of the newest entry, and the id of the older one.
fn committed() -> (Workspace, PathBuf, String) {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\n").write("b", "one\n");
    let older = id(&apply(&here, "a", "K1").exits(0).json());
    let newest = id(&apply(&here, "b", "K2").exits(0).json());
    let entry = here.path().join(".txedit/history").join(newest);
    (here, entry, older)
}

fn apply(here: &Workspace, file: &str, key: &str) -> super::Ran {
    let edit = json!({ "file_path": file, "edits": [{ "old_string": "one", "new_string": "one two" }] });
    here.write("plan.json", &json!({ "idempotency_key": key, "files": [edit] }).to_string());
    here.run(&["apply", "plan.json", "--json"])
}

fn id(json: &Value) -> String {
    json["transaction_id"].as_str().unwrap_or_else(|| panic!("no id: {json}")).to_owned()
}

fn contents(here: &Workspace) -> [String; 2] {
    ["a", "b"].map(|name| fs::read_to_string(here.path().join(name)).unwrap())
}

#[track_caller]
fn refused(here: &Workspace, line: &[&str], name: &str, entry: &Path) {
    let before = contents(here);
    let json = here.run(&[line, &["--json"]].concat()).exits(6).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("RECOVERY_REQUIRED"), &json!("unchanged")), "{name}");
    let newest = entry.file_name().unwrap().to_str().unwrap();
    let told = format!("{}{}", json["error"], json["recovery_hint"]);
    assert!(told.contains(newest) && told.contains("--discard"), "{name}: {told}");
    assert_eq!(contents(here), before, "{name} {line:?}");
}

#[test]
fn an_undo_does_not_pass_over_what_it_cannot_read() {
    for (name, harm, _) in harms() {
        let (here, entry, older) = committed();
        harm(&entry);
        refused(&here, &["undo", "--dry-run"], name, &entry);
        refused(&here, &["undo"], name, &entry);
        refused(&here, &["undo", entry.file_name().unwrap().to_str().unwrap()], name, &entry);
        // Named, the older one can be reverted, and after that nothing is what a redo would take.
        here.run(&["undo", &older]).exits(0);
        assert_eq!(contents(&here), ["one\n", "one two\n"], "{name}");
        here.run(&["redo"]).exits(0);
        assert_eq!(contents(&here), ["one two\n", "one two\n"], "{name}");
    }
}

#[test]
fn a_redo_does_not_pass_over_an_undo_that_it_cannot_read() {
    for (name, harm, _) in harms() {
        let (here, entry, _) = committed();
        let undo = id(&here.run(&["undo", "--json"]).exits(0).json());
        let entry = entry.with_file_name(undo);
        harm(&entry);
        refused(&here, &["redo", "--dry-run"], name, &entry);
        refused(&here, &["redo"], name, &entry);
        refused(&here, &["undo"], name, &entry);
    }
}

#[test]
fn a_key_is_not_used_twice_where_its_transaction_cannot_be_read() {
    for (name, harm, _) in harms() {
        let (here, entry, _) = committed();
        harm(&entry);
        let again = || apply(&here, "b", "K2").exits(6).json();
        assert!(again()["error"].as_str().unwrap().contains("idempotency key \"K2\""), "{name}");
        assert_eq!(contents(&here), ["one two\n", "one two\n"], "{name}");
        // What can be read answers all the same, and what has no key hangs on nothing.
        assert_eq!(apply(&here, "a", "K1").exits(0).json()["already_applied"], true, "{name}");
        here.run(&["edit", "a", "--old", "one", "--new", "three"]).exits(0);
        // The way out.
        let newest = entry.file_name().unwrap().to_str().unwrap();
        here.run(&["recover", newest]).exits(6);
        here.run(&["recover", newest, "--discard"]).exits(0);
        assert!(here.path().join(".txedit/kept").join(newest).symlink_metadata().is_ok(), "{name}");
        assert_eq!(apply(&here, "b", "K2").exits(0).json()["already_applied"], Value::Null, "{name}");
    }
}

/// A backup of it came back twice.
#[test]
fn what_was_discarded_before_is_dropped_first() {
    let (here, entry, _) = committed();
    cut(&entry, |_| 0);
    let newest = entry.file_name().unwrap().to_str().unwrap();
    let kept = here.path().join(".txedit/kept").join(newest);
    fs::create_dir(&kept).unwrap();
    let discard = || here.run(&["recover", newest, "--discard", "--json"]);
    let json = discard().exits(6).json();
    assert_eq!(json["outcome"], "unchanged", "{json}");
    let drop = format!("txedit kept drop {newest}");
    assert!(json["recovery_hint"].as_str().unwrap().contains(&drop), "{json}");
    here.run(&["kept", "drop", newest]).exits(0);
    discard().exits(0);
    here.run(&["undo"]).exits(0);
}

#[test]
fn a_header_that_can_be_read_tells_its_key() {
    let (here, entry, _) = committed();
    cut(&entry, |all| all - 1);
    apply(&here, "a", "K3").exits(0);
    cut(&entry, |_| 0);
    apply(&here, "b", "K4").exits(6);
}

#[test]
fn what_cannot_be_read_is_listed_until_it_is_discarded() {
    for (name, harm, is_damage) in harms() {
        let (here, entry, older) = committed();
        harm(&entry);
        let newest = entry.file_name().unwrap().to_str().unwrap();
        let log = here.run(&["log", "--json"]).exits(0).json();
        let listed = |n: usize| log["transactions"][n]["transaction_id"].as_str();
        assert_eq!((listed(0), listed(1)), (Some(newest), Some(older.as_str())), "{name}");
        assert!(log["transactions"][0]["unreadable"].is_string(), "{name}: {log}");
        assert!(here.run(&["log"]).exits(0).stdout.contains(newest), "{name}");
        let status = here.run(&["status", "--json"]);
        let json = status.exits(if is_damage { 6 } else { 0 }).json();
        let told = if is_damage { &json["unreadable"] } else { &json["warnings"] };
        assert!(told.to_string().contains(newest), "{name}: {json}");
        let people = here.run(&["status"]);
        assert!(people.stdout.contains(newest) || people.stderr.contains(newest), "{name}: {people:?}");
        if is_damage {
            all_exit(&here, 6, newest, name);
        } else {
            here.run(&["recover"]).exits(0);
        }

        here.run(&["recover", newest, "--discard"]).exits(0);
        here.run(&["status"]).exits(0);
        assert_eq!(id(&here.run(&["log", "--json"]).exits(0).json()["transactions"][0]), older, "{name}");
        here.run(&["undo"]).exits(0);
        assert_eq!(contents(&here), ["one\n", "one two\n"], "{name}");
    }
}

#[test]
fn a_history_that_others_can_write_to_says_what_to_do() {
    let (here, entry, _) = committed();
    let history = entry.parent().unwrap();
    fs::set_permissions(history, PermissionsExt::from_mode(0o777)).unwrap();
    for line in [&["undo", "--json"][..], &["undo", "--dry-run", "--json"], &["redo", "--json"]] {
        let json = here.run(line).exits(5).json();
        let told = json["error"].as_str().unwrap();
        assert!(told.contains("chmod go-w") && told.contains(".txedit/history"), "{told}");
    }
    let ran = here.run(&["edit", "a", "--old", "one", "--new", "three"]);
    assert!(ran.exits(0).stderr.contains("chmod go-w"), "{ran:?}");
    assert!(!ran.stderr.contains("the next command will put that right"), "{ran:?}");
    fs::set_permissions(history, PermissionsExt::from_mode(0o700)).unwrap();
    here.run(&["undo"]).exits(0);
    assert_eq!(contents(&here), ["one two\n", "one two\n"]);
}

#[test]
fn what_cannot_be_read_as_an_open_transaction_is_told() {
    let here = Workspace::new();
    let plan = json!({ "files": [{ "file_path": "new", "content": "" }] });
    here.write("plan.json", &plan.to_string());
    let stages = || here.run(&["-q", "stage", "plan.json"]).exits(0).stdout.trim().to_owned();
    let stored = |id: &str| here.path().join(".txedit/open").join(id).join("transaction.json");
    let sound = stages();
    let status = || here.run(&["status", "--json"]).exits(0).json();
    assert_eq!(status().get("warnings"), None);
    let damages: [fn(&Path); 4] = [
        |file| fs::write(file, "").unwrap(),
        |file| fs::write(file, &fs::read(file).unwrap()[..60]).unwrap(),
        |file| {
            fs::remove_file(file).unwrap();
            symlink("elsewhere", file).unwrap();
        },
        |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
    ];
    let harmed: Vec<_> = damages
        .iter()
        .map(|damage| {
            let id = stages();
            damage(&stored(&id));
            here.path().join(".txedit/open").join(id)
        })
        .collect();
    let told = status();
    let warnings: Vec<_> = told["warnings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(warnings.len(), harmed.len(), "{told}");
    for path in &harmed {
        let shown = path.display().to_string();
        assert!(warnings.iter().any(|warning| warning.starts_with(&shown) && warning.ends_with("delete it")), "{told}");
        fs::remove_dir_all(path).unwrap();
    }
    // As it says, that is all that is to be done.
    assert_eq!(status().get("warnings"), None);
    here.run(&["commit", &sound]).exits(0);
}
