//! Ends a scenario: `status` must report everything that is not clean, and interrupted transactions are recovered.

use std::path::Path;
use std::time::Duration;

use super::data::{Ask, ScenarioAct, ScenarioTerms};
use super::judge::Judged;
use super::look::marks;
use super::run::ScenarioWorld;
use crate::digest::Digest;
use crate::engine::report::Interrupted;
use crate::fs::sim::SimEntry;
use crate::journal::{self, JournalState};
use crate::path::STATE_FOLDER;
use crate::testing::script::ROOT;

impl ScenarioWorld {
    pub(super) fn finish(&mut self) -> Judged {
        let status = self.status().map_err(|error| format!("status fails: {error}"))?;
        let look = self.look();
        self.judge_status(&look, &status)?;
        for folder in &look.interrupted {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            if !status.interrupted.iter().any(|told| *told.id == *name) {
                return Err(format!("status does not tell of {}", folder.display()));
            }
        }
        for path in &look.strangers {
            let text = path.to_string_lossy();
            let waiting = status.interrupted.iter().map(Interrupted::reason);
            if !status.warnings.iter().cloned().chain(waiting).any(|told| told.contains(&*text)) {
                return Err(format!("status does not tell of {text}, which is no transaction: {status:?}"));
            }
        }
        for path in look.late() {
            let text = path.to_string_lossy();
            if !status.warnings.iter().any(|warning| warning.contains(&*text)) {
                return Err(format!("status does not tell of what was written into {text}: {:?}", status.warnings));
            }
        }
        // The whole content of a kept folder must be reported.
        let all_kept = || status.kept.iter().flat_map(|kept| &kept.contents);
        let state = Path::new(ROOT).join(STATE_FOLDER);
        let is_told = |path: &Path| all_kept().any(|kept| state.join(path).starts_with(&kept.kept_path));
        let told = look.kept.iter().filter(|(path, _)| is_told(path));
        let mut found = look.in_files();
        found.extend(look.originals());
        found.extend(look.interrupted_slots());
        told.for_each(|(_, entry)| found.extend(marks(&String::from_utf8_lossy(&entry.content))));
        for (path, entry) in look.kept.iter().filter(|(path, entry)| !is_told(path) && !self.was_staged(path, entry)) {
            let mut missed = marks(&String::from_utf8_lossy(&entry.content));
            missed.retain(|journal_state| self.alive().contains(journal_state) && !found.contains(journal_state));
            if !missed.is_empty() {
                return Err(format!("status does not tell of {}", path.display()));
            }
        }
        // It is a copy of what others wrote, apart from what they wrote into the copy itself.
        let mut without = (*look).clone();
        without.rejected.clear();
        let elsewhere = without.in_reach();
        for (path, entry) in &look.rejected {
            let mut missed = marks(&String::from_utf8_lossy(&entry.content));
            missed.retain(|journal_state| self.alive().contains(journal_state) && !elsewhere.contains(journal_state));
            let text = path.to_string_lossy();
            if !missed.is_empty() && !status.warnings.iter().any(|warning| warning.contains(&*text)) {
                return Err(format!("status does not tell of what was written into {text}: {:?}", status.warnings));
            }
        }
        if self.is_stuck {
            return Ok(());
        }
        // A recovery and a later commit empty the trash: no foreign content may be in it.
        self.act(&ScenarioAct::Recover, &mut Vec::new())?;
        self.machine.advance(Duration::from_secs(60 * 60));
        let later = Ask::Create("aftermath".to_owned(), "aftermath\n".to_owned());
        self.act(&ScenarioAct::Apply(vec![later], ScenarioTerms::default()), &mut Vec::new())?;
        let (status, look) = (self.status().map_err(|error| format!("status fails: {error}"))?, self.look());
        self.judge_status(&look, &status)?;
        if !look.trash.is_empty() {
            return Err(format!("for ever in the trash: {:?}", look.trash));
        }
        self.is_alive(&look.in_reach())
    }

    /// Returns whether a kept file is what its transaction staged there, unchanged: a copy, by the journal of its
    /// folder.
    fn was_staged(&self, path: &Path, entry: &SimEntry) -> bool {
        let folder = Path::new(ROOT).join(STATE_FOLDER).join(path.parent().unwrap_or(path));
        let bytes = JournalState::ALL
            .iter()
            .find_map(|journal_state| self.machine.read(folder.join(journal_state.file_name())).ok());
        let slot = path.file_name().and_then(|name| name.to_str()?.parse::<usize>().ok());
        let record = bytes
            .and_then(|bytes| journal::scan(&bytes).ok())
            .zip(slot)
            .and_then(|(journal, slot)| journal.entries.into_iter().nth(slot));
        record.is_some_and(|record| {
            let after = record.change.after().map(|after| after.digest);
            record.change.staged() == Some(&entry.identity) && after == Some(Digest::of(&entry.content))
        })
    }
}
