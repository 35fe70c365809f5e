//! Names that change places step by step, on a file system that cannot exchange two of them.

use txedit::fs::sim::Volume;
use txedit::testing::Script;

use super::{explore_once, file_by_file, scale, scripts};

/// A rename can refuse to replace, and no more.
fn renames(volume: &mut Volume) {
    volume.exchange = false;
}

/// A file can have a second name, and no rename refuses to replace.
fn links(volume: &mut Volume) {
    (volume.exchange, volume.no_replace) = (false, false);
}

/// The same script on both, with and without birth times: without them a proof outside the workspace stands for them.
pub(crate) fn step_by_step(script: &Script) -> [Script; 4] {
    let renames = script.clone().on(renames).named("renames");
    let links = script.clone().on(links).named("links");
    let no_births = |script: &Script| script.clone().on(|volume| volume.birth_times = false).named("no birth times");
    [no_births(&renames), no_births(&links), renames, links]
}

/// The most different two of them, or all in a long run.
fn kinds(script: &Script) -> Vec<Script> {
    let [renames_unborn, links_unborn, renames, links] = step_by_step(script);
    if scale() > 1 { vec![renames_unborn, links_unborn, renames, links] } else { vec![renames, links_unborn] }
}

fn explore_each(script: &Script) {
    for script in kinds(script) {
        explore_once(&script);
    }
}

#[test]
fn one_file_is_old_or_new_after_a_crash() {
    for script in [scripts::edit(), scripts::create(), scripts::delete(), scripts::mode(), scripts::with_metadata()] {
        explore_each(&script);
    }
}

#[test]
fn several_files_are_all_old_or_all_new_after_a_crash() {
    for script in [scripts::pair(), scripts::three(), scripts::rename(), scripts::change_places(), scripts::twice()] {
        explore_each(&script);
    }
}

#[test]
fn folders_are_old_or_new_after_a_crash() {
    let scripts = [
        scripts::folder(),
        scripts::file_to_folder(),
        scripts::folder_to_file(),
        scripts::folders_made(),
        scripts::folders_removed(),
        scripts::folder_to_link(),
    ];
    for script in scripts {
        explore_each(&script);
    }
}

#[test]
fn an_undo_is_old_or_new_after_a_crash() {
    let all = [scripts::edit_and_undo(), scripts::file_and_folder().undo(), scripts::folders_made().undo()];
    for script in all {
        explore_each(&script);
    }
}

#[test]
fn a_check_and_its_failure_are_old_or_new_after_a_crash() {
    let passes = scripts::three_checked(|machine| machine.write_in_place("/w/a", "formatted a\n").is_ok());
    let fails = scripts::three_checked(|machine| {
        machine.write_in_place("/w/a", "formatted a\n").unwrap();
        false
    });
    for script in [passes.named("a formatter"), fails.named("fails")] {
        explore_each(&script);
    }
}

/// As on FUSE: each file and folder is synced by itself.
#[test]
fn file_by_file_they_are_old_or_new_after_a_crash() {
    for script in [scripts::edit(), scripts::three(), scripts::edit_and_undo(), scripts::edit().cold()] {
        for script in kinds(&script) {
            explore_once(&super::as_on_fuse(&script));
            explore_once(&file_by_file(&script));
        }
    }
}
