//! Judges whether an act, its check and the acts of others had an effect that they have one after the other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data::{Ask, ScenarioAct, ScenarioDeed, ScenarioTerms};
use super::judge::Judged;
use super::look::differences;
use super::outcome::moves;
use super::run::{EITHER_WAY, ScenarioAnswer, ScenarioWorld};
use crate::engine::Decision;
use crate::engine::report::{Operation, Report};
use crate::fs::FileKind;
use crate::testing::check::told;
use crate::testing::run::lock;
use crate::testing::world::UserFiles;

/// The same act with a check that performs these deeds, too: before each of its own, or after all of them.
fn beside_the_check(act: &ScenarioAct, deeds: &[ScenarioDeed]) -> Vec<ScenarioAct> {
    let (ScenarioAct::Apply(_, ScenarioTerms { check: Some(gate), .. }) | ScenarioAct::Commit(_, Some(gate))) = act
    else {
        return Vec::new();
    };
    let with_deeds = |at: usize| {
        let mut act = act.clone();
        if let ScenarioAct::Apply(_, ScenarioTerms { check: Some(gate), .. }) | ScenarioAct::Commit(_, Some(gate)) =
            &mut act
        {
            gate.deeds.splice(at..at, deeds.iter().cloned());
        }
        act
    };
    (0..=gate.deeds.len()).map(with_deeds).collect()
}

/// Returns whether the files are the result of the act, its check and the deeds in some serial order.
pub(super) fn is_serial(
    start: &ScenarioWorld,
    act: &ScenarioAct,
    deeds: &[ScenarioDeed],
    files: &UserFiles,
    is_due: bool,
) -> Judged {
    let mut wrong = Vec::new();
    if is_due {
        // The interrupted transaction may have been recovered before all of them, or after one that made it go another
        // way.
        for way in EITHER_WAY {
            let mut recovered = start.fork();
            recovered.recover(way);
            keep_emptied(&recovered, &start.look().files, deeds);
            if is_serial(&recovered, act, deeds, files, false).is_ok() {
                return Ok(());
            }
        }
    }
    for place in (0..=deeds.len()).rev() {
        for keeps_emptied in [true, false] {
            match is_as_after(start, act, deeds.split_at(place), files, keeps_emptied) {
                Ok(()) => return Ok(()),
                Err(how) => wrong.push(format!("after {place} foreign acts {how}")),
            }
        }
        for later in place + 1..=deeds.len() {
            let outside = (&deeds[..place], &deeds[later..]);
            let acts = beside_the_check(act, &deeds[place..later]);
            if acts.iter().any(|act| is_as_after(start, act, outside, files, true).is_ok()) {
                return Ok(());
            }
        }
    }
    Err(format!("acknowledged, and not what the two do one after the other: {}", wrong.join("; ")))
}

/// Returns whether the act followed a recovery that reports changes of others which it could not roll back: those may
/// have come after it, or before it into what was there.
pub(super) fn is_around_left(
    start: &ScenarioWorld,
    act: &ScenarioAct,
    deeds: &[ScenarioDeed],
    (answer, files): (&ScenarioAnswer, &UserFiles),
) -> bool {
    let (ScenarioAnswer::Report(Report { warnings, .. }) | ScenarioAnswer::Staged(warnings)) = answer else {
        return false;
    };
    let parts = warnings.iter().flat_map(|warning| warning.split("; "));
    let left: BTreeSet<&str> = parts.filter_map(|part| Some(part.split_once(" is not as it was: ")?.0)).collect();
    let others: Vec<ScenarioDeed> =
        deeds.iter().filter(|deed| !deed.paths().iter().any(|path| left.contains(path.as_str()))).cloned().collect();
    let as_in = |files: &UserFiles| -> Vec<ScenarioDeed> {
        let there = left.iter().filter_map(|path| Some((*path, files.get(Path::new(path))?)));
        let written = there.flat_map(|(path, entry)| {
            let text = String::from_utf8_lossy(&entry.content).into_owned();
            let path = || path.to_owned();
            [ScenarioDeed::Delete(path()), ScenarioDeed::Create(path(), text), ScenarioDeed::Chmod(path(), entry.mode)]
        });
        written.collect()
    };
    let is_serial_after = |way: Decision, written: &[ScenarioDeed], deeds: &[ScenarioDeed]| {
        let mut recovered = start.fork();
        recovered.recover(way);
        for deed in written {
            lock(&recovered.foreigners).act(&recovered.machine, deed, false);
        }
        is_serial(&recovered, act, deeds, files, false).is_ok()
    };
    let (as_left, as_found) = (as_in(files), as_in(&start.look().files));
    !left.is_empty()
        && EITHER_WAY
            .iter()
            .any(|way| is_serial_after(*way, &as_left, &others) || is_serial_after(*way, &as_found, deeds))
}

