//! What must be true of a disk after a power cut, once the file system and then the engine have recovered.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::cut::{Cut, Player, cuts};
use super::dice::Dice;
use super::disk::{Blocks, Event, Shelf};
use super::system::{Mounted, System};
use super::tree::{Tree, differences, everything, files};
use super::work::{Recording, Step, report};

/// What was seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// Disks after a power cut.
    pub(super) images: usize,
    /// Disks after a second one, during the recovery.
    pub(super) second: usize,
    /// Of the first ones, those on which a transaction was under way and ended so.
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) violations: Vec<Violation>,
}

/// A broken promise.
#[derive(Debug, Clone)]
pub(super) struct Violation {
    pub(super) kind: Broken,
    pub(super) detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// The file system itself did not come back.
    FileSystem,
    /// Reported as done, and not there.
    Lost,
    /// Neither all-old nor all-new.
    Mixed,
    /// Something was left in `txn/`, or recovery wanted a person.
    Unfinished,
    /// A second recovery changed something.
    Unstable,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { images, second, old, new, violations } = self;
        write!(f, "{images} images and {second} after a second cut in the recovery, ")?;
        write!(f, "{old} all-old and {new} all-new of a transaction under way, {} violations", violations.len())
    }
}

/// Which trees a recovery may leave.
#[derive(Debug, Clone, Copy)]
struct Allowed<'a> {
    /// Reported as done; the files as they are before `next`, too.
    last: &'a Step,
    next: Option<&'a Step>,
}

/// How a tree fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fits {
    Old,
    New,
}

impl Allowed<'_> {
    fn fits(&self, found: &Tree) -> Result<Fits, String> {
        let (old, loose) = self.next.map_or((&self.last.new, None), |next| (&next.old, next.loose.as_deref()));
        let from_old = differences(old, found, loose);
        if from_old.is_empty() {
            return Ok(Fits::Old);
        }
        let Some(next) = self.next else { return Err(format!("not as reported: {from_old:?}")) };
        let from_new = differences(&next.new, found, None);
        if from_new.is_empty() {
            return Ok(Fits::New);
        }
        Err(format!("not old: {from_old:?}, not new: {from_new:?}"))
    }

    /// Whether something that the last reported transaction did is not there, nor what came after it.
    fn lost(&self, found: &Tree) -> bool {
        let Step { old, new, .. } = self.last;
        let is_or_may_be = |path: &Path| {
            let there = found.get(path);
            there == new.get(path)
                || self.next.is_some_and(|next| there == next.new.get(path) || next.loose.as_deref() == Some(path))
        };
        differences(old, new, None).iter().any(|path| !is_or_may_be(Path::new(path)))
    }
}

/// Cuts the power `count` times during a recording, and looks at what comes of it; `enough` ends it early.
pub(super) fn check(
    shelf: &mut Shelf,
    system: System,
    recording: &Recording,
    count: usize,
    dice: &mut Dice,
    enough: fn(&Tally) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    let mut player = Player::new(recording.base.clone(), &recording.log);
    for cut in cuts(&recording.log, recording.start, count, dice) {
        let reported = marks(&recording.log[recording.start..cut.at]);
        let blocks = player.after(cut, dice);
        let first = Step { old: Tree::new(), new: recording.steps[0].old.clone(), loose: None };
        let last = reported.checked_sub(1).map_or(&first, |last| &recording.steps[last]);
        let allowed = Allowed { last, next: recording.steps.get(reported) };
        tally.images += 1;
        let again = tally.images.is_multiple_of(3);
        if let Err(mut violation) = image(shelf, system, &blocks, allowed, again, &mut tally, dice) {
            violation.detail = format!(
                "{system:?}, event {} of {}, {:?}: {}",
                cut.at,
                recording.log.len(),
                cut.left,
                violation.detail
            );
            keep(&blocks, system, &violation, tally.violations.len());
            tally.violations.push(violation);
        }
        if enough(&tally) {
            break;
        }
    }
    tally
}

