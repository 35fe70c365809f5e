//! SIGINT, SIGTERM and SIGHUP stop a call before its first swap, and wait for its end from there on.

use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::fs::os;

/// The token that these signals cancel, from now to the end of the program.
///
/// A second signal cancels it once more and does nothing else: a commit in its swap is never cut off by impatience, nor by a
/// terminal that closes. Commands that only read do not call this, so that they end at once; neither does anything that
/// waits for stdin.
pub(crate) fn cancel_token() -> Result<CancelToken> {
    let cancel = CancelToken::new();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Whoever said `nohup` wants the terminal to close without an effect.
        if signal != SIGHUP || !os::ignores_hang_up() {
            flag::register(signal, cancel.flag()).map_err(|e| Error::io("watch", "the signals", e))?;
        }
    }
    Ok(cancel)
}

/// From now on a file that may not become so large is an error of the write, which is answered, not the end of the program.
pub(crate) fn survive_file_limits() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}
