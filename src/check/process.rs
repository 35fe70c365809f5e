//! A check as a process, which is ended together with everything that it started.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use super::group::{self, Order, ProgramEnd, Ran, Streams, Tail};
use super::{CheckCall, Checker, Ended, Verdict};
use crate::cancel::CancelToken;
use crate::limits;
use crate::view::{VIEW, View};

/// The variable that tells a check and everything it starts which transaction waits for it.
pub(crate) const TRANSACTION: &str = "TXEDIT_TRANSACTION";

/// Runs checks as processes: in the root, without standard input, and without a shell.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Processes;

impl Checker for Processes {
    fn runs_in_views(&self) -> bool {
        true
    }

    fn run(&self, call: &CheckCall<'_>) -> io::Result<Ended> {
        let folder = Path::new("");
        let in_view = call.view.map(|view| view.command(&call.check.command, folder));
        let environment: Vec<(&str, OsString)> = match call.view {
            Some(view) => vec![(VIEW, view.root().into())],
            None => call.transaction.map(|id| (TRANSACTION, id.into())).into_iter().collect(),
        };
        let order = Order {
            command: in_view.as_ref().unwrap_or(&call.check.command),
            folder: call.folder,
            environment: &environment,
            inside: call.view.and_then(View::first),
            held: call.held,
            streams: Streams::Joined,
            limit: call.check.limit,
        };
        run_to_its_end(&order, call.cancel, call.output).map(|(ended, _)| ended)
    }
}

/// A program that is run in a view.
#[derive(Debug)]
pub(crate) struct ProgramCall<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// The view.
    pub view: &'a View,
    /// The folder that it starts in, relative to the root.
    pub folder: &'a Path,
    /// What it holds open, and everything that it starts.
    pub held: Option<BorrowedFd<'a>>,
    /// Its time limit.
    pub limit: Duration,
    /// Its input and output.
    pub streams: Streams,
}

/// Runs a program in a view; returns how it ended, and the processes that it left behind, which have ended as well.
pub(crate) fn run_in_view(
    call: &ProgramCall<'_>,
    cancel: &CancelToken,
    output: &dyn Fn(&[u8]),
) -> io::Result<(Ended, Vec<String>)> {
    let ProgramCall { view, folder, held, limit, streams, .. } = *call;
    let (command, environment) = (view.command(call.command, folder), [(VIEW, view.root().into())]);
    let (started_in, inside) = (view.folder().join(folder_outside(view, folder)), view.first());
    let order =
        Order { command: &command, folder: &started_in, environment: &environment, inside, held, limit, streams };
    run_to_its_end(&order, cancel, output)
}

/// The folder that the command of a view is started in, within that of the view: only a copy has any.
fn folder_outside<'a>(view: &View, folder: &'a Path) -> &'a Path {
    if matches!(view, View::Copy(_)) { folder } else { Path::new("") }
}

