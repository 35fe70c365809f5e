//! Interrupted transactions: what is in `txn/`, and whether it may be acted on.

use std::io::{BufRead, BufReader, Read};

use super::files::Reading;
use super::folder::owner;
use super::private::{self, Opening, Refusal};
use super::state::{Section, State, open_transaction};
use super::workspace::Workspace;
use crate::errno::{self, Errno};
use crate::error::{Error, Result};
use crate::fs::{FileSystem, Handle, Host, Name};
use crate::journal::{self, Beginning, Extract, Header, Journal, Mark, Unreadable};
use crate::limits;

/// The state of a folder in `txn/`.
#[derive(Debug)]
pub(crate) enum Standing {
    /// It is gone, or its owner is alive.
    Running,
    /// It is not this user's alone, or cannot be opened.
    Refused(Refusal),
    /// It has no journal's name: it was never swapped.
    Unfinished,
    /// Its journal does not verify.
    Corrupt(String),
    /// Its journal is not to be acted on without a person's word.
    NotOurs(Beginning, Doubt),
    /// Its owner is dead, and it can be recovered.
    Hot(Journal, Mark),
}

/// The reason for not acting on a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Its folder is not the one it was written in.
    Copied,
    /// Another kernel may be at it.
    OtherHost,
}

impl Doubt {
    /// The reason, for a person who looks at the transaction `id`.
    pub(crate) fn told(self, id: &str, beginning: &Beginning) -> String {
        let more = if beginning.has_more { "; it names more files than are listed" } else { "" };
        let unless = match self {
            Self::Copied => format!("if you know better: `txedit recover {id} --trust-journal`"),
            Self::OtherHost => format!("if that one is down: `txedit recover {id} --other-host`"),
        };
        format!("{}; {unless}{more}", self.reason())
    }

    /// The reason alone.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Copied => "its journal was not written in this folder (a copy, clone or restored backup)",
            Self::OtherHost => "it was begun under another kernel, on a file system that several can write to",
        }
    }
}

/// A sentence about the process that runs a transaction, and what can be done about it.
pub(crate) fn at_work(state: &State, id: &str) -> Result<String> {
    let folder = match state.section(Section::Transactions)? {
        Some(section) => open_transaction(&state.workspace, &section, id)?,
        None => None,
    };
    Ok(match folder.and_then(|folder| state.workspace.lock_holder(&folder)) {
        Some(holder) => format!("{holder} is at it: wait for it, or end it"),
        None => "its owner is alive, or it is gone".to_owned(),
    })
}

/// Looks at the folder of a transaction; the lock on it is held by the handle that comes along. A doubt that a person
/// has `dismissed` is none.
pub(crate) fn examine(
    state: &State,
    id: &str,
    dismissed: &dyn Fn(Doubt) -> bool,
) -> Result<(Standing, Option<Handle>)> {
    let Some(section) = state.section(Section::Transactions)? else { return Ok((Standing::Running, None)) };
    let folder = match private::open(&state.workspace, Name::new(&section, id))? {
        Opening::Ours(folder, _) => folder,
        Opening::Missing => return Ok((Standing::Running, None)),
        Opening::Refused(refusal) => return Ok((Standing::Refused(refusal), None)),
    };
    let Some((folder, stat)) = owner::lock(&state.workspace, &section, id, folder)? else {
        return Ok((Standing::Running, None));
    };
    let (host, system) = (state.workspace.host()?, state.workspace.file_system(&folder)?);
    let mut doubted = None;
    let wanted = |header: &Header| {
        let born_here = (state.workspace.protocol.is_born_here)(header, id, &stat.identity, &host.boot);
        doubted = doubt(born_here, header, &host, &system).filter(|doubt| !dismissed(*doubt));
        doubted.is_none()
    };
    let found =
        read_of_journal(&state.workspace, &folder, |bytes| journal::read_if(bytes, wanted, limits::FOREIGN_FILES))?;
    let standing = match found {
        None => Standing::Unfinished,
        Some(Err(why)) => Standing::Corrupt(why),
        Some(Ok((Extract::Whole(journal), mark))) => Standing::Hot(journal, mark),
        Some(Ok((Extract::Beginning(beginning), _))) => {
            Standing::NotOurs(beginning, doubted.unwrap_or_else(|| unreachable!("else all of it was wanted")))
        }
    };
    Ok((standing, Some(folder)))
}

