//! Files on several file systems: each loses what it loses by itself, and all of them are old or new.

use std::time::Duration;

use txedit::fs::sim::{SimFs, Volume};
use txedit::testing::Script;

use super::scripts::{creates, deletes, files, renames, replaces, request};
use super::{as_on_fuse, explore_once, file_by_file, scale};

/// The usual files, and two on a file system that is mounted among them.
fn mounted(machine: &SimFs, format: fn(&mut Volume)) {
    files(machine);
    machine.mount("/w/m").unwrap();
    machine.volume("/w/m", format).unwrap();
    machine.make_folders("/w/m/sub").unwrap();
    machine.create("/w/m/e", "e one\n").unwrap();
    machine.create("/w/m/sub/f", "f one\n").unwrap();
    machine.advance(Duration::from_secs(60));
}

fn script(name: &str) -> Script {
    Script::new(name, |machine| mounted(machine, |_| {}))
}

pub(crate) fn pair() -> Script {
    script("a pair on two").apply(request(vec![replaces("a", "one", "two"), replaces("m/e", "one", "two")]))
}

/// One that has no file on the file system of its journal.
fn elsewhere() -> Script {
    script("elsewhere").apply(request(vec![replaces("m/e", "one", "two"), deletes("m/sub/f")]))
}

pub(crate) fn three() -> Script {
    let files = vec![replaces("a", "one", "two"), creates("m/new/deep", "new two\n"), deletes("m/sub/f")];
    script("three on two").apply(request(files))
}

fn across() -> Script {
    script("across").apply(request(vec![renames("a", "m/moved"), renames("m/e", "came")]))
}

#[test]
fn files_on_two_file_systems_are_all_old_or_all_new_after_a_crash() {
    explore_once(&pair());
    explore_once(&elsewhere());
    explore_once(&three());
}

#[test]
fn files_that_move_to_another_file_system_are_old_or_new_after_a_crash() {
    explore_once(&across());
}

#[test]
fn what_two_file_systems_have_is_old_or_new_after_a_crash_in_an_undo() {
    explore_once(&pair().undo());
    if scale() > 1 {
        explore_once(&three().undo());
        explore_once(&across().undo());
    }
}

#[test]
fn a_check_of_two_file_systems_and_its_failure_are_old_or_new_after_a_crash() {
    let pair = || request(vec![replaces("a", "one", "two"), replaces("m/e", "one", "two")]);
    let passes = script("a check of two")
        .apply_checked(pair(), |machine| machine.write_in_place("/w/m/e", "formatted e\n").is_ok());
    let fails = script("a check of two that fails").apply_checked(pair(), |machine| {
        machine.write_in_place("/w/m/e", "formatted e\n").unwrap();
        false
    });
    explore_once(&passes);
    explore_once(&fails);
}

/// The other one cannot exchange names, or is synced file by file.
#[test]
fn two_kinds_of_file_systems_are_all_old_or_all_new_after_a_crash() {
    type Format = fn(&mut Volume);
    let formats: [(&str, Format); 3] = [
        ("renames", |volume| volume.exchange = false),
        ("links", |volume| (volume.exchange, volume.no_replace, volume.birth_times) = (false, false, false)),
        ("no whole sync", |volume| (volume.syncs_whole, volume.syncs_folders) = (false, false)),
    ];
    for (name, format) in formats {
        let script = Script::new("a pair on two", move |machine| mounted(machine, format)).named(name);
        let script = script.apply(request(vec![replaces("a", "one", "two"), replaces("m/e", "one", "two")]));
        explore_once(&if name == "no whole sync" { script } else { script.partly_stepwise() });
    }
    explore_once(&file_by_file(&pair()));
    explore_once(&as_on_fuse(&pair()));
}
