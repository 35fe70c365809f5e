//! Interrupted transactions: what stands in `txn/`, and whether it may be acted on.

use std::io::{BufRead, BufReader, Read};

use super::files::Reading;
use super::state::{Section, State};
use super::transaction;
use crate::errno;
use crate::error::{Error, Result};
use crate::fs::{FileSystem, Fs, Handle, Host, Name};
use crate::journal::{self, Journal, Mark, Unreadable};
use crate::limits;

/// What a folder in `txn/` is.
#[derive(Debug)]
pub(super) enum Standing {
    /// It is gone, or its owner is alive.
    Running,
    /// It has no journal's name: it was never swapped.
    Unfinished,
    /// Its journal does not verify.
    Corrupt(String),
    /// Its journal is not to be acted on without a person's word.
    NotOurs(Journal, Mark, Doubt),
    /// Its owner is dead, and it can be recovered.
    Hot(Journal, Mark),
}

/// Why a journal is not acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Its folder is not the one it was written in.
    Copied,
    /// Another kernel may be at it.
    OtherHost,
}

impl Doubt {
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Copied => {
                "its journal was not written in this folder (a copy, clone or restored backup); if you know better: \
                 `txedit recover ID --trust-journal`"
            }
            Self::OtherHost => {
                "it was begun under another kernel, on a file system that several can write to; if that one is down: \
                 `txedit recover ID --other-host`"
            }
        }
    }
}

/// Looks at the folder of a transaction; the lock on it is held by the handle that comes along.
pub(super) fn examine(fs: &dyn Fs, state: &State, id: &str) -> Result<(Standing, Option<Handle>)> {
    let Some(section) = state.section(fs, Section::Transactions)? else { return Ok((Standing::Running, None)) };
    let Some((folder, stat)) = transaction::lock_folder(fs, &section, id)? else {
        return Ok((Standing::Running, None));
    };
    let standing = match read_journal(fs, &folder)? {
        None => Standing::Unfinished,
        Some(Err(why)) => Standing::Corrupt(why),
        Some(Ok((journal, mark))) => {
            let io = |e| Error::io("ask about", folder.path(), e);
            let (host, system) = (fs.host().map_err(io)?, fs.file_system(&folder).map_err(io)?);
            let born_here = (state.protocol.is_born_here)(&journal.header, id, &stat.identity, &host.boot);
            match doubt(born_here, &journal, &host, &system) {
                None => Standing::Hot(journal, mark),
                Some(doubt) => Standing::NotOurs(journal, mark, doubt),
            }
        }
    };
    Ok((standing, Some(folder)))
}

/// Why a journal is not acted on: it was not born where it is, or somebody else can be at it.
fn doubt(born_here: bool, journal: &Journal, host: &Host, system: &FileSystem) -> Option<Doubt> {
    if !born_here {
        return Some(Doubt::Copied);
    }
    (!system.local && journal.header.boot != host.boot).then_some(Doubt::OtherHost)
}

/// What stands under a journal's names: nothing, a journal, or why it is none.
pub(super) fn read_journal(fs: &dyn Fs, folder: &Handle) -> Result<Option<Result<(Journal, Mark), String>>> {
    read_of_journal(fs, folder, |bytes| journal::read(bytes))
}

/// The same of a part of it, or all.
pub(super) fn read_of_journal<T>(
    fs: &dyn Fs,
    folder: &Handle,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, Unreadable>,
) -> Result<Option<Result<(T, Mark), String>>> {
    let names = fs.list(folder).map_err(|e| Error::io("list", folder.path(), e))?;
    let mut marks = names.iter().filter(|name| name.to_string_lossy().starts_with(Mark::Sealed.file_name()));
    let Some(name) = marks.next() else { return Ok(None) };
    if marks.next().is_some() {
        return Ok(Some(Err("it has more than one journal".to_owned())));
    }
    let Some(mark) = Mark::ALL.into_iter().find(|mark| name == mark.file_name()) else {
        return Ok(Some(Err(format!("this program does not know the state {}", name.to_string_lossy()))));
    };
    Ok(Some(read_marked(fs, Name::new(folder, name), read)?.map(|read| (read, mark))))
}

fn read_marked<T>(
    fs: &dyn Fs,
    name: Name<'_>,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, Unreadable>,
) -> Result<Result<T, String>> {
    let path = name.path();
    let file = match fs.open_file(name) {
        Ok(file) => file,
        Err(e) if errno::of(&e) == Some(errno::Errno::LOOP) => return Ok(Err("its journal is a symlink".to_owned())),
        Err(e) => return Err(Error::io("open", &path, e)),
    };
    let stat = fs.stat_handle(&file).map_err(|e| Error::io("look at", &path, e))?;
    if stat.kind != crate::fs::FileKind::File || stat.size > limits::JOURNAL_BYTES {
        return Ok(Err("its journal is not a regular file of a bounded size".to_owned()));
    }
    let mut reading = Reading::new(fs, &file);
    let room = usize::try_from(stat.size).unwrap_or(usize::MAX).min(limits::CHUNK_BYTES);
    match read(&mut BufReader::with_capacity(room, (&mut reading).take(stat.size))) {
        Ok(read) => Ok(Ok(read)),
        Err(Unreadable::Corrupt(corrupt)) => Ok(Err(format!("its journal does not verify: {corrupt}"))),
        Err(Unreadable::Io(e)) => Err(reading.failure(e)),
    }
}
