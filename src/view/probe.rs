//! Tries out whether there can be a view of a folder, and says what would allow one.

use std::fs;
use std::io;
use std::path::Path;

use super::step::{MakeFailure, MakeStep};
use super::{Overlay, OverlayOrder, is_served, real_in};

/// The reason why there can be no view of a folder, and what would allow one, if that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoView {
    /// The reason.
    pub(crate) why: String,
    /// What to do, if anything helps.
    pub(crate) advice: Option<&'static str>,
}

/// Makes a view of a folder and ends it. A scratch folder in it is removed afterwards.
pub(crate) fn try_out(folder: &Path) -> io::Result<Result<(), NoView>> {
    let root = folder.canonicalize()?;
    let scratch = tempfile::Builder::new().prefix(".txedit-probe-").tempdir_in(&root)?;
    let open = |path: &Path| fs::File::open(path).map(Into::into);
    let layer = |name: &str| {
        let path = scratch.path().join(name);
        fs::create_dir(&path)?;
        open(&path)
    };
    let layers = scratch.path().strip_prefix(&root).map_err(io::Error::other)?;
    let (lower, upper, work) = (open(&root)?, layer("upper")?, layer("work")?);
    let read_only = real_in(&root)?;
    let made =
        Overlay::make(&OverlayOrder { root: &root, lower, upper, work, layers, through: &[], read_only: &read_only });
    let tried = made.and_then(|mut overlay| overlay.end().map_err(|e| MakeStep::Start.failed(e)));
    super::delete(&scratch.keep())?;
    Ok(tried.map_err(|failed| NoView { advice: advice(&failed), why: failed.to_string() }))
}

/// What would allow a view, as far as this system tells.
fn advice(failed: &MakeFailure) -> Option<&'static str> {
    let setting = |file: &str| fs::read_to_string(Path::new("/proc/sys").join(file)).unwrap_or_default();
    let is = |file: &str, value: &str| setting(file).trim() == value;
    match failed.step {
        _ if !is_served() => None,
        MakeStep::Start | MakeStep::Layers | MakeStep::State | MakeStep::Mount(_) => None,
        _ if is("user/max_user_namespaces", "0") => {
            Some("let users have name spaces: sysctl user.max_user_namespaces=10000")
        }
        _ if is("kernel/unprivileged_userns_clone", "0") => {
            Some("let users have name spaces: sysctl kernel.unprivileged_userns_clone=1")
        }
        _ if is("kernel/apparmor_restrict_unprivileged_userns", "1") => Some(
            "give txedit an AppArmor profile with `userns,`, or: sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        MakeStep::NameSpace | MakeStep::Users | MakeStep::Apart => Some(
            "in a container, allow unshare and mount: a seccomp profile that has them, or the capability SYS_ADMIN",
        ),
        MakeStep::Overlay => Some("put the workspace on ext4, xfs, btrfs or tmpfs, not on an overlay or a network"),
    }
}
