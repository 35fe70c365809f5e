//! Recovery: scan, decide, do, report.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::barrier;
use super::execute::{self, Undone, mark_word};
use super::history;
use super::hot::{self, Standing};
use super::lock::{Locks, Patience};
use super::private::Refusal;
use super::report::Recovered;
use super::state::{Section, State, list_ids, open_transaction};
use super::transaction::Transaction;
use super::trash::{self, Goes};
use super::{Decision as Wish, RecoverOptions, Run, sweep};
use crate::commit::step::Step;
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::fs::{Fs, Handle, Stat};
use crate::identity::Identity;
use crate::journal::recover::{Class, Decision};
use crate::journal::{Beginning, Journal, Mark, slot_name};

/// How often a decision is taken anew where somebody else keeps writing.
const TRIES: usize = 8;

/// Recovers one transaction. What cannot be recovered is left as it is, and the answer says why.
pub(super) fn recover_one(
    fs: &dyn Fs,
    state: &State,
    id: &str,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
) -> Result<Recovered> {
    let (standing, folder) = hot::examine(fs, state, id, &|doubt| dismisses(options, doubt))?;
    let journal = match actionable(standing) {
        Ok((journal, _)) => journal,
        Err(Left::Running) => return running(fs, state, id),
        Err(left) => return Ok(left.into_report(id)),
    };
    // The lock on its folder comes last, after those of its targets, as in a commit.
    drop(folder);
    let (locks, parents) = lock_targets(fs, state, id, &journal, patience)?;
    let (standing, folder) = hot::examine(fs, state, id, &|doubt| dismisses(options, doubt))?;
    let (journal, mark) = match actionable(standing) {
        Ok(actionable) => actionable,
        Err(Left::Running) => return running(fs, state, id),
        Err(left) => return Ok(left.into_report(id)),
    };
    let Some(folder) = folder else { return running(fs, state, id) };
    let incomplete = BTreeSet::new();
    let uncertain = mark == Mark::Contended;
    let leaving = OnceLock::new();
    let mut transaction = Transaction { fs, state, folder, journal, mark, uncertain, parents, incomplete, leaving };
    if options.plan_only {
        return plan_only(&transaction, options.decision, run.cancel);
    }
    // What is seen must be what is on the disk: else a decision could rest on pages that the next power cut takes.
    transaction.sync_everything().map_err(required)?;
    let report = act(&mut transaction, options.decision, run);
    drop(locks);
    report.map_err(|e| required(e).of_transaction(id))
}

fn required(error: Error) -> Error {
    error.outcome_is(Outcome::RecoveryRequired)
}

/// The report of one that somebody is at: its owner, or what the check of an owner that is gone has left behind.
fn running(fs: &dyn Fs, state: &State, id: &str) -> Result<Recovered> {
    Ok(Recovered { reason: hot::at_work(fs, state, id)?, ..Left::Running.into_report(id) })
}

/// Why a transaction is left as it is.
enum Left {
    Running,
    Refused(Refusal),
    Unfinished,
    Corrupt(String),
    NotOurs(Box<Beginning>, hot::Doubt),
}

impl Left {
    fn into_report(self, id: &str) -> Recovered {
        let (action, required, reason, beginning) = match self {
            Self::Running => ("running", false, "its owner is alive, or it is gone".to_owned(), None),
            Self::Refused(refusal) => ("left", false, format!("its folder {refusal}"), None),
            Self::Unfinished => ("left", false, "it never came to its journal; it is swept away".to_owned(), None),
            Self::Corrupt(why) => {
                ("left", true, format!("{why}; look at it, then `txedit recover {id} --discard`"), None)
            }
            Self::NotOurs(beginning, doubt) => ("left", false, doubt.told(id, &beginning), Some(*beginning)),
        };
        let paths = beginning.iter().flat_map(|beginning| &beginning.entries);
        let files = paths.map(|record| (record.path.as_path().to_owned(), record.change.kind().to_owned())).collect();
        Recovered { id: id.to_owned(), action: action.to_owned(), required, reason, files, kept: Vec::new() }
    }
}

