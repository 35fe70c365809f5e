//! The same request once more: an answer that was lost is given again, and nothing is done twice.
//!
//! The decision rests on journals: on the key and the fingerprint in the header, and on what each file was to become.
//! Only the words of the answer come from `report.json`.

use super::Engine;
use super::account::Account;
use super::history::{Loaded, history};
use super::report::Report;
use super::transaction::see;
use crate::digest::Digest;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Name;
use crate::journal::recover::Seen;
use crate::journal::{Change, Header};
use crate::request::Request;

impl Engine {
    /// The answer to a request that was committed before, as far as the request lets that count. Called under the locks
    /// of its files: a first try that is still running has them.
    pub(super) fn answered_before(&self, request: &Request, fingerprint: Digest) -> Result<Option<Report>> {
        if let Some(key) = &request.idempotency_key
            && let Some(loaded) = self.find_committed(|header| header.key.as_ref() == Some(key))?
        {
            if loaded.journal.header.request != Some(fingerprint) {
                let message = format!(
                    "the idempotency key {key:?} was used for another request, committed as {}; a new request takes a \
                     new key",
                    loaded.id()
                );
                return Err(Error::new(ErrorKind::ValidationFailed, message));
            }
            return self.told_again(&loaded).map(Some);
        }
        if request.idempotent { self.repeated(fingerprint) } else { Ok(None) }
    }

    /// The answer of the transaction that did the very same, where every file still is as it left it.
    pub(super) fn repeated(&self, fingerprint: Digest) -> Result<Option<Report>> {
        let Some(loaded) = self.find_committed(|header| header.request == Some(fingerprint))? else { return Ok(None) };
        if self.is_in_place(&loaded)? { self.told_again(&loaded).map(Some) } else { Ok(None) }
    }

    /// The answer of a committed transaction, newest first.
    pub(super) fn committed_before(&self, is_it: impl Fn(&Header) -> bool) -> Result<Option<Report>> {
        self.find_committed(is_it)?.map(|loaded| self.told_again(&loaded)).transpose()
    }

    fn find_committed(&self, is_it: impl Fn(&Header) -> bool) -> Result<Option<Loaded>> {
        let Some(state) = self.state()? else { return Ok(None) };
        let is_it = |loaded: &Result<Loaded>| loaded.as_ref().map_or(true, |loaded| is_it(&loaded.journal.header));
        history(&*self.fs, &state)?.rev().find(is_it).transpose()
    }

    fn told_again(&self, loaded: &Loaded) -> Result<Report> {
        let account = Account::read(&*self.fs, &loaded.folder)?;
        let mut report = account.map(Account::into_report).unwrap_or_default();
        report.transaction = Some(loaded.id().to_owned());
        report.already_applied = true;
        Ok(report)
    }

    /// Whether every file is as the transaction left it.
    fn is_in_place(&self, loaded: &Loaded) -> Result<bool> {
        for record in &loaded.journal.entries {
            let Ok(parent) = self.fs.open_beneath(&self.root, record.path.parent()) else { return Ok(false) };
            let seen = see(&*self.fs, Name::new(&parent, record.path.name()))?;
            let is = match (&record.change, seen) {
                (Change::Delete { .. }, Seen::Missing) | (Change::Folder { .. }, Seen::Folder(_)) => true,
                (change, Seen::File { digest, mode, .. }) => {
                    change.after().is_some_and(|after| (after.digest, after.mode) == (digest, mode))
                }
                _ => false,
            };
            if !is {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
