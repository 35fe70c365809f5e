//! The end of a scenario: `status` tells of everything that is not clean, and what is still interrupted is recovered.

use std::path::Path;

use super::data::Act;
use super::judge::Judged;
use super::look::marks;
use super::run::World;

impl World {
    pub(super) fn finish(&mut self) -> Judged {
        let status = self.status().map_err(|error| format!("status fails: {error}"))?;
        let look = self.look();
        for folder in &look.interrupted {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            if !status.interrupted.iter().any(|told| *told.id == *name) {
                return Err(format!("status does not tell of {}", folder.display()));
            }
        }
        for path in look.late() {
            let text = path.to_string_lossy();
            if !status.warnings.iter().any(|warning| warning.contains(&*text)) {
                return Err(format!("status does not tell of what was written into {text}: {:?}", status.warnings));
            }
        }
        let is_told =
            |path: &Path| status.kept.iter().flat_map(|kept| &kept.contents).any(|kept| kept.kept_path.ends_with(path));
        let told = look.kept.iter().filter(|(path, _)| is_told(path));
        let mut found = look.in_files();
        told.for_each(|(_, entry)| found.extend(marks(&String::from_utf8_lossy(&entry.content))));
        for (path, entry) in look.kept.iter().filter(|(path, _)| !is_told(path)) {
            let mut missed = marks(&String::from_utf8_lossy(&entry.content));
            missed.retain(|mark| self.alive().contains(mark) && !found.contains(mark));
            if !missed.is_empty() {
                return Err(format!("status does not tell of {}", path.display()));
            }
        }
        if self.is_stuck {
            return Ok(());
        }
        // A recovery empties the trash: nothing that is somebody's may be in it.
        self.act(&Act::Recover, &mut Vec::new())?;
        self.is_alive(&self.look().in_reach())
    }
}
