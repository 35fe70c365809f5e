//! Asks a person, and gets one answer at a time: a key on a terminal, otherwise a line.

use std::os::fd::OwnedFd;
use std::path::Path;

use crate::cancel::CancelToken;
use crate::cli::options::usage;
use crate::cli::output;
use crate::cli::signals::WakingSignals;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::terminal::{Keyboard, Typed};
use crate::path::one_line;

/// A person who is asked.
#[derive(Debug)]
pub(crate) struct Asking {
    keyboard: Keyboard,
    signals: WakingSignals,
}

/// What is said if nothing is decided.
const UNDECIDED: &str = "nothing is decided, and nothing was changed";

impl Asking {
    /// Whoever types on standard input.
    pub(crate) fn on_input() -> Result<Self> {
        Self::at(Keyboard::of_input())
    }

    /// Whoever types there. From now on signals do not end the program at once.
    pub(crate) fn at(keyboard: Keyboard) -> Result<Self> {
        Ok(Self { keyboard, signals: WakingSignals::watch()? })
    }

    /// Where somebody types beside this plan: on the terminal, if standard input is the plan.
    pub(crate) fn beside(plan: Option<&Path>) -> Result<Keyboard> {
        if plan.is_none_or(|plan| plan.as_os_str() != "-") {
            return Ok(Keyboard::of_input());
        }
        Keyboard::of_terminal().map_err(|_| {
            let message =
                "the plan is read from standard input, and there is no terminal on which to ask: give it as a file";
            usage("--pick", message)
        })
    }

    /// Returns whether somebody types on a terminal.
    pub(crate) fn is_on_terminal(&self) -> bool {
        self.keyboard.is_terminal()
    }

    /// The token that signals cancel.
    pub(crate) fn token(&self) -> &CancelToken {
        self.signals.token()
    }

    /// The answer to a question: a key, or the only character of a line. `None` if it is none, or the question must be shown
    /// again. A signal, and the end of what is typed, is an error.
    pub(crate) fn answer(&mut self, question: &str) -> Result<Option<char>> {
        output::say(output::styled(output::NAME, question));
        let typed = self.keyboard.next(self.signals.wake()).map_err(|e| Error::io("read", "the answers", e))?;
        let shown = match &typed {
            Typed::Key(key) => key.to_string(),
            Typed::Line(line) => line.trim().to_owned(),
            _ => String::new(),
        };
        output::say(format!("{}\n", one_line(shown.trim())));
        let cancelled = |why: &str| Err(Error::new(ErrorKind::Cancelled, format!("{why}: {UNDECIDED}")));
        let mut characters = shown.chars();
        match typed {
            Typed::Interrupted => cancelled("interrupted"),
            Typed::End => cancelled("the answers ended before the last question"),
            Typed::Resumed => Ok(None),
            _ => Ok(characters.next().filter(|_| characters.next().is_none())),
        }
    }

    /// Calls something that has the terminal to itself: the signals of the keyboard are for it.
    pub(super) fn leaving_terminal<T>(&mut self, call: impl FnOnce() -> T) -> Result<T> {
        let done = call();
        self.signals.forget_keyboard()?;
        Ok(done)
    }

    /// The terminal, as the input of another program, if there is one.
    pub(super) fn input_of_child(&self) -> Result<Option<OwnedFd>> {
        self.keyboard.for_child().map_err(|e| Error::io("pass on", "the terminal", e))
    }
}
