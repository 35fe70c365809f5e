//! The user's home folders, from the environment and from the password database.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::fs::os;

use super::options::usage;

/// The folder with the user's settings. It is an error if it cannot be found: what the user denies is then unknown.
pub(super) fn settings_folder() -> Result<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder_of(set("XDG_CONFIG_HOME"), folders().next())
}

/// The folder with the user's states, if it is known.
pub(super) fn user_state() -> Option<PathBuf> {
    let set = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| Some(folders().next()?.join(".local/state")))
}

fn folder_of(settings: Option<PathBuf>, home: Option<PathBuf>) -> Result<PathBuf> {
    settings.or_else(|| Some(home?.join(".config"))).ok_or_else(|| {
        let message = "neither HOME, XDG_CONFIG_HOME nor the password database says where your settings are, and what they \
                       deny with them: set HOME to a folder";
        usage("HOME", message)
    })
}

/// All home folders of the user: first from the environment, then from the password database, which is read only if more than
/// the first is asked for.
fn folders() -> impl Iterator<Item = PathBuf> {
    // If the variable is not set, the standard library asks the database through the system, which also knows users
    // that are in no file.
    let all = [env::home_dir, os::home_of_user];
    all.into_iter().filter_map(|home| home()).filter(|home| home.is_absolute())
}

/// The home folders and all folders above them, up to the root of the file system: programs are often started there by
/// chance, and they contain everything.
pub(super) fn unfit_folders() -> Vec<PathBuf> {
    let mut unfit = vec![PathBuf::from("/")];
    for home in folders().filter_map(|home| home.canonicalize().ok()) {
        unfit.extend(home.ancestors().map(Path::to_owned));
    }
    unfit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Detail;

    #[test]
    fn settings_that_are_nowhere_are_an_error() {
        assert_eq!(folder_of(Some("/s".into()), Some("/h".into())).unwrap(), Path::new("/s"));
        assert_eq!(folder_of(None, Some("/h".into())).unwrap(), Path::new("/h/.config"));
        let refused = folder_of(None, None).unwrap_err();
        assert!(
            matches!(refused.details(), Detail::Findings(found) if found[0].message.contains("set HOME")),
            "{refused}"
        );
    }
}
