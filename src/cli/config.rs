//! The user's settings file, as far as every command needs it.

mod values;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
#[cfg(not(feature = "delegate"))]
use serde::de::IgnoredAny as DelegateTable;

use super::args::{CheckInArg, ColorArg, DurabilityArg, SwapArg};
use super::home;
use super::options::usage;
#[cfg(feature = "delegate")]
use crate::delegate::Table as DelegateTable;
use crate::error::Result;
use crate::fs::input;
use crate::path::shown;
pub(super) use values::{CheckCommand, DeniedGlob, Seconds};

/// The largest size of a settings file, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// The most symlinks on the way to it; the system follows no more either.
const LINKS: usize = 40;

/// What the user has chosen for all workspaces, and for some of them. An option, or its environment variable, counts more. An
/// unknown key may be one of these misspelled, and is refused.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ConfigFile {
    deny: Vec<DeniedGlob>,
    through: Vec<PathBuf>,
    durability: Option<DurabilityArg>,
    check: Option<CheckCommand>,
    check_in: Option<CheckInArg>,
    pub(super) swap: Option<SwapArg>,
    pub(super) lock_timeout: Option<Seconds>,
    pub(super) check_timeout: Option<Seconds>,
    pub(super) color: Option<ColorArg>,
    /// Only its shape is checked here.
    delegate: DelegateTable,
    root: BTreeMap<String, RootConfig>,
}

/// What the user has chosen for one workspace. What is denied there is denied besides what is denied everywhere; of the rest
/// this counts more.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RootConfig {
    pub(super) deny: Vec<DeniedGlob>,
    pub(super) through: Vec<PathBuf>,
    pub(super) durability: Option<DurabilityArg>,
    pub(super) check: Option<CheckCommand>,
    pub(super) check_in: Option<CheckInArg>,
}

impl ConfigFile {
    /// What counts in the workspace at `root`, whichever way its path is spelled.
    pub(super) fn at(&self, root: &Path) -> RootConfig {
        let Self { deny, through, durability, check, check_in, .. } = self.clone();
        let mut all = RootConfig { deny, through, durability, check, check_in };
        let real = root.canonicalize();
        let is_it = |named: &Path| {
            named == root || real.as_ref().is_ok_and(|real| named.canonicalize().is_ok_and(|it| it == *real))
        };
        for of_root in self.root.iter().filter(|(named, _)| is_it(Path::new(named))).map(|(_, config)| config.clone()) {
            all.deny.extend(of_root.deny);
            all.through.extend(of_root.through);
            all.durability = of_root.durability.or(all.durability);
            all.check = of_root.check.or(all.check);
            all.check_in = of_root.check_in.or(all.check_in);
        }
        all
    }

    /// A warning for each workspace that is not there: perhaps its path is misspelled, and what is denied in it is not.
    pub(super) fn warnings(&self) -> Result<Vec<String>> {
        let name = shown(&user_file()?);
        let missing = self.root.keys().filter(|root| !Path::new(root).is_dir());
        Ok(missing.map(|root| format!("{name}: [root.\"{root}\"] is no folder: what it says counts nowhere")).collect())
    }

    /// Why its tables of workspaces cannot count, if they cannot: of two for one folder, nobody can tell which counts more.
    fn mistaken_roots(&self) -> Option<String> {
        let mut seen: BTreeMap<PathBuf, &str> = BTreeMap::new();
        for root in self.root.keys() {
            let path = Path::new(root);
            if !path.is_absolute() {
                return Some(format!("[root.\"{root}\"] is no absolute path"));
            }
            if let Some(other) = seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned()), root) {
                return Some(format!(
                    "[root.\"{other}\"] and [root.\"{root}\"] are one folder: make one table of them"
                ));
            }
        }
        None
    }
}

/// Reads the file. It is an error if that cannot be read: it may deny more than is known.
pub(super) fn read() -> Result<ConfigFile> {
    // A folder that this user may not enter is another user's: $HOME survives a change of the user.
    let path = user_file()?;
    if path.symlink_metadata().is_err() {
        return Ok(ConfigFile::default());
    }
    // Whoever opened a pipe would wait for a writer.
    if path.metadata().is_ok_and(|found| found.file_type().is_fifo()) {
        let name = path.display().to_string();
        return Err(usage(&name, format!("{name} is a pipe")));
    }
    let bytes = input::read_file(&path, FILE_BYTES)?;
    let name = path.display().to_string();
    let text = std::str::from_utf8(&bytes).map_err(|_| usage(&name, format!("{name} is not UTF-8")))?;
    let file: ConfigFile = toml::from_str(text).map_err(|error| {
        let before = &text[..error.span().unwrap_or_default().start];
        let line = before.matches('\n').count() + 1;
        usage(&name, format!("{name}, line {line}: {}", error.message().trim_end()))
    })?;
    match file.mistaken_roots() {
        Some(why) => Err(usage(&name, format!("{name}: {why}"))),
        None => Ok(file),
    }
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
pub(super) fn user_file() -> Result<PathBuf> {
    Ok(home::settings_folder()?.join("txedit/config.toml"))
}
