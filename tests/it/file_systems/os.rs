//! The real file systems, held against what the kernel itself does.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use txedit::fs::{Attributes, FileKind, Fs, Handle, Metadata, Name, OsFs, Rename, Stat, Timestamp};
use txedit::testing::internals::fs::probe;

use crate::support::is_without;
use crate::support::mounts::{self, Kind, is_root, run};
use crate::support::name_of;

/// One check; each gets a folder of its own.
type Check = fn(&OsFs, &Path, &Handle);

const CHECKS: &[(&str, Check)] = &[
    ("inherited", inherited_is_what_the_kernel_gives),
    ("metadata", metadata_is_given_exactly),
    ("owner", owner_and_set_ids_are_given),
    ("flags", flags_are_given_and_taken),
    ("rename", renames_never_replace),
    ("beneath", nothing_leads_out_of_a_folder),
    ("lock", a_lock_is_held_by_one),
    ("create", what_is_created_is_private_and_guarded),
    ("copy", copies_are_equal),
    ("stat", stat_tells_what_is_there),
    ("folders", folders_have_exactly_their_mode),
    ("attributes", attributes_of_any_size_are_read),
];

/// Runs all checks of the system's own calls, and of the portable ones.
fn all_checks(root: &Path) {
    for (fs, place) in systems() {
        for (name, check) in CHECKS {
            eprintln!("{place} {name}");
            let path = root.join(place).join(name);
            fs::create_dir_all(&path).unwrap();
            let folder = fs.open_folder(&path).unwrap();
            check(&fs, &path, &folder);
        }
    }
}

fn systems() -> Vec<(OsFs, &'static str)> {
    vec![
        (OsFs::new(), "own"),
        #[cfg(target_os = "linux")]
        (OsFs::portable(), "portable"),
    ]
}

/// Returns whether this has portable calls alone: no flags, no default ACLs, and nobody is seen to hold a lock.
fn is_portable(fs: &OsFs, folder: &Handle) -> bool {
    fs.file_system(folder).unwrap().name == "unknown"
}

/// Runs everything on a new file system and compares what is said about it.
fn on(kind: Kind, name: &str, sync_each: bool) {
    mounts::with(kind, |root| {
        let fs = OsFs::new();
        let folder = fs.open_folder(root).unwrap();
        if is_without("names of file systems") {
            return all_checks(root);
        }
        let told = fs.file_system(&folder).unwrap();
        assert_eq!((told.name.as_str(), told.local, told.sync_each), (name, true, sync_each));
        assert!(told.syncs_whole && told.syncs_folders);
        let found = probe::guarantees(root).unwrap();
        assert_eq!((found.file_system.name.as_str(), found.syncs_whole, found.renames_survive), (name, true, true));
        assert!(fs.stat_handle(&folder).unwrap().mount_root);
        fs.sync_file_system(&folder).unwrap();
        drop(folder);
        all_checks(root);
    });
}

#[test]
fn ext4_answers_like_the_kernel() {
    on(Kind::Ext4, "ext4", true);
}

#[test]
fn xfs_answers_like_the_kernel() {
    on(Kind::Xfs, "xfs", false);
}

#[test]
fn btrfs_answers_like_the_kernel() {
    on(Kind::Btrfs, "btrfs", false);
}

#[test]
fn tmpfs_answers_like_the_kernel() {
    on(Kind::Tmpfs, "tmpfs", false);
}

#[test]
fn overlay_answers_like_the_kernel() {
    on(Kind::Overlay, "overlay", false);
}

#[test]
fn ext4_without_a_journal_answers_like_the_kernel() {
    if is_without("names of file systems") {
        return;
    }
    for (kind, name) in [(Kind::NoJournal, "ext4"), (Kind::Ext2, "ext2")] {
        mounts::with(kind, |root| {
            let found = probe::guarantees(root).unwrap();
            assert_eq!(
                (found.file_system.name.as_str(), found.syncs_whole, found.renames_survive),
                (name, true, false)
            );
        });
    }
}

#[test]
fn fuse_answers_like_the_kernel() {
    // bindfs sets bits and names of its own making, so only what every file system must do is asked of it.
    mounts::with(Kind::Fuse, |root| {
        let fs = OsFs::new();
        let folder = fs.open_folder(root).unwrap();
        let told = fs.file_system(&folder).unwrap();
        assert!(!told.syncs_whole && (told.name == "fuse" || is_without("names of file systems")), "{told:?}");
        fs::write(root.join("a"), "a").unwrap();
        fs::write(root.join("b"), "b").unwrap();
        let error = fs.rename(Name::new(&folder, "a"), Name::new(&folder, "b"), Rename::Exchange).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
        assert_eq!(fs::read(root.join("a")).unwrap(), b"a");
    });
}

