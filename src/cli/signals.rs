//! SIGINT and SIGTERM stop a call before its first swap, and wait for its end from there on.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::{Error, Result};

/// The flag that both signals set, from now to the end of the program.
///
/// A second signal sets it once more and does nothing else: a commit in its swap is never cut off by impatience.
/// Commands that only read do not call this, so that they end at once; neither does anything that waits for stdin.
pub(crate) fn cancel_flag() -> Result<Arc<AtomicBool>> {
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(&cancel)).map_err(|e| Error::io("watch", "the signals", e))?;
    }
    Ok(cancel)
}
