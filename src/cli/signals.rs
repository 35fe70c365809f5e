//! Makes SIGINT, SIGTERM and SIGHUP stop a call before its first swap; after that, they wait for its end.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::fs::os;

/// A token that these signals cancel, from now to the end of the program.
///
/// A second signal does nothing more: neither impatience nor a closing terminal may cut off a commit during its swaps.
/// Commands that only read, or that wait for stdin, do not call this, so that a signal ends them at once.
pub(crate) fn cancel_token() -> Result<CancelToken> {
    let cancel = CancelToken::new();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // A user of `nohup` wants the terminal to close without an effect.
        if signal != SIGHUP || !os::ignores_hang_up() {
            flag::register(signal, cancel.flag()).map_err(|e| Error::io("watch", "the signals", e))?;
        }
    }
    Ok(cancel)
}

/// The same signals for a command that waits for a person between its calls: they wake it, and cancel its calls.
#[derive(Debug)]
pub(crate) struct WakingSignals {
    cancel: CancelToken,
    /// Readable once a signal came.
    wake: UnixStream,
    /// True once one came that is not of the keyboard.
    ends: Arc<AtomicBool>,
}

impl WakingSignals {
    /// From now to the end of the program.
    pub(crate) fn watch() -> Result<Self> {
        let io = |e| Error::io("watch", "the signals", e);
        let (wake, write) = UnixStream::pair().map_err(io)?;
        wake.set_nonblocking(true).map_err(io)?;
        // First: whoever is woken finds the others set.
        let (cancel, ends) = (cancel_token()?, Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGHUP && os::ignores_hang_up() {
                continue;
            }
            if signal != SIGINT {
                flag::register(signal, Arc::clone(&ends)).map_err(io)?;
            }
            low_level::pipe::register(signal, write.try_clone().map_err(io)?).map_err(io)?;
        }
        Ok(Self { cancel, wake, ends })
    }

    /// The token that they cancel.
    pub(crate) fn token(&self) -> &CancelToken {
        &self.cancel
    }

    /// What can be read once one came.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Forgets those of the keyboard: they were for another program that had the terminal.
    pub(crate) fn forget_keyboard(&mut self) -> Result<()> {
        if self.cancel.is_cancelled() && !self.ends.load(Ordering::Relaxed) {
            while self.wake.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
            self.cancel = cancel_token()?;
        }
        Ok(())
    }
}

/// From now on, the signals of the keyboard have no effect on this process; a child that is started has its own.
pub(crate) fn leave_interrupts_to_children() -> io::Result<()> {
    [SIGINT, SIGQUIT].into_iter().try_for_each(|signal| flag::register(signal, Arc::default()).map(drop))
}

/// From now on, a file that may not grow so large makes the write fail, with an answer, instead of ending the program.
pub(crate) fn survive_file_limits() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}
