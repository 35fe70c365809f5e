//! Refuses modes that make a program run as its owner or group, whoever starts it; and the set-user-id bit of a folder,
//! which says nothing.

use super::request_paths::ResolvedRequest;
use crate::error::{ErrorKind, NextStep, Result};
use crate::request::validate::{Findings, at_file};
use crate::request::{Mode, Request};

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

/// Set-user-id alone. Set-group-id gives what is made in a folder the folder's group, and lets nobody act as another.
const SET_USER_ID: u32 = 0o4000;

/// Refuses to give a file a set-id bit that it does not have, or a folder set-user-id.
pub(crate) fn check(request: &Request, resolved: &ResolvedRequest) -> Result<()> {
    let mut findings = Findings::new();
    for (entry, (file, target_ids)) in request.files.iter().zip(resolved.target_ids.numbered()) {
        let Some(Mode::Bits(bits)) = entry.mode else { continue };
        if entry.is_of_folder() {
            if bits & SET_USER_ID != 0 {
                let message = format!(
                    "{}: the mode {bits:o} has the set-user-id bit, which means nothing for a folder: leave it out (2 and \
                     1 in front are fine); only whoever starts txedit can allow it",
                    entry.path.display()
                );
                findings.push(ErrorKind::ValidationFailed, at_file(file.0, Some("mode")), message);
            }
            continue;
        }
        let had = resolved.places[target_ids.subject].stat.as_ref().map_or(0, |stat| stat.mode);
        if bits & SET_ID & !had != 0 {
            let message = format!(
                "{}: the mode {bits:o} would let whoever runs the file act as its owner or group: leave the first digit \
                 out; only whoever starts txedit can allow it",
                entry.path.display()
            );
            findings.push(ErrorKind::ValidationFailed, at_file(file.0, Some("mode")), message);
        }
    }
    findings.finish().map_err(|error| error.with_next([NextStep::AllowSetId]))
}
