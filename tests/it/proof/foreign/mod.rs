//! Foreign programs at every point of a transaction, and crashes at every point after that.

pub(crate) mod late;
mod raced;
mod stepwise;
mod together;

use txedit::journal::Record;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::journal::recover::{Seen, is_new};
use txedit::testing::{Explorer, ForeignDeed, Script};

use crate::proof::explore::{scripts, seeded, share, so_far};

/// Fewer crashes for each run: there are thousands of runs.
pub(crate) fn explorer() -> Explorer {
    seeded(Explorer { images: 6, images_in_recovery: 4, depth: 2, ..Explorer::default() })
}

/// All that somebody may do to a file that is `old` and becomes `new`.
pub(crate) fn deeds<'a>(path: &'a str, old: &str, new: &str) -> Vec<(&'a str, ForeignDeed)> {
    let same_size: String = new.chars().rev().collect();
    let contents = [old, new, &same_size, "somebody else's\n"];
    let mut deeds: Vec<_> = contents
        .iter()
        .flat_map(|content| [ForeignDeed::Write((*content).into()), ForeignDeed::Replace((*content).into())])
        .collect();
    deeds.extend([
        ForeignDeed::Delete,
        ForeignDeed::AppendToOld("late\n".into()),
        ForeignDeed::AppendToNew("late\n".into()),
    ]);
    deeds.into_iter().map(|deed| (path, deed)).collect()
}

/// All that somebody may do to a path at which `new` is to be created.
pub(crate) fn creations<'a>(path: &'a str, new: &str) -> Vec<(&'a str, ForeignDeed)> {
    let contents = [new, "somebody else's\n"];
    let mut deeds: Vec<_> = contents
        .iter()
        .flat_map(|content| {
            let content: Vec<u8> = (*content).into();
            [ForeignDeed::Create(content.clone()), ForeignDeed::Write(content.clone()), ForeignDeed::Replace(content)]
        })
        .collect();
    deeds.extend([ForeignDeed::Delete, ForeignDeed::AppendToNew("late\n".into())]);
    deeds.into_iter().map(|deed| (path, deed)).collect()
}

/// What somebody may do to the files of [`scripts::three`].
pub(crate) fn deeds_of_three() -> Vec<(&'static str, ForeignDeed)> {
    let mut all = deeds("/w/a", "a one\n", "a two\n");
    all.extend(deeds("/w/b", "b one\n", "b two\n"));
    all.extend(creations("/w/sub/new", "new two\n"));
    all
}

pub(crate) fn explore(script: &Script, deeds: &[(&str, ForeignDeed)], full: usize) {
    let started = std::time::Instant::now();
    let explorer = explorer();
    match explorer.explore_deeds(script, deeds, share(full)) {
        Ok(found) => {
            let seconds = started.elapsed().as_secs_f32();
            eprintln!("{script:?} with foreign programs: {found}, in {seconds:.1} s; {} so far", so_far(&found));
        }
        Err(violation) => panic!("{script:?}, TXEDIT_EXPLORE_SEED={}:\n{violation}", explorer.seed),
    }
}

#[test]
fn an_edit_loses_nothing_that_others_write() {
    explore(&scripts::edit(), &deeds("/w/a", "a one\n", "a two\n"), 9);
}

#[test]
fn a_create_loses_nothing_that_others_write() {
    explore(&scripts::create(), &creations("/w/new", "new two\n"), 9);
}

#[test]
fn a_delete_loses_nothing_that_others_write() {
    explore(&scripts::delete(), &deeds("/w/a", "a one\n", "a two\n"), 9);
}

#[test]
fn a_commit_of_three_loses_nothing_that_others_write() {
    explore(&scripts::three(), &deeds_of_three(), 60);
}

#[test]
fn a_new_folder_loses_nothing_that_others_write() {
    let mut deeds = creations("/w/deep", "somebody's\n");
    deeds.extend(creations("/w/deep/theirs", "theirs\n"));
    deeds.extend(creations("/w/deep/er/new", "new two\n"));
    explore(&scripts::folder(), &deeds, 150);
}

