//! Commits beside a program that is quicker than a sync: edits are swapped before their contents are durable.

use txedit::testing::{Acts, Explored, Explorer, Foreign, ForeignDeed, Script, Violation};
use txedit::{Engine, ErrorKind};

use super::{as_on_fuse, explore, explore_once, scripts, seeded, so_far};
use crate::proof::foreign;
use crate::support::workspace::running;

fn all() -> [Script; 6] {
    [
        scripts::edit(),
        scripts::pair(),
        scripts::three(),
        scripts::twice(),
        scripts::edit_and_undo(),
        scripts::edit().cold().named("cold"),
    ]
    .map(Script::contended)
}

#[test]
fn crashes_roll_everything_back() {
    for script in all() {
        explore(&script);
    }
}

#[test]
fn crashes_on_fuse_leave_old_or_new() {
    for script in all() {
        explore_once(&as_on_fuse(&script));
    }
}

/// The same script, after each crash of which `/w/a` must not hold a part of a new content. For programs that write no
/// file in place: what they write there and do not sync a power loss may take.
fn whole(script: &Script) -> Script {
    script.clone().contended().witness(is_whole)
}

fn is_whole(engine: &Engine, _: Acts) -> Result<(), String> {
    let looks = scripts::request(vec![scripts::chmods("a")]).dry_run(true).include_content(true);
    let content = match engine.apply(&looks, running()) {
        Ok(report) => report.files[0].extras.content.clone().unwrap_or_default(),
        // Somebody deleted it, or a person must decide.
        Err(error) if matches!(error.kind(), ErrorKind::FileNotFound | ErrorKind::RecoveryRequired) => return Ok(()),
        Err(error) => return Err(format!("a cannot be read: {error}")),
    };
    let text = String::from_utf8_lossy(&content);
    if !text.contains("two") || ["a two\n", "a two\nmore\n"].contains(&&*text) {
        return Ok(());
    }
    Err(format!("a is not what anybody made of it: {text:?}"))
}

/// What a program does that keeps writing: the place of the edit stays, or goes.
fn deeds<'a>(path: &'a str, content: &str) -> Vec<(&'a str, ForeignDeed)> {
    let longer: Vec<u8> = format!("{content}more\n").into();
    let other: Vec<u8> = format!("{content}x\n").into();
    let gone = || b"somebody else's\n".to_vec();
    let contents = [
        ForeignDeed::Write(longer.clone()),
        ForeignDeed::Replace(longer),
        ForeignDeed::Write(gone()),
        ForeignDeed::Replace(gone()),
    ];
    let late = [ForeignDeed::AppendToOld("late\n".into()), ForeignDeed::AppendToNew("late\n".into())];
    let others = [ForeignDeed::WriteKeepingTime(other), ForeignDeed::Delete, ForeignDeed::Chmod(0o600)];
    contents.into_iter().chain(late).chain(others).map(|deed| (path, deed)).collect()
}

/// Another file comes to `/w/a` between barrier one and the swap, with the place of the edit in it: the content is made
/// anew, and nothing of that is durable yet when it is swapped.
pub(crate) fn made_anew(script: &Script) -> Result<Explored, Violation> {
    let explorer = seeded(Explorer { images_in_recovery: 4, depth: 1, ..Explorer::default() });
    let (script, calls) = (whole(script), Explorer::calls(&script.clone().contended())?);
    let mut found = Explored::default();
    for call in (calls / 2 - 2..=calls / 2 + 2).step_by(2) {
        let deed = ForeignDeed::Replace(b"a one\nmore\n".to_vec());
        found += explorer.explore_with(&script, &[Foreign { call, path: "/w/a".into(), deed }])?;
    }
    Ok(found)
}

#[test]
fn a_content_that_is_made_anew_is_never_torn() {
    let found = made_anew(&scripts::edit()).unwrap_or_else(|violation| panic!("{violation}"));
    eprintln!("made anew: {found}; {} so far", so_far(&found));
}

#[test]
fn another_program_at_every_step_loses_nothing() {
    foreign::explore(&scripts::edit().contended(), &deeds("/w/a", "a one\n"), 90);
    let mut both = deeds("/w/a", "a one\n");
    both.extend(deeds("/w/b", "b one\n"));
    foreign::explore(&scripts::pair().contended(), &both, 390);
}
