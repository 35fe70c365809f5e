//! Opens the sections of a state folder, and moves the folders of transactions between them.

use std::sync::PoisonError;

use super::{StateFolder, came_and_went, list_ids, make_folder_once};
use crate::engine::store::private::{self, Opening};
use crate::engine::store::section::Section;
use crate::errno;
use crate::error::{Error, Result};
use crate::fs::{FileKind, Handle, Name};

impl StateFolder {
    /// Opens a section; `None` where it is missing or not ours.
    pub(crate) fn section(&self, section: Section) -> Result<Option<Handle>> {
        match private::open(&self.workspace, Name::new(&self.folder, section.name()))? {
            Opening::Ours(folder, _) => Ok(Some(folder)),
            Opening::Missing | Opening::Refused(_) => Ok(None),
        }
    }

    /// Returns whether a section has no folder in it, if one call tells; else it must be listed. Files that another program
    /// has put there do not count: only what tells of them needs to list them.
    pub(crate) fn has_certainly_no_folder(&self, section: Section) -> Result<bool> {
        if !self.file_system()?.counts_folders {
            return Ok(false);
        }
        let stat = self.workspace.stat(Name::new(&self.folder, section.name()))?;
        // By itself and its name in the state folder; each folder in it would link to it once more.
        Ok(stat.is_some_and(|stat| stat.kind == FileKind::Folder && stat.links == 2))
    }

    /// The names in a section that have the form of an id, oldest first; none where it is missing or not ours.
    pub(crate) fn ids(&self, section: Section) -> Result<Vec<String>> {
        self.section(section)?.map_or(Ok(Vec::new()), |folder| list_ids(&self.workspace, &folder))
    }

    /// Opens a section that must not be passed over: one that is not ours, or cannot be opened, is an error.
    pub(crate) fn whole_section(&self, section: Section) -> Result<Option<Handle>> {
        match private::open(&self.workspace, Name::new(&self.folder, section.name()))? {
            Opening::Ours(folder, _) => Ok(Some(folder)),
            Opening::Missing => Ok(None),
            Opening::Refused(refusal) => Err(private::to_be_mended(&self.folder.path().join(section.name()), refusal)),
        }
    }

    /// Moves a transaction's folder from one section to another.
    pub(crate) fn move_transaction(&self, id: &str, from: Section, to: Section) -> Result<()> {
        assert_ne!(from, to, "a transaction is moved to another section");
        self.move_from(&self.need_section(from)?, id, to)
    }

    /// Moves a transaction's folder from an open section to another one.
    pub(crate) fn move_from(&self, from: &Handle, id: &str, to: Section) -> Result<()> {
        let into = self.need_section(to)?;
        let (name, goal) = (Name::new(from, id), Name::new(&into, id));
        self.workspace.move_own(name, goal).map_err(|e| {
            if errno::is_taken(&e) { to.is_taken(id, goal.path()) } else { Error::io("rename", name.path(), e) }
        })
    }

    /// A section that was opened before, if its name still leads to it and it is this user's alone.
    fn open_section(&self, section: Section) -> Result<Option<Handle>> {
        let known = self.sections.lock().unwrap_or_else(PoisonError::into_inner).get(&section).cloned();
        let Some((folder, identity)) = known else { return Ok(None) };
        let there = self.workspace.stat(Name::new(&self.folder, section.name()))?;
        Ok(there.is_some_and(|there| there.identity == identity && self.is_private(&there)).then_some(folder))
    }

    /// Opens a section, and makes it if it was removed.
    pub(crate) fn need_section(&self, section: Section) -> Result<Handle> {
        if let Some(handle) = self.open_section(section)? {
            return Ok(handle);
        }
        if let Opening::Ours(folder, stat) = private::open(&self.workspace, Name::new(&self.folder, section.name()))? {
            let mut sections = self.sections.lock().unwrap_or_else(PoisonError::into_inner);
            sections.insert(section, (folder.clone(), stat.identity));
            return Ok(folder);
        }
        make_folder_once(&self.workspace, Name::new(&self.folder, section.name()))?;
        // Durable before anything is moved into it: a power loss that takes its name would take the originals with it.
        self.workspace.sync(&self.folder)?;
        self.whole_section(section)?.ok_or_else(|| came_and_went(self.home.path()))
    }

    /// Describes each section, and each folder with the name of a transaction, that is not ours and is left alone. For
    /// a section it also says what to do, since nothing can be moved into it.
    pub(crate) fn strangers(&self) -> Result<Vec<String>> {
        let mut strangers = Vec::new();
        for section in Section::ALL {
            let name = Name::new(&self.folder, section.name());
            let folder = match private::open(&self.workspace, name)? {
                Opening::Ours(folder, _) => folder,
                Opening::Missing => continue,
                Opening::Refused(refusal) => {
                    strangers
                        .push(format!("it is left alone: {}", private::to_be_mended(&name.path(), refusal).message()));
                    continue;
                }
            };
            // Each interrupted transaction is listed by itself.
            let ids = if section == Section::Transactions { Vec::new() } else { list_ids(&self.workspace, &folder)? };
            for id in ids {
                let name = Name::new(&folder, &id);
                if let Opening::Refused(refusal) = private::open(&self.workspace, name)? {
                    strangers.push(format!("{} {refusal}; it is left alone", name.path().display()));
                }
            }
        }
        Ok(strangers)
    }
}