/// The reason for not acting on a journal: it was not written where it is, or another machine can be at it.
fn doubt(born_here: bool, header: &Header, host: &Host, system: &FileSystem) -> Option<Doubt> {
    if !born_here {
        return Some(Doubt::Copied);
    }
    (!system.local && header.boot != host.boot).then_some(Doubt::OtherHost)
}

/// The journal in a folder, where there is one that verifies and whose header is `wanted`. What is not, is not read.
pub(crate) fn read_wanted(
    workspace: &Workspace,
    folder: &Handle,
    wanted: impl FnOnce(&Header) -> bool,
) -> Result<Option<(Journal, Mark)>> {
    Ok(match read_of_journal(workspace, folder, |bytes| journal::read_if(bytes, wanted, 0))? {
        Some(Ok((Extract::Whole(journal), mark))) => Some((journal, mark)),
        _ => None,
    })
}

/// The journal in the folder of a transaction, where it verifies and was born there.
pub(crate) fn read_born_here(workspace: &Workspace, folder: &Handle, id: &str) -> Result<Option<Journal>> {
    let (stat, host) = (workspace.stat_handle(folder)?, workspace.host()?);
    let wanted = |header: &Header| (workspace.protocol.is_born_here)(header, id, &stat.identity, &host.boot);
    Ok(read_wanted(workspace, folder, wanted)?.map(|(journal, _)| journal))
}

/// The journal of a folder: none, the result of `read`, or the reason why it cannot be read.
pub(crate) fn read_of_journal<T>(
    workspace: &Workspace,
    folder: &Handle,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, Unreadable>,
) -> Result<Option<Result<(T, Mark), String>>> {
    let names = workspace.list(folder)?;
    let mut marks = names.iter().filter(|name| name.to_string_lossy().starts_with(Mark::Sealed.file_name()));
    let Some(name) = marks.next() else { return Ok(None) };
    if marks.next().is_some() {
        return Ok(Some(Err("it has more than one journal".to_owned())));
    }
    let Some(mark) = Mark::ALL.into_iter().find(|mark| name == mark.file_name()) else {
        return Ok(Some(Err(format!("this program does not know the state {}", name.to_string_lossy()))));
    };
    Ok(Some(read_marked(workspace, Name::new(folder, name), read)?.map(|read| (read, mark))))
}

/// The same of one name.
pub(crate) fn read_marked<T>(
    workspace: &Workspace,
    name: Name<'_>,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, Unreadable>,
) -> Result<Result<T, String>> {
    let path = name.path();
    let file = match workspace.fs().open_file(name) {
        Ok(file) => file,
        Err(e) if errno::of(&e) == Some(Errno::LOOP) => return Ok(Err("its journal is a symlink".to_owned())),
        Err(e) if matches!(errno::of(&e), Some(Errno::ACCESS | Errno::PERM | Errno::NXIO)) => {
            return Ok(Err(format!("its journal cannot be opened: {e}")));
        }
        Err(e) => return Err(Error::io("open", &path, e)),
    };
    let stat = workspace.stat_handle(&file)?;
    if stat.kind != crate::fs::FileKind::File || stat.size > limits::JOURNAL_BYTES {
        return Ok(Err("its journal is not a regular file of a bounded size".to_owned()));
    }
    let mut reading = Reading::new(workspace, &file);
    let room = usize::try_from(stat.size).unwrap_or(usize::MAX).min(limits::CHUNK_BYTES);
    match read(&mut BufReader::with_capacity(room, (&mut reading).take(stat.size))) {
        Ok(read) => Ok(Ok(read)),
        Err(Unreadable::Corrupt(corrupt)) => Ok(Err(format!("its journal does not verify: {corrupt}"))),
        Err(Unreadable::Io(e)) => Err(reading.failure(e)),
    }
}