fn actionable(standing: Standing) -> std::result::Result<(Journal, Mark), Left> {
    match standing {
        Standing::Hot(journal, mark) => Ok((journal, mark)),
        Standing::NotOurs(beginning, doubt) => Err(Left::NotOurs(Box::new(beginning), doubt)),
        Standing::Running => Err(Left::Running),
        Standing::Refused(refusal) => Err(Left::Refused(refusal)),
        Standing::Unfinished => Err(Left::Unfinished),
        Standing::Corrupt(why) => Err(Left::Corrupt(why)),
    }
}

/// Whether a person said what is to be done in spite of a doubt.
fn dismisses(options: RecoverOptions, doubt: hot::Doubt) -> bool {
    match doubt {
        // A folder that is only put aside is not acted on.
        _ if options.decision == Wish::Discard => true,
        hot::Doubt::Copied => options.trust_journal,
        hot::Doubt::OtherHost => options.other_host,
    }
}

/// The folders of the targets, by their path in the workspace.
type Parents = HashMap<PathBuf, (Identity, Handle)>;

/// Locks the folders of all targets and all folders that the transaction makes, and looks again whether they are
/// still where they were.
fn lock_targets(
    fs: &dyn Fs,
    state: &State,
    id: &str,
    journal: &Journal,
    patience: Patience<'_>,
) -> Result<(Locks, Parents)> {
    loop {
        let before = open_parents(fs, state, id, journal)?;
        let found: HashMap<PathBuf, Stat> =
            before.iter().map(|(path, (stat, _))| (path.clone(), stat.clone())).collect();
        let parents = before.iter();
        let parents = parents.map(|(path, (stat, folder))| (path.clone(), (stat.identity, folder.clone()))).collect();
        let locks = Locks::acquire(fs, before.into_values().collect(), patience)?;
        if are_there(fs, state, id, journal, &found)? {
            return Ok((locks, parents));
        }
        drop((locks, parents));
        patience.pause(state.root.path())?;
    }
}

/// Opens the folder of each target, where it is there: at its path, or still in its slot.
fn open_parents(fs: &dyn Fs, state: &State, id: &str, journal: &Journal) -> Result<HashMap<PathBuf, (Stat, Handle)>> {
    let mut open = HashMap::new();
    each_parent(fs, state, id, journal, |path, stat, handle| {
        open.insert(path.to_owned(), (stat, handle));
    })?;
    Ok(open)
}

/// Whether the folders are those that were found. One is opened at a time: as many again as are locked may be too many.
fn are_there(fs: &dyn Fs, state: &State, id: &str, journal: &Journal, found: &HashMap<PathBuf, Stat>) -> Result<bool> {
    let mut there = HashMap::new();
    each_parent(fs, state, id, journal, |path, stat, _| {
        there.insert(path.to_owned(), stat.identity);
    })?;
    Ok(there.len() == found.len()
        && there.iter().all(|(path, identity)| found.get(path).is_some_and(|stat| stat.identity == *identity)))
}

/// Opens the folder of each target, one after the other.
fn each_parent(
    fs: &dyn Fs,
    state: &State,
    id: &str,
    journal: &Journal,
    mut found: impl FnMut(&Path, Stat, Handle),
) -> Result<()> {
    let mut add = |path: &Path, handle: Option<Handle>| -> Result<()> {
        if let Some(handle) = handle {
            let stat = fs.stat_handle(&handle).map_err(|e| Error::io("look at", handle.path(), e))?;
            found(path, stat, handle);
        }
        Ok(())
    };
    for record in &journal.entries {
        let parent = record.path.parent();
        add(parent, open_folder(fs, &state.root, parent)?)?;
    }
    let slot = |entry| Path::new(Section::Transactions.name()).join(id).join(slot_name(entry));
    for (index, record) in journal.entries.iter().enumerate() {
        if record.change.folder_after().is_none() {
            continue;
        }
        let path = record.path.as_path();
        let at_target = open_folder(fs, &state.root, path)?;
        let handle = match at_target {
            Some(handle) => Some(handle),
            None => open_folder(fs, &state.folder, &slot(index))?,
        };
        add(path, handle)?;
    }
    let mut places: HashMap<&Path, (&Handle, PathBuf)> = HashMap::new();
    // Parents before what is in them: one that went took them along.
    for (index, record) in journal.entries.iter().enumerate().rev() {
        let Some(original) = record.change.folder_before() else { continue };
        let path = record.path.as_path();
        let at_target = match places.get(record.path.parent()) {
            Some((base, parent)) => (*base, parent.join(record.path.name())),
            None => (&state.root, path.to_owned()),
        };
        for (base, place) in [at_target, (&state.folder, slot(index))] {
            let Some(folder) = open_folder(fs, base, &place)? else { continue };
            let stat = fs.stat_handle(&folder).map_err(|e| Error::io("look at", folder.path(), e))?;
            if stat.identity == *original {
                places.insert(path, (base, place));
                add(path, Some(folder))?;
                break;
            }
        }
    }
    Ok(())
}

