//! Tests by trial what a file system guarantees.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::io::Errno;

use super::os::OsFs;
use super::{FileSystem, Fs, Handle, Identity, Metadata, Name, Rename, SlotGuard, Stat};
use crate::journal::{Guarantee, Swap, SwapMethod};

/// The guarantees that a commit needs, as far as they can be tested. Whether a disk keeps what it acknowledged cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a list of independent facts")]
pub struct Guarantees {
    /// The file system.
    pub file_system: FileSystem,
    /// Two names can be exchanged in one step.
    pub exchanges: bool,
    /// A rename can refuse to replace what is there.
    pub keeps_existing: bool,
    /// How names can change places step by step, if in any way.
    pub stepwise: Option<SwapMethod>,
    /// A file keeps its inode number when it gets another name.
    pub keeps_file_numbers: bool,
    /// Files have a birth time, by which a journal that was copied here is recognised as a copy.
    pub birth_times: bool,
    /// A folder can be locked against other processes.
    pub locks: bool,
    /// Copies can share their bytes.
    pub shares_copies: bool,
    /// A path can be opened in one step without following symlinks; otherwise it is walked.
    pub opens_beneath: bool,
    /// Files have extended attributes.
    pub attributes: bool,
    /// The whole file system can be made durable in one call that reaches the medium.
    pub syncs_whole: bool,
    /// A rename survives a power loss whole or not at all, as far as the file system decides that.
    pub renames_survive: bool,
}

/// What it means that numbers of files go by their names, and the way out.
pub const NUMBERS_BY_NAME: &str = "nothing tells a file from one that another program puts in its place; mount it so that it \
    keeps the numbers (unionfs: -o use_ino; mergerfs: -o use_ino,inodecalc=passthrough)";

/// Attempts to remove the scratch folder, and the pause between two of them.
const REMOVALS: usize = 50;
const PAUSE: Duration = Duration::from_millis(10);

impl Guarantees {
    /// How names change places in a commit that is asked to swap so; `None` if nothing can be committed.
    #[must_use]
    pub fn swap(&self, asked: Swap) -> Option<SwapMethod> {
        let exchange = self.exchanges.then_some(SwapMethod::Exchange);
        match asked {
            Swap::Auto | Swap::InPlace => exchange.or(self.stepwise),
            Swap::Exchange => exchange,
            Swap::Aside => self.stepwise,
        }
    }

    /// What the readers of the files can count on in a commit that is asked to swap so; `None` if nothing can be committed.
    /// Where names change places in no way, a file that is there can still be overwritten.
    #[must_use]
    pub fn guarantee(&self, asked: Swap) -> Option<Guarantee> {
        match self.swap(asked) {
            Some(method) => Some(method.guarantee()),
            None => (asked == Swap::InPlace).then_some(Guarantee::InPlace),
        }
    }
}

/// Tests everything in a scratch folder in `folder`, which is removed afterwards, even after a failure.
pub fn guarantees(folder: &Path) -> io::Result<Guarantees> {
    let scratch = tempfile::Builder::new().prefix(".txedit-probe-").tempdir_in(folder)?;
    let found = guarantees_of(scratch.path());
    for _ in 0..REMOVALS {
        // On FUSE a file that was deleted while it was open has a hidden name until the server has heard of its end.
        match std::fs::remove_dir_all(scratch.path()) {
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty => std::thread::sleep(PAUSE),
            _ => break,
        }
    }
    found
}

/// Finds out whether a file can be overwritten. Nothing is written.
pub fn overwrites(file: &Path) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    std::fs::OpenOptions::new().write(true).open(file).map(drop)
}

