//! The processes that make and hold a view. They are this same program, started anew: a process with several threads
//! cannot move to a user name space.
//!
//! - The *holder* enters the name spaces, mounts, and waits. When the socket to the engine closes, because the view is
//!   over or because the engine was killed, it ends.
//! - The *first* process in the process name space. When it ends, the kernel kills every other one in it, and with the
//!   last process the mounts are gone.
//! - A *guest* runs one program in the view: it joins the name spaces of the first process, starts the program, and ends
//!   as that ends.

use std::convert::Infallible;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, exit};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, mkdirat, open};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, WaitId, WaitIdOptions, pidfd_open, waitid};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::super::NOT_STARTED_MARK;
use super::super::step::{MakeFailure, MakeStep};
use super::control::{self, HolderMessage};
use super::mounts::{self, Layers, Real};
use super::namespace;

/// The first argument of such a process.
pub(super) const ROLE: &str = "view-of-txedit";
/// The program itself, even if its file is gone or covered by the view.
pub(super) const OWN_PROGRAM: &str = "/proc/self/exe";
/// The interval at which the first process looks after those that lost their parent.
const PACE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// The exit status of a guest that could not start its program, as of a shell.
const NOT_STARTED: i32 = 127;
/// What a shell adds to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// The arguments that start a holder.
pub(super) fn holder(root: &Path, layers: &Path, identities: &str, real: &[Real]) -> Vec<OsString> {
    let mut words = vec![ROLE.into(), "hold".into(), root.into(), layers.into(), identities.into()];
    for real in real {
        words.extend([if real.is_read_only { "read-only" } else { "through" }.into(), OsString::from(&real.path)]);
    }
    words
}

/// The command of a guest that runs another command in a view with these layers, in a folder of it.
pub(super) fn guest(first: i32, layers: &Path, folder: &Path, command: &[OsString]) -> Vec<OsString> {
    let own = [OWN_PROGRAM.into(), ROLE.into(), "run".into(), first.to_string().into(), layers.into(), folder.into()];
    own.into_iter().chain(command.iter().cloned()).collect()
}

/// Does the work of such a process, and ends it, if this is one.
pub(in crate::view) fn serve_if_asked() {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let words: Vec<&OsStr> = words.iter().map(AsRef::as_ref).collect();
    let [role, what, rest @ ..] = &words[..] else { return };
    if *role != ROLE {
        return;
    }
    let served = match (what.to_str(), rest) {
        (Some("hold"), [root, layers, identities, real @ ..]) => {
            hold(Path::new(root), (Path::new(layers), &identities.to_string_lossy()), real)
        }
        (Some("first"), []) => be_first(),
        (Some("run"), [first, layers, folder, command @ ..]) => {
            run(first, Path::new(layers), Path::new(folder), command)
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    // Whoever started it hears of a failure in other ways; this is for the one who calls it by hand.
    exit(i32::from(served.is_err()))
}

/// Makes the view, says so, and waits for its end.
fn hold(root: &Path, layers: (&Path, &str), real: &[&OsStr]) -> io::Result<()> {
    let engine = io::stdin().as_fd().try_clone_to_owned()?;
    let real: Vec<Real> = real
        .chunks_exact(2)
        .map(|pair| Real { path: PathBuf::from(pair[1]), is_read_only: pair[0] == "read-only" })
        .collect();
    match stand(root, layers, &real) {
        Err(failed) => control::tell(engine.as_fd(), &HolderMessage::Failed(failed), None),
        Ok((mut first, opened)) => {
            let process = Pid::from_child(&first).as_raw_nonzero().get();
            control::tell(engine.as_fd(), &HolderMessage::Ready { first: process }, Some(opened.as_fd()))?;
            drop(opened);
            // Nothing is ever sent this way: it ends when the other end is closed.
            io::copy(&mut File::from(engine), &mut io::sink())?;
            first.kill()?;
            first.wait().map(drop)
        }
    }
}

fn stand(root: &Path, (layers, identities): (&Path, &str), real: &[Real]) -> Result<(Child, OwnedFd), MakeFailure> {
    namespace::enter()?;
    let layers = Layers::find(root, layers, identities).map_err(|e| MakeStep::Layers.failed(e))?;
    let opened = mounts::set_up(root, &layers, real)?;
    namespace::keep_right_to_mount().map_err(|e| MakeStep::Start.failed(e))?;
    let mut first = Command::new(OWN_PROGRAM)
        .args([ROLE, "first"])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| MakeStep::Start.failed(e))?;
    // Its first byte says that it is ready for others.
    let said = first.stdout.take().map_or(Ok(0), |mut output| output.read(&mut [0]));
    match said.map_err(|e| MakeStep::Start.failed(e))? {
        1 => Ok((first, opened)),
        _ => Err(MakeStep::Start.failed(io::Error::other("its first process ended"))),
    }
}

/// The first process: whoever loses his parent becomes its child.
fn be_first() -> io::Result<()> {
    // If it fails, the processes are shown under their numbers outside.
    mounts::show_processes().ok();
    namespace::drop_right_to_mount()?;
    let stdin = io::stdin();
    rustix::io::write(io::stdout(), b"\n")?;
    loop {
        let mut holder = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut holder, Some(&PACE)).is_ok_and(|ready| ready > 0) {
            // The holder has ended, or ends the view.
            return Ok(());
        }
        while let Ok(Some(_)) = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {}
    }
}

/// Runs a program in the view, and ends as it ended.
fn run(first: &OsStr, layers: &Path, folder: &Path, command: &[&OsStr]) -> io::Result<()> {
    let first = first.to_str().and_then(|number| Pid::from_raw(number.parse().ok()?));
    let (Some(first), Some((program, arguments))) = (first, command.split_first()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // A signal for the whole group is for the program; this process waits for what the program makes of it.
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    // The view hides them. The program does not inherit it.
    let layers = open(layers, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    join(first)?;
    env::set_current_dir(folder)?;
    let started = Command::new(program).args(arguments).arg0(program).spawn();
    let mut program = match started {
        Ok(program) => program,
        Err(error) => {
            rustix::io::write(io::stderr(), format!("{}: {error}\n", program.to_string_lossy()).as_bytes()).ok();
            // Where this fails, its exit status alone tells.
            layers.and_then(|layers| mkdirat(layers, NOT_STARTED_MARK, Mode::RWXU)).ok();
            exit(NOT_STARTED);
        }
    };
    let status = program.wait()?;
    if let Some(signal) = status.signal() {
        let error = end_by(signal);
        return Err(error.err().unwrap_or_else(|| io::ErrorKind::Other.into()));
    }
    exit(status.code().unwrap_or(NOT_STARTED))
}

/// Moves this process, which has one thread, to the name spaces of another one, and its children to its process name
/// space.
fn join(first: Pid) -> io::Result<()> {
    let first = pidfd_open(first, PidfdFlags::empty())?;
    let spaces = ThreadNameSpaceType::MOUNT | ThreadNameSpaceType::PROCESS_ID;
    // Root of the machine has made no user name space, and nobody can join the one that he is in.
    match move_into_thread_name_spaces(first.as_fd(), spaces | ThreadNameSpaceType::USER) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::INVAL) => Ok(move_into_thread_name_spaces(first.as_fd(), spaces)?),
        Err(error) => Err(error.into()),
    }
}

/// Ends this process by the signal that ended its program, without a core dump of its own.
fn end_by(signal: i32) -> io::Result<Infallible> {
    rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    signal_hook::low_level::emulate_default_handler(signal)?;
    // One that ends no process by default.
    exit(SIGNALLED + signal)
}
