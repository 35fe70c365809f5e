//! Keys of transactions that were pruned: a retry that comes late is still told from a new request.
//!
//! Each is an own small file in `keys/`, whose name has the id and the digest of the key. It says which request it was, and
//! whether its effect was undone: by the last undo or redo of it that is known. It is there before the transaction leaves
//! history, and both are looked for.

use std::collections::HashMap;

use super::reverted;
use crate::digest::Digest;
use crate::engine::store::files::{read_small, write_new};
use crate::engine::store::private::{self, Opening};
use crate::engine::store::section::KEYS;
use crate::engine::store::state::StateFolder;
use crate::error::{Error, Result};
use crate::fs::{Handle, Name, Rename};
use crate::journal::{Header, is_id};
use crate::limits;

/// The hex digits of a key's digest in a name.
const DIGITS: usize = 32;

/// The id of the undo or redo by which the effect of a transaction is gone, or there again.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    /// No undo of it was pruned.
    Unknown,
    UndoneBy(String),
    RedoneBy(String),
}

/// A pruned transaction that had a key.
#[derive(Debug)]
pub(crate) struct PrunedKey {
    pub id: String,
    /// The fingerprint of its request; `None` if that cannot be read.
    pub request: Option<Digest>,
    effect: Effect,
}

impl PrunedKey {
    /// The transaction that undid it, if its effect is gone.
    pub(crate) fn undone_by(&self, state: &StateFolder) -> Result<Option<String>> {
        Ok(self.undone_in(&reverted(state)?))
    }

    fn undone_in(&self, reverted: &HashMap<String, String>) -> Option<String> {
        match &self.effect {
            Effect::Unknown => reverted.get(&self.id).cloned(),
            Effect::UndoneBy(undo) => (!reverted.contains_key(undo)).then(|| undo.clone()),
            Effect::RedoneBy(redo) => reverted.get(redo).cloned(),
        }
    }

    /// What is known once these transactions have left history.
    fn without(&self, pruned: &[Header], reverted: &HashMap<String, String>) -> Effect {
        let own_undo = pruned.iter().rev().find(|header| header.reverts.contains(&self.id));
        let mut effect = match own_undo {
            Some(undo) if self.effect == Effect::Unknown => Effect::UndoneBy(undo.id.clone()),
            _ => self.effect.clone(),
        };
        // One after the other may be among them.
        loop {
            let (Effect::UndoneBy(last) | Effect::RedoneBy(last)) = &effect else { return effect };
            let next = reverted.get(last).filter(|_| pruned.iter().any(|header| header.id == *last)).cloned();
            effect = match (&effect, next) {
                (_, None) => return effect,
                (Effect::UndoneBy(_), Some(next)) => Effect::RedoneBy(next),
                (_, Some(next)) => Effect::UndoneBy(next),
            };
        }
    }

    fn line(&self) -> String {
        let request = self.request.map_or_else(|| "-".to_owned(), |request| request.to_hex());
        let effect = match &self.effect {
            Effect::Unknown => "-".to_owned(),
            Effect::UndoneBy(id) => format!("undone_by {id}"),
            Effect::RedoneBy(id) => format!("redone_by {id}"),
        };
        format!("{request} {effect}\n")
    }

    fn read(id: &str, line: &str) -> Self {
        let mut words = line.split_whitespace();
        let request = words.next().and_then(|hex| hex.parse().ok());
        let effect = match (words.next(), words.next().filter(|id| is_id(id.as_ref()))) {
            (Some("undone_by"), Some(id)) => Effect::UndoneBy(id.to_owned()),
            (Some("redone_by"), Some(id)) => Effect::RedoneBy(id.to_owned()),
            _ => Effect::Unknown,
        };
        Self { id: id.to_owned(), request, effect }
    }
}

/// The newest pruned transaction that had a key.
pub(crate) fn find(state: &StateFolder, key: &str) -> Result<Option<PrunedKey>> {
    let Some(folder) = folder(state)? else { return Ok(None) };
    let digits = digits(key);
    let names = names(state, &folder)?;
    let Some(name) = names.iter().rev().find(|name| name.ends_with(&digits)) else { return Ok(None) };
    read(state, &folder, name)
}

