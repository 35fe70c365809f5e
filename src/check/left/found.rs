//! Finds processes by their marks in `/proc`, and ends them.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{LeftBehind, ProcessMarks};

/// The time that a killed process may take to be gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// The interval at which it is polled.
const PACE: Duration = Duration::from_millis(1);

/// A process that was found.
struct FoundProcess {
    process: Pid,
    /// The start time, which distinguishes it from a later process with the same number.
    started: u64,
    handle: OwnedFd,
}

impl ProcessMarks {
    /// Ends all processes with these marks.
    pub(in crate::check) fn end_all(&self) -> LeftBehind {
        let (until, mut behind) = (Instant::now() + PATIENCE, LeftBehind::default());
        loop {
            let found = self.find();
            if found.is_empty() {
                return behind;
            }
            behind.ended.extend(found.iter().filter(|one| one.is_alive()).map(FoundProcess::told));
            for one in &found {
                // A process that is gone needs no signal.
                let _ = pidfd_send_signal(&one.handle, Signal::KILL);
            }
            while found.iter().any(FoundProcess::is_alive) {
                if Instant::now() >= until {
                    behind.alive = found.iter().filter(|one| one.is_alive()).map(FoundProcess::told).collect();
                    behind.ended.retain(|one| !behind.alive.contains(one));
                    return behind;
                }
                std::thread::sleep(PACE);
            }
            // Processes that they started meanwhile are found in the next pass.
        }
    }

    fn find(&self) -> Vec<FoundProcess> {
        if self.variables.is_empty() && self.held.is_none() && self.first.is_none() {
            return Vec::new();
        }
        let own = std::process::id().to_string();
        // The numbers of another namespace would mean unrelated processes here.
        if fs::read_link("/proc/self").ok().as_deref() != Some(Path::new(&own)) {
            return Vec::new();
        }
        let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
        let numbers = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let others = numbers.filter(|number| number.to_string() != own);
        others.filter_map(|number| self.look(Pid::from_raw(number)?)).collect()
    }

    fn look(&self, process: Pid) -> Option<FoundProcess> {
        if !self.are_on(process) {
            return None;
        }
        let handle = pidfd_open(process, PidfdFlags::empty()).ok()?;
        let (_, started) = state(process)?;
        // Verified again: the number may have been reused before the handle was opened.
        self.are_on(process).then_some(FoundProcess { process, started, handle })
    }

    fn are_on(&self, process: Pid) -> bool {
        let number = process.as_raw_nonzero().get();
        let folder = Path::new("/proc").join(number.to_string());
        if self.first.is_some_and(|first| first != number && space(number).is_some_and(|it| Some(it) == space(first))) {
            return true;
        }
        if self.are_in(&folder) {
            return true;
        }
        // If the main thread has ended, only the other threads still show them.
        let has_ended = || matches!(words(process).as_deref(), Some([state, ..]) if state == "Z");
        let threads = || fs::read_dir(folder.join("task")).into_iter().flatten().flatten();
        has_ended() && threads().any(|thread| self.are_in(&thread.path()))
    }

    /// Returns whether the marks are in a folder of `/proc`: that of a process, or of one of its threads.
    fn are_in(&self, folder: &Path) -> bool {
        let is_held = self.held.is_some_and(|(number, device, inode)| {
            let number = number.to_string();
            let is_it = |file: fs::Metadata| (file.dev(), file.ino()) == (device, inode);
            // A process that only inspects the transaction has opened its folder itself, and has no lock.
            let has_lock = |text: String| text.lines().any(|line| line.starts_with("lock:"));
            fs::metadata(folder.join("fd").join(&number)).is_ok_and(is_it)
                && fs::read_to_string(folder.join("fdinfo").join(&number)).is_ok_and(has_lock)
        });
        let has_variables = || {
            let Ok(environment) = fs::read(folder.join("environ")) else { return false };
            let has = |wanted: &Vec<u8>| environment.split(|byte| *byte == 0).any(|variable| variable == wanted);
            !self.variables.is_empty() && self.variables.iter().all(has)
        };
        is_held || has_variables()
    }
}

impl FoundProcess {
    /// Returns whether any of its threads still runs.
    fn is_alive(&self) -> bool {
        matches!(state(self.process), Some((true, started)) if started == self.started)
    }

    fn told(&self) -> String {
        let number = self.process.as_raw_nonzero();
        let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
        format!("{number} ({})", name.trim_end())
    }
}

/// The process name space of a process.
fn space(process: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/pid")).ok()
}

/// Whether a process runs, and its start time; `None` if there is no process with that number.
fn state(process: Pid) -> Option<(bool, u64)> {
    let fields = words(process)?;
    let is_dead = matches!(fields.first()?.as_str(), "Z" | "X") && fields.get(17)?.as_str() <= "1";
    Some((!is_dead, fields.get(19)?.parse().ok()?))
}

/// The fields of its `stat` after the name, which is in parentheses and may contain anything: the state, and 17 fields
/// later the number of threads.
fn words(process: Pid) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}
