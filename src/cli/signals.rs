//! Makes SIGINT, SIGTERM and SIGHUP stop a call before its first swap; after that, they wait for its end.

use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

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

/// From now on, the signals of the keyboard have no effect on this process; a child that is started has its own.
pub(crate) fn leave_interrupts_to_children() -> io::Result<()> {
    [SIGINT, SIGQUIT].into_iter().try_for_each(|signal| flag::register(signal, Arc::default()).map(drop))
}

/// From now on, a file that may not grow so large makes the write fail, with an answer, instead of ending the program.
pub(crate) fn survive_file_limits() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}