fn guarantees_of(scratch: &Path) -> io::Result<Guarantees> {
    let fs = OsFs::new();
    // In a folder of its own with exactly this mode: the umask may be anything.
    let scratch_path = fs.canonical(scratch)?;
    let top = fs.open_folder(&scratch_path)?;
    fs.make_folder(Name::new(&top, "probe"), 0o700)?;
    let inside = fs.open_beneath(&top, Path::new("probe"))?;
    let file_system = fs.file_system(&inside)?;
    let kept = fs.power_loss(&inside)?;
    Ok(Guarantees {
        syncs_whole: file_system.syncs_whole && supported(fs.sync_file_system(&inside))?,
        renames_survive: kept.renames_survive,
        file_system: FileSystem { name: kept.name.unwrap_or(file_system.name), ..file_system },
        exchanges: exchanges(&fs, &inside)?,
        keeps_existing: keeps_existing(&fs, &inside)?,
        stepwise: stepwise_method(&fs, &inside)?,
        keeps_file_numbers: keeps_file_numbers(&fs, &inside)?,
        birth_times: fs.stat_handle(&inside)?.identity.born.is_some(),
        locks: locks(&fs, &inside)?,
        shares_copies: shares_copies(&fs, &inside)?,
        opens_beneath: fs.opens_beneath(inside.path())?,
        attributes: has_attributes(&fs, &inside)?,
    })
}

/// How names in `folder` change places: the one thing that a commit tests before it stages anything; `None` if in no way
/// that keeps its promise.
pub fn swap_method(fs: &dyn Fs, folder: &Handle) -> io::Result<Option<SwapMethod>> {
    if exchanges(fs, folder)? {
        return Ok(Some(SwapMethod::Exchange));
    }
    stepwise_method(fs, folder)
}

/// How names in `folder` change places step by step, if in any way.
pub fn stepwise_method(fs: &dyn Fs, folder: &Handle) -> io::Result<Option<SwapMethod>> {
    if moves_to_free_names(fs, folder)? && keeps_existing(fs, folder)? {
        return Ok(Some(SwapMethod::Rename));
    }
    Ok(links(fs, folder)?.then_some(SwapMethod::Link))
}

/// Returns whether a rename that refuses to replace is carried out where there is nothing to be replaced: the kernel
/// refuses the other for every file system.
fn moves_to_free_names(fs: &dyn Fs, folder: &Handle) -> io::Result<bool> {
    let pair = ProbePair::new(fs, folder)?;
    let before = pair.identities()?;
    fs.unlink(pair.second.name())?;
    let moved = supported(fs.rename(pair.first.name(), pair.second.name(), Rename::NoReplace))?;
    Ok(moved && pair.identities()? == (None, before.0))
}

/// Returns whether a file can have two names, of one inode, and neither takes the place of another.
pub fn links(fs: &dyn Fs, folder: &Handle) -> io::Result<bool> {
    let pair = ProbePair::new(fs, folder)?;
    let before = pair.identities()?;
    match supported(fs.link(pair.first.name(), pair.second.name())) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
        Ok(_) => return Ok(false),
    }
    if pair.identities()? != before {
        return Ok(false);
    }
    fs.unlink(pair.second.name())?;
    Ok(supported(fs.link(pair.first.name(), pair.second.name()))? && pair.identities()? == (before.0, before.0))
}

/// Returns whether a file keeps its inode number when it gets another name. Where it does not, nothing tells a file from
/// another one that takes its place, and names change places in no way that keeps the promise.
pub fn keeps_file_numbers(fs: &dyn Fs, folder: &Handle) -> io::Result<bool> {
    let pair = ProbePair::new(fs, folder)?;
    let before = pair.identities()?;
    fs.rename(pair.first.name(), pair.second.name(), Rename::Replace)?;
    if pair.identities()? != (None, before.0) {
        return Ok(false);
    }
    // The system may still have the number of a file that was just renamed, but looks a second name up.
    let is_linked = supported(fs.link(pair.second.name(), pair.first.name()))?;
    Ok(!is_linked || pair.identities()? == (before.0, before.0))
}

/// Returns whether names in `folder` can be exchanged in one step.
///
/// Makes two files, `.exchange-…`, and removes them again; only a crash in between leaves any behind.
pub fn exchanges(fs: &dyn Fs, folder: &Handle) -> io::Result<bool> {
    let pair = ProbePair::new(fs, folder)?;
    let before = pair.identities()?;
    if !supported(fs.rename(pair.first.name(), pair.second.name(), Rename::Exchange))? {
        return Ok(false);
    }
    // Some file systems ignore flags that they do not know, so the result is compared.
    let after = pair.identities()?;
    Ok(after == (before.1, before.0) && before.0 != before.1)
}