/// Returns whether the act affected only the other files, because others moved a file that was already as requested,
/// and so was only read: possibly to the place of another, and away again before that was read.
pub(super) fn is_beside_moved(
    start: &ScenarioWorld,
    act: &ScenarioAct,
    deeds: &[ScenarioDeed],
    (answer, files): (&ScenarioAnswer, &UserFiles),
) -> bool {
    let (ScenarioAnswer::Report(report), ScenarioAct::Apply(asks, terms)) = (answer, act) else { return false };
    let is_moved = |path: &str| deeds.iter().any(|deed| moves(deed) && deed.paths().iter().any(|moved| moved == path));
    let is_unchanged = |path: &str| {
        report.files.iter().any(|file| file.operation == Operation::None && *file.path == *Path::new(path))
    };
    let is_out = |ask: &&Ask| !ask.paths().into_iter().any(|path| is_moved(path) && is_unchanged(path));
    let changed: Vec<Ask> = asks.iter().filter(is_out).cloned().collect();
    changed.len() < asks.len()
        && is_serial(start, &ScenarioAct::Apply(changed, terms.clone()), deeds, files, false).is_ok()
}

/// Returns whether the files are the result of some deeds, the act, and the other deeds.
fn is_as_after(
    start: &ScenarioWorld,
    act: &ScenarioAct,
    (before, after): (&[ScenarioDeed], &[ScenarioDeed]),
    files: &UserFiles,
    keeps_emptied: bool,
) -> Judged {
    let mut fork = start.fork();
    let others = |fork: &ScenarioWorld, deeds: &[ScenarioDeed]| {
        for deed in deeds {
            lock(&fork.foreigners).act(&fork.machine, deed, false);
        }
    };
    others(&fork, before);
    let had = Arc::clone(&fork.look().files);
    if fork.call(act).is_err() {
        return Err("it is refused".to_owned());
    }
    if keeps_emptied {
        keep_emptied(&fork, &had, after);
    }
    others(&fork, after);
    let expected = Arc::clone(&fork.look().files);
    // An empty folder that only one of the two would have removed is harmless.
    let is_folder =
        |files: &UserFiles, path: &PathBuf| files.get(path).is_none_or(|entry| entry.kind == FileKind::Folder);
    let wrong = |path: &&PathBuf| !(is_folder(&expected, path) && is_folder(files, path));
    let Some(path) = differences(&expected, files).into_iter().find(wrong) else { return Ok(()) };
    let (is, should) = (told(files, path), told(&expected, path));
    Err(format!("{} should be {should}, and is {is}", path.display()))
}

/// Keeps a folder that is removed last: it was still there, emptied, when others exchanged it or put something into it.
fn keep_emptied(world: &ScenarioWorld, had: &UserFiles, deeds: &[ScenarioDeed]) {
    let paths = deeds.iter().flat_map(ScenarioDeed::paths).map(PathBuf::from);
    let mut folders: BTreeSet<_> =
        paths.flat_map(|path| path.ancestors().map(Path::to_owned).collect::<Vec<_>>()).collect();
    folders.retain(|path| had.get(path).is_some_and(|entry| entry.kind == FileKind::Folder));
    for folder in folders {
        lock(&world.foreigners).act(&world.machine, &ScenarioDeed::Mkdir(folder.display().to_string()), false);
    }
}
