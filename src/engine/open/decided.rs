//! What has become of an open transaction that somebody else decides on.

use crate::engine::report::review::SelectedCommit;
use crate::engine::store::state::{Section, open_transaction};
use crate::engine::transaction::idempotency::Commit;
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::is_id;

impl Engine {
    /// The commit that an open transaction became, by whomever; `None` while it is open, or still to be
    /// [closed](Self::close_committed). An error says that it was discarded, or has lapsed. Nothing is written, whether it fails
    /// or not.
    pub fn decided(&self, id: &str, run: Run<'_>) -> Result<Option<SelectedCommit>> {
        let found = self.found()?;
        let state = found.trusted(&self.workspace)?.ok_or_else(|| self.unknown(id))?.clone();
        let section = if is_id(id.as_ref()) { state.section(Section::Open)? } else { None };
        if let Some(section) = section
            && open_transaction(&state.workspace, &section, id)?.is_some()
        {
            return Ok(None);
        }
        let commit = Commit { opened: id, is_gone: true, plan_hash: None, selection: None, is_checked: false };
        let report = self.committed_again(&found, &commit, run)?.ok_or_else(|| {
            let message = format!("the open transaction {id} was discarded, or has lapsed; no file was changed by it");
            Error::new(ErrorKind::UnknownTransaction, message)
        })?;
        Ok(Some(SelectedCommit { report, rest: self.rest_of(&found, id)? }))
    }
}
