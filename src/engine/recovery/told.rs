//! What is told of a recovery to the user of another command, before which it came.

use crate::engine::report::Recovered;
use crate::error::{Error, RECOVERED_FIRST};

/// Tells the user of another command of a recovery that came before it, in the place of what was told of the same
/// transaction before.
pub(in crate::engine) fn tell(warnings: &mut Vec<String>, recovered: &Recovered) {
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
        _ => Some(format!("an interrupted transaction, {id}, {RECOVERED_FIRST}: {action}; {reason}")),
    }
}

/// What is told of one whose recovery failed.
pub(in crate::engine) fn not_recovered(error: &Error) -> String {
    format!("an interrupted transaction could not be recovered: {error}")
}

/// The same of what can be met once in each attempt: it is told once.
pub(in crate::engine) fn tell_once(warnings: &mut Vec<String>, warning: String) {
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}
