//! What is mounted in the workspace, and what a commit can promise there.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::{facts, is_usable};
use crate::cli::output::{BAD, GOOD, HEADING, NOTE, styled};
use crate::fs::probe;
use crate::journal::{Guarantee, Swap};
use crate::path::shown;
use crate::view;

/// A mount in the workspace.
#[derive(Serialize, JsonSchema)]
pub(super) struct MountJson {
    /// Its path in the workspace.
    path: String,
    /// True if it is a file, which can only be overwritten.
    is_file: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_system: Option<String>,
    /// True if a transaction can change something there.
    usable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<&'static str>,
    /// What `--swap in-place` would give, where nothing can be committed without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    with_swap_in_place: Option<&'static str>,
    /// Why nothing can be tested there.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Tests each mount in a folder, in a scratch folder of its own there.
pub(super) fn in_folder(folder: &Path, swap: Swap) -> io::Result<Vec<MountJson>> {
    let real = folder.canonicalize()?;
    let mounted = view::mounted_in(&real)?;
    Ok(mounted.iter().map(|path| of_mount(&real, path, swap)).collect())
}

fn of_mount(root: &Path, path: &Path, swap: Swap) -> MountJson {
    let place = root.join(path);
    let none = MountJson {
        path: shown(path),
        is_file: !place.is_dir(),
        file_system: None,
        usable: false,
        guarantee: None,
        with_swap_in_place: None,
        why: None,
    };
    if none.is_file {
        if let Err(error) = probe::overwrites(&place) {
            return MountJson { why: Some(error.to_string()), ..none };
        }
        let in_place = Guarantee::InPlace.as_str();
        let is_asked = swap == Swap::InPlace;
        let guarantee = is_asked.then_some(in_place);
        return MountJson { usable: is_asked, guarantee, with_swap_in_place: (!is_asked).then_some(in_place), ..none };
    }
    let found = match probe::guarantees(&place) {
        Ok(found) => found,
        Err(error) => return MountJson { why: Some(error.to_string()), ..none },
    };
    let guarantee = found.guarantee(swap);
    let usable = is_usable(&facts(&found, found.swap(swap), guarantee));
    let overwriting = found.guarantee(Swap::InPlace).filter(|_| guarantee.is_none() && found.locks);
    MountJson {
        file_system: Some(found.file_system.name.clone()),
        usable,
        guarantee: guarantee.filter(|_| usable).map(Guarantee::as_str),
        with_swap_in_place: overwriting.map(Guarantee::as_str),
        ..none
    }
}

pub(super) fn push(text: &mut String, mounts: &[MountJson]) {
    if !mounts.is_empty() {
        let _ = writeln!(text, "{}", styled(HEADING, "mounted in it:"));
    }
    for mount in mounts {
        let what = mount.file_system.as_deref().unwrap_or(if mount.is_file { "a single file" } else { "unknown" });
        let (style, told) = match (mount.guarantee, mount.with_swap_in_place, &mount.why) {
            (Some(guarantee), ..) => (GOOD, format!("guarantee: {guarantee}")),
            (None, Some(_), _) => (NOTE, "only with --swap in-place, which overwrites".to_owned()),
            (None, None, Some(why)) => (BAD, format!("nothing can be changed there: {why}")),
            (None, None, None) => (BAD, "nothing can be changed there".to_owned()),
        };
        let _ = writeln!(text, "  {}: {what}; {}", mount.path, styled(style, told));
    }
}
