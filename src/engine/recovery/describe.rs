//! The report of a recovery: what was found, what follows from it, and what a person can do.

use crate::engine::history::untrusted;
use crate::engine::report::{InterruptedFile, Recovered, RecoveryAction, RecoveryProgress, RecoveryReason};
use crate::engine::rollback::walk::RollbackResult;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::interrupted::{self, JournalStatus, Untrusted};
use crate::engine::store::private::Refusal;
use crate::engine::store::state::{Section, StateFolder};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::journal::recover::Class;
use crate::journal::{Beginning, Journal, JournalState, Record};
use crate::path::{RelPath, shown};

/// The reason why a transaction is left as it is before any of its files is observed.
pub(super) enum Left {
    Running,
    Refused(Refusal),
    Unfinished,
    Damaged(String),
    Untrusted(Box<Beginning>, Untrusted),
}

impl Left {
    /// The journal that can be used, or the reason to leave the transaction as it is.
    pub(super) fn of(status: JournalStatus) -> std::result::Result<(Journal, JournalState), Self> {
        match status {
            JournalStatus::Hot(journal, journal_state) => Ok((journal, journal_state)),
            JournalStatus::Untrusted(beginning, untrusted) => Err(Self::Untrusted(Box::new(beginning), untrusted)),
            JournalStatus::Running => Err(Self::Running),
            JournalStatus::Refused(refusal) => Err(Self::Refused(refusal)),
            JournalStatus::Unfinished => Err(Self::Unfinished),
            JournalStatus::Damaged(problem) => Err(Self::Damaged(problem)),
        }
    }

    pub(super) fn into_report(self, state: &StateFolder, id: &str) -> Result<Recovered> {
        let left = |why| Recovered::new(id, RecoveryAction::Left, why);
        Ok(match self {
            Self::Running => Recovered { action: RecoveryAction::Running, ..left(at_work(state, id)?) },
            Self::Refused(refusal) => {
                Recovered { required: true, ..left(untrusted::refused_in_txn(state, id, refusal)) }
            }
            Self::Unfinished => {
                Recovered { remarks: vec!["it is swept away".to_owned()], ..left(RecoveryReason::NoJournal) }
            }
            Self::Damaged(problem) => Recovered {
                required: true,
                remarks: vec![place(state, Section::Transactions, id)],
                next_steps: vec![NextStep::Discard { id: id.to_owned() }],
                ..left(RecoveryReason::Damaged { problem })
            },
            Self::Untrusted(beginning, untrusted) => Recovered {
                next_steps: vec![untrusted.next_step(id)],
                files: unobserved(&beginning.entries),
                ..left(RecoveryReason::Untrusted { untrusted, has_more_files: beginning.has_more })
            },
        })
    }
}

/// A remark that says where the folder of a transaction is.
pub(in crate::engine) fn place(state: &StateFolder, section: Section, id: &str) -> String {
    format!("its folder is {}", shown(&state.folder.path().join(section.name()).join(id)))
}

/// The reason to leave a transaction that a process is working on: its owner, or what the check of a dead owner has
/// left behind.
pub(in crate::engine) fn at_work(state: &StateFolder, id: &str) -> Result<RecoveryReason> {
    Ok(RecoveryReason::AtWork { holder: interrupted::holder(state, id)? })
}

/// The files of a journal that were not observed.
pub(in crate::engine) fn unobserved(entries: &[Record]) -> Vec<InterruptedFile> {
    entries.iter().map(|record| unobserved_file(&record.path, Some(record.change.kind()))).collect()
}

/// The files of a damaged journal, as far as it still names them.
pub(in crate::engine) fn of_damaged(state: &StateFolder, id: &str) -> Result<Vec<InterruptedFile>> {
    Ok(interrupted::named_by_damaged(state, id)?.iter().map(|path| unobserved_file(path, None)).collect())
}

fn unobserved_file(path: &RelPath, operation: Option<&'static str>) -> InterruptedFile {
    InterruptedFile { path: path.as_path().to_owned(), operation, class: None }
}

/// Returns whether an error says nothing about the files, but about the process that looks at them: it may not have so
/// many files open.
pub(in crate::engine) fn is_of_this_process(error: &Error) -> bool {
    error.kind() == ErrorKind::RequestTooLarge
}

/// The report of a transaction whose files could not be observed. Once they can be, nothing is left to decide.
pub(in crate::engine) fn not_observed(id: &str, action: RecoveryAction, error: &Error) -> Recovered {
    let why = RecoveryReason::NotObserved { problem: error.to_string() };
    let next_steps = match action {
        RecoveryAction::Discard => Vec::new(),
        _ => [error.next_steps(), &[NextStep::Mend { id: id.to_owned() }]].concat(),
    };
    Recovered { next_steps, ..Recovered::new(id, action, why) }
}

/// The report of a transaction whose entries are of these classes.
pub(super) fn describe(transaction: &TransactionFolder<'_>, classes: &[Class], action: RecoveryAction) -> Recovered {
    assert_eq!(transaction.journal.entries.len(), classes.len(), "each entry has a class");
    let id = &transaction.journal.header.id;
    let entries = transaction.journal.entries.iter().zip(classes);
    let file = |(record, class): (&Record, &Class)| InterruptedFile {
        path: record.path.as_path().to_owned(),
        operation: Some(record.change.kind()),
        class: Some(*class),
    };
    let why = RecoveryReason::Interrupted {
        journal_state: transaction.journal_state,
        progress: RecoveryProgress::of(classes),
    };
    let must_decide = action == RecoveryAction::Wait;
    let can_finish = !transaction.journal_state.is_undo() && !transaction.journal.overwrites();
    let decide = must_decide.then(|| NextStep::Decide { id: id.clone(), can_finish });
    Recovered {
        required: must_decide,
        files: entries.map(file).collect(),
        next_steps: decide.into_iter().collect(),
        ..Recovered::new(id, action, why)
    }
}

/// The report of a transaction that cannot be moved because something is in the way.
pub(super) fn blocked_by(transaction: &TransactionFolder<'_>, classes: &[Class], taken: &Error) -> Recovered {
    let mut report = describe(transaction, classes, RecoveryAction::Left);
    report.required = true;
    report.remarks.push(taken.message().to_owned());
    report.next_steps = taken.next_steps().to_vec();
    report
}

/// The report of a rollback, which names what is not old again.
pub(super) fn rolled_back(
    transaction: &TransactionFolder<'_>,
    result: RollbackResult,
    mut report: Recovered,
) -> Recovered {
    report.kept = result.kept;
    for file in report.files.iter().filter(|file| file.class == Some(Class::Captured)) {
        report
            .remarks
            .push(format!("{} has what came out of its swap, which was not the original", file.path.display()));
    }
    for it in result.not_old.iter().filter(|it| it.on_top) {
        report.action = RecoveryAction::PartlyRolledBack;
        let path = &transaction.record(it.entry).path;
        report.remarks.push(format!("{path} is not as it was: {}", it.reason));
    }
    report
}
