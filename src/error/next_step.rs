//! The next step after a failure, or for a transaction that waits: a value that each front-end words by itself.

use std::fmt;
use std::path::PathBuf;

use super::Correction;
use crate::path::bounds::Barred;

/// An action that a caller, or the person behind it, can take next.
///
/// The library never words it as a command: a program has methods, an agent has tools, and only a person at a shell has
/// commands. [`Display`](fmt::Display) names the method.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NextStep {
    /// Recover a transaction; without an id all interrupted ones.
    Recover {
        /// The transaction.
        id: Option<String>,
    },
    /// Decide about an interrupted transaction that recovery leaves as it is.
    Decide {
        /// The transaction.
        id: String,
        /// True if it can be finished; it can always be rolled back or discarded.
        can_finish: bool,
    },
    /// Mend what the message names, then recover a transaction; discard it only if that cannot be mended.
    Mend {
        /// The transaction.
        id: String,
    },
    /// Move the folder of a transaction to `kept/`, and leave the files as they are.
    Discard {
        /// The transaction.
        id: String,
    },
    /// Act on a journal that was not written in the folder where it is.
    TrustJournal {
        /// The transaction.
        id: String,
    },
    /// Act on a journal that another machine wrote, once that machine is known to be down.
    OtherHost {
        /// The transaction.
        id: String,
    },
    /// Move the folder of a transaction, which another program moved away, back to its place, then recover it.
    MoveBack {
        /// The transaction.
        id: String,
        /// The place.
        place: PathBuf,
    },
    /// List interrupted, open and kept transactions.
    Status,
    /// List the committed transactions.
    Log,
    /// Undo a later transaction first, which changed the same files.
    UndoFirst {
        /// The transaction.
        id: String,
    },
    /// Redo a transaction that is undone, which is to undo its undo.
    Redo {
        /// The transaction.
        id: String,
        /// Its undo.
        undo: String,
    },
    /// Drop an open transaction, which has changed no file yet.
    RollBack {
        /// The transaction.
        id: String,
    },
    /// List the kept contents.
    ListKept,
    /// Delete the contents kept for a transaction.
    DropKept {
        /// The transaction.
        id: String,
    },
    /// Move or copy from the folder of a transaction what is wanted: nothing else can write it back.
    TakeByHand {
        /// The transaction.
        id: String,
        /// The kept file or folder, or the folder of the transaction.
        kept: PathBuf,
    },
    /// Find out what the file system lacks.
    Doctor,
    /// Have commits survive a killed process only.
    ProcessOnly,
    /// Have names change places step by step.
    SwapAside,
    /// Give the engine a folder for this user's states that it can write to.
    UserState,
    /// Let the check run in the tree itself.
    CheckInTree,
    /// Let a check run in a view, not in the tree.
    CheckInView,
    /// Let a file that no rename can replace be overwritten.
    Overwrite,
    /// Run the program again, on what others have left.
    RunAgain,
    /// Allow files to be made set-user-id or set-group-id.
    AllowSetId,
    /// Allow the files of version control systems to be changed.
    AllowVcs,
    /// Correct the call, and send it again.
    Correct(Correction),
    /// Look at a new preview, and commit with its hash.
    PreviewAgain,
    /// Look at a new dry run, and apply with its hash.
    DryRunAgain,
    /// Review the open transaction again, since it would do something else now; without one, give the command again.
    ReviewAgain {
        /// The transaction, which is still open.
        id: Option<String>,
    },
    /// Roll back the open transaction, read its files, and stage the edits again: it does not fit them any more.
    StageAgain {
        /// The transaction, which is still open.
        id: String,
    },
    /// Mend what the message names, then commit the open transaction again; or roll it back, and stage other edits.
    CommitAgain {
        /// The transaction, which is still open.
        id: String,
    },
    /// Ask once more what a person decided on an open transaction; they decide elsewhere.
    HearDecision {
        /// The transaction, which is still open.
        id: String,
    },
    /// Take a step in another workspace, whose state folder has the transaction.
    In {
        /// The root of that workspace.
        root: PathBuf,
        /// The step.
        step: Box<Self>,
    },
}