#[test]
fn the_ordinary_file_system_answers_like_the_kernel() {
    let scratch = tempfile::tempdir().unwrap();
    all_checks(&fs::canonicalize(scratch.path()).unwrap());
}

#[test]
fn dev_shm_answers_like_the_kernel() {
    match tempfile::tempdir_in("/dev/shm") {
        Ok(scratch) => all_checks(&fs::canonicalize(scratch.path()).unwrap()),
        Err(error) => eprintln!("skipped: /dev/shm: {error}"),
    }
}

/// Runs one of these tests in a process of its own, after a line of shell: limits and umask belong to a process.
fn after(prelude: &str, test: &str) {
    let again = std::env::current_exe().unwrap();
    let test = name_of(module_path!(), test);
    let told = run("sh", ["-c", &format!("{prelude} && exec '{}' --exact {test}", again.display())]).unwrap();
    assert!(told.contains("1 passed"), "{told}");
}

#[test]
fn the_umask_changes_no_mode() {
    after("umask 027", "the_ordinary_file_system_answers_like_the_kernel");
}

#[test]
fn a_low_limit_on_open_files_is_raised() {
    after("ulimit -S -n 64", "the_limit_on_open_files_is_raised");
}

#[test]
fn the_host_has_process_boot_and_name() {
    let host = OsFs::new().host().unwrap();
    assert_eq!(host.process, std::process::id());
    assert_eq!(host.boot.len(), 36);
    assert_eq!(host.name, run("uname", ["-n"]).unwrap().trim_end());
}

#[test]
fn the_limit_on_open_files_is_raised() {
    let limit = OsFs::new().raise_open_files();
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let columns = line.split_whitespace().collect::<Vec<_>>();
    assert_eq!((columns[3], columns[4]), (&*limit.to_string(), &*limit.to_string()));
}

fn open(fs: &OsFs, folder: &Handle, name: &str) -> Handle {
    let name = Name::new(folder, name);
    if fs.stat(name).unwrap().unwrap().kind == FileKind::Folder {
        fs.open_beneath(folder, Path::new(name.name)).unwrap()
    } else {
        fs.open_file(name).unwrap()
    }
}

fn stat(fs: &OsFs, folder: &Handle, name: &str) -> Stat {
    fs.stat(Name::new(folder, name)).unwrap().unwrap()
}

/// What a file has, in the shape in which it is given.
fn metadata(fs: &OsFs, file: &Handle) -> Metadata {
    let stat = fs.stat_handle(file).unwrap();
    let attributes = fs.attributes(file).unwrap();
    Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None }
}

/// Dresses a file as whoever has just looked at it.
fn metadata_of(fs: &OsFs, file: &Handle, wanted: &Metadata) -> std::io::Result<()> {
    let modified = Some(fs.stat_handle(file)?.modified);
    fs.set_metadata(file, &Metadata { modified, ..metadata(fs, file) }, wanted)
}