/// Keeps the keys of transactions that are about to leave history, `durable` if that is asked for.
pub(crate) fn keep(state: &StateFolder, pruned: &[Header], durable: bool) -> Result<()> {
    let has_key = pruned.iter().any(|header| header.key.is_some());
    let has_undo = pruned.iter().any(|header| !header.reverts.is_empty());
    let concerns_any = has_key || has_undo && folder(state)?.is_some();
    if !concerns_any {
        return Ok(());
    }
    let folder = match folder(state)? {
        Some(folder) => folder,
        None => make(state)?,
    };
    let reverted = reverted(state)?;
    let mut written = Vec::new();
    if has_undo {
        for name in names(state, &folder)? {
            let Some(known) = read(state, &folder, &name)? else { continue };
            let effect = known.without(pruned, &reverted);
            if effect != known.effect {
                written.push(write(state, &folder, &name, &PrunedKey { effect, ..known })?);
            }
        }
    }
    for Header { id, key, request, .. } in pruned {
        let Some(key) = key else { continue };
        let effect = reverted.get(id).map_or(Effect::Unknown, |undo| Effect::UndoneBy(undo.clone()));
        let known = PrunedKey { id: id.clone(), request: *request, effect };
        let effect = known.without(pruned, &reverted);
        let name = format!("{id}.{}", digits(key));
        written.push(write(state, &folder, &name, &PrunedKey { effect, ..known })?);
    }
    if durable {
        written.iter().chain([&folder, &state.folder]).try_for_each(|handle| state.workspace.sync(handle))?;
    }
    forget_oldest(state, &folder)
}

fn write(state: &StateFolder, folder: &Handle, name: &str, known: &PrunedKey) -> Result<Handle> {
    let hidden = format!(".{name}");
    let (hidden, name) = (Name::new(folder, &hidden), Name::new(folder, name));
    // One that a killed process has left.
    state.workspace.fs().unlink(hidden).ok();
    let file = write_new(&state.workspace, hidden, known.line().as_bytes())?;
    let renamed = state.workspace.fs().rename(hidden, name, Rename::Replace);
    renamed.map(|()| file).map_err(|e| Error::io("rename", hidden.path(), e))
}

fn forget_oldest(state: &StateFolder, folder: &Handle) -> Result<()> {
    let names = names(state, folder)?;
    for name in &names[..names.len().saturating_sub(limits::PRUNED_KEYS)] {
        state.workspace.fs().unlink(Name::new(folder, name)).ok();
    }
    Ok(())
}

fn read(state: &StateFolder, folder: &Handle, name: &str) -> Result<Option<PrunedKey>> {
    let line = read_small(&state.workspace, Name::new(folder, name))?;
    Ok(line.and_then(|line| name.split_at_checked(name.len() - DIGITS - 1).map(|(id, _)| PrunedKey::read(id, &line))))
}

/// The folder of the keys, if there is one that is this user's alone.
fn folder(state: &StateFolder) -> Result<Option<Handle>> {
    match private::open(&state.workspace, Name::new(&state.folder, KEYS))? {
        Opening::Ours(folder, _) => Ok(Some(folder)),
        Opening::Missing => Ok(None),
        Opening::Refused(refusal) => Err(private::to_be_mended(&state.folder.path().join(KEYS), refusal)),
    }
}

fn make(state: &StateFolder) -> Result<Handle> {
    let name = Name::new(&state.folder, KEYS);
    // Another process may be faster.
    state.workspace.fs().make_folder(name, 0o700).ok();
    match folder(state)? {
        Some(folder) => Ok(folder),
        None => state.workspace.open_beneath(&state.folder, KEYS),
    }
}

/// The names of all keys, oldest first.
fn names(state: &StateFolder, folder: &Handle) -> Result<Vec<String>> {
    let is_name = |name: &String| {
        name.rsplit_once('.').is_some_and(|(id, digits)| {
            is_id(id.as_ref()) && digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        })
    };
    let names = state.workspace.list(folder)?.into_iter();
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).filter(is_name).collect();
    names.sort_unstable();
    Ok(names)
}

fn digits(key: &str) -> String {
    let mut digits = Digest::of(key.as_bytes()).to_hex();
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> String {
        format!("20261121T23145{number}.000001Z-0123456789abcdef")
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for effect in [Effect::Unknown, Effect::UndoneBy(id(1)), Effect::RedoneBy(id(2))] {
            let known = PrunedKey { id: id(0), request: Some(Digest::of(b"request")), effect };
            let read = PrunedKey::read(&known.id, &known.line());
            assert_eq!((read.request, read.effect), (known.request, known.effect));
        }
        let damaged = PrunedKey::read(&id(0), "half a li");
        assert_eq!((damaged.request, damaged.effect), (None, Effect::Unknown));
    }
}
