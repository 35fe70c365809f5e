use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::fs::Stat;

fn errno(error: &std::io::Error) -> Option<Errno> {
    crate::errno::of(error)
}

fn stat(fs: &impl Fs, folder: &Handle, name: &str) -> Stat {
    fs.stat(Name::new(folder, name)).unwrap().unwrap()
}

#[test]
fn a_lock_is_held_by_one_handle_and_gone_with_its_last_clone() {
    let sim = SimFs::new();
    let (one, two) = (sim.process(1), sim.process(2));
    let (mine, theirs) = (root(&one), root(&two));
    assert!(one.try_lock(&mine).unwrap());
    assert!(one.try_lock(&mine).unwrap(), "again through the same handle");
    assert!(!one.try_lock(&root(&one)).unwrap(), "another handle of the same process");
    assert!(!two.try_lock(&theirs).unwrap());
    assert_eq!(two.lock_holder(&theirs).unwrap(), "process 1");
    let clone = mine.renamed("/elsewhere");
    drop(mine);
    assert!(!two.try_lock(&theirs).unwrap(), "a clone still holds it");
    drop(clone);
    assert!(two.try_lock(&theirs).unwrap());
    assert_eq!(one.lock_holder(&root(&one)).unwrap(), "process 2");
}

#[test]
fn a_killed_process_loses_its_locks_and_can_do_nothing_more() {
    let sim = SimFs::new();
    let (one, two) = (sim.process(1), sim.process(2));
    let folder = root(&one);
    assert!(one.try_lock(&folder).unwrap());
    sim.kill(1);
    assert!(two.try_lock(&root(&two)).unwrap_or(false), "its lock is free");
    assert!(SimKilled::is(&one.make_folder(Name::new(&folder, "d"), 0o755).unwrap_err()));
    let reborn = sim.process(1);
    assert!(SimKilled::is(&one.host().unwrap_err()), "a new process with that pid does not wake the old");
    assert_eq!(errno(&reborn.list(&folder).unwrap_err()), Some(Errno::BADF), "its handles are closed");
    drop(folder);
    assert!(sim.tree().is_empty());
}

#[test]
fn the_hook_sees_each_call_and_may_act_on_the_machine() {
    let sim = SimFs::new();
    sim.create("/a", "old").unwrap();
    let process = sim.process(7);
    let folder = root(&process);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (machine, log) = (sim.clone(), Arc::clone(&seen));
    sim.set_hook(move |call| {
        log.lock().unwrap().push(format!("{} {} {} {}", call.number, call.process, call.verb, call.path.display()));
        if call.verb == "stat" {
            machine.replace("/a", "foreign").unwrap();
            // A call of a process from inside a hook is not hooked again.
            let other = machine.process(8);
            assert_eq!(other.list(&root(&other)).unwrap(), ["a"]);
        }
        Action::Continue
    });
    assert_eq!(stat(&process, &folder, "a").size, 7, "the foreign act came first");
    process.open_file(Name::new(&folder, "a")).unwrap();
    assert_eq!(*seen.lock().unwrap(), ["1 7 stat /a", "2 7 open_file /a"]);
    assert_eq!(sim.calls(), 3);
}

#[test]
fn the_hook_fails_shortens_kills_and_halts() {
    let sim = SimFs::new();
    let (one, two) = (sim.process(1), sim.process(2));
    let (folder, other) = (root(&one), root(&two));
    let file = write(&one, &folder, "f", b"abc");
    let does = |action| {
        let next = AtomicU64::new(0);
        sim.set_hook(move |_| if next.fetch_add(1, Ordering::Relaxed) == 0 { action } else { Action::Continue });
    };
    does(Action::Fail(Errno::NOSPC));
    assert_eq!(errno(&one.write_at(&file, 0, b"xyz").unwrap_err()), Some(Errno::NOSPC));
    assert_eq!(sim.read("/f").unwrap(), b"abc");
    does(Action::FailAfter(Errno::IO));
    assert_eq!(errno(&one.unlink(Name::new(&folder, "f")).unwrap_err()), Some(Errno::IO));
    assert!(!sim.exists("/f"), "it was done all the same");
    does(Action::Short(2));
    assert_eq!(one.write_at(&file, 0, b"xyz").unwrap(), 2);
    does(Action::Kill);
    assert!(SimKilled::is(&one.make_folder(Name::new(&folder, "d"), 0o755).unwrap_err()));
    assert!(!sim.exists("/d"));
    assert!(two.list(&other).is_ok(), "the other process lives");
    does(Action::Halt);
    assert!(SimKilled::is(&two.list(&other).unwrap_err()));
    assert!(SimKilled::is(&two.list(&other).unwrap_err()) && sim.is_halted(), "for good");
}

#[test]
fn a_held_file_is_written_wherever_it_went() {
    let sim = SimFs::new();
    sim.create("/a", "one").unwrap();
    sim.create("/b", "two").unwrap();
    let held = sim.open("/a").unwrap();
    let process = sim.process(1);
    let folder = root(&process);
    process.rename(Name::new(&folder, "a"), Name::new(&folder, "b"), Rename::Exchange).unwrap();
    held.append(b"!").unwrap();
    assert_eq!((sim.read("/a").unwrap(), sim.read("/b").unwrap()), (b"two".to_vec(), b"one!".to_vec()));
    sim.delete("/b").unwrap();
    held.append(b"?").unwrap();
    assert_eq!(held.read().unwrap(), b"one!?");
}