/// Runs a program and ends whatever it started; returns how it ended, and the processes that it left behind.
fn run_to_its_end(order: &Order<'_>, cancel: &CancelToken, output: &dyn Fn(&[u8])) -> io::Result<(Ended, Vec<String>)> {
    let started = Instant::now();
    let mut tail = Tail::new(limits::CHECK_TAIL_BYTES);
    let Ran { end, behind } = group::run(order, cancel, &mut |_, bytes| {
        output(bytes);
        tail.add(bytes);
        ControlFlow::Continue(())
    })?;
    let verdict = match end {
        ProgramEnd::Exited(status) if status.success() => Verdict::Passed,
        ProgramEnd::Exited(status) => Verdict::Failed(status.to_string()),
        ProgramEnd::TimedOut => Verdict::TimedOut,
        ProgramEnd::Cancelled | ProgramEnd::Unheard => Verdict::Cancelled,
    };
    let verdict = match (verdict, behind.alive.is_empty()) {
        (Verdict::Passed, false) => {
            let alive = behind.alive.join(", ");
            Verdict::Failed(format!("left processes that could not be ended: {alive}; end it yourself"))
        }
        (verdict, _) => verdict,
    };
    Ok((Ended { verdict, tail: tail.text(), took: started.elapsed() }, behind.ended))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::check::Check;

    fn run(script: &str, limit: Duration, cancel: &CancelToken) -> (Ended, String) {
        let scratch = tempfile::tempdir().unwrap();
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        let check = Check { command, limit };
        let heard = Mutex::new(Vec::new());
        let output = |bytes: &[u8]| heard.lock().unwrap().extend_from_slice(bytes);
        // Processes left behind are recognised by their transaction, so each test has its own.
        let transaction = format!("T-{}", scratch.path().display());
        let folder = scratch.path();
        let (transaction, view, held) = (Some(&*transaction), None, None);
        let call = CheckCall { check: &check, folder, transaction, view, held, cancel, output: &output };
        let ended = Processes.run(&call).unwrap();
        let heard = String::from_utf8(heard.into_inner().unwrap()).unwrap();
        (ended, heard)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_it_prints_is_told_and_its_end_is_kept() {
        let never = CancelToken::new();
        let (ended, heard) = run("echo one; echo two >&2; printf ${TXEDIT_TRANSACTION%%-*}", LONG, &never);
        assert_eq!((ended.verdict, &*ended.tail), (Verdict::Passed, "one\ntwo\nT"));
        assert_eq!(heard, "one\ntwo\nT");
        let (ended, heard) = run("i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i+1)); done; exit 3", LONG, &never);
        assert_eq!(ended.verdict, Verdict::Failed("exit status: 3".to_owned()));
        assert!(ended.tail.starts_with("line ") && ended.tail.ends_with("line 3999\n"), "{}", ended.tail);
        assert!(ended.tail.len() <= limits::CHECK_TAIL_BYTES && heard.starts_with("line 0\n"));
    }

    #[test]
    fn it_is_stopped_with_all_that_it_started() {
        let never = CancelToken::new();
        let scratch = tempfile::tempdir().unwrap();
        let alive = scratch.path().join("alive");
        // The child would write long after the check was stopped, and holds the output open.
        let script = format!("(sleep 1.5; echo > {}) & wait", alive.display());
        let (ended, _) = run(&script, Duration::from_millis(100), &never);
        assert_eq!(ended.verdict, Verdict::TimedOut);
        // The children of one that ends by itself are ended as well.
        let (ended, _) = run(&format!("(sleep 1; echo > {}) & exit 0", alive.display()), LONG, &never);
        assert_eq!(ended.verdict, Verdict::Passed);
        std::thread::sleep(Duration::from_millis(1800));
        assert!(!alive.exists(), "a child survived the check");
        let cancel = CancelToken::new();
        cancel.cancel();
        let (ended, _) = run("sleep 60", LONG, &cancel);
        assert_eq!(ended.verdict, Verdict::Cancelled);
        assert!(ended.took < Duration::from_secs(30));
    }

    /// A program that another thread starts at the same moment inherits nothing of the check.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test may panic")]
    fn what_others_start_meanwhile_is_left_alone() {
        let (never, is_over) = (CancelToken::new(), AtomicBool::new(false));
        let scratch = tempfile::tempdir().unwrap();
        let locked = std::fs::File::open(scratch.path()).unwrap();
        locked.lock().unwrap();
        let check = Check { command: vec!["true".into()], limit: LONG };
        std::thread::scope(|scope| {
            let others = scope.spawn(|| {
                let mut ended = Vec::new();
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    ended.push(std::process::Command::new("sleep").arg("0.01").status().unwrap());
                }
                ended
            });
            for _ in 0..300 {
                let held = Some(std::os::fd::AsFd::as_fd(&locked));
                let folder = scratch.path();
                let (transaction, view, cancel) = (Some("T"), None, &never);
                let call = CheckCall { check: &check, folder, transaction, view, held, cancel, output: &|_| () };
                assert_eq!(Processes.run(&call).unwrap().verdict, Verdict::Passed);
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            let ended = others.join().unwrap();
            assert!(ended.len() > 10 && ended.iter().all(std::process::ExitStatus::success), "{ended:?}");
        });
    }

    #[test]
    fn one_that_ignores_the_request_to_end_is_killed() {
        let never = CancelToken::new();
        let (ended, _) = run("trap '' TERM; while true; do sleep 0.1; done", Duration::from_millis(50), &never);
        assert_eq!(ended.verdict, Verdict::TimedOut);
    }
}
