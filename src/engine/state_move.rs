//! Moves the state folder to another place, on request.

use std::path::{Path, PathBuf};

use super::report::StateMove;
use super::store::home::{self, Home};
use super::store::lookup;
use super::store::state::{Section, StateFolder};
use super::{Engine, Run, recovery};
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, NextStep, Outcome, Result};
use crate::path::shown;

impl Engine {
    /// Moves the state folder, with everything in it, to the path `to`, which may be relative to the root; without one to
    /// where it would be made today: to the one that the settings name, else to the git folder. It is one rename: a process
    /// that is killed leaves it at one of the two places. What was interrupted is recovered first. On failure it is where it
    /// was.
    pub fn move_state(&self, to: Option<&Path>) -> Result<StateMove> {
        let workspace = &self.workspace;
        let goal = to.map_or_else(|| self.goal(), |to| Home::at(workspace, to))?;
        let states = lookup::trusted(workspace)?.into_iter();
        let (there, mut elsewhere): (Vec<_>, Vec<_>) = states.partition(|state| state.home.path() == goal.path());
        let Some(state) = elsewhere.pop() else { return Err(nothing_to_move(there.first(), &goal)) };
        if let Some(other) = there.first().or(elsewhere.first()) {
            let message = format!(
                "there are two state folders, {} and {}: what each holds can be undone only as long as it is the one in use; \
                 remove the one that you do not need",
                shown(&state.home.path()),
                shown(&other.home.path())
            );
            return Err(Error::new(ErrorKind::ValidationFailed, message).at(goal.path()));
        }
        let how_found = self.how_it_is_found(&goal)?;
        let mut warnings = self.recover_before(&state)?;
        move_to(&state, &goal).map_err(|error| error.warning_of(warnings.clone()))?;
        warnings.extend(how_found);
        Ok(StateMove { from: state.home.path(), to: goal.path(), warnings })
    }

    /// The path of the state folder that is in use; `None` where there is none yet.
    pub fn state_folder(&self) -> Result<Option<PathBuf>> {
        Ok(self.found()?.trusted(&self.workspace)?.map(|state| state.home.path()))
    }

    /// The place where the state folder would be made today.
    fn goal(&self) -> Result<Home> {
        let best = home::to_make(&self.workspace)?.swap_remove(0);
        if !best.is_in_root() || self.settings.state_dir.is_some() {
            return Ok(best);
        }
        let message = "there is no git folder that the state folder could be moved to: none is in the root, it is not yours alone, or \
                       it is on another mount; name another place: txedit history move DIR";
        Err(Error::new(ErrorKind::ValidationFailed, message).at(self.root()))
    }

    /// Says how the next command finds the state folder, where one like this would look elsewhere.
    fn how_it_is_found(&self, place: &Home) -> Result<Option<String>> {
        let named = Home::named(&self.workspace)?;
        if named.as_ref().is_some_and(|named| named.path() == place.path()) {
            return Ok(None);
        }
        let path = shown(&place.path());
        Ok(match (place.is_named(), named) {
            (true, _) => {
                Some(format!("other commands find it only with --state-dir {path} or TXEDIT_STATE_DIR={path}"))
            }
            (false, Some(_)) => {
                Some(format!("other commands find {path} only without --state-dir and TXEDIT_STATE_DIR"))
            }
            (false, None) => None,
        })
    }

    /// Recovers what is interrupted, and tells it; it is an error if something is left.
    fn recover_before(&self, state: &StateFolder) -> Result<Vec<String>> {
        recovery::check_writable(state)?;
        let run = Run::default();
        let options = super::RecoverOptions::default();
        let recovered = recovery::recover_all(state, options, self.patience(run), run, &mut |_| {})?.whole()?;
        let mut warnings = Vec::new();
        for one in &recovered {
            recovery::tell(&mut warnings, one);
        }
        let Some(id) = state.ids(Section::Transactions)?.pop() else { return Ok(warnings) };
        let message = format!("transaction {id} is being committed, or could not be recovered: nothing was moved");
        let error = Error::new(ErrorKind::RecoveryRequired, message).of_transaction(&id);
        Err(error.outcome_is(Outcome::Unchanged).with_next([NextStep::Status]).warning_of(warnings))
    }
}

fn nothing_to_move(there: Option<&StateFolder>, goal: &Home) -> Error {
    let path = goal.path();
    let message = match there {
        Some(_) => format!("the state folder is {} already", shown(&path)),
        None => "there is no state folder yet: nothing was committed here".to_owned(),
    };
    Error::new(ErrorKind::ValidationFailed, message).at(path)
}

fn move_to(state: &StateFolder, goal: &Home) -> Result<()> {
    let (workspace, from, to) = (&state.workspace, state.home.name(), goal.name());
    workspace.move_own(from, to).map_err(|e| match errno::of(&e) {
        Some(Errno::XDEV) => {
            let message = format!("{} cannot be renamed to {}: {e}", shown(&from.path()), shown(&to.path()));
            Error::new(ErrorKind::CrossDevice, message).at(to.path())
        }
        _ => Error::io("rename", from.path(), e),
    })?;
    // Both names: a power loss leaves it at one of them, and this makes it the new one.
    goal.sync(workspace)?;
    workspace.sync(&state.home.folder)
}
