//! The process that holds the lock of a folder.

use std::fs::File;
use std::io::{self, Read};

use super::super::super::Stat;
use super::facts;
use crate::limits::CHUNK_BYTES;

/// The number of times the table is read until a holder is found in it: a lock can be missed, see [`table`].
const READS: usize = 4;

/// The process that took the lock, as far as `/proc` shows it: processes of another container are not visible.
pub(super) fn of(folder: &Stat) -> Option<String> {
    let (device, _) = facts::mounted(folder.mount)?;
    // The mount table has decimal numbers, the table of locks hexadecimal ones.
    let (major, minor) = device.split_once(':')?;
    let device = format!("{:02x}:{:02x}", major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
    let inode = folder.identity.inode;
    let taker = (0..READS).find_map(|_| process_with(&table().ok()?, &device, inode)).filter(|process| *process != 0);
    taker.and_then(told).or_else(|| told(heir(&device, inode)?))
}

fn told(process: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(format!("process {process} ({})", name.trim_end()))
}

/// A process that holds a lock whose taker is gone: one that a check left running has inherited it.
fn heir(device: &str, inode: u64) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").ok()?.filter_map(|entry| {
        let entry = entry.ok()?;
        Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("fdinfo")))
    });
    let has = |file: io::Result<std::fs::DirEntry>| {
        let text = file.and_then(|file| std::fs::read_to_string(file.path())).unwrap_or_default();
        let locks: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("lock:")).collect();
        process_with(&locks.join("\n"), device, inode).is_some()
    };
    let mut open = processes.filter_map(|(process, files)| Some((process, std::fs::read_dir(files).ok()?)));
    open.find_map(|(process, mut files)| files.any(has).then_some(process))
}

/// The table of all locks. The kernel generates it as it is read, and loses its place when locks come and go between
/// two reads. So the reads are large; those of [`std::fs::read_to_string`] begin small.
fn table() -> io::Result<String> {
    let mut file = File::open("/proc/locks")?;
    let mut table = Vec::new();
    let mut piece = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(String::from_utf8_lossy(&table).into_owned()),
            read => table.extend_from_slice(&piece[..read]),
        }
    }
}

/// The process that took a lock. One in another container, or one that is gone, may appear with the number 0.
///
/// It reads lines such as `7: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`.
fn process_with(locks: &str, device: &str, inode: u64) -> Option<u32> {
    let file = format!("{device}:{inode}");
    locks.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        // A process that waits for a lock has an arrow in the second column.
        [_, "FLOCK", _, _, process, of, ..] if of == file => process.parse().ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_has_that_very_inode_and_does_not_wait() {
        let locks = "1: FLOCK  ADVISORY  WRITE 11 fe:00:5678 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 12 fe:01:5678 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 13 fe:01:5678 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 14 fe:01:5679 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 15 fe:01:5678 0 EOF\n";
        assert_eq!(process_with(locks, "fe:01", 5678), Some(15));
        assert_eq!(process_with(locks, "fe:02", 5678), None);
    }

    #[test]
    fn a_process_that_is_not_seen_has_no_number() {
        let locks = "1: FLOCK  ADVISORY  WRITE 0 fe:01:5678 0 EOF\n";
        assert_eq!(process_with(locks, "fe:01", 5678), Some(0));
    }
}
