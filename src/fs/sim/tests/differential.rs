//! Random calls on the simulated and on a real file system must give the same results, errors included.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use proptest::prelude::*;
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

use super::*;
use crate::fs::os::OsFs;
use crate::fs::{FileKind, Metadata, Stat, Timestamp};

/// A call. Handles are numbers of those that are open; number 0 is the root.
#[derive(Debug, Clone)]
enum Step {
    MakeFolder(usize, Named, u32),
    Create(usize, Named),
    OpenBeneath(usize, String),
    OpenFolder(String),
    OpenFile(usize, Named),
    Close(usize),
    Stat(usize, Named),
    StatHandle(usize),
    List(usize),
    Read(usize, u64, usize),
    Write(usize, u64, usize),
    Copy(usize, u64, usize, u64, u64),
    SetMetadata(usize, u32, i64),
    Attributes(usize),
    Rename((usize, Named), (usize, Named), Rename),
    Unlink(usize, Named),
    RemoveFolder(usize, Named),
    Sync(usize),
    TryLock(usize),
    Canonical(String),
    Symlink(&'static str, Named),
    Link(Named, Named),
}

type Named = &'static str;

/// The result of a call, as far as both must agree on it.
#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Is(bool),
    Count(u64),
    Bytes(Vec<u8>),
    Names(Vec<OsString>),
    Path(PathBuf),
    Stat(Option<(FileKind, u64, u32, u32, u32, u64)>),
    Attributes(crate::fs::Attributes),
}

fn name() -> impl Strategy<Value = Named> {
    let odd = prop::sample::select(vec!["", ".", "..", "a/b", LONG]);
    prop_oneof![30 => prop::sample::select(vec!["a", "b", "c", "d"]), 1 => odd]
}

/// One byte longer than the longest name.
const LONG: &str = match std::str::from_utf8(&[b'n'; 256]) {
    Ok(name) => name,
    Err(_) => "",
};

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![20 => prop::sample::select(vec!["a", "b", "c", "d"]), 1 => Just("..")];
    prop::collection::vec(name, 0..4).prop_map(|names| names.join("/"))
}

fn step() -> impl Strategy<Value = Step> {
    let h = || prop_oneof![1 => Just(0_usize), 2 => 0..8_usize];
    let n = name;
    let how = prop_oneof![Just(Rename::Exchange), Just(Rename::NoReplace)];
    let targets = prop::sample::select(vec!["a", "b", "c/d", "../a", "nowhere", "."]);
    let offset = || prop_oneof![0..10_u64, 4090..4100_u64];
    prop_oneof![
        3 => (h(), n(), prop::sample::select(vec![0o700, 0o755, 0o2770, 0o1777])).prop_map(|(h, n, m)| Step::MakeFolder(h, n, m)),
        3 => (h(), n()).prop_map(|(h, n)| Step::Create(h, n)),
        3 => (h(), path()).prop_map(|(h, p)| Step::OpenBeneath(h, p)),
        1 => path().prop_map(Step::OpenFolder),
        2 => (h(), n()).prop_map(|(h, n)| Step::OpenFile(h, n)),
        1 => h().prop_map(Step::Close),
        2 => (h(), n()).prop_map(|(h, n)| Step::Stat(h, n)),
        2 => h().prop_map(Step::StatHandle),
        2 => h().prop_map(Step::List),
        2 => (h(), offset(), 0..20_usize).prop_map(|(h, o, l)| Step::Read(h, o, l)),
        3 => (h(), offset(), 0..20_usize).prop_map(|(h, o, l)| Step::Write(h, o, l)),
        2 => (h(), offset(), h(), offset(), 0..20_u64).prop_map(|(f, a, t, b, l)| Step::Copy(f, a, t, b, l)),
        2 => (h(), 0..0o10000_u32, 0..9_i64).prop_map(|(h, m, t)| Step::SetMetadata(h, m, t)),
        1 => h().prop_map(Step::Attributes),
        6 => ((h(), n()), (h(), n()), how).prop_map(|(f, t, how)| Step::Rename(f, t, how)),
        2 => (h(), n()).prop_map(|(h, n)| Step::Unlink(h, n)),
        2 => (h(), n()).prop_map(|(h, n)| Step::RemoveFolder(h, n)),
        1 => h().prop_map(Step::Sync),
        2 => h().prop_map(Step::TryLock),
        1 => path().prop_map(Step::Canonical),
        1 => (targets, prop::sample::select(vec!["a", "b", "c", "d"])).prop_map(|(t, n)| Step::Symlink(t, n)),
        1 => (prop::sample::select(vec!["a", "b"]), prop::sample::select(vec!["c", "d"])).prop_map(|(o, n)| Step::Link(o, n)),
    ]
}

/// One of the two file systems with the handles open on it.
struct Side<F> {
    fs: F,
    root: PathBuf,
    open: Vec<Handle>,
    /// The inodes in the order in which they appeared.
    inodes: Vec<u64>,
}

