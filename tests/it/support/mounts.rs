//! Freshly made file systems to test on.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// What to mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ext4,
    /// Ext4 whose folders can fold case: `chattr +F`.
    Casefold,
    /// Ext4 without a journal.
    NoJournal,
    Ext2,
    Xfs,
    Btrfs,
    Tmpfs,
    /// A tmpfs with room for several gigabytes.
    Large,
    /// Over a lower folder and an upper one, both on a tmpfs.
    Overlay,
    /// A view of a folder through bindfs; it cannot exchange names.
    Fuse,
    /// Like an overlay, by a program: fuse-overlayfs over a tmpfs.
    FuseOverlay,
}

/// Bytes of an image, sparse: mkfs.xfs refuses less than 300 MiB.
const IMAGE_BYTES: u64 = 320 << 20;

/// Runs `test` in the root of a new file system, and takes that away again even if the test panics.
///
/// Where it cannot be mounted (no root, no loop devices, a tool that is missing), says so and answers `None`.
pub(crate) fn with<T>(kind: Kind, test: impl FnOnce(&Path) -> T) -> Option<T> {
    match Mounted::new(kind) {
        // The value lives until after the test, and is dropped when that panics, too.
        Ok(mounted) => Some(test(&mounted.root)),
        Err(reason) => {
            eprintln!("skipped on {kind:?}: {reason}");
            None
        }
    }
}

/// Runs `test` in the root of each file system that can exchange names.
pub(crate) fn on_each(test: impl Fn(&Path)) {
    for kind in [Kind::Ext4, Kind::Xfs, Kind::Btrfs, Kind::Tmpfs, Kind::Overlay, Kind::FuseOverlay] {
        with(kind, &test);
    }
}

struct Mounted {
    root: PathBuf,
    /// What was mounted, in this order.
    mounts: Vec<PathBuf>,
    /// Last, so that it is removed after everything in it was unmounted.
    _scratch: TempDir,
}

impl Mounted {
    fn new(kind: Kind) -> Result<Self, String> {
        let scratch = tempfile::Builder::new().prefix("txedit-mount-").tempdir().map_err(|error| error.to_string())?;
        let at = scratch.path().to_owned();
        let mut mounted = Self { root: at.join("root"), mounts: Vec::new(), _scratch: scratch };
        fs::create_dir(&mounted.root).map_err(|error| error.to_string())?;
        let root = mounted.root.clone();
        match kind {
            Kind::Ext4 => mounted.image(&at, "mkfs.ext4", &["-q", "-F", "-b", "4096"])?,
            Kind::Casefold => mounted.image(&at, "mkfs.ext4", &["-q", "-F", "-b", "4096", "-O", "casefold"])?,
            Kind::NoJournal => mounted.image(&at, "mkfs.ext4", &["-q", "-F", "-O", "^has_journal"])?,
            Kind::Ext2 => mounted.image(&at, "mkfs.ext2", &["-q", "-F"])?,
            Kind::Xfs => mounted.image(&at, "mkfs.xfs", &["-q", "-f"])?,
            Kind::Btrfs => mounted.image(&at, "mkfs.btrfs", &["-q", "-f"])?,
            Kind::Tmpfs => mounted.mount(&root, &["-t", "tmpfs", "-o", "size=256m,mode=755", "txedit"])?,
            Kind::Large => mounted.mount(&root, &["-t", "tmpfs", "-o", "size=5g,mode=755", "txedit"])?,
            Kind::Overlay => {
                let layers = mounted.layers(&at)?;
                mounted.mount(&root, &["-t", "overlay", "-o", &layers, "txedit"])?;
            }
            Kind::FuseOverlay => {
                let layers = mounted.layers(&at)?;
                run("fuse-overlayfs", ["-o", &layers, &root.to_string_lossy()])?;
                mounted.mounts.push(root);
            }
            Kind::Fuse => {
                let below = at.join("below");
                fs::create_dir(&below).map_err(|error| error.to_string())?;
                run("bindfs", [below.as_os_str(), root.as_os_str()])?;
                mounted.mounts.push(root);
            }
        }
        Ok(mounted)
    }

