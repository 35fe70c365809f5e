//! A check as a process, with a process group of its own that ends with it.

use std::io::{self, PipeReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Call, Checker, Ended, Verdict};
use crate::limits;

/// The variable by which what a check starts knows the transaction that waits for it.
pub const TRANSACTION: &str = "TXEDIT_TRANSACTION";

/// How often a running check is looked after.
const PACE: Duration = Duration::from_millis(10);
/// How long a check that is stopped has for putting things in order.
const GRACE: Duration = Duration::from_secs(2);
/// How long to listen to what holds the output open after the check has ended.
const LINGER: Duration = Duration::from_millis(500);

/// Runs checks as processes: in the root, without standard input, no shell unless the check is one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processes;

impl Checker for Processes {
    fn run(&self, call: &Call<'_>) -> io::Result<Ended> {
        let started = Instant::now();
        let mut running = Running::start(call)?;
        let verdict = running.watch(call, started)?;
        running.end(call.output);
        Ok(Ended { verdict, tail: running.tail.text(), took: started.elapsed() })
    }
}

struct Running {
    child: Child,
    group: Pid,
    output: Receiver<Vec<u8>>,
    tail: Tail,
}

impl Running {
    fn start(call: &Call<'_>) -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let Some((program, arguments)) = call.check.command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a check names a program"));
        };
        // One pipe for both, so that the lines keep their order.
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(call.folder).env(TRANSACTION, call.transaction);
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
        let child = command.spawn()?;
        // It holds the writing ends: as long as it lives the output has no end.
        drop(command);
        let group = Pid::from_child(&child);
        Ok(Self { child, group, output: listen(reader), tail: Tail::default() })
    }

    /// Until it ends, or is stopped.
    fn watch(&mut self, call: &Call<'_>, started: Instant) -> io::Result<Verdict> {
        let mut stopped: Option<(Verdict, Instant)> = None;
        loop {
            self.hear(PACE, call.output);
            // Not reaped yet: until then the number of the group is nobody else's.
            if waitid(WaitId::Pid(self.group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG)?
                .is_some()
            {
                self.signal(Signal::KILL);
                let status = self.child.wait()?;
                return Ok(match stopped {
                    Some((why, _)) => why,
                    None if status.success() => Verdict::Passed,
                    None => Verdict::Failed(status.to_string()),
                });
            }
            if let Some((_, since)) = &stopped {
                if since.elapsed() >= GRACE {
                    self.signal(Signal::KILL);
                }
                continue;
            }
            let why = match (call.cancel.load(Ordering::Relaxed), started.elapsed() >= call.check.limit) {
                (true, _) => Verdict::Cancelled,
                (false, true) => Verdict::TimedOut,
                (false, false) => continue,
            };
            self.signal(Signal::TERM);
            stopped = Some((why, Instant::now()));
        }
    }

    /// What is still on its way. Something that left the group may hold the output open for ever.
    fn end(&mut self, tell: &dyn Fn(&[u8])) {
        let until = Instant::now() + LINGER;
        while Instant::now() < until && self.hear(PACE, tell) {}
    }

    /// Waits for output; `false` where there will be no more.
    fn hear(&mut self, patience: Duration, tell: &dyn Fn(&[u8])) -> bool {
        match self.output.recv_timeout(patience) {
            Ok(bytes) => {
                tell(&bytes);
                self.tail.add(&bytes);
                true
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => {
                // Without a sender the wait is none.
                std::thread::sleep(patience);
                false
            }
        }
    }

    /// A group that is gone needs no signal.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
    }
}

/// Reads on a thread of its own, so that nobody who holds the pipe can hold up the transaction.
fn listen(mut reader: PipeReader) -> Receiver<Vec<u8>> {
    let (chunks, output) = mpsc::sync_channel(16);
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(read @ 1..) = reader.read(&mut buffer) {
            if chunks.send(buffer[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    output
}

/// The end of an output.
#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * limits::CHECK_TAIL_BYTES {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let start = self.bytes.len().saturating_sub(limits::CHECK_TAIL_BYTES);
        self.is_cut |= start > 0;
        self.bytes.drain(..start);
    }

    /// Whole lines where there are any.
    fn text(&mut self) -> String {
        self.cut();
        let start = match memchr::memchr(b'\n', &self.bytes) {
            Some(end) if self.is_cut => end + 1,
            _ => 0,
        };
        String::from_utf8_lossy(&self.bytes[start..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::check::Check;

    fn run(script: &str, limit: Duration, cancel: &AtomicBool) -> (Ended, String) {
        let scratch = tempfile::tempdir().unwrap();
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        let check = Check { command, limit };
        let heard = Mutex::new(Vec::new());
        let output = |bytes: &[u8]| heard.lock().unwrap().extend_from_slice(bytes);
        let call = Call { check: &check, folder: scratch.path(), transaction: "T", cancel, output: &output };
        let ended = Processes.run(&call).unwrap();
        let heard = String::from_utf8(heard.into_inner().unwrap()).unwrap();
        (ended, heard)
    }

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn what_it_prints_is_told_and_its_end_is_kept() {
        let never = AtomicBool::new(false);
        let (ended, heard) = run("echo one; echo two >&2; printf $TXEDIT_TRANSACTION", LONG, &never);
        assert_eq!((ended.verdict, &*ended.tail), (Verdict::Passed, "one\ntwo\nT"));
        assert_eq!(heard, "one\ntwo\nT");
        let (ended, heard) = run("i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i+1)); done; exit 3", LONG, &never);
        assert_eq!(ended.verdict, Verdict::Failed("exit status: 3".to_owned()));
        assert!(ended.tail.starts_with("line ") && ended.tail.ends_with("line 3999\n"), "{}", ended.tail);
        assert!(ended.tail.len() <= limits::CHECK_TAIL_BYTES && heard.starts_with("line 0\n"));
    }

    #[test]
    fn it_is_stopped_with_all_that_it_started() {
        let never = AtomicBool::new(false);
        let scratch = tempfile::tempdir().unwrap();
        let alive = scratch.path().join("alive");
        // The child would write long after the check was stopped, and holds the output open.
        let script = format!("(sleep 1.5; echo > {}) & wait", alive.display());
        let (ended, _) = run(&script, Duration::from_millis(100), &never);
        assert_eq!(ended.verdict, Verdict::TimedOut);
        // One that ends by itself takes its children along as well.
        let (ended, _) = run(&format!("(sleep 1; echo > {}) & exit 0", alive.display()), LONG, &never);
        assert_eq!(ended.verdict, Verdict::Passed);
        std::thread::sleep(Duration::from_millis(1800));
        assert!(!alive.exists(), "a child survived the check");
        let cancel = AtomicBool::new(true);
        let (ended, _) = run("sleep 60", LONG, &cancel);
        assert_eq!(ended.verdict, Verdict::Cancelled);
        assert!(ended.took < Duration::from_secs(30));
    }

    #[test]
    fn one_that_ignores_the_request_to_end_is_killed() {
        let never = AtomicBool::new(false);
        let (ended, _) = run("trap '' TERM; while true; do sleep 0.1; done", Duration::from_millis(50), &never);
        assert_eq!(ended.verdict, Verdict::TimedOut);
    }
}