impl NextStep {
    /// The step that allows the use of a barred path, if there is one.
    pub(crate) fn to_allow(barred: &Barred) -> Option<Self> {
        matches!(barred, Barred::Vcs).then_some(Self::AllowVcs)
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recover { id: None } => f.write_str("Engine::recover(None, …)"),
            Self::Recover { id: Some(id) } => write!(f, "Engine::recover(Some({id:?}), …)"),
            Self::Decide { id, can_finish: true } => {
                write!(f, "Engine::recover(Some({id:?}), …) with Decision::Forward, Back or Discard")
            }
            Self::Decide { id, can_finish: false } => {
                write!(f, "Engine::recover(Some({id:?}), …) with Decision::Back or Discard")
            }
            Self::Mend { id } => write!(f, "mend what the message names, then Engine::recover(Some({id:?}), …)"),
            Self::Discard { id } => write!(f, "Engine::recover(Some({id:?}), …) with Decision::Discard"),
            Self::TrustJournal { id } => write!(f, "Engine::recover(Some({id:?}), …) with trust_journal"),
            Self::OtherHost { id } => write!(f, "Engine::recover(Some({id:?}), …) with other_host"),
            Self::MoveBack { id, place } => {
                write!(f, "if it was moved, move it back to {}; then Engine::recover(Some({id:?}), …)", place.display())
            }
            Self::Status => f.write_str("Engine::status()"),
            Self::Log => f.write_str("Engine::log(…)"),
            Self::UndoFirst { id } => write!(f, "Engine::undo(Some({id:?}), …) first"),
            Self::Redo { id, .. } => write!(f, "Engine::redo(Some({id:?}), …)"),
            Self::RollBack { id } => write!(f, "Engine::roll_back({id:?}, …), since it is still open"),
            Self::ListKept => f.write_str("Engine::kept()"),
            Self::DropKept { id } => write!(f, "Engine::kept_drop({id:?})"),
            Self::TakeByHand { id, kept } => {
                write!(f, "move or copy what is wanted from {}, then Engine::kept_drop({id:?})", kept.display())
            }
            Self::Doctor => f.write_str("a file system that can exchange two names (renameat2 RENAME_EXCHANGE)"),
            Self::ProcessOnly => f.write_str("Settings::durability(Durability::Process)"),
            Self::SwapAside => f.write_str("Settings::swap(Swap::Aside)"),
            Self::UserState => f.write_str("Settings::user_state(…) with a folder that can be written to"),
            Self::CheckInTree => f.write_str("Settings::check_in(CheckIn::Tree)"),
            Self::CheckInView => f.write_str("Settings::check_in(CheckIn::View)"),
            Self::Overwrite => f.write_str("Settings::swap(Swap::InPlace), where only its content or its mode changes"),
            Self::RunAgain => f.write_str("Engine::run_program(…) again"),
            Self::AllowSetId => f.write_str("an engine without refusing_set_id()"),
            Self::AllowVcs => f.write_str("an engine with other bounds"),
            Self::Correct(correction) => correction.fmt(f),
            Self::PreviewAgain => f.write_str("Engine::preview(…), then commit with its plan_hash"),
            Self::DryRunAgain => f.write_str("a new dry run, then Request::plan_hash of its report"),
            Self::ReviewAgain { id } => write!(f, "Engine::review({:?}, …) again", id.as_deref().unwrap_or("…")),
            Self::StageAgain { id } => write!(f, "Engine::roll_back({id:?}, …), read the files, and stage again"),
            Self::CommitAgain { id } => write!(
                f,
                "mend what the message names, then Engine::commit_staged({id:?}, …); or Engine::roll_back({id:?}, …), and \
                 stage other edits"
            ),
            Self::HearDecision { id } => {
                write!(
                    f,
                    "Engine::decided({id:?}, …), once a person has decided by Engine::commit_selected or Engine::roll_back"
                )
            }
            Self::In { root, step } => write!(f, "{step}, of an engine at {}", root.display()),
        }
    }
}