pub(super) fn open_folder(fs: &dyn Fs, base: &Handle, path: &Path) -> Result<Option<Handle>> {
    match fs.open_beneath(base, path) {
        Ok(handle) => Ok(Some(handle)),
        Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(None),
        Err(e) => Err(Error::io("open", base.path().join(path), e)),
    }
}

/// What is to be done, from the classes and what a person wishes.
fn choose(transaction: &Transaction<'_>, classes: &[Class], wish: Wish) -> Result<Decision> {
    let table = (transaction.state.protocol.decide)(transaction.mark, transaction.journal.back_on_crash, classes);
    match wish {
        Wish::Table | Wish::Discard => Ok(table),
        Wish::Back => Ok(Decision::Back),
        Wish::Forward if transaction.mark == Mark::Contended => {
            let message = "it was interrupted beside another program that was writing, and its new contents are not known \
                           to be whole; use --back or --discard";
            Err(Error::new(ErrorKind::RecoveryRequired, message))
        }
        Wish::Forward if transaction.mark.is_undo() => {
            let message = "its undo was begun, and what was taken back may have been built on; use --back or --discard";
            Err(Error::new(ErrorKind::RecoveryRequired, message))
        }
        Wish::Forward => Ok(Decision::Forward),
    }
}

fn plan_only(transaction: &Transaction<'_>, wish: Wish, cancel: &AtomicBool) -> Result<Recovered> {
    let classes = transaction.classes(cancel)?;
    let (action, required) = match (wish, choose(transaction, &classes, wish)?) {
        (Wish::Discard, _) => ("discard", false),
        (_, Decision::Forward) => ("forward", false),
        (_, Decision::Back) => ("back", false),
        (_, Decision::Drop) => ("drop", false),
        (_, Decision::Wait) => ("wait", true),
    };
    Ok(describe(transaction, &classes, action, required))
}

fn act(transaction: &mut Transaction<'_>, wish: Wish, run: Run<'_>) -> Result<Recovered> {
    for attempt in 0..TRIES {
        let classes = transaction.classes(run.cancel)?;
        if attempt == 0 {
            transaction.incomplete = transaction.incomplete(&classes)?;
        }
        if wish == Wish::Discard {
            transaction.move_to(Section::Kept)?;
            transaction.sync_everything()?;
            return Ok(describe(transaction, &classes, "discarded", false));
        }
        let decision = choose(transaction, &classes, wish)?;
        let mut report = match decision {
            Decision::Forward => {
                let ready: Vec<usize> = (0..classes.len()).filter(|&entry| classes[entry] == Class::Ready).collect();
                // What it was, not what it is by then.
                let report = describe(transaction, &classes, "committed", false);
                if !execute::finish(transaction, &ready, wish == Wish::Forward)? {
                    continue;
                }
                report
            }
            Decision::Back => {
                let report = describe(transaction, &classes, "rolled_back", false);
                let undone = execute::undo(transaction, true, run)?;
                rolled_back(transaction, undone, report)
            }
            Decision::Drop => {
                let report = describe(transaction, &classes, "dropped", false);
                Recovered { kept: drop_unswapped(transaction)?, ..report }
            }
            Decision::Wait => describe(transaction, &classes, "left", true),
        };
        if decision == Decision::Wait {
            report.reason.push_str("; decide with `txedit recover ID --forward | --back | --discard`");
        }
        return Ok(report);
    }
    Err(Error::new(ErrorKind::RecoveryRequired, "another program keeps writing the files; stop it and recover again"))
}

