//! What a program started and left behind, wherever it went: into a session of its own, or to another parent.
//!
//! It is known by what it inherited, and found in `/proc`. What gave up all of that, belongs to another user, or was
//! started by somebody else on the program's behalf (a service manager, a container engine) is not found.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How long what was killed may take to be gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked after.
const PACE: Duration = Duration::from_millis(1);

/// By what a process is known.
#[derive(Debug, Default)]
pub(super) struct ProcessMarks {
    /// Variables of its environment, as `NAME=value`; all of them.
    pub(super) variables: Vec<Vec<u8>>,
    /// An open file with a lock: its number in the process, its device and its inode.
    pub(super) held: Option<(i32, u64, u64)>,
}

/// A process that was found.
struct FoundProcess {
    process: Pid,
    /// By which it is told from a later one of the same number.
    started: u64,
    handle: OwnedFd,
}

impl ProcessMarks {
    /// Ends all processes that have these marks; answers those that could not be ended, for messages.
    pub(super) fn end_all(&self) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let found = self.find();
            if found.is_empty() {
                return Vec::new();
            }
            for one in &found {
                // One that is gone needs no signal.
                let _ = pidfd_send_signal(&one.handle, Signal::KILL);
            }
            while found.iter().any(FoundProcess::is_alive) {
                if Instant::now() >= until {
                    return found.iter().filter(|one| one.is_alive()).map(FoundProcess::told).collect();
                }
                std::thread::sleep(PACE);
            }
            // What they started meanwhile is found the next time.
        }
    }

    fn find(&self) -> Vec<FoundProcess> {
        if self.variables.is_empty() && self.held.is_none() {
            return Vec::new();
        }
        let own = std::process::id().to_string();
        // Numbers of another namespace would be those of strangers here.
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
        // Once more: the number may have become another's before the handle was there.
        self.are_on(process).then_some(FoundProcess { process, started, handle })
    }

    fn are_on(&self, process: Pid) -> bool {
        let folder = Path::new("/proc").join(process.as_raw_nonzero().to_string());
        if self.are_in(&folder) {
            return true;
        }
        // Where the first thread has ended, only the others have them still.
        let has_ended = || matches!(words(process).as_deref(), Some([state, ..]) if state == "Z");
        let threads = || fs::read_dir(folder.join("task")).into_iter().flatten().flatten();
        has_ended() && threads().any(|thread| self.are_in(&thread.path()))
    }

    /// Whether they are in a folder of `/proc`: that of a process, or of one of its threads.
    fn are_in(&self, folder: &Path) -> bool {
        let is_held = self.held.is_some_and(|(number, device, inode)| {
            let number = number.to_string();
            let is_it = |file: fs::Metadata| (file.dev(), file.ino()) == (device, inode);
            // Whoever only looks at the transaction has opened its folder for itself, and has no lock.
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
    /// Whether any of its threads still runs.
    fn is_alive(&self) -> bool {
        matches!(state(self.process), Some((true, started)) if started == self.started)
    }

    fn told(&self) -> String {
        let number = self.process.as_raw_nonzero();
        let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
        format!("{number} ({})", name.trim_end())
    }
}

/// Whether a process runs, and since when; `None` where there is none of that number.
fn state(process: Pid) -> Option<(bool, u64)> {
    let fields = words(process)?;
    let is_dead = matches!(fields.first()?.as_str(), "Z" | "X") && fields.get(17)?.as_str() <= "1";
    Some((!is_dead, fields.get(19)?.parse().ok()?))
}

/// What its `stat` tells behind its name, which is in parentheses and may hold anything: its state, and 17 fields later the
/// number of its threads.
fn words(process: Pid) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}
