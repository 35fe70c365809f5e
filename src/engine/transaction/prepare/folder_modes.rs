//! The modes that a request gives to the folders that it makes.

use std::collections::HashMap;

use super::request_paths::ResolvedRequest;
use crate::error::{ErrorKind, Result};
use crate::path::RelPath;
use crate::request::validate::{Findings, at_file};
use crate::request::{Change, Mode, Request};

/// What the owner needs to look into a folder, and to change names in it.
const OWNER: u32 = 0o700;

/// The modes by path. Set-user-id was refused or allowed before.
pub(crate) fn of(request: &Request, resolved: &ResolvedRequest, user: u32) -> Result<HashMap<RelPath, u32>> {
    let mut findings = Findings::new();
    let mut modes = HashMap::new();
    for (entry, (file, target_ids)) in request.files.iter().zip(resolved.target_ids.numbered()) {
        let (Change::MakeFolder, Some(Mode::Bits(bits))) = (&entry.change, entry.mode) else { continue };
        if user != 0 && bits & OWNER != OWNER {
            let message = format!(
                "{}: with the mode {bits:o} you could not use the folder, and it could not be rolled back: give it 7 for its \
                 owner",
                entry.path.display()
            );
            findings.push(ErrorKind::PermissionDenied, at_file(file.0, Some("mode")), message);
        }
        modes.insert(resolved.places[target_ids.subject].path.clone(), bits);
    }
    findings.finish()?;
    Ok(modes)
}