/// The report of a take-back: what it did not make old again is named.
fn rolled_back(transaction: &Transaction<'_>, undone: Undone, mut report: Recovered) -> Recovered {
    report.kept = undone.kept;
    for odd in undone.odd.iter().filter(|odd| odd.on_top) {
        "partly_rolled_back".clone_into(&mut report.action);
        let path = &transaction.record(odd.entry).path;
        let _ = write!(report.reason, "; {path} is not as it was: {}", odd.reason);
    }
    report
}

/// Those that were dropped, and nobody has been at them: nobody has had their files open.
fn unswapped(recovered: &[Recovered]) -> Vec<String> {
    let is_untouched =
        |one: &&Recovered| one.action == "dropped" && one.files.iter().all(|(_, class)| class == Class::Ready.as_str());
    recovered.iter().filter(is_untouched).map(|one| one.id.clone()).collect()
}

fn drop_unswapped(transaction: &mut Transaction<'_>) -> Result<Vec<crate::error::Kept>> {
    let mut kept = Vec::new();
    for step in (transaction.state.protocol.drop_unswapped)(transaction.mark) {
        match step {
            Step::Mark(mark) => transaction.set_mark(mark)?,
            Step::SyncFolder => transaction.sync_folder()?,
            Step::Drop => kept = execute::drop_folder(transaction, &HashMap::new(), true)?,
            _ => unreachable!("nothing was swapped"),
        }
    }
    Ok(kept)
}

fn describe(transaction: &Transaction<'_>, classes: &[Class], action: &str, required: bool) -> Recovered {
    let entries = transaction.journal.entries.iter().zip(classes);
    let files: Vec<_> =
        entries.map(|(record, class)| (record.path.as_path().to_owned(), class.as_str().to_owned())).collect();
    let count = |class| classes.iter().filter(|c| **c == class).count();
    let mut reason = format!(
        "it was {}: {} of {} swapped, {} not, {} changed by another program",
        mark_word(transaction.mark),
        count(Class::Done),
        classes.len(),
        count(Class::Ready),
        count(Class::OnTop) + count(Class::Before) + count(Class::Captured),
    );
    if count(Class::Torn) > 0 {
        let _ = write!(reason, ", {} whose new content never reached the disk whole", count(Class::Torn));
    }
    let id = transaction.journal.header.id.clone();
    Recovered { id, action: action.to_owned(), required, reason, files, kept: Vec::new() }
}