fn inherited_is_what_the_kernel_gives(fs: &OsFs, path: &Path, top: &Handle) {
    let acls = [
        "",
        "u::rwx,g::r-x,o::---",
        "u::rwx,g::r-x,o::r--,u:1234:rwx,g:2345:r-x,m::rwx",
        "u::r-x,g::rwx,o::rwx,g:1:--x,m::r-x",
    ];
    let mut compared = 0;
    let portable = is_portable(fs, top);
    // How a folder of btrfs says which compression; only there can it be set.
    let compressed = path.join("compressed");
    fs::create_dir(&compressed).unwrap();
    if !portable && run("setfattr", ["-n", "btrfs.compression", "-v", "zstd", &compressed.to_string_lossy()]).is_ok() {
        let folder = open(fs, top, "compressed");
        File::create(compressed.join("file")).unwrap();
        let given = metadata(fs, &open(fs, &folder, "file"));
        assert!(!given.attributes.extended.is_empty());
        assert_eq!(fs.inherited(&folder, false).unwrap(), given);
    }
    for (acl_at, acl) in acls.iter().enumerate() {
        for set_group in [false, true] {
            for flags in ["", "+Ad", "+S", "+c", "+C", "+m", "+j", "+D"] {
                let name = format!("{acl_at}{set_group}{flags}");
                let inside = path.join(&name);
                fs::create_dir(&inside).unwrap();
                if set_group {
                    if is_root() {
                        run("chown", ["0:4321", &inside.to_string_lossy()]).unwrap();
                    }
                    fs::set_permissions(&inside, PermissionsExt::from_mode(0o2755)).unwrap();
                }
                // Not every file system has ACLs or flags.
                let inside_name = inside.to_string_lossy().into_owned();
                if portable && !(acl.is_empty() && flags.is_empty())
                    || !acl.is_empty() && run("setfacl", ["-d", "-m", acl, &inside_name]).is_err()
                    || !flags.is_empty() && run("chattr", [flags, &inside_name]).is_err()
                {
                    eprintln!("  without {acl:?} {flags:?}");
                    continue;
                }
                let folder = open(fs, top, &name);
                File::create(inside.join("file")).unwrap();
                fs::create_dir(inside.join("folder")).unwrap();
                for (child, is_folder) in [("file", false), ("folder", true)] {
                    let given = metadata(fs, &open(fs, &folder, child));
                    assert_eq!(
                        fs.inherited(&folder, is_folder).unwrap(),
                        given,
                        "{acl:?} {set_group} {flags:?} {child}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 4);
}

fn metadata_is_given_exactly(fs: &OsFs, path: &Path, top: &Handle) {
    fs::write(path.join("model"), "").unwrap();
    let model = path.join("model").to_string_lossy().into_owned();
    // What is inherited must not remain.
    let inherits = run("setfacl", ["-d", "-m", "u:77:rwx", &path.to_string_lossy()]).is_ok();
    if inherits {
        run("setfacl", ["-m", "u:1234:rw,m::rw", &model]).unwrap();
    }
    let extended = run("setfattr", ["-n", "user.colour", "-v", "green", &model]).is_ok();
    File::open(&model).unwrap().set_modified(std::time::UNIX_EPOCH + std::time::Duration::new(5, 678)).unwrap();

    let mut wanted = metadata(fs, &open(fs, top, "model"));
    wanted.modified = Some(Timestamp::new(5, 678));
    assert_eq!(wanted.attributes.extended.len(), usize::from(inherits) + usize::from(extended));
    let plain = Metadata { mode: 0o604, attributes: Attributes::default(), ..wanted.clone() };
    for (name, wanted) in [("with attributes", wanted), ("plain", plain)] {
        let (file, guard, _) = fs.create(Name::new(top, name), 0o600).unwrap();
        guard.disarm();
        metadata_of(fs, &file, &wanted).unwrap();
        assert_eq!(Metadata { modified: wanted.modified, ..metadata(fs, &file) }, wanted);
        let before = fs.stat_handle(&file).unwrap();
        assert_eq!(Some(before.modified), wanted.modified);
        std::thread::sleep(std::time::Duration::from_millis(20));
        metadata_of(fs, &file, &wanted).unwrap();
        assert_eq!(fs.stat_handle(&file).unwrap(), before, "nothing was to be done");
    }
}

fn owner_and_set_ids_are_given(fs: &OsFs, _: &Path, top: &Handle) {
    if !is_root() {
        return;
    }
    // A file capability, in the kernel's encoding: version 2, effective, CAP_NET_RAW.
    let mut capability = vec![1, 0, 0, 2, 0, 32, 0, 0];
    capability.resize(20, 0);
    let attributes = Attributes { extended: vec![("security.capability".into(), capability)], ..Attributes::default() };
    let wanted = Metadata { mode: 0o6755, user: 1234, group: 2345, attributes, modified: None };
    let (file, _guard, _) = fs.create(Name::new(top, "file"), 0o600).unwrap();
    metadata_of(fs, &file, &wanted).unwrap();
    assert_eq!(metadata(fs, &file), wanted);
    // The owner changes with the bits and the capability in place: the system takes them away, and they come back.
    let other = Metadata { user: 4321, ..wanted };
    metadata_of(fs, &file, &other).unwrap();
    assert_eq!(metadata(fs, &file), other);
}

fn flags_are_given_and_taken(fs: &OsFs, path: &Path, top: &Handle) {
    const NODUMP: u32 = 0x40;
    const NOCOW: u32 = 0x0080_0000;
    let can = !is_portable(fs, top) && run("chattr", ["+d", &path.to_string_lossy()]).is_ok();
    let (file, _guard, _) = fs.create(Name::new(top, "file"), 0o600).unwrap();
    assert_eq!(fs.attributes(&file).unwrap().flags, fs.inherited(top, false).unwrap().attributes.flags);
    fs.set_flags(&file, 0).unwrap();
    assert_eq!(fs.attributes(&file).unwrap().flags, 0);
    if can {
        fs.set_flags(&file, NODUMP).unwrap();
        assert_eq!(fs.attributes(&file).unwrap().flags, NODUMP);
    }
    let wanted = if fs.file_system(top).unwrap().name == "btrfs" { NODUMP | NOCOW } else { NOCOW };
    match fs.set_flags(&file, wanted) {
        Ok(()) => assert_eq!(fs.attributes(&file).unwrap().flags, wanted),
        Err(error) => assert!(wanted == NOCOW, "{error}"),
    }
}

fn renames_never_replace(fs: &OsFs, path: &Path, top: &Handle) {
    fs::write(path.join("a"), "a").unwrap();
    fs::write(path.join("b"), "b").unwrap();
    let (a, b, c) = (Name::new(top, "a"), Name::new(top, "b"), Name::new(top, "c"));
    let identity = |name| fs.stat(name).unwrap().map(|stat| stat.identity);
    let (first, second) = (identity(a), identity(b));
    fs.rename(a, b, Rename::Exchange).unwrap();
    assert_eq!((identity(a), identity(b)), (second, first));
    let kind = |result: std::io::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(fs.rename(a, b, Rename::NoReplace)), std::io::ErrorKind::AlreadyExists);
    assert_eq!(kind(fs.rename(a, c, Rename::Exchange)), std::io::ErrorKind::NotFound);
    fs.rename(a, c, Rename::NoReplace).unwrap();
    assert_eq!((identity(a), identity(c)), (None, second));
    for outside in ["", ".", "..", "x/y", "../rename/b", "a\0b"] {
        assert_eq!(kind(fs.unlink(Name::new(top, outside))), std::io::ErrorKind::InvalidInput, "{outside:?}");
    }
    fs.unlink(b).unwrap();
    assert_eq!(fs.list(top).unwrap(), ["c"]);
}

fn nothing_leads_out_of_a_folder(fs: &OsFs, path: &Path, top: &Handle) {
    fs::create_dir_all(path.join("a/b")).unwrap();
    symlink("a", path.join("link")).unwrap();
    assert_eq!(fs.open_beneath(top, Path::new("a/b")).unwrap().path(), path.join("a/b"));
    for refused in ["link", "link/b", "..", "a/../a", "/", "missing"] {
        assert!(fs.open_beneath(top, Path::new(refused)).is_err(), "{refused}");
    }
    assert!(fs.open_folder(&path.join("link")).is_err());
    assert!(fs.open_folder(Path::new("a")).is_err());
    assert!(fs.open_file(Name::new(top, "link")).is_err());
    assert_eq!(fs.canonical(&path.join("link/b")).unwrap(), path.join("a/b"));
    // A pipe that nobody writes to is opened without waiting.
    run("mkfifo", [&*path.join("pipe").to_string_lossy()]).unwrap();
    let pipe = fs.open_file(Name::new(top, "pipe")).unwrap();
    assert_eq!(fs.stat_handle(&pipe).unwrap().kind, FileKind::Special);
}

fn a_lock_is_held_by_one(fs: &OsFs, path: &Path, top: &Handle) {
    let again = fs.open_beneath(top, Path::new("")).unwrap();
    assert_eq!(again.path(), path);
    assert_eq!(fs.lock_holder(top), None);
    assert!(fs.try_lock(top).unwrap());
    assert!(!fs.try_lock(&again).unwrap());
    let holder = fs.lock_holder(&again);
    assert_eq!(holder.is_none(), is_portable(fs, top), "{holder:?}");
    let is_own = |holder: String| holder.starts_with(&format!("process {} (", std::process::id()));
    assert!(holder.is_none_or(is_own));
    assert!(fs.try_lock(top).unwrap());
}

fn what_is_created_is_private_and_guarded(fs: &OsFs, path: &Path, top: &Handle) {
    // A default ACL takes from the owner what no umask usually does.
    let _ = run("setfacl", ["-d", "-m", "u::r-x,u:77:rwx", &path.to_string_lossy()]);
    let name = Name::new(top, "slot");
    let (file, guard, _) = fs.create(name, 0o600).unwrap();
    assert_eq!(stat(fs, top, "slot").mode, 0o600);
    assert_eq!(fs.create(name, 0o600).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs.write_at(&file, 3, b"abc").unwrap(), 3);
    let mut read = [7; 9];
    assert_eq!(fs.read_at(&file, 0, &mut read).unwrap(), 6);
    assert_eq!(&read, b"\0\0\0abc\x07\x07\x07");
    assert_eq!(fs.read_at(&file, 6, &mut read).unwrap(), 0);
    fs.sync(&file).unwrap();
    fs.sync(top).unwrap();
    drop(guard);
    assert_eq!(fs.stat(name).unwrap(), None);
    let (_file, guard, _) = fs.create(name, 0o600).unwrap();
    guard.disarm();
    assert!(fs.stat(name).unwrap().is_some());
}

fn copies_are_equal(fs: &OsFs, path: &Path, top: &Handle) {
    let content = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect::<Vec<_>>();
    fs::write(path.join("from"), &content).unwrap();
    let from = open(fs, top, "from");
    let (to, _guard, _) = fs.create(Name::new(top, "to"), 0o600).unwrap();
    // A piece from the middle, shifted, then everything from there on, to the end and past it.
    let mut at = 12_345;
    loop {
        match fs.copy_range(&from, at, &to, at - 12_344, u64::MAX >> 1).unwrap() {
            0 => break,
            copied => at += copied,
        }
    }
    assert_eq!(at, content.len() as u64);
    assert_eq!(fs::read(path.join("to")).unwrap()[1..], content[12_345..]);
    let (short, _guard, _) = fs.create(Name::new(top, "short"), 0o600).unwrap();
    assert_eq!(fs.copy_range(&from, 0, &short, 0, 5).unwrap(), 5);
    assert_eq!(fs::read(path.join("short")).unwrap(), content[..5]);
}

fn stat_tells_what_is_there(fs: &OsFs, path: &Path, top: &Handle) {
    fs::write(path.join("file"), "12345").unwrap();
    fs::hard_link(path.join("file"), path.join("second")).unwrap();
    fs::set_permissions(path.join("file"), PermissionsExt::from_mode(0o1640)).unwrap();
    symlink("nowhere", path.join("link")).unwrap();
    let file = stat(fs, top, "file");
    assert_eq!((file.kind, file.size, file.mode, file.links), (FileKind::File, 5, 0o1640, 2));
    assert_eq!(file, fs.stat_handle(&open(fs, top, "second")).unwrap());
    assert_eq!(stat(fs, top, "link").kind, FileKind::Symlink);
    assert_eq!(fs.stat(Name::new(top, "missing")).unwrap(), None);
    assert!(!file.mount_root && !file.immutable && !file.append_only);
    let name = path.join("file").to_string_lossy().into_owned();
    for (attribute, seen) in [("i", (true, false)), ("a", (false, true))] {
        if !is_portable(fs, top) && run("chattr", [&format!("+{attribute}"), &name]).is_ok() {
            let file = stat(fs, top, "file");
            run("chattr", [&format!("-{attribute}"), &name]).unwrap();
            assert_eq!((file.immutable, file.append_only), seen);
        }
    }
    // What was made later has another identity, even where the inode number is used again.
    if file.identity.born.is_some() {
        let inodes = (0..4).map(|_| {
            let (_file, _guard, _) = fs.create(Name::new(top, "brief"), 0o600).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(15));
            stat(fs, top, "brief").identity
        });
        let inodes = inodes.collect::<std::collections::HashSet<_>>();
        assert_eq!(inodes.len(), 4);
    }
}

fn folders_have_exactly_their_mode(fs: &OsFs, path: &Path, top: &Handle) {
    fs::set_permissions(path, PermissionsExt::from_mode(0o2755)).unwrap();
    for mode in [0o700, 0o777, 0o2750] {
        let name = format!("{mode:o}");
        fs.make_folder(Name::new(top, &name), mode).unwrap();
        assert_eq!(stat(fs, top, &name).mode, mode);
        assert!(fs.make_folder(Name::new(top, &name), mode).is_err());
    }
    fs::write(path.join("700/file"), "").unwrap();
    assert!(fs.remove_folder(Name::new(top, "700")).is_err());
    fs.remove_folder(Name::new(top, "777")).unwrap();
}

fn attributes_of_any_size_are_read(fs: &OsFs, path: &Path, top: &Handle) {
    let (file, _guard, _) = fs.create(Name::new(top, "file"), 0o600).unwrap();
    let mut metadata = metadata(fs, &file);
    // Both beyond the first buffer, but within the one block that ext4 has for all.
    metadata.attributes.extended = vec![("user.big".into(), vec![7; 1_500]), ("user.empty".into(), vec![])];
    metadata
        .attributes
        .extended
        .extend((0..30).map(|at| (format!("user.name-that-fills-the-list-{at:02}").into(), vec![at])));
    metadata.attributes.extended.sort();
    let given = metadata_of(fs, &file, &metadata);
    let can = run("setfattr", ["-n", "user.tried", "-v", "", &path.join("file").to_string_lossy()]).is_ok();
    assert_eq!(given.is_ok(), can, "{given:?}");
    if can {
        run("setfattr", ["-x", "user.tried", &path.join("file").to_string_lossy()]).unwrap();
        assert_eq!(fs.attributes(&file).unwrap(), metadata.attributes);
    }
}
