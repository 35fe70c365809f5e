//! Foreign programs at every point of a transaction, and crashes at every point after that.

use txedit::testing::{Deed, Explorer, Script};

use crate::explore::{scale, scripts, seeded};

/// Fewer crashes for each run: there are thousands of runs.
pub(crate) fn explorer() -> Explorer {
    seeded(Explorer { images: 6, images_in_recovery: 4, depth: 2, ..Explorer::default() })
}

/// All that somebody may do to a file that is `old` and becomes `new`.
pub(crate) fn deeds<'a>(path: &'a str, old: &str, new: &str) -> Vec<(&'a str, Deed)> {
    let same_size: String = new.chars().rev().collect();
    let contents = [old, new, &same_size, "somebody else's\n"];
    let mut deeds: Vec<_> = contents
        .iter()
        .flat_map(|content| [Deed::Write((*content).into()), Deed::Replace((*content).into())])
        .collect();
    deeds.extend([Deed::Delete, Deed::AppendToOld("late\n".into())]);
    deeds.into_iter().map(|deed| (path, deed)).collect()
}

/// All that somebody may do to a path at which `new` is to be created.
pub(crate) fn creations<'a>(path: &'a str, new: &str) -> Vec<(&'a str, Deed)> {
    let contents = [new, "somebody else's\n"];
    let mut deeds: Vec<_> = contents
        .iter()
        .flat_map(|content| {
            let content: Vec<u8> = (*content).into();
            [Deed::Create(content.clone()), Deed::Write(content.clone()), Deed::Replace(content)]
        })
        .collect();
    deeds.push(Deed::Delete);
    deeds.into_iter().map(|deed| (path, deed)).collect()
}

/// What somebody may do to the files of [`scripts::three`].
pub(crate) fn deeds_of_three() -> Vec<(&'static str, Deed)> {
    let mut all = deeds("/w/a", "a one\n", "a two\n");
    all.extend(deeds("/w/b", "b one\n", "b two\n"));
    all.extend(creations("/w/sub/new", "new two\n"));
    all
}

fn explore(script: &Script, deeds: &[(&str, Deed)], share: usize) {
    let started = std::time::Instant::now();
    let explorer = explorer();
    match explorer.explore_deeds(script, deeds, share.div_ceil(scale())) {
        Ok(found) => {
            eprintln!("{script:?} with foreign programs: {found}, in {:.1} s", started.elapsed().as_secs_f32());
        }
        Err(violation) => panic!("{script:?}, TXEDIT_EXPLORE_SEED={}:\n{violation}", explorer.seed),
    }
}

#[test]
fn an_edit() {
    explore(&scripts::edit(), &deeds("/w/a", "a one\n", "a two\n"), 9);
}

#[test]
fn a_create() {
    explore(&scripts::create(), &creations("/w/new", "new two\n"), 9);
}

#[test]
fn a_delete() {
    explore(&scripts::delete(), &deeds("/w/a", "a one\n", "a two\n"), 9);
}

#[test]
fn three() {
    explore(&scripts::three(), &deeds_of_three(), 60);
}

#[test]
fn a_new_folder() {
    let mut deeds = creations("/w/deep", "somebody's\n");
    deeds.extend(creations("/w/deep/theirs", "theirs\n"));
    deeds.extend(creations("/w/deep/er/new", "new two\n"));
    explore(&scripts::folder(), &deeds, 150);
}
