//! Reads what a person types: single keys on a terminal, otherwise lines.
//!
//! A terminal is in the mode for single keys only while one is waited for, so that a program which is ended at any other
//! moment leaves it as it was.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// The time in which the rest of a key comes that sends several characters, such as an arrow.
const REST_OF_KEY: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The most bytes of a line: an answer is a word.
const LINE_BYTES: usize = 4096;

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// One key on a terminal. One that is no character is U+FFFD.
    Key(char),
    /// A line of something else, without its end.
    Line(String),
    /// The program was stopped for a time, and goes on: what is on the screen may be gone.
    Resumed,
    /// A signal came, or the key that stands for one.
    Interrupted,
    /// Nothing more comes.
    End,
}

#[derive(Debug)]
enum TypedFrom {
    Input(io::Stdin),
    Terminal(File),
}

/// Where a person types.
#[derive(Debug)]
pub(crate) struct Keyboard {
    from: TypedFrom,
    is_terminal: bool,
    /// What was read and not used yet.
    ahead: VecDeque<u8>,
}

impl Keyboard {
    /// Standard input.
    pub(crate) fn of_input() -> Self {
        let input = io::stdin();
        Self { is_terminal: input.is_terminal(), from: TypedFrom::Input(input), ahead: VecDeque::new() }
    }

    /// The terminal of the program, where standard input is something else.
    pub(crate) fn of_terminal() -> io::Result<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        Ok(Self { from: TypedFrom::Terminal(terminal), is_terminal: true, ahead: VecDeque::new() })
    }

    /// Returns whether it is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The terminal as the input of another program; `None` if that is to have none.
    pub(crate) fn for_child(&self) -> io::Result<Option<OwnedFd>> {
        self.is_terminal.then(|| self.fd().try_clone_to_owned()).transpose()
    }

    /// Waits for what is typed next, or until `wake` can be read.
    pub(crate) fn next(&mut self, wake: BorrowedFd<'_>) -> io::Result<Typed> {
        if self.is_terminal { self.key(wake) } else { self.line(wake) }
    }

    fn line(&mut self, wake: BorrowedFd<'_>) -> io::Result<Typed> {
        loop {
            let feed = self.ahead.iter().position(|byte| *byte == b'\n');
            if let Some(length) = feed.or_else(|| (self.ahead.len() >= LINE_BYTES).then_some(LINE_BYTES)) {
                let line: Vec<u8> = self.ahead.drain(..length).collect();
                self.ahead.pop_front();
                return Ok(Typed::Line(String::from_utf8_lossy(&line).into_owned()));
            }
            match self.read(wake)? {
                MoreTyped::Some => {}
                MoreTyped::Woken => return Ok(Typed::Interrupted),
                MoreTyped::End if self.ahead.is_empty() => return Ok(Typed::End),
                MoreTyped::End => self.ahead.push_back(b'\n'),
            }
        }
    }

    fn key(&mut self, wake: BorrowedFd<'_>) -> io::Result<Typed> {
        let single = SingleKeys::on(self.fd())?;
        while self.ahead.is_empty() {
            match self.read(wake)? {
                MoreTyped::Some => {}
                MoreTyped::Woken => return Ok(Typed::Interrupted),
                MoreTyped::End => return Ok(Typed::End),
            }
        }
        let first = self.ahead.pop_front().unwrap_or_default();
        // Their signals are off while single keys are read.
        let is = |index| first != 0 && single.0.special_codes[index] == first;
        if is(SpecialCodeIndex::VINTR) || is(SpecialCodeIndex::VQUIT) {
            return Ok(Typed::Interrupted);
        }
        if is(SpecialCodeIndex::VEOF) {
            return Ok(Typed::End);
        }
        if is(SpecialCodeIndex::VSUSP) {
            drop(single);
            kill_current_process_group(Signal::TSTP)?;
            return Ok(Typed::Resumed);
        }
        if first.is_ascii_graphic() || first.is_ascii_whitespace() {
            return Ok(Typed::Key(char::from(first)));
        }
        self.drop_rest(first)?;
        Ok(Typed::Key(char::REPLACEMENT_CHARACTER))
    }

    /// Drops the rest of a key that sends several characters: they are no answers.
    fn drop_rest(&mut self, first: u8) -> io::Result<()> {
        const ESCAPE: u8 = 0x1b;
        let next = |keyboard: &mut Self| {
            if keyboard.ahead.is_empty() && keyboard.is_ready(Some(&REST_OF_KEY))? {
                keyboard.fill()?;
            }
            Ok::<_, io::Error>(keyboard.ahead.front().copied())
        };
        if first != ESCAPE {
            while next(self)?.is_some_and(|byte| (0x80..0xc0).contains(&byte)) {
                self.ahead.pop_front();
            }
            return Ok(());
        }
        let Some(second) = next(self)? else { return Ok(()) };
        self.ahead.pop_front();
        if second == b'[' || second == b'O' {
            // Parameters, and then the letter that ends it.
            while let Some(byte) = next(self)? {
                self.ahead.pop_front();
                if (0x40..=0x7e).contains(&byte) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Waits for more, and reads it.
    fn read(&mut self, wake: BorrowedFd<'_>) -> io::Result<MoreTyped> {
        let ready = {
            let mut both = [PollFd::new(&wake, PollFlags::IN), PollFd::from_borrowed_fd(self.fd(), PollFlags::IN)];
            match poll(&mut both, None) {
                // The signal has made `wake` readable.
                Err(rustix::io::Errno::INTR) => return Ok(MoreTyped::Some),
                polled => polled?,
            };
            both.map(|one| !one.revents().is_empty())
        };
        match ready {
            [true, _] => Ok(MoreTyped::Woken),
            [_, true] => Ok(if self.fill()? { MoreTyped::Some } else { MoreTyped::End }),
            _ => Ok(MoreTyped::Some),
        }
    }

    fn is_ready(&self, within: Option<&Timespec>) -> io::Result<bool> {
        match poll(&mut [PollFd::from_borrowed_fd(self.fd(), PollFlags::IN)], within) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            polled => Ok(polled? > 0),
        }
    }

    /// Reads what is there; returns whether it was something.
    fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 1024];
        match rustix::io::read(self.fd(), &mut bytes) {
            Ok(read) => {
                self.ahead.extend(&bytes[..read]);
                Ok(read > 0)
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(true),
            // The terminal is gone.
            Err(rustix::io::Errno::IO) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.from {
            TypedFrom::Input(input) => input.as_fd(),
            TypedFrom::Terminal(terminal) => terminal.as_fd(),
        }
    }
}

/// How a wait for more ended.
enum MoreTyped {
    /// There may be more.
    Some,
    Woken,
    End,
}

/// A terminal that passes on each key at once, and does not show it. It is as it was once this is dropped.
struct SingleKeys(Termios, OwnedFd);

impl SingleKeys {
    fn on(terminal: BorrowedFd<'_>) -> io::Result<Self> {
        let own = terminal.try_clone_to_owned()?;
        let before = tcgetattr(&own)?;
        let mut single = before.clone();
        single.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        single.special_codes[SpecialCodeIndex::VMIN] = 1;
        single.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&own, OptionalActions::Now, &single)?;
        Ok(Self(before, own))
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        // A terminal that is gone has no modes.
        let _ = tcsetattr(&self.1, OptionalActions::Now, &self.0);
    }
}
