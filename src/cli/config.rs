//! The user's settings file, as far as every command needs it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
#[cfg(not(feature = "delegate"))]
use serde::de::IgnoredAny as DelegateTable;

use super::home;
use super::options::usage;
#[cfg(feature = "delegate")]
use crate::delegate::Table as DelegateTable;
use crate::error::Result;
use crate::fs::input;

/// The largest size of a settings file, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// The most symlinks on the way to it; the system follows no more either.
const LINKS: usize = 40;

/// An unknown key may be one of these misspelled, and is refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    through: Vec<PathBuf>,
    #[serde(default)]
    #[expect(dead_code, reason = "only its shape is checked here")]
    delegate: DelegateTable,
}

/// The globs that the user denies. It is an error if the file cannot be read: it may deny more than is known.
pub(super) fn denied() -> Result<Vec<String>> {
    Ok(read()?.deny)
}

/// The folders that the user wants to be real in views.
pub(super) fn through() -> Result<Vec<PathBuf>> {
    Ok(read()?.through)
}

fn read() -> Result<ConfigFile> {
    // A folder that this user may not enter is another user's: $HOME survives a change of the user.
    let path = user_file()?;
    if path.symlink_metadata().is_err() {
        return Ok(ConfigFile::default());
    }
    let bytes = input::read_file(&path, FILE_BYTES)?;
    let name = path.display().to_string();
    let text = std::str::from_utf8(&bytes).map_err(|_| usage(&name, format!("{name} is not UTF-8")))?;
    toml::from_str(text).map_err(|error| {
        let before = &text[..error.span().unwrap_or_default().start];
        let line = before.matches('\n').count() + 1;
        usage(&name, format!("{name}, line {line}: {}", error.message().trim_end()))
    })
}

/// The path of the file, and each path that symlinks on the way lead to, even where nothing exists yet: a file that a
/// caller creates there would be the settings of the next command.
pub(super) fn names() -> Result<Vec<PathBuf>> {
    let path = user_file()?;
    let parts = |path: &Path| path.iter().rev().map(OsStr::to_owned).collect::<Vec<_>>();
    let (mut todo, mut names, mut there) = (parts(&path), vec![path], PathBuf::new());
    while let Some(part) = todo.pop() {
        if part == ".." {
            there.pop();
            continue;
        }
        let next = there.join(&part);
        match next.read_link() {
            Ok(target) if names.len() <= LINKS => {
                names.push(todo.iter().rev().fold(next, |path, part| path.join(part)));
                todo.extend(parts(&target));
            }
            _ if part != "." => there = next,
            _ => {}
        }
    }
    names.push(there);
    Ok(names)
}

/// `config.toml` in the user's settings folder.
fn user_file() -> Result<PathBuf> {
    Ok(home::settings_folder()?.join("txedit/config.toml"))
}
