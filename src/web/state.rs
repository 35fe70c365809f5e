//! What is open, interrupted, committed and kept, for the lists of the page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ReviewPage;
use crate::engine::Engine;
use crate::engine::report::{Interrupted, Kept, Logged, OpenTransaction, RecoveryAction};
use crate::error::{KeptContent, NextStep, Result};
use crate::path::{one_line, shown};
use crate::wire::hints::with_steps;

/// The newest transactions of history that are listed.
const LOGGED: usize = 30;

/// The files of a transaction that a list names; all are counted.
const NAMED: usize = 20;

/// The state of the workspace.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that the page shows")]
pub(super) struct StateJson {
    success: bool,
    root: String,
    /// True if the page may only show.
    read_only: bool,
    /// True if an approval may name a check.
    may_check: bool,
    /// True if a check of this server decides about each commit.
    is_checked: bool,
    open: Vec<OpenJson>,
    interrupted: Vec<InterruptedEntry>,
    history: Vec<CommittedJson>,
    kept: Vec<KeptEntry>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OpenJson {
    id: String,
    owner: String,
    label: Option<String>,
    opened: String,
    expires: String,
    expired: bool,
    file_count: usize,
    files: Vec<String>,
    /// The names that other open transactions change, too.
    conflict_count: usize,
    conflicts: Vec<ConflictJson>,
}

#[derive(Debug, Serialize)]
struct ConflictJson {
    path: String,
    with: Vec<String>,
}

#[derive(Debug, Serialize)]
struct InterruptedEntry {
    id: String,
    owner: String,
    running: bool,
    action: &'static str,
    reason: String,
    file_count: usize,
    files: Vec<String>,
    /// What can be decided about it here.
    decisions: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct KeptEntry {
    id: String,
    folder: String,
    contents: Vec<ContentEntry>,
}

/// A kept content; a decision about it sends it back as it is.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ContentEntry {
    /// The file that it was at.
    path: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct CommittedJson {
    id: String,
    time: String,
    owner: String,
    label: Option<String>,
    /// The transactions that it reverts.
    reverts: Vec<String>,
    reverted_by: Option<String>,
    check: Option<String>,
    file_count: usize,
    files: Vec<String>,
    unreadable: Option<String>,
}

/// Reads all of it.
pub(super) fn read(page: &ReviewPage, engine: &Engine) -> Result<StateJson> {
    let status = engine.status()?;
    let open: Vec<&OpenTransaction> = status.open.iter().filter(|open| !open.is_expired).collect();
    let takers = takers(&open);
    let unreadable = status
        .unreadable
        .iter()
        .map(|one| format!("{}: {}", one.id, with_steps(&one.reason, &one.next_steps, page.options.words)));
    Ok(StateJson {
        success: true,
        root: shown(engine.root()),
        read_only: page.options.read_only,
        may_check: engine.may_check(),
        is_checked: engine.is_checked(None),
        open: status.open.iter().map(|open| open_json(open, &takers)).collect(),
        interrupted: status.interrupted.iter().map(|one| interrupted(one, page)).collect(),
        history: engine.log(LOGGED, None)?.into_iter().map(committed).collect(),
        kept: status.kept.iter().map(|kept| kept_entry(kept, engine.root())).collect(),
        warnings: status.warnings.iter().cloned().chain(unreadable).collect(),
    })
}

/// The open transactions that change each name.
fn takers<'o>(open: &[&'o OpenTransaction]) -> BTreeMap<&'o Path, BTreeSet<&'o str>> {
    let mut takers: BTreeMap<&Path, BTreeSet<&str>> = BTreeMap::new();
    for open in open {
        for path in &open.names {
            takers.entry(path).or_default().insert(&open.id);
        }
    }
    takers
}

