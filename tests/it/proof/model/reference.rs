//! The model: a map from paths to contents and modes, and what each kind of request does to it.

use std::collections::{BTreeMap, BTreeSet};

/// A content and a mode.
pub(super) type File = (Vec<u8>, u32);

/// All files.
pub(super) type Files = BTreeMap<&'static str, File>;

/// What is asked of one file.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Edit { path: &'static str, old: &'static str, new: &'static str, all: bool },
    Write { path: &'static str, content: String, replace: bool },
    Delete { path: &'static str },
    Rename { from: &'static str, to: &'static str, replace: bool },
    Mode { path: &'static str, mode: u32 },
}

/// The mode of a new file.
pub(super) const NEW: u32 = 0o644;

impl Ask {
    pub(super) fn source(&self) -> Option<&'static str> {
        match self {
            Self::Write { .. } => None,
            Self::Edit { path, .. } | Self::Delete { path } | Self::Mode { path, .. } => Some(path),
            Self::Rename { from, .. } => Some(from),
        }
    }

    pub(super) fn result(&self) -> Option<&'static str> {
        match self {
            Self::Delete { .. } => None,
            Self::Edit { path, .. } | Self::Write { path, .. } | Self::Mode { path, .. } => Some(path),
            Self::Rename { to, .. } => Some(to),
        }
    }

    fn vacates(&self) -> bool {
        matches!(self, Self::Delete { .. } | Self::Rename { .. })
    }

    fn fits(&self, files: &Files, vacated: &BTreeSet<&str>) -> bool {
        match self {
            Self::Write { path, replace, .. } => *replace || !files.contains_key(path) || vacated.contains(path),
            Self::Rename { from, to, replace } => {
                files.contains_key(from) && (*replace || !files.contains_key(to) || vacated.contains(to))
            }
            Self::Edit { path, .. } | Self::Delete { path } | Self::Mode { path, .. } => files.contains_key(path),
        }
    }

    /// What the file becomes; `None` where an edit does not apply.
    fn outcome(&self, files: &Files, vacated: &BTreeSet<&str>) -> Option<File> {
        match self {
            Self::Edit { path, old, new, all } => {
                let (content, mode) = &files[path];
                let text = String::from_utf8(content.clone()).unwrap();
                let count = text.matches(old).count();
                let applies = if *all { count >= 1 } else { count == 1 };
                (applies && !text.is_empty()).then(|| (text.replace(old, new).into_bytes(), *mode))
            }
            Self::Write { path, content, .. } => {
                let stays = files.get(path).filter(|_| !vacated.contains(path));
                Some((content.clone().into_bytes(), stays.map_or(NEW, |(_, mode)| *mode)))
            }
            Self::Rename { from, .. } => Some(files[from].clone()),
            Self::Mode { path, mode } => Some((files[path].0.clone(), *mode)),
            Self::Delete { .. } => None,
        }
    }
}

/// What the files are after a request; `None` where it is refused as a whole.
pub(super) fn apply(files: &Files, asks: &[Ask]) -> Option<Files> {
    let differ = |names: Vec<&str>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    if !differ(asks.iter().filter_map(Ask::source).collect()) || !differ(asks.iter().filter_map(Ask::result).collect())
    {
        return None;
    }
    if asks.iter().any(|ask| ask.vacates() && ask.source() == ask.result()) {
        return None;
    }
    let is_read_only = |path: &str| files.get(path).is_some_and(|(_, mode)| mode & 0o222 == 0);
    if asks.iter().flat_map(|ask| [ask.source(), ask.result()]).flatten().any(is_read_only) {
        return None;
    }
    let vacated: BTreeSet<&str> = asks.iter().filter(|ask| ask.vacates()).filter_map(Ask::source).collect();
    if !asks.iter().all(|ask| ask.fits(files, &vacated)) {
        return None;
    }
    let mut after = files.clone();
    after.retain(|path, _| !vacated.contains(path));
    for ask in asks {
        let Some(path) = ask.result() else { continue };
        after.insert(path, ask.outcome(files, &vacated)?);
    }
    Some(after)
}

/// The paths that differ, with what they were and what they are.
pub(super) fn difference(before: &Files, after: &Files) -> BTreeMap<&'static str, (Option<File>, Option<File>)> {
    let paths: BTreeSet<&'static str> = before.keys().chain(after.keys()).copied().collect();
    let changed = paths.into_iter().filter(|path| before.get(path) != after.get(path));
    changed.map(|path| (path, (before.get(path).cloned(), after.get(path).cloned()))).collect()
}