    /// The layers of an overlay, on a tmpfs, as a mount wants them.
    fn layers(&mut self, at: &Path) -> Result<String, String> {
        let layers = at.join("layers");
        fs::create_dir(&layers).map_err(|error| error.to_string())?;
        self.mount(&layers, &["-t", "tmpfs", "-o", "size=256m,mode=755", "txedit"])?;
        for layer in ["lower", "upper", "work"] {
            fs::create_dir(layers.join(layer)).map_err(|error| error.to_string())?;
        }
        let layers = layers.display();
        Ok(format!("lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work"))
    }

    fn image(&mut self, at: &Path, make: &str, options: &[&str]) -> Result<(), String> {
        // In memory: a test waits for what a kernel does, not for the disk of this machine.
        let memory = at.join("memory");
        fs::create_dir(&memory).map_err(|error| error.to_string())?;
        self.mount(&memory, &["-t", "tmpfs", "-o", "size=400m,mode=755", "txedit"])?;
        let image = memory.join("image");
        let file = fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(IMAGE_BYTES).map_err(|error| error.to_string())?;
        run(make, options.iter().map(OsStr::new).chain([image.as_os_str()]))?;
        let root = self.root.clone();
        self.mount(&root, &["-o", "loop", &image.to_string_lossy()])
    }

    fn mount(&mut self, on: &Path, options: &[&str]) -> Result<(), String> {
        run("mount", options.iter().map(OsStr::new).chain([on.as_os_str()]))?;
        self.mounts.push(on.to_owned());
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for mount in self.mounts.iter().rev() {
            // Lazily where something still has a file open: nothing may stay behind.
            if run("umount", [mount.as_os_str()]).is_err()
                && let Err(reason) = run("umount", [OsStr::new("-l"), mount.as_os_str()])
            {
                eprintln!("{} stays mounted: {reason}", mount.display());
            }
        }
    }
}

/// Makes everything in an overlay the content of its lower layer, as the image of a container is.
pub(crate) fn lower(root: &Path) -> Result<(), String> {
    run("umount", [root.as_os_str()])?;
    let layers = root.with_file_name("layers");
    let step = |result: std::io::Result<()>| result.map_err(|error| error.to_string());
    step(fs::remove_dir_all(layers.join("work")).and_then(|()| fs::create_dir(layers.join("work"))))?;
    step(fs::remove_dir(layers.join("lower")))?;
    step(fs::rename(layers.join("upper"), layers.join("lower")))?;
    step(fs::create_dir(layers.join("upper")))?;
    let layers = layers.display();
    // Without an index, what is written through one of two names of a file is not there through the other.
    let options = format!("index=on,lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work");
    run("mount", ["-t", "overlay", "-o", &options, "txedit"].iter().map(OsStr::new).chain([root.as_os_str()])).map(drop)
}

/// Runs a tool; what it said is the error.
pub(crate) fn run<A: AsRef<OsStr>>(tool: &str, arguments: impl IntoIterator<Item = A>) -> Result<String, String> {
    let output = Command::new(tool).args(arguments).output().map_err(|error| format!("{tool}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{tool}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Whether this process may do as it likes.
pub(crate) fn is_root() -> bool {
    run("id", ["-u"]).is_ok_and(|user| user.trim() == "0")
}

#[test]
fn what_was_mounted_goes_with_a_panic() {
    let mut seen = None;
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        with(Kind::Tmpfs, |root| {
            seen = Some(root.to_owned());
            panic!("as meant");
        })
    }));
    let Some(root) = seen else { return };
    assert!(result.is_err());
    assert!(!root.exists());
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!table.contains(&*root.to_string_lossy()), "{table}");
}
