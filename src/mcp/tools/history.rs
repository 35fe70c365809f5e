//! `list_transactions` and `undo_transaction`.

use std::path::{Component, Path, PathBuf};

use super::{Definition, Job};
use crate::engine::report::{Logged, OpenTransaction, Report};
use crate::engine::{Engine, UndoOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::roots::ServedRoot;
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::Request;
use crate::request::validate::Findings;
use crate::wire::history::Log;
use crate::wire::success_multi;
use crate::wire::tools::{Arguments, ListTransactions, UndoTransaction, parse_flat};

/// The default number of transactions listed.
const LISTED: usize = 20;

pub(super) static LIST_TRANSACTIONS: Definition = Definition {
    name: "list_transactions",
    title: "List committed transactions",
    toolset: Toolset::History,
    description: "List committed transactions, the newest first: id, time, files, and what undid what; and the open \
                  ones. Use it to find an id. Not git's log. Example: {\"limit\": 5, \"path\": \"/p/src\"}",
    writes: false,
    idempotent: true,
    input: schema::input::<ListTransactions>,
    output: || {
        schema::output(&[
            (
                "transactions",
                PropertyKind::Objects,
                "transaction_id, time, owner, label, file_results, reverts and reverted_by of each.",
            ),
            (
                "open",
                PropertyKind::Objects,
                "Open ones: transaction_id, owner, opened_at, expires_at, expired, label, file_results of each.",
            ),
        ])
    },
    run: |job, arguments| match list(job, arguments) {
        Ok(log) => ToolAnswer::done(&log, ToolChanges::default()),
        Err(error) => job.failed_file(&error, None),
    },
};

fn list(job: &Job<'_>, arguments: Arguments) -> Result<Log> {
    let ListTransactions { limit, path } = parse_flat(arguments)?;
    let limit = limit.unwrap_or(LISTED);
    let Some(path) = path else {
        let (mut log, mut open) = (Vec::new(), Vec::new());
        for root in job.present() {
            let (mut log_of_one, mut open_of_one) = listed(&root.engine, limit, None)?;
            log.append(&mut log_of_one);
            open.append(&mut open_of_one);
        }
        // The ids begin with the time.
        log.sort_by(|one, other| other.id.cmp(&one.id));
        log.truncate(limit);
        open.sort_by(|one, other| one.id.cmp(&other.id));
        return Ok(Log::with_open(&log, &open));
    };
    let asked = Path::new(&path);
    if asked.components().any(|part| part == Component::ParentDir) {
        let mut findings = Findings::new();
        findings.push(ErrorKind::PathTraversal, vec!["path".to_owned()], format!("the path {path} has a `..` segment"));
        return Err(findings.into_error());
    }
    let inner = job.root.named.as_ref().and_then(|named| asked.strip_prefix(named).ok());
    let path = job.engine.root().join(inner.unwrap_or(asked));
    // Of the root itself it is everything.
    let is_root = path.components().eq(job.engine.root().components());
    let (log, open) = listed(job.engine, limit, (!is_root).then_some(&path))?;
    Ok(Log::with_open(&log, &open))
}

/// The transactions of one workspace, committed and open, with absolute paths.
fn listed(engine: &Engine, limit: usize, path: Option<&PathBuf>) -> Result<(Vec<Logged>, Vec<OpenTransaction>)> {
    let path = path.map(PathBuf::as_path);
    let mut log = engine.log(limit, path)?;
    let mut open = engine.open_transactions(path)?;
    let committed = log.iter_mut().flat_map(|one| &mut one.files).map(|(_, path)| path);
    let staged = open.iter_mut().flat_map(|one| &mut one.files).map(|(path, _)| path);
    committed.chain(staged).for_each(|path| *path = engine.root().join(&*path));
    Ok((log, open))
}

pub(super) static UNDO_TRANSACTION: Definition = Definition {
    name: "undo_transaction",
    title: "Undo a transaction",
    toolset: Toolset::History,
    description: "Put every file of a committed transaction back as it was, all or nothing, as a transaction of its \
                  own; undoing that one is a redo. Without an id: the newest of this connection; with since: all of its later ones. \
                  Use it when a change turned out wrong; not for changes that other programs made. Refused \
                  (UNDO_CONFLICT) where a file has been changed since. Example: \
                  {\"transaction_id\": \"20260101T120000Z-…\", \"dry_run\": true}",
    writes: true,
    idempotent: false,
    input: schema::input::<UndoTransaction>,
    output: || {
        schema::output(&[
            ("dry_run", PropertyKind::Flag, "Whether nothing was written."),
            ("transaction_id", PropertyKind::Text, "The transaction that did the undoing."),
            ("reverts", PropertyKind::Text, "The transaction that it reverts."),
            ("reverts_each", PropertyKind::Objects, "Of several: transaction_id, owner, label of each, newest first."),
            ("owner", PropertyKind::Text, "Who committed that one."),
            ("label", PropertyKind::Text, "Its label, if it has one."),
            ("files_edited", PropertyKind::Count, "Files that were put back."),
            ("file_results", PropertyKind::Objects, "One for each file."),
            ("conflicts", PropertyKind::Texts, "On UNDO_CONFLICT: the files that were changed since."),
        ])
    },
    run: |job, arguments| match parse_flat::<UndoTransaction>(arguments) {
        Ok(asked) => {
            let is_newest = asked.transaction_id.is_none() && asked.since.is_none();
            let root = if is_newest { newest_own(job) } else { job.root };
            let job = &Job { engine: &root.engine, root, ..*job };
            undo(job, asked).unwrap_or_else(|error| job.failed(&error, None))
        }
        Err(error) => job.failed(&error, None),
    },
};

fn undo(job: &Job<'_>, asked: UndoTransaction) -> Result<ToolAnswer> {
    let UndoTransaction { transaction_id, since, all_callers, rebase, dry_run } = asked;
    check_which(transaction_id.as_deref(), since.as_deref(), all_callers)?;
    let options = UndoOptions::default().dry_run(dry_run.unwrap_or(false)).rebase(rebase.unwrap_or(false));
    job.check_writing(options.dry_run)?;
    let is_own = |id: &str, _: &str| job.commits.is_of(id, job.connection);
    let report = match (transaction_id, since) {
        (Some(id), _) => job.engine.undo_with(Some(&id), &options, job.run)?,
        (None, Some(since)) if all_callers == Some(true) => {
            job.engine.undo_since(&since, &|_, _| true, &options, job.run)?
        }
        (None, Some(since)) => job.engine.undo_since(&since, &is_own, &options, job.run)?,
        (None, None) => undo_own(job, &options)?,
    }
    .in_root(job.engine.root());
    let changes = ToolChanges::of(&report);
    Ok(ToolAnswer::done(&success_multi(&report, &Request::default()), changes).terse_unless(false))
}

/// Refuses arguments that name different things.
fn check_which(id: Option<&str>, since: Option<&str>, all_callers: Option<bool>) -> Result<()> {
    let mut findings = Findings::new();
    let mut refuse = |field: &str, message| findings.push(ErrorKind::ValidationFailed, vec![field.to_owned()], message);
    if id.is_some() && since.is_some() {
        refuse("since", "give `transaction_id` for one transaction, or `since` for all after one");
    }
    if all_callers == Some(true) && since.is_none() {
        refuse("all_callers", "`all_callers` goes with `since`");
    }
    findings.finish()
}

/// The workspace that has the newest transaction of this connection; the first where none has one.
fn newest_own<'j>(job: &Job<'j>) -> &'j ServedRoot {
    if job.roots.len() < 2 {
        return job.root;
    }
    let is_own = |id: &str, _: &str| job.commits.is_of(id, job.connection);
    let newest = job.present().filter_map(|root| match root.engine.newest_to_undo(&is_own) {
        Ok(id) => Some((id?, root)),
        // The undo itself says what is wrong.
        Err(_) => Some((String::from('~'), root)),
    });
    newest.max_by(|(one, _), (other, _)| one.cmp(other)).map_or(job.root, |(_, root)| root)
}

/// Reverts the newest transaction of this connection. A transaction of another connection, even of a client with the
/// same name, may belong to another conversation; and a request without a session is a connection of its own.
fn undo_own(job: &Job<'_>, options: &UndoOptions) -> Result<Report> {
    let is_own = |id: &str, _: &str| job.commits.is_of(id, job.connection);
    let nothing = || {
        let message = "this connection has committed nothing that is not undone (over HTTP without a session none has): \
                       give the transaction_id from the answer of the commit, or from list_transactions";
        Error::new(ErrorKind::UnknownTransaction, message)
    };
    job.engine.undo_newest(&[&is_own], nothing, options, job.run)
}
