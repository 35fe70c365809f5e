//! Warnings about a recovery, for the caller of the command before which it ran.

use std::fmt::Write as _;

use crate::engine::report::{Recovered, RecoveryAction};
use crate::error::{Error, ErrorKind, Outcome, RECOVERED_FIRST};
use crate::path::shown;

/// Adds the warning about a recovery that ran before another command, in place of an earlier one about the same
/// transaction.
pub(crate) fn tell(warnings: &mut Vec<String>, recovered: &Recovered) {
    let Some(told) = told(recovered) else { return };
    let about = format!("an interrupted transaction, {}, ", recovered.id);
    warnings.retain(|warning| !warning.starts_with(&about));
    warnings.push(told);
}

fn told(recovered: &Recovered) -> Option<String> {
    let Recovered { id, action, kept, .. } = recovered;
    let mut reason = recovered.reason();
    // The reason names what stays in its place.
    for kept in kept.iter().filter(|kept| kept.kept_path != kept.path) {
        let _ = write!(reason, "; {} is kept as {}", shown(&kept.path), shown(&kept.kept_path));
    }
    match action {
        RecoveryAction::Running => None,
        RecoveryAction::Left => Some(format!("an interrupted transaction, {id}, is left as it is: {reason}")),
        _ => Some(format!("an interrupted transaction, {id}, {RECOVERED_FIRST}: {action}; {reason}")),
    }
}

/// The warning about a transaction whose recovery failed.
pub(crate) fn not_recovered(error: &Error) -> String {
    format!("an interrupted transaction could not be recovered: {}", error.message())
}

/// Adds a warning that each attempt may give, but only once.
pub(crate) fn tell_once(warnings: &mut Vec<String>, warning: String) {
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}

/// The state in which the recovery before a command left the files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InFront {
    /// True if the recovery failed, perhaps after some swaps.
    is_half: bool,
}

impl InFront {
    /// The state after a recovery, which may have failed.
    pub(crate) fn of(failure: Option<&Error>) -> Self {
        Self { is_half: failure.is_some_and(|error| error.outcome() == Outcome::RecoveryRequired) }
    }

    /// The error of a command that needs a recovery. If the recovery before it failed halfway, its outcome says so: the
    /// files are not as they were before the command.
    pub(crate) fn in_front_of(self, error: Error) -> Error {
        if self.is_half && error.kind() == ErrorKind::RecoveryRequired {
            return error.outcome_is(Outcome::RecoveryRequired);
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::report::RecoveryReason;
    use crate::error::KeptContent;

    #[test]
    fn what_a_recovery_kept_is_named() {
        let kept = |path: &str, kept_path: &str| KeptContent {
            path: path.into(),
            kept_path: kept_path.into(),
            reason: "another program wrote it".to_owned(),
        };
        let recovered = Recovered {
            kept: vec![kept("/w/a", "/w/.txedit/kept/ID/000000.kept"), kept("/w/b", "/w/b")],
            ..Recovered::new("ID", RecoveryAction::RolledBack, RecoveryReason::NoJournal)
        };
        let mut warnings = Vec::new();
        tell(&mut warnings, &recovered);
        let told = "an interrupted transaction, ID, was recovered first: rolled_back; it never came to its journal; /w/a is kept as \
                    /w/.txedit/kept/ID/000000.kept";
        assert_eq!(warnings, [told]);
    }
}