/// Recovers everything in `txn/` of a workspace that can be recovered, sweeps what is unfinished, and empties the
/// trash. One that fails does not keep the others from their recovery, unless it failed to sync.
pub(super) fn recover_all(
    fs: &dyn Fs,
    state: &State,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
) -> Result<Vec<Recovered>> {
    sweep::sweep_unfinished(fs, state)?;
    let mut recovered = Vec::new();
    let mut failed = None;
    // A power cut may have left the trash without the section that its folders came from.
    let ids = state.section(fs, Section::Transactions)?.map_or(Ok(Vec::new()), |section| list_ids(fs, &section))?;
    for id in ids {
        match recover_one(fs, state, &id, options, patience, run) {
            Ok(report) => recovered.push(report),
            // Another process was quicker, or is at it: then it is no failure of this one.
            Err(_) if state.may_sync() && is_settled(fs, state, &id) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
        // A second sync may succeed and prove nothing: the others wait for the next process.
        if !state.may_sync() {
            break;
        }
    }
    if state.may_sync() {
        trash::sync_and_empty(fs, state, Goes::Unswapped(&unswapped(&recovered)))?;
    }
    failed.map_or(Ok(recovered), Err)
}

/// Whether a transaction is gone, or has an owner that is alive.
fn is_settled(fs: &dyn Fs, state: &State, id: &str) -> bool {
    matches!(hot::examine(fs, state, id, &|_| false), Ok((Standing::Running, _)))
}

/// Nothing is interrupted by that name.
pub(super) fn unknown(id: &str) -> Error {
    let message = format!("there is no interrupted transaction {id}; `txedit status` lists them");
    Error::new(ErrorKind::UnknownTransaction, message)
}

/// Recovers the one that a person named.
pub(super) fn recover_named(
    fs: &dyn Fs,
    state: &State,
    id: &str,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
) -> Result<Vec<Recovered>> {
    let known = match state.section(fs, Section::Transactions)? {
        Some(section) => list_ids(fs, &section)?.iter().any(|known| known == id),
        None => false,
    };
    if !known {
        return unreadable_in_history(fs, state, id, options)?.map(|one| vec![one]).ok_or_else(|| unknown(id));
    }
    let recovered = discard_unreadable(fs, state, id, options)
        .transpose()
        .unwrap_or_else(|| recover_one(fs, state, id, options, patience, run))?;
    if !options.plan_only {
        trash::sync_and_empty(fs, state, Goes::Unswapped(&unswapped(std::slice::from_ref(&recovered))))?;
    }
    Ok(vec![recovered])
}

/// What would be done with each, without doing it.
pub(super) fn plan_all(
    fs: &dyn Fs,
    state: &State,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
) -> Result<Vec<Recovered>> {
    let Some(section) = state.section(fs, Section::Transactions)? else { return Ok(Vec::new()) };
    list_ids(fs, &section)?.iter().map(|id| recover_one(fs, state, id, options, patience, run)).collect()
}

/// A folder whose journal does not verify can only be put aside, and only on a person's word.
fn discard_unreadable(fs: &dyn Fs, state: &State, id: &str, options: RecoverOptions) -> Result<Option<Recovered>> {
    let (Standing::Corrupt(why), Some(folder)) = hot::examine(fs, state, id, &|_| true)? else { return Ok(None) };
    if options.decision != Wish::Discard {
        return Ok(None);
    }
    put_aside(fs, state, id, (Section::Transactions, Some(&folder)), why, options).map(Some)
}

/// The same for what stands in history under an id and cannot be read; `None` where nothing does, or a transaction that
/// can be undone.
fn unreadable_in_history(fs: &dyn Fs, state: &State, id: &str, options: RecoverOptions) -> Result<Option<Recovered>> {
    let Some(history::Entry::Doubtful(doubtful)) = history::look(fs, state, id)? else { return Ok(None) };
    let why = format!("it is in history, and {}", doubtful.why);
    if options.decision != Wish::Discard {
        let reason = format!("{why}; look at it, then {}", doubtful.way_out());
        let (action, files, kept) = ("left".to_owned(), Vec::new(), Vec::new());
        return Ok(Some(Recovered { id: id.to_owned(), action, required: true, reason, files, kept }));
    }
    let folder = match state.section(fs, Section::History)? {
        Some(section) => open_transaction(fs, &section, id)?,
        None => None,
    };
    put_aside(fs, state, id, (Section::History, folder.as_ref()), why, options).map(Some)
}

/// Moves what cannot be acted on out of its section to `kept/`; its folder may be none that can be opened.
fn put_aside(
    fs: &dyn Fs,
    state: &State,
    id: &str,
    (section, folder): (Section, Option<&Handle>),
    reason: String,
    options: RecoverOptions,
) -> Result<Recovered> {
    if !options.plan_only {
        state.move_transaction(fs, id, section, Section::Kept)?;
        barrier::pass(fs, state, &state.root, |each| {
            folder.map_or(Ok(()), |folder| each.with_content(folder))?;
            each.sections(state)
        })?;
    }
    let action = if options.plan_only { "discard" } else { "discarded" }.to_owned();
    let (files, kept) = (Vec::new(), Vec::new());
    Ok(Recovered { id: id.to_owned(), action, required: false, reason, files, kept })
}

/// Tells the user of another command of a recovery that came before it, in the place of what was told of the same
/// transaction before.
pub(super) fn tell(warnings: &mut Vec<String>, recovered: &Recovered) {
    let Some(told) = told(recovered) else { return };
    let about = format!("an interrupted transaction, {}, ", recovered.id);
    warnings.retain(|warning| !warning.starts_with(&about));
    warnings.push(told);
}

fn told(recovered: &Recovered) -> Option<String> {
    let Recovered { id, action, reason, .. } = recovered;
    match action.as_str() {
        "running" => None,
        "left" => Some(format!("an interrupted transaction, {id}, is left as it is: {reason}")),
        _ => Some(format!("an interrupted transaction, {id}, was recovered first: {action}; {reason}")),
    }
}
