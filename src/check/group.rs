//! A program in a process group of its own, that ends with all that it started: without a shell and without standard
//! input, heard as it prints, stopped when its time is over.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _};
use std::ops::ControlFlow;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt as _, FdMapping};
use rustix::fs::{Mode, OFlags, fcntl_setfl, fstat, open};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::left::ProcessMarks;
use crate::cancel::CancelToken;

/// The variable with the token of the server, which no program that it runs is to know.
pub(crate) const TOKEN: &str = "TXEDIT_MCP_TOKEN";

/// How often a running program is looked after.
const PACE: Duration = Duration::from_millis(10);
/// How long a program that is stopped has for putting things in order.
const GRACE: Duration = Duration::from_secs(2);
/// How long to listen to what holds the output open after the program has ended.
const LINGER: Duration = Duration::from_millis(500);
/// What is read of an output at once: as much as a pipe holds.
const PIPE_BYTES: usize = 64 << 10;
/// The lowest number of the file that is held: shells and scripts use those below it for themselves.
const HELD_FROM: i32 = 100;

/// What to run.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Where.
    pub folder: &'a Path,
    /// What it finds in its environment besides what this program found. Where there is anything, what it leaves behind is
    /// known by that, and ended with it.
    pub environment: &'a [(&'a str, OsString)],
    /// An open file that is inherited by the program and all that it starts: who looks whether it is held, by a lock on it,
    /// sees whether any of them is still there.
    pub held: Option<BorrowedFd<'a>>,
    /// Whether what it prints as errors is heard apart; else both come as one, so that the lines keep their order.
    pub apart: bool,
    /// How long it may take.
    pub limit: Duration,
}

/// Where a program printed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The output, or both where they are not heard apart.
    Output,
    /// The errors.
    Errors,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// By itself.
    Exited(ExitStatus),
    /// It took too long, and was stopped.
    TimedOut,
    /// The caller wanted to stop, and so it was stopped.
    Cancelled,
    /// The listener wanted to hear no more, and so it was stopped.
    Unheard,
}

/// A program that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    /// How it ended.
    pub end: ProgramEnd,
    /// Processes that it left behind and that could not be ended, for messages.
    pub left: Vec<String>,
}

/// Is given what a program prints, as it comes; breaks to stop it.
pub(crate) type Listener<'a> = &'a mut dyn FnMut(Stream, &[u8]) -> ControlFlow<()>;

/// Runs a program to its end, and ends everything that it left behind. An error means that it could not be run.
pub(crate) fn run(order: &Order<'_>, cancel: &CancelToken, listener: Listener<'_>) -> io::Result<Ran> {
    let started = Instant::now();
    let mut running = Running::start(order)?;
    let end = running.watch(order.limit, started, cancel, listener)?;
    let left = running.marks.end_all();
    running.end(listener);
    Ok(Ran { end, left })
}

struct Running {
    child: Child,
    group: Pid,
    outputs: Vec<(Stream, PipeReader)>,
    marks: ProcessMarks,
    /// Whether the program was waited for: its number may be another's by now.
    is_over: bool,
    /// Whether the listener has had enough.
    is_deaf: bool,
}

impl Running {
    fn start(order: &Order<'_>) -> io::Result<Self> {
        let Some((program, arguments)) = order.command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a command names a program"));
        };
        let (reader, writer) = io::pipe()?;
        let mut outputs = vec![(Stream::Output, reader)];
        let error_writer = if order.apart {
            let (reader, writer) = io::pipe()?;
            outputs.push((Stream::Errors, reader));
            writer
        } else {
            writer.try_clone()?
        };
        for (_, reader) in &outputs {
            // Whoever holds the pipe cannot hold up the caller.
            fcntl_setfl(reader, OFlags::NONBLOCK)?;
        }
        let mut command = Command::new(program);
        command.args(arguments).current_dir(order.folder);
        command.envs(order.environment.iter().map(|(name, value)| (name, value)));
        command.env_remove(TOKEN);
        command.stdin(Stdio::null()).stdout(writer).stderr(error_writer).process_group(0);
        let variable = |(name, value): &(&str, OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        let mut marks = ProcessMarks { variables: order.environment.iter().map(variable).collect(), held: None };
        let child = match order.held {
            Some(held) => spawn_holding(command, held, &mut marks)?,
            None => command.spawn()?,
        };
        let group = Pid::from_child(&child);
        Ok(Self { child, group, outputs, marks, is_over: false, is_deaf: false })
    }