impl<F: Fs> Side<F> {
    fn new(fs: F, root: &Path) -> Self {
        let open = vec![fs.open_folder(root).unwrap()];
        Self { fs, root: root.to_owned(), open, inodes: Vec::new() }
    }

    fn handle(&self, number: usize) -> &Handle {
        &self.open[number % self.open.len()]
    }

    fn name<'a>(&'a self, number: usize, name: &'a str) -> Name<'a> {
        Name::new(self.handle(number), name)
    }

    fn opened(&mut self, handle: Handle) -> Answer {
        self.open.push(handle);
        Answer::Done
    }

    fn stat(&mut self, stat: &Stat) -> Answer {
        self.inodes.push(stat.identity.inode);
        // Every file system has its own size and link count of folders.
        let is_folder = stat.kind == FileKind::Folder;
        let (size, links) = if is_folder { (0, 0) } else { (stat.size, stat.links) };
        Answer::Stat(Some((stat.kind, size, stat.mode, stat.user, stat.group, links)))
    }

    fn inside(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    fn run(&mut self, step: &Step) -> io::Result<Answer> {
        let done = |()| Answer::Done;
        match step {
            Step::MakeFolder(h, n, mode) => self.fs.make_folder(self.name(*h, n), *mode).map(done),
            Step::Create(h, n) => {
                let (handle, guard, _) = self.fs.create(self.name(*h, n), 0o600)?;
                guard.disarm();
                Ok(self.opened(handle))
            }
            Step::OpenBeneath(h, path) => {
                self.fs.open_beneath(self.handle(*h), Path::new(path)).map(|handle| self.opened(handle))
            }
            Step::OpenFolder(path) => self.fs.open_folder(&self.inside(path)).map(|handle| self.opened(handle)),
            Step::OpenFile(h, n) => self.fs.open_file(self.name(*h, n)).map(|handle| self.opened(handle)),
            Step::Close(h) => {
                let index = h % self.open.len();
                if index > 0 {
                    self.open.remove(index);
                }
                Ok(Answer::Done)
            }
            Step::Stat(h, n) => Ok(self.fs.stat(self.name(*h, n))?.map_or(Answer::Stat(None), |stat| self.stat(&stat))),
            Step::StatHandle(h) => self.fs.stat_handle(self.handle(*h)).map(|stat| self.stat(&stat)),
            Step::List(h) => {
                let mut names = self.fs.list(self.handle(*h))?;
                names.sort();
                Ok(Answer::Names(names))
            }
            Step::Read(h, offset, length) => {
                let mut buffer = vec![0; *length];
                let count = self.fs.read_at(self.handle(*h), *offset, &mut buffer)?;
                buffer.truncate(count);
                Ok(Answer::Bytes(buffer))
            }
            Step::Sync(h) => self.fs.sync(self.handle(*h)).map(done),
            Step::TryLock(h) => self.fs.try_lock(self.handle(*h)).map(Answer::Is),
            Step::Canonical(path) => {
                let path = self.fs.canonical(&self.inside(path))?;
                // A path that leads out of the root does not exist on both.
                Ok(Answer::Path(path.strip_prefix(&self.root).unwrap_or(Path::new("outside")).to_owned()))
            }
            Step::Attributes(h) => self.fs.attributes(self.handle(*h)).map(Answer::Attributes),
            _ => self.change(step),
        }
    }

    fn change(&mut self, step: &Step) -> io::Result<Answer> {
        let done = |()| Answer::Done;
        match step {
            Step::Write(h, offset, length) => {
                let bytes: Vec<u8> = (0..*length).map(|i| b'a' + u8::try_from(i % 26).unwrap()).collect();
                self.fs.write_at(self.handle(*h), *offset, &bytes).map(|count| Answer::Count(count as u64))
            }
            Step::Copy(from, from_at, to, to_at, length) => {
                self.fs.copy_range(self.handle(*from), *from_at, self.handle(*to), *to_at, *length).map(Answer::Count)
            }
            Step::SetMetadata(h, mode, seconds) => {
                let stat = self.fs.stat_handle(self.handle(*h))?;
                let attributes = self.fs.attributes(self.handle(*h))?;
                let (user, group) = (stat.user, stat.group);
                let now = Metadata { mode: stat.mode, user, group, attributes, modified: None };
                let attributes = crate::fs::Attributes::default();
                let modified = Some(Timestamp::new(*seconds, 0));
                let metadata = Metadata { mode: *mode, attributes, modified, ..now.clone() };
                self.fs.set_metadata(self.handle(*h), &now, &metadata)?;
                let modified = self.fs.stat_handle(self.handle(*h))?.modified;
                Ok(Answer::Is(Some(modified) == metadata.modified))
            }
            Step::Rename(from, to, how) => {
                self.fs.rename(self.name(from.0, from.1), self.name(to.0, to.1), *how).map(done)
            }
            Step::Unlink(h, n) => self.fs.unlink(self.name(*h, n)).map(done),
            Step::RemoveFolder(h, n) => self.fs.remove_folder(self.name(*h, n)).map(done),
            other => unreachable!("{other:?} is run elsewhere"),
        }
    }
}

/// Acts that no process of txedit performs, so [`Fs`] has no call for them.
fn foreign(sim: &SimFs, real: &Path, step: &Step) -> Option<[io::Result<()>; 2]> {
    let at = |name: &str| (Path::new("/top").join(name), real.join(name));
    match step {
        Step::Symlink(target, name) => {
            Some([sim.symlink(*target, at(name).0), std::os::unix::fs::symlink(target, at(name).1)])
        }
        // `link` follows no symlink, and is only tried on files.
        Step::Link(old, new) if sim.stat(at(old).0).is_ok_and(|s| s.kind == FileKind::File) => {
            Some([sim.link(at(old).0, at(new).0), std::fs::hard_link(at(old).1, at(new).1)])
        }
        Step::Link(..) => Some([Ok(()), Ok(())]),
        _ => None,
    }
}

fn told<T>(result: io::Result<T>) -> Result<T, Option<Errno>> {
    result.map_err(|error| crate::errno::of(&error))
}

/// Sets up what exists before the first step: files of root, and files with various permissions.
fn furnish(sim: &SimFs, real: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = |name: &str, mode: u32| {
        sim.set_mode(Path::new("/top").join(name), mode).unwrap();
        std::fs::set_permissions(real.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for folder in ["b", "c", "d"] {
        sim.make_folders(Path::new("/top").join(folder)).unwrap();
        std::fs::create_dir(real.join(folder)).unwrap();
    }
    for file in ["a", "b/a", "c/a", "c/b", "d/a"] {
        sim.create(Path::new("/top").join(file), "root's").unwrap();
        std::fs::write(real.join(file), "root's").unwrap();
        mode(file, 0o644);
    }
    for (name, bits) in [("", 0o777), ("b", 0o755), ("c", 0o1777), ("d", 0o777), ("c/b", 0o600)] {
        mode(name, bits);
    }
}

/// Runs the steps on both: as the user who runs the test or, which needs root, as a stranger in a folder of root's.
fn compare(steps: &[Step], stranger: Option<u32>) -> Result<(), TestCaseError> {
    let scratch = tempfile::tempdir().unwrap();
    let real = scratch.path().canonicalize().unwrap().join("top");
    std::fs::create_dir(&real).unwrap();
    let sim = SimFs::new();
    sim.make_folders("/top").unwrap();
    let Some(id) = stranger else {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        sim.set_owner("/top", user, group).unwrap();
        return follow(steps, &sim, sim.process_of(1, user, group), &real);
    };
    std::fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    furnish(&sim, &real);
    // The system keeps these ids for each thread; this one ends with them.
    let run = || {
        set_thread_groups(&[]).unwrap();
        set_thread_gid(Gid::from_raw(id)).unwrap();
        set_thread_uid(Uid::from_raw(id)).unwrap();
        follow(steps, &sim, sim.process_of(1, id, id), &real)
    };
    std::thread::scope(|scope| std::thread::Builder::new().spawn_scoped(scope, run).unwrap().join().unwrap())
}

fn follow(steps: &[Step], sim_fs: &SimFs, process: SimProcess, real_root: &Path) -> Result<(), TestCaseError> {
    let mut sim = Side::new(process, Path::new("/top"));
    let mut real = Side::new(OsFs::new(), real_root);
    let mut inodes = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        if let Some([simulated, happened]) = foreign(sim_fs, real_root, step) {
            prop_assert_eq!(told(simulated), told(happened), "step {}: {:?}", index, step);
            continue;
        }
        let (simulated, happened) = (told(sim.run(step)), told(real.run(step)));
        prop_assert_eq!(simulated, happened, "step {}: {:?}", index, step);
        for (simulated, happened) in sim.inodes.drain(..).zip(real.inodes.drain(..)) {
            let known = *inodes.entry(simulated).or_insert(happened);
            prop_assert_eq!(known, happened, "step {}: {:?} is of another inode", index, step);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_calls_get_the_same_answers(steps in prop::collection::vec(step(), 1..80)) {
        compare(&steps, None)?;
    }

    #[test]
    fn a_stranger_may_do_the_same_and_no_more(steps in prop::collection::vec(step(), 1..80)) {
        // In the simulation, foreign programs act as root.
        let steps: Vec<Step> =
            steps.into_iter().filter(|step| !matches!(step, Step::Symlink(..) | Step::Link(..))).collect();
        // Only root can change its user.
        if geteuid().is_root() {
            compare(&steps, Some(4242))?;
        }
    }
}