fn marks(log: &[Event]) -> usize {
    log.iter().filter(|event| matches!(event, Event::Mark)).count()
}

/// Keeps a disk for somebody to look at, where a folder for that is named.
fn keep(blocks: &Blocks, system: System, violation: &Violation, number: usize) {
    if let Some(folder) = std::env::var_os("TXEDIT_TEST_POWER_KEEP") {
        let name = format!("{system:?}-{number}-{:?}.img", violation.kind);
        blocks.save(&Path::new(&folder).join(name), system.size()).unwrap();
    }
}

/// Mounts one disk, recovers, looks; then, perhaps, cuts the power during that recovery, and the same again.
fn image(
    shelf: &mut Shelf,
    system: System,
    blocks: &Blocks,
    allowed: Allowed<'_>,
    again: bool,
    tally: &mut Tally,
    dice: &mut Dice,
) -> Result<(), Violation> {
    let (fits, log) = recovered(shelf, system, blocks, allowed)?;
    // Whether the next one had begun cannot be told from its files alone: all-old stands for both.
    match fits {
        Fits::Old => tally.old += 1,
        Fits::New => tally.new += 1,
    }
    if !again {
        return Ok(());
    }
    let mut player = Player::new(blocks.clone(), &log);
    let chosen = cuts(&log, 0, 4, dice);
    let Cut { at, left } = dice.pick(&chosen);
    let second = player.after(Cut { at, left }, dice);
    tally.second += 1;
    let in_recovery = |mut violation: Violation| {
        violation.detail = format!("second cut, event {at} of {}, {left:?}: {}", log.len(), violation.detail);
        violation
    };
    let (then, _) = recovered(shelf, system, &second, allowed).map_err(in_recovery)?;
    if marks(&log[..at]) > 0 && then != fits {
        let detail = format!("the recovery had reported {fits:?}, and after the cut it is {then:?}");
        return Err(in_recovery(Violation { kind: Broken::Lost, detail }));
    }
    Ok(())
}

/// Mounts a disk, recovers twice, and looks; answers how it fits, and what the disk was told up to the first report.
fn recovered(
    shelf: &mut Shelf,
    system: System,
    blocks: &Blocks,
    allowed: Allowed<'_>,
) -> Result<(Fits, Vec<Event>), Violation> {
    let broken = |kind, detail| Violation { kind, detail };
    let disk = shelf.serve(blocks.clone(), system.size());
    let mounted = Mounted::new(&disk).map_err(|reason| broken(Broken::FileSystem, reason))?;
    let root = mounted.root();
    let unreadable = |error: io::Error| broken(Broken::FileSystem, error.to_string());
    let result = (|| {
        let unfinished = |answer| broken(Broken::Unfinished, answer);
        let answer = report(root, &disk, &["recover"]).map_err(unfinished)?;
        let log = disk.log();
        let found = files(root).map_err(unreadable)?;
        let fits = allowed.fits(&found).map_err(|detail| {
            let lost = allowed.lost(&found);
            broken(if lost { Broken::Lost } else { Broken::Mixed }, format!("{detail}; {answer}"))
        })?;
        let left: Vec<_> = match fs::read_dir(root.join(".txedit/txn")) {
            Ok(entries) => entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<_>>(),
            Err(error) => Err(error),
        }
        .map_err(unreadable)?;
        if !left.is_empty() {
            return Err(broken(Broken::Unfinished, format!("{left:?} in txn/; {answer}")));
        }
        let before = everything(root).map_err(unreadable)?;
        let second = report(root, &disk, &["recover"]).map_err(unfinished)?;
        let changed = differences(&before, &everything(root).map_err(unreadable)?, None);
        if !changed.is_empty() {
            return Err(broken(Broken::Unstable, format!("{changed:?}; {answer}; {second}")));
        }
        Ok((fits, log))
    })();
    drop(mounted);
    shelf.forget(&disk);
    result
}