    /// Until it ends, or is stopped.
    fn watch(
        &mut self,
        limit: Duration,
        started: Instant,
        cancel: &CancelToken,
        listener: Listener<'_>,
    ) -> io::Result<ProgramEnd> {
        let mut stopped: Option<(ProgramEnd, Instant)> = None;
        loop {
            if !self.hear(listener) {
                std::thread::sleep(PACE);
            }
            // Not reaped yet: until then the number of the group is nobody else's.
            if waitid(WaitId::Pid(self.group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG)?
                .is_some()
            {
                self.signal(Signal::KILL);
                let status = self.child.wait()?;
                self.is_over = true;
                return Ok(stopped.map_or(ProgramEnd::Exited(status), |(why, _)| why));
            }
            if let Some((_, since)) = &stopped {
                if since.elapsed() >= GRACE {
                    self.signal(Signal::KILL);
                }
                continue;
            }
            let why = match (cancel.is_cancelled(), started.elapsed() >= limit, self.is_deaf) {
                (true, ..) => ProgramEnd::Cancelled,
                (_, true, _) => ProgramEnd::TimedOut,
                (_, _, true) => ProgramEnd::Unheard,
                (false, false, false) => continue,
            };
            self.signal(Signal::TERM);
            stopped = Some((why, Instant::now()));
        }
    }

    /// What is still on its way. Something that was not found may hold the output open for ever.
    fn end(&mut self, listener: Listener<'_>) {
        let until = Instant::now() + LINGER;
        while !self.outputs.is_empty() && Instant::now() < until {
            if !self.hear(listener) {
                std::thread::sleep(PACE);
            }
        }
    }

    /// Hears what was printed; whether that was anything.
    fn hear(&mut self, listener: Listener<'_>) -> bool {
        let mut buffer = vec![0; PIPE_BYTES];
        let (mut heard, is_deaf) = (false, &mut self.is_deaf);
        self.outputs.retain_mut(|(stream, reader)| match reader.read(&mut buffer) {
            Ok(read @ 1..) => {
                heard = true;
                *is_deaf = *is_deaf || listener(*stream, &buffer[..read]).is_break();
                true
            }
            Err(e) => matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
            Ok(_) => false,
        });
        heard
    }

    /// A group that is gone needs no signal.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
    }
}

impl Drop for Running {
    /// The listener may panic, and a wait may fail: nothing runs on then.
    fn drop(&mut self) {
        if !self.is_over {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
            self.marks.end_all();
        }
    }
}

/// Starts a program that inherits an open file, as what it starts does by itself. Nothing else that this process starts
/// meanwhile may: it would hold the lock as long as it runs, and be ended with the program. So the file is inherited by a
/// number that is another file here, and gets it only in the child.
fn spawn_holding(mut command: Command, held: BorrowedFd<'_>, marks: &mut ProcessMarks) -> io::Result<Child> {
    let other = open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let number = fcntl_dupfd_cloexec(&other, HELD_FROM).or_else(|_| fcntl_dupfd_cloexec(&other, 3))?;
    let stat = fstat(held)?;
    let mapping = FdMapping { parent_fd: held.try_clone_to_owned()?, child_fd: number.as_raw_fd() };
    command.fd_mappings(vec![mapping]).map_err(io::Error::other)?;
    let child = command.spawn()?;
    marks.held = Some((number.as_raw_fd(), stat.st_dev, stat.st_ino));
    Ok(child)
}

/// The end of an output.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    most: usize,
    is_cut: bool,
}

impl Tail {
    /// One that keeps so many bytes.
    #[must_use]
    pub(crate) const fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, is_cut: false }
    }

    /// Adds what came.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * self.most {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let start = self.bytes.len().saturating_sub(self.most);
        self.is_cut |= start > 0;
        self.bytes.drain(..start);
    }

    /// Whole lines where there are any.
    #[must_use]
    pub(crate) fn text(mut self) -> String {
        self.cut();
        let start = match memchr::memchr(b'\n', &self.bytes) {
            Some(end) if self.is_cut => end + 1,
            _ => 0,
        };
        String::from_utf8_lossy(&self.bytes[start..]).into_owned()
    }
}
