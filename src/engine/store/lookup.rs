//! The search for the state folders of a workspace.
//!
//! One of them is in use: the one that was named; else `.txedit` in the root, if it is there; else `txedit` in the git
//! folder, as long as this process can write to it. Interrupted transactions are looked for in all of them.

use std::path::PathBuf;

use super::git_folder::{self, GitLookup};
use super::home::{self, Home};
use super::state::StateFolder;
use super::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::path::shown;

/// The result of looking for a state folder.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a call, and it is taken apart at once")]
pub(crate) enum StateLookup {
    Nothing,
    State(StateFolder),
    /// Not to be trusted: its path, and the reason, which is what follows its name.
    Ignored(PathBuf, String),
}

impl StateLookup {
    /// The state folder; `None` where there is none, an error where it is not to be trusted.
    pub(crate) fn trusted(&self, workspace: &Workspace) -> Result<Option<&StateFolder>> {
        match self {
            Self::State(state) => Ok(Some(state)),
            Self::Nothing => Ok(None),
            Self::Ignored(path, why) => {
                let path = workspace.path_of(path);
                let message = format!("{} {why}", path.display());
                Err(Error::new(ErrorKind::PermissionDenied, message).at(path))
            }
        }
    }

    /// Verifies that this folder is still the one at its place, and looks for it again if not. What was found before
    /// locks were taken, or before a caller reviewed a plan, may be gone or be another user's by now.
    pub(crate) fn verify(&mut self, workspace: &Workspace) -> Result<()> {
        match self {
            Self::State(state) if state.is_in_place()? => {}
            _ => *self = find(workspace)?,
        }
        Ok(())
    }

    /// The state folder, if there is one that can be trusted.
    pub(crate) fn found(self) -> Option<StateFolder> {
        match self {
            Self::State(state) => Some(state),
            Self::Nothing | Self::Ignored(..) => None,
        }
    }
}

/// Finds the state folder of a workspace that is in use.
pub(crate) fn find(workspace: &Workspace) -> Result<StateLookup> {
    if let Some(named) = Home::named(workspace)? {
        return StateFolder::find_at(workspace, named);
    }
    match StateFolder::find_at(workspace, Home::of_root(workspace))? {
        StateLookup::Nothing => {}
        found => return Ok(found),
    }
    let Some(git) = Home::of_git(workspace)? else { return Ok(StateLookup::Nothing) };
    let is_ours = git.is_users_own(workspace)?;
    match StateFolder::find_at(workspace, git)? {
        StateLookup::State(state) if !is_usable(workspace, &state)? => Ok(StateLookup::Nothing),
        // Beside a folder that somebody else can put there, this user has another one.
        StateLookup::Ignored(..) if !is_ours => Ok(StateLookup::Nothing),
        found => Ok(found),
    }
}

/// Finds the state folders of a workspace that are not in use, but may have transactions in them.
pub(crate) fn others(workspace: &Workspace, in_use: &StateLookup) -> Result<Vec<StateLookup>> {
    let used = match in_use {
        StateLookup::State(state) => Some(state.home.path()),
        StateLookup::Ignored(path, _) => Some(path.clone()),
        StateLookup::Nothing => None,
    };
    let mut others = Vec::new();
    let git = git_folder::find(workspace)?;
    if matches!(git, GitLookup::Symlink) {
        let why = "is behind a symlink .git, which is not followed: put the git folder at its place";
        others.extend(
            git_folder::state_behind_symlink(workspace).map(|state| StateLookup::Ignored(state, why.to_owned())),
        );
    }
    for home in [Some(Home::of_root(workspace)), Home::in_git(workspace, git)?].into_iter().flatten() {
        if used.as_ref().is_some_and(|used| *used == home.path()) {
            continue;
        }
        match StateFolder::find_at(workspace, home)? {
            StateLookup::Nothing => {}
            found => others.push(found),
        }
    }
    Ok(others)
}

/// Finds every state folder of a workspace that can be trusted, first the one in use, which must be: what another user has put
/// beside it stops nobody.
pub(crate) fn trusted(workspace: &Workspace) -> Result<Vec<StateFolder>> {
    let found = find(workspace)?;
    found.trusted(workspace)?;
    let others = others(workspace, &found)?;
    Ok([found].into_iter().chain(others).filter_map(StateLookup::found).collect())
}

/// Finds every state folder of a workspace, the one in use last.
pub(crate) fn all(workspace: &Workspace) -> Result<Vec<StateLookup>> {
    let in_use = find(workspace)?;
    let mut all = others(workspace, &in_use)?;
    all.push(in_use);
    Ok(all)
}

/// Returns whether a state folder in the git folder can be used: a sandbox may keep this process from writing there.
pub(crate) fn is_usable(workspace: &Workspace, state: &StateFolder) -> Result<bool> {
    Ok(home::is_with_root(workspace, &state.stat)? && state.is_writable()?)
}

/// A warning for each state folder that is not in use and holds transactions that nobody sees in the one that is.
pub(crate) fn unseen(workspace: &Workspace, others: &[StateLookup]) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    for other in others {
        let StateLookup::State(other) = other else { continue };
        let committed = other.committed()?;
        if committed > 0 {
            warnings.push(format!(
                "{} holds {committed} more committed transaction{}, which `log` and `undo` do not see{}",
                shown(&other.home.path()),
                if committed == 1 { "" } else { "s" },
                if is_usable(workspace, other)? { "" } else { ": it cannot be written here" },
            ));
        }
    }
    Ok(warnings)
}
