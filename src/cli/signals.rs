//! SIGINT, SIGTERM and SIGHUP cancel a call before its first swap; after it they wait for its end.

use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::fs::os;

/// The token that these signals cancel, from now to the end of the program.
///
/// A second signal cancels it again and does nothing else: neither impatience nor a closed terminal interrupts a commit
/// that is swapping. Commands that only read do not call this, so that they end at once; neither does anything that
/// waits for stdin.
pub(crate) fn cancel_token() -> Result<CancelToken> {
    let cancel = CancelToken::new();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Under `nohup` a closed terminal must have no effect.
        if signal != SIGHUP || !os::ignores_hang_up() {
            flag::register(signal, cancel.flag()).map_err(|e| Error::io("watch", "the signals", e))?;
        }
    }
    Ok(cancel)
}

/// From now on a write beyond the file size limit fails with an error instead of ending the program.
pub(crate) fn survive_file_limits() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}