fn open_json(open: &OpenTransaction, takers: &BTreeMap<&Path, BTreeSet<&str>>) -> OpenJson {
    let others = |path: &Path| takers.get(path).into_iter().flatten().filter(|id| **id != open.id).copied();
    let shared: Vec<&Path> = open
        .names
        .iter()
        .map(PathBuf::as_path)
        .filter(|path| !open.is_expired && others(path).next().is_some())
        .collect();
    let conflict = |path: &Path| ConflictJson { path: shown(path), with: others(path).map(str::to_owned).collect() };
    OpenJson {
        id: open.id.clone(),
        owner: one_line(&open.owner).into_owned(),
        label: open.label.as_deref().map(|label| one_line(label).into_owned()),
        opened: open.opened.clone(),
        expires: open.expires.clone(),
        expired: open.is_expired,
        file_count: open.files.len(),
        files: named(open.files.iter().map(|(path, _)| path.as_path())),
        conflict_count: shared.len(),
        conflicts: shared.into_iter().take(NAMED).map(conflict).collect(),
    }
}

fn interrupted(one: &Interrupted, page: &ReviewPage) -> InterruptedEntry {
    // What a button does needs no command.
    let is_here = one.next_steps.iter().all(|step| !decisions_of(step).is_empty());
    InterruptedEntry {
        id: one.id.clone(),
        owner: one_line(&one.owner).into_owned(),
        running: one.running,
        action: one.action.as_str(),
        reason: if is_here { one.reason() } else { with_steps(&one.reason(), &one.next_steps, page.options.words) },
        file_count: one.files.len(),
        files: named(one.files.iter().map(|file| file.path.as_path())),
        decisions: decisions(one),
    }
}

/// What a person can decide about an interrupted transaction. Whom to trust is decided at a shell.
fn decisions(one: &Interrupted) -> Vec<&'static str> {
    let mut decisions = Vec::new();
    let is_planned = matches!(one.action, RecoveryAction::Forward | RecoveryAction::Back | RecoveryAction::Drop);
    if is_planned && !one.running {
        decisions.push("recover");
    }
    decisions.extend(one.next_steps.iter().flat_map(decisions_of));
    let mut seen = BTreeSet::new();
    decisions.retain(|decision| seen.insert(*decision));
    decisions
}

/// The decisions that a next step asks for.
const fn decisions_of(step: &NextStep) -> &'static [&'static str] {
    match step {
        NextStep::Decide { can_finish: true, .. } => &["forward", "back", "discard"],
        NextStep::Decide { .. } => &["back", "discard"],
        NextStep::Mend { .. } => &["recover", "discard"],
        NextStep::Discard { .. } => &["discard"],
        NextStep::Recover { .. } => &["recover"],
        _ => &[],
    }
}

fn kept_entry(kept: &Kept, root: &Path) -> KeptEntry {
    KeptEntry { id: kept.id.clone(), folder: shown(&kept.folder), contents: content_entries(kept, root) }
}

/// What is kept of a transaction, as the page shows it.
pub(super) fn content_entries(kept: &Kept, root: &Path) -> Vec<ContentEntry> {
    let entry = |content: &KeptContent| ContentEntry {
        path: shown(content.path.strip_prefix(root).unwrap_or(&content.path)),
        reason: content.reason.clone(),
    };
    kept.contents.iter().map(entry).collect()
}

fn committed(logged: Logged) -> CommittedJson {
    CommittedJson {
        file_count: logged.files.len(),
        files: named(logged.files.iter().map(|(_, path)| path.as_path())),
        check: logged.check.map(|check| check.command),
        id: logged.id,
        time: logged.time,
        owner: one_line(&logged.owner).into_owned(),
        label: logged.label.map(|label| one_line(&label).into_owned()),
        reverts: logged.reverts,
        reverted_by: logged.reverted_by,
        unreadable: logged.unreadable,
    }
}

fn named<'p>(paths: impl Iterator<Item = &'p Path>) -> Vec<String> {
    paths.take(NAMED).map(shown).collect()
}