/// Turns the error of a file system without the call, or without the flag, into `false`, and that of a sandbox: what it is
/// about was just made.
fn supported(result: io::Result<()>) -> io::Result<bool> {
    const UNSUPPORTED: [Errno; 5] = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTTY, Errno::PERM];
    match result {
        Ok(()) => Ok(true),
        Err(error) if UNSUPPORTED.iter().any(|none| error.raw_os_error() == Some(none.raw_os_error())) => Ok(false),
        Err(error) => Err(error),
    }
}

fn keeps_existing(fs: &dyn Fs, folder: &Handle) -> io::Result<bool> {
    let pair = ProbePair::new(fs, folder)?;
    let before = pair.identities()?;
    match supported(fs.rename(pair.first.name(), pair.second.name(), Rename::NoReplace)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(pair.identities()? == before),
        Err(error) => Err(error),
        Ok(_) => Ok(false),
    }
}

fn locks(fs: &dyn Fs, folder: &Handle) -> io::Result<bool> {
    let first = fs.open_beneath(folder, Path::new(""))?;
    let second = fs.open_beneath(folder, Path::new(""))?;
    let held = |result: io::Result<bool>| match result {
        Ok(got) => Ok(Some(got)),
        Err(error) => supported(Err(error)).map(|_| None),
    };
    Ok(held(fs.try_lock(&first))? == Some(true) && held(fs.try_lock(&second))? == Some(false))
}

fn shares_copies(fs: &OsFs, folder: &Handle) -> io::Result<bool> {
    let pair = ProbePair::new(fs, folder)?;
    fs.write_at(&pair.first.file, 0, &[1; 4096])?;
    match supported(fs.share(&pair.first.file, &pair.second.file)) {
        // The answer of an overlay or a FUSE file system when the one below cannot.
        Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => Ok(false),
        result => result,
    }
}

fn has_attributes(fs: &dyn Fs, folder: &Handle) -> io::Result<bool> {
    let pair = ProbePair::new(fs, folder)?;
    let Stat { mode, user, group, .. } = fs.stat_handle(&pair.first.file)?;
    let attributes = fs.attributes(&pair.first.file)?;
    let now = Metadata { mode, user, group, attributes, modified: None };
    let mut wanted = now.clone();
    wanted.attributes.extended.push(("user.txedit".into(), b"probe".to_vec()));
    supported(fs.set_metadata(&pair.first.file, &now, &wanted))
}

/// Two files that are removed when dropped.
struct ProbePair<'a> {
    first: Probe<'a>,
    second: Probe<'a>,
}

impl<'a> ProbePair<'a> {
    fn new(fs: &'a dyn Fs, folder: &'a Handle) -> io::Result<Self> {
        Ok(Self { first: Probe::new(fs, folder)?, second: Probe::new(fs, folder)? })
    }

    fn identities(&self) -> io::Result<(Option<Identity>, Option<Identity>)> {
        Ok((self.first.identity()?, self.second.identity()?))
    }
}

/// One file; on drop, whatever has its name is deleted.
struct Probe<'a> {
    fs: &'a dyn Fs,
    folder: &'a Handle,
    name: String,
    file: Handle,
    _guard: SlotGuard,
}

impl<'a> Probe<'a> {
    /// The number of names to try: one that a killed process left behind may be in the way.
    const NAMES: usize = 64;

    fn new(fs: &'a dyn Fs, folder: &'a Handle) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let process = fs.host()?.process;
        for _ in 0..Self::NAMES {
            let name = format!(".exchange-{process}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
            match fs.create(Name::new(folder, &name), 0o600) {
                Ok((file, guard, _)) => return Ok(Self { fs, folder, name, file, _guard: guard }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn name(&self) -> Name<'_> {
        Name::new(self.folder, &self.name)
    }

    fn identity(&self) -> io::Result<Option<Identity>> {
        Ok(self.fs.stat(self.name())?.map(|stat| stat.identity))
    }
}