#[test]
fn foreign_writers_keep_or_change_the_inode() {
    let sim = SimFs::new();
    sim.create("/a", "1").unwrap();
    let before = sim.stat("/a").unwrap();
    sim.advance(Duration::from_secs(3));
    sim.write_in_place("/a", "2").unwrap();
    let after = sim.stat("/a").unwrap();
    assert_eq!(after.identity, before.identity);
    assert_eq!(after.modified.seconds, before.modified.seconds + 3);
    sim.replace("/a", "3").unwrap();
    assert_ne!(sim.stat("/a").unwrap().identity, before.identity);
    assert_eq!(sim.tree().len(), 1);
}

#[test]
fn limits_of_space_are_enforced() {
    let sim = SimFs::new();
    sim.volume("/", |volume| (volume.bytes, volume.inodes) = (Some(10), Some(3))).unwrap();
    let process = sim.process(1);
    let folder = root(&process);
    let file = write(&process, &folder, "f", b"12345678");
    assert_eq!(process.write_at(&file, 8, b"90123").unwrap(), 2, "what there is room for");
    assert_eq!(errno(&process.write_at(&file, 10, b"1").unwrap_err()), Some(Errno::NOSPC));
    assert_eq!(process.write_at(&file, 0, b"overwrite").unwrap(), 9, "that takes no room");
    write(&process, &folder, "g", b"");
    assert_eq!(errno(&process.create(Name::new(&folder, "h"), 0o600).unwrap_err()), Some(Errno::NOSPC));
    process.unlink(Name::new(&folder, "f")).unwrap();
    assert!(process.create(Name::new(&folder, "h"), 0o600).is_err(), "the handle keeps the inode");
    drop(file);
    process.create(Name::new(&folder, "h"), 0o600).unwrap();
}

#[test]
fn mounts_divide_the_names() {
    let sim = SimFs::new();
    sim.create("/a", "").unwrap();
    sim.mount("/m").unwrap();
    sim.bind_mount("/same").unwrap();
    sim.create("/m/b", "").unwrap();
    let process = sim.process(1);
    let (folder, mounted) = (root(&process), process.open_folder(Path::new("/m")).unwrap());
    let same = process.open_beneath(&folder, Path::new("same")).unwrap();
    let rename = |from: &Handle, name: &str, to: &Handle| {
        process.rename(Name::new(from, name), Name::new(to, "x"), Rename::NoReplace).map_err(|e| errno(&e).unwrap())
    };
    assert_eq!(rename(&folder, "a", &mounted), Err(Errno::XDEV));
    assert_eq!(rename(&folder, "a", &same), Err(Errno::XDEV), "although the device is the same");
    assert_eq!(rename(&folder, "m", &folder), Err(Errno::BUSY));
    let (outer, inner) = (stat(&process, &folder, "a"), stat(&process, &folder, "m"));
    assert!(inner.mount_root && !outer.mount_root);
    assert_ne!((outer.device, outer.mount), (inner.device, inner.mount));
    assert_eq!(process.stat_handle(&same).unwrap().device, outer.device);
    process.sync_file_system(&folder).unwrap();
    assert!(all(&sim, ORDERED).len() > 1, "the mounted one was not synced");
}

#[test]
fn a_volume_may_lack_exchange_birth_times_and_the_right_to_write() {
    let sim = SimFs::new();
    sim.create("/a", "").unwrap();
    sim.create("/b", "").unwrap();
    let process = sim.process(1);
    let folder = root(&process);
    let exchange = || process.rename(Name::new(&folder, "a"), Name::new(&folder, "b"), Rename::Exchange);
    sim.volume("/", |volume| (volume.exchange, volume.birth_times) = (false, false)).unwrap();
    assert_eq!(errno(&exchange().unwrap_err()), Some(Errno::INVAL));
    assert_eq!(stat(&process, &folder, "a").identity.born, None);
    sim.volume("/", |volume| (volume.exchange, volume.read_only) = (true, true)).unwrap();
    assert_eq!(errno(&exchange().unwrap_err()), Some(Errno::ROFS));
}

#[test]
fn open_files_are_limited_for_each_process() {
    let sim = SimFs::new();
    sim.settings(|settings| settings.open_files = 2);
    let process = sim.process(1);
    let _held = (root(&process), root(&process));
    assert_eq!(process.raise_open_files(), 2);
    assert_eq!(errno(&process.open_folder(Path::new("/")).unwrap_err()), Some(Errno::MFILE));
    let other = sim.process(2);
    root(&other);
}

#[test]
fn the_clock_moves_with_each_change_and_when_told() {
    let sim = SimFs::new();
    sim.settings(|settings| settings.tick = Duration::from_secs(1));
    let process = sim.process(1);
    let folder = root(&process);
    let file = write(&process, &folder, "f", b"x");
    let first = process.stat_handle(&file).unwrap();
    assert_eq!(
        first.modified.seconds,
        first.identity.born.unwrap().seconds + 1,
        "born by one call, written by the next"
    );
    sim.advance(Duration::from_secs(60));
    process.write_at(&file, 0, b"y").unwrap();
    assert_eq!(process.stat_handle(&file).unwrap().modified.seconds, first.modified.seconds + 61);
}
