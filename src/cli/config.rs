//! What the user's own file says to every command. What it says of delegates is read where they are used.

use std::path::PathBuf;

use serde::Deserialize;

use super::home;
use super::options::usage;
use crate::error::Result;
use crate::fs::input;

/// Bytes of a configuration.
const FILE_BYTES: u64 = 1 << 20;

/// A word that is not known may be one of these misspelled, and is refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "only its shape is checked here")]
    delegate: Delegate,
}

#[cfg(feature = "delegate")]
type Delegate = crate::delegate::Table;
#[cfg(not(feature = "delegate"))]
type Delegate = serde::de::IgnoredAny;

/// The globs that the user denies. A file that cannot be read denies more than is known, so it is an error.
pub(super) fn denied() -> Result<Vec<String>> {
    // In a folder that this user may not enter it is somebody else's: $HOME outlives a change of the user.
    let path = user_file()?;
    if path.symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    let bytes = input::read_file(&path, FILE_BYTES)?;
    let name = path.display().to_string();
    let text = std::str::from_utf8(&bytes).map_err(|_| usage(&name, format!("{name} is not UTF-8")))?;
    let file: File = toml::from_str(text).map_err(|error| {
        let before = &text[..error.span().unwrap_or_default().start];
        let line = before.matches('\n').count() + 1;
        usage(&name, format!("{name}, line {line}: {}", error.message().trim_end()))
    })?;
    Ok(file.deny)
}

/// Where it really is, or would be.
pub(super) fn real_file() -> Result<Option<PathBuf>> {
    let path = user_file()?;
    Ok(path.ancestors().find_map(|there| {
        let real = there.canonicalize().ok()?;
        Some(real.join(path.strip_prefix(there).ok()?))
    }))
}

/// `config.toml` in the user's folder for configurations.
fn user_file() -> Result<PathBuf> {
    Ok(home::settings_folder()?.join("txedit/config.toml"))
}