/// All that somebody may do to a file's mode, owner and attributes.
pub(crate) fn permissions(path: &str) -> Vec<(&str, ForeignDeed)> {
    let deeds = [
        ForeignDeed::Chmod(0o600),
        ForeignDeed::Chown(7, 8),
        ForeignDeed::SetAttribute("user.theirs".into(), b"theirs".to_vec()),
        ForeignDeed::RemoveAttribute(scripts::ATTRIBUTE.into()),
    ];
    deeds.into_iter().map(|deed| (path, deed)).collect()
}

#[test]
fn permissions_that_others_give_an_edited_file_are_kept() {
    explore(
        &scripts::attributed().apply(scripts::request(vec![scripts::replaces("a", "one", "two")])),
        &permissions("/w/a"),
        3,
    );
}

#[test]
fn permissions_that_others_give_two_of_three_files_are_kept() {
    let mut deeds = permissions("/w/a");
    deeds.extend(permissions("/w/b"));
    explore(&scripts::three_attributed(), &deeds, 90);
}

#[test]
fn permissions_that_others_give_beside_a_check_that_fails_are_kept() {
    let files = vec![scripts::replaces("a", "one", "two"), scripts::deletes("b")];
    let script = scripts::attributed().apply_checked(scripts::request(files), |_| false);
    let mut deeds = permissions("/w/a");
    deeds.extend(permissions("/w/b"));
    explore(&script, &deeds, 90);
}

#[test]
fn a_write_whose_time_is_set_back_is_not_lost() {
    let deeds = [
        ("/w/a", ForeignDeed::WriteKeepingTime(b"a six\n".to_vec())),
        ("/w/b", ForeignDeed::WriteKeepingTime(b"b six\n".to_vec())),
    ];
    explore(&scripts::three(), &deeds, 24);
}

#[test]
fn a_folder_that_others_move_is_noticed() {
    let deeds = [("/w/sub", ForeignDeed::MoveFolder("/w/elsewhere".into()))];
    explore(&scripts::three(), &deeds, 12);
    let edits_both =
        scripts::request(vec![scripts::replaces("a", "one", "two"), scripts::replaces("sub/d", "one", "two")]);
    explore(&scripts::script("one in a folder").apply(edits_both), &deeds, 12);
}

/// Another program puts a file of its own in the place of the one that is edited, with the bytes that it is to become.
fn the_same_bytes() -> Vec<(&'static str, ForeignDeed)> {
    vec![("/w/a", ForeignDeed::Replace(b"a two\n".to_vec()))]
}

#[test]
fn a_file_of_others_with_the_new_bytes_is_not_deleted() {
    explore(&scripts::edit(), &the_same_bytes(), 5);
}

fn edit_that_fails_its_check() -> Script {
    let request = scripts::request(vec![scripts::replaces("a", "one", "two")]);
    scripts::script("an edit that fails its check").apply_checked(request, |_| false)
}

#[test]
fn files_that_are_deleted_for_their_bytes_alone_are_noticed() {
    let by_bytes = |record: &Record, seen: Seen| match (seen, record.change.staged()) {
        (Seen::File { digest, mode, access, .. }, Some(staged)) => {
            is_new(record, Seen::File { digest, mode, access, identity: *staged })
        }
        _ => is_new(record, seen),
    };
    let protocol: &'static Protocol = Box::leak(Box::new(Protocol { is_new: by_bytes, ..PROTOCOL }));
    // Beside a check that fails: an interrupted edit that does not know its original deletes nothing by bytes or inode.
    match explorer().explore_deeds(&edit_that_fails_its_check().protocol(protocol), &the_same_bytes(), 1) {
        Ok(found) => panic!("not noticed: {found}"),
        Err(violation) => eprintln!("noticed:\n{violation}"),
    }
}
