//! A program in a process group of its own, that ends with it: started without a shell and without standard input,
//! heard as it prints, stopped when its time is over.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often a running program is looked after.
const PACE: Duration = Duration::from_millis(10);
/// How long a program that is stopped has for putting things in order.
const GRACE: Duration = Duration::from_secs(2);
/// How long to listen to what holds the output open after the program has ended.
const LINGER: Duration = Duration::from_millis(500);

/// What to run.
#[derive(Debug)]
pub struct Order<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Where.
    pub folder: &'a Path,
    /// What it finds in its environment besides what this program found.
    pub environment: &'a [(&'a str, OsString)],
    /// Whether what it prints as errors is heard apart; else both come as one, so that the lines keep their order.
    pub apart: bool,
    /// How long it may take.
    pub limit: Duration,
}

/// Where a program printed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The output, or both where they are not heard apart.
    Output,
    /// The errors.
    Errors,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exited(ExitStatus),
    /// It took too long, and was stopped.
    TimedOut,
    /// The caller wanted to stop, and so it was stopped.
    Cancelled,
    /// The listener wanted to hear no more, and so it was stopped.
    Unheard,
}

/// Is given what a program prints, as it comes; breaks to stop it.
pub type Listener<'a> = &'a mut dyn FnMut(Stream, &[u8]) -> ControlFlow<()>;

/// Runs a program to its end, and ends everything that it left in its group. An error means that it could not be run.
pub fn run(order: &Order<'_>, cancel: &AtomicBool, listener: Listener<'_>) -> io::Result<End> {
    let started = Instant::now();
    let mut running = Running::start(order)?;
    let end = running.watch(order.limit, started, cancel, listener)?;
    running.end(listener);
    Ok(end)
}

struct Running {
    child: Child,
    group: Pid,
    output: Receiver<(Stream, Vec<u8>)>,
    /// Whether the listener has had enough.
    is_deaf: bool,
}

impl Running {
    fn start(order: &Order<'_>) -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let Some((program, arguments)) = order.command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a command names a program"));
        };
        let (reader, writer) = io::pipe()?;
        let (errors, error_writer) = if order.apart {
            let (reader, writer) = io::pipe()?;
            (Some(reader), writer)
        } else {
            (None, writer.try_clone()?)
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(order.folder);
        command.envs(order.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(writer).stderr(error_writer).process_group(0);
        let child = command.spawn()?;
        // It holds the writing ends: as long as it lives the output has no end.
        drop(command);
        let group = Pid::from_child(&child);
        let (chunks, output) = mpsc::sync_channel(16);
        if let Some(errors) = errors {
            listen(errors, Stream::Errors, chunks.clone());
        }
        listen(reader, Stream::Output, chunks);
        Ok(Self { child, group, output, is_deaf: false })
    }

    /// Until it ends, or is stopped.
    fn watch(
        &mut self,
        limit: Duration,
        started: Instant,
        cancel: &AtomicBool,
        listener: Listener<'_>,
    ) -> io::Result<End> {
        let mut stopped: Option<(End, Instant)> = None;
        loop {
            self.hear(PACE, listener);
            // Not reaped yet: until then the number of the group is nobody else's.
            if waitid(WaitId::Pid(self.group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG)?
                .is_some()
            {
                self.signal(Signal::KILL);
                let status = self.child.wait()?;
                return Ok(stopped.map_or(End::Exited(status), |(why, _)| why));
            }
            if let Some((_, since)) = &stopped {
                if since.elapsed() >= GRACE {
                    self.signal(Signal::KILL);
                }
                continue;
            }
            let why = match (cancel.load(Ordering::Relaxed), started.elapsed() >= limit, self.is_deaf) {
                (true, ..) => End::Cancelled,
                (_, true, _) => End::TimedOut,
                (_, _, true) => End::Unheard,
                (false, false, false) => continue,
            };
            self.signal(Signal::TERM);
            stopped = Some((why, Instant::now()));
        }
    }

    /// What is still on its way. Something that left the group may hold the output open for ever.
    fn end(&mut self, listener: Listener<'_>) {
        let until = Instant::now() + LINGER;
        while Instant::now() < until && self.hear(PACE, listener) {}
    }

    /// Waits for output; `false` where there will be no more.
    fn hear(&mut self, patience: Duration, listener: Listener<'_>) -> bool {
        match self.output.recv_timeout(patience) {
            Ok((stream, bytes)) => {
                self.is_deaf = self.is_deaf || listener(stream, &bytes).is_break();
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

/// Reads on a thread of its own, so that nobody who holds the pipe can hold up the caller.
fn listen(mut reader: PipeReader, stream: Stream, chunks: SyncSender<(Stream, Vec<u8>)>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(read @ 1..) = reader.read(&mut buffer) {
            if chunks.send((stream, buffer[..read].to_vec())).is_err() {
                return;
            }
        }
    });
}

/// The end of an output.
#[derive(Debug)]
pub struct Tail {
    bytes: Vec<u8>,
    most: usize,
    is_cut: bool,
}

impl Tail {
    /// One that keeps so many bytes.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, is_cut: false }
    }

    /// Adds what came.
    pub fn add(&mut self, bytes: &[u8]) {
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
    pub fn text(mut self) -> String {
        self.cut();
        let start = match memchr::memchr(b'\n', &self.bytes) {
            Some(end) if self.is_cut => end + 1,
            _ => 0,
        };
        String::from_utf8_lossy(&self.bytes[start..]).into_owned()
    }
}
