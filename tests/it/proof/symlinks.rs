//! Symlinks beside other programs, checks, faults and crashes.

use txedit::fs::sim::SimFs;
use txedit::testing::{Explorer, ForeignDeed};

use crate::proof::explore::{as_on_fuse, explore_once, file_by_file, scripts, seeded};
use crate::proof::foreign::explore;

/// All that somebody may do to a symlink itself, beside following it.
fn deeds(path: &str) -> Vec<(&str, ForeignDeed)> {
    let theirs = |target: &str| [ForeignDeed::Symlink(target.into()), ForeignDeed::SymlinkKeepingTime(target.into())];
    // `c` is as long as the targets of the scripts: neither size nor time tells it.
    let mut deeds: Vec<_> = ["c", "b", "theirs"].into_iter().flat_map(theirs).collect();
    deeds.extend([ForeignDeed::Delete, ForeignDeed::Replace(b"somebody else's\n".to_vec())]);
    // A file with the target as its content.
    deeds.push(ForeignDeed::Replace(b"b".to_vec()));
    deeds.into_iter().map(|deed| (path, deed)).collect()
}

#[test]
fn symlinks_are_old_or_new_after_a_crash_and_so_is_the_undo() {
    explore_once(&scripts::retarget());
    explore_once(&file_by_file(&scripts::retarget()));
    explore_once(&as_on_fuse(&scripts::retarget()));
    explore_once(&scripts::retarget().undo());
    explore_once(&scripts::links_replaced().undo());
}

#[test]
fn all_kinds_of_symlinks_and_their_undo_are_old_or_new_after_a_crash() {
    explore_once(&scripts::symlinks().undo());
    explore_once(&as_on_fuse(&scripts::symlinks()));
    explore_once(&scripts::symlinks().contended());
}

#[test]
fn a_retarget_loses_nothing_that_others_link() {
    explore(&scripts::retarget(), &deeds("/w/to-a"), 9);
}

#[test]
fn nothing_that_others_link_is_lost() {
    let mut all = deeds("/w/new");
    for path in ["/w/dangling", "/w/moved", "/w/b"] {
        all.extend(deeds(path));
    }
    explore(&scripts::symlinks(), &all, 200);
    explore(&scripts::links_replaced(), &deeds("/w/to-sub"), 60);
}

#[test]
fn a_check_decides_about_symlinks_whenever_it_crashes() {
    explore_once(&scripts::symlinks_checked(|_| true).named("a check that passes"));
    explore_once(&scripts::symlinks_checked(|_| false).named("a check that fails"));
    let relinks = |machine: &SimFs| {
        drop((machine.delete("/w/new"), machine.symlink("theirs", "/w/new")));
        drop((machine.delete("/w/moved"), machine.symlink("theirs", "/w/dangling")));
        false
    };
    explore_once(&scripts::symlinks_checked(relinks).named("a check that links"));
}

#[test]
fn the_promise_holds_whatever_call_about_symlinks_or_files_given_away_fails() {
    let explorer = seeded(Explorer { images: 4, images_in_recovery: 4, depth: 1, ..Explorer::default() });
    for script in [scripts::symlinks(), scripts::taken()] {
        for injected in [explorer.inject(&script, None, 2), explorer.inject_into_recovery(&script, 64)] {
            let injected = injected.unwrap_or_else(|violation| panic!("{script:?}:\n{violation}"));
            assert!(injected.faults > 50, "{injected}");
        }
    }
}
