//! Runs a program without a shell, mostly in its own process group and without standard input, passes on its output as it
//! comes, stops it at its time limit, and ends everything that it started.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _};
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt as _, FdMapping};
use rustix::fs::{Mode, OFlags, fcntl_setfl, fstat, open};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use super::left::{LeftBehind, ProcessMarks};
use crate::cancel::CancelToken;

/// The variable with the token of the server, which no program that it runs may see.
pub(crate) const TOKEN: &str = "TXEDIT_MCP_TOKEN";

/// The interval at which a running program is polled.
const PACE: Duration = Duration::from_millis(10);
/// The time that a program has to clean up once it is told to stop.
const GRACE: Duration = Duration::from_secs(2);
/// The time to read on after the program has ended while another process holds the output open.
const LINGER: Duration = Duration::from_millis(500);
/// The bytes read at once: as much as a pipe holds.
const PIPE_BYTES: usize = 64 << 10;
/// The lowest number of the held descriptor: shells and scripts use those below it for themselves.
const HELD_FROM: i32 = 100;

/// A program to run.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// The folder to run it in.
    pub folder: &'a Path,
    /// Additions to the environment of this process. If there are any, processes that the program leaves behind are
    /// found by them, and ended with it.
    pub environment: &'a [(&'a str, OsString)],
    /// The first process of the view that it runs in: the others in its process name space are found by that alone. Another
    /// view of the same folder has the same variables.
    pub inside: Option<i32>,
    /// An open file that the program and everything it starts inherit. While any of them is alive, a lock on the file
    /// is held: another process can test that.
    pub held: Option<BorrowedFd<'a>>,
    /// Its input and output.
    pub streams: Streams,
    /// The time limit.
    pub limit: Duration,
}

/// Where the input of a program comes from, and its output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Streams {
    /// It has no input. Output and errors are passed on as one stream, so that the lines keep their order.
    #[default]
    Joined,
    /// It has no input. Output and errors are passed on separately.
    Apart,
    /// Those of this process, in whose process group it is: it may be used on a terminal.
    Inherited,
    /// The same, but what it prints as its output is among the errors.
    InheritedErrors,
}

impl Streams {
    const fn are_inherited(self) -> bool {
        matches!(self, Self::Inherited | Self::InheritedErrors)
    }
}

/// The stream on which a program printed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The output, or both streams if they are not read separately.
    Output,
    /// The errors.
    Errors,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// It exited by itself.
    Exited(ExitStatus),
    /// It exceeded its time limit, and was stopped.
    TimedOut,
    /// The caller cancelled, so it was stopped.
    Cancelled,
    /// The listener stopped listening, so it was stopped.
    Unheard,
}

/// The result of running a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    /// How it ended.
    pub end: ProgramEnd,
    /// Processes that it left behind, for messages.
    pub behind: LeftBehind,
}

/// Receives what a program prints, as it comes; breaks to stop the program.
pub(crate) type Listener<'a> = &'a mut dyn FnMut(Stream, &[u8]) -> ControlFlow<()>;

/// Runs a program to its end, and ends everything that it left behind. An error means that it could not be run.
pub(crate) fn run(order: &Order<'_>, cancel: &CancelToken, listener: Listener<'_>) -> io::Result<Ran> {
    let started = Instant::now();
    let mut running = Running::start(order)?;
    let end = running.watch(order.limit, started, cancel, listener)?;
    let behind = running.marks.end_all();
    running.end(listener);
    Ok(Ran { end, behind })
}

struct Running {
    child: Child,
    group: Pid,
    outputs: Vec<(Stream, PipeReader)>,
    marks: ProcessMarks,
    /// True if it has a process group of its own, which is ended with it.
    is_alone: bool,
    /// True once the program was waited for: its process id may be reused from then on.
    is_over: bool,
    /// True once the listener has stopped listening.
    is_deaf: bool,
}

impl Running {
    fn start(order: &Order<'_>) -> io::Result<Self> {
        let Some((program, arguments)) = order.command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a command names a program"));
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(order.folder);
        command.envs(order.environment.iter().map(|(name, value)| (name, value)));
        command.env_remove(TOKEN);
        let outputs = connect(&mut command, order.streams)?;
        let is_alone = !order.streams.are_inherited();
        if is_alone {
            command.process_group(0);
        }
        let variable = |(name, value): &(&str, OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        let variables = order.environment.iter().filter(|_| order.inside.is_none()).map(variable).collect();
        let mut marks = ProcessMarks { variables, held: None, first: order.inside };
        let child = match order.held {
            Some(held) => spawn_holding(command, held, &mut marks)?,
            None => command.spawn()?,
        };
        let group = Pid::from_child(&child);
        Ok(Self { child, group, outputs, marks, is_alone, is_over: false, is_deaf: false })
    }

    /// Waits until it ends, or is stopped.
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
            // Not reaped yet: until then nobody else gets the number of the group.
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

    /// Reads the rest of the output. A process that was not found may hold the output open for ever.
    fn end(&mut self, listener: Listener<'_>) {
        let until = Instant::now() + LINGER;
        while !self.outputs.is_empty() && Instant::now() < until {
            if !self.hear(listener) {
                std::thread::sleep(PACE);
            }
        }
    }

    /// Passes on what was printed; returns whether that was anything.
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

    /// Failures are ignored: a group that is gone needs no signal.
    fn signal(&self, signal: Signal) {
        let _ = if self.is_alone { kill_process_group(self.group, signal) } else { kill_process(self.group, signal) };
    }
}

impl Drop for Running {
    /// Ends the program even if the listener panics or a wait fails.
    fn drop(&mut self) {
        if !self.is_over {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
            self.marks.end_all();
        }
    }
}

/// Gives a program its input and output; returns what it prints.
fn connect(command: &mut Command, streams: Streams) -> io::Result<Vec<(Stream, PipeReader)>> {
    if streams.are_inherited() {
        if streams == Streams::InheritedErrors {
            command.stdout(io::stderr().as_fd().try_clone_to_owned()?);
        }
        return Ok(Vec::new());
    }
    let (reader, writer) = io::pipe()?;
    let mut outputs = vec![(Stream::Output, reader)];
    let error_writer = if streams == Streams::Apart {
        let (reader, writer) = io::pipe()?;
        outputs.push((Stream::Errors, reader));
        writer
    } else {
        writer.try_clone()?
    };
    for (_, reader) in &outputs {
        // Another process that holds the pipe must not block the caller.
        fcntl_setfl(reader, OFlags::NONBLOCK)?;
    }
    command.stdin(Stdio::null()).stdout(writer).stderr(error_writer);
    Ok(outputs)
}

/// Starts a program that inherits an open file, and passes it on to what it starts. No other program that this process
/// starts meanwhile may inherit it: it would hold the lock as long as it runs, and be ended with the program. So the
/// descriptor to inherit is a duplicate of another file, and is replaced only in the child.
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

/// Keeps the end of an output.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    most: usize,
    is_cut: bool,
}

impl Tail {
    /// Keeps at most this many bytes.
    #[must_use]
    pub(crate) const fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, is_cut: false }
    }

    /// Adds bytes.
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

    /// The kept end, from the start of a line if there is one.
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
