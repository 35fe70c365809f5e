//! `txedit mv FROM… TO`.

use std::path::{Path, PathBuf};

use super::transact;
use crate::cli::args::MvArgs;
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::Answer;
use crate::engine::Engine;
use crate::engine::tree::ListedEntry;
use crate::error::Result;
use crate::fs::FileKind;
use crate::path::shown;
use crate::request::{Change, FileRequest, IfExists, Mode, RenameTo};
use crate::wire::Shape;

/// The permission bits of a folder that a request can give.
const FOLDER_MODE: u32 = 0o3777;

pub(super) fn run(args: &MvArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    let to = options.in_workspace(&args.to);
    let is_into = engine.is_folder(&to);
    if args.from.len() > 1 && !is_into {
        let message = format!("{} is not a folder, and only into a folder can several be moved", shown(&args.to));
        return Err(usage("TO", message).into());
    }
    let if_exists = if args.force { IfExists::Replace } else { IfExists::Fail };
    let mut files = Vec::new();
    for from in &args.from {
        let from = options.in_workspace(from);
        let to = match from.file_name() {
            Some(name) if is_into => to.join(name),
            _ => to.clone(),
        };
        files.extend(moved(&engine, &from, &to, if_exists)?);
    }
    let done = transact::make(files, &args.transaction, Shape::Multi, options);
    done.map_err(|failure| transact::or_force(failure, args.force))
}

/// The entries that move a file, or a folder with everything in it: the folder is made anew, and the old one removed.
fn moved(engine: &Engine, from: &Path, to: &Path, if_exists: IfExists) -> Result<Vec<FileRequest>> {
    let tree = transact::part_of(engine, from)?;
    if to == from {
        return Err(usage("TO", format!("{} is where it is to be moved", shown(from))));
    }
    if to.starts_with(from) {
        return Err(usage("TO", format!("{} is in {}, which cannot be moved into itself", shown(to), shown(from))));
    }
    let rename =
        |from: PathBuf, to: PathBuf| FileRequest::new(from, Change::Rename(RenameTo { path: to.into(), if_exists }));
    let Some(ListedEntry { path: top, kind: FileKind::Folder, .. }) = tree.first() else {
        return Ok(vec![rename(from.to_owned(), to.to_owned())]);
    };
    let mut files = Vec::new();
    for ListedEntry { path, kind, mode } in &tree {
        let beneath = path.as_path().strip_prefix(top.as_path()).unwrap_or(path.as_path());
        // The top has no name beneath itself, and joining nothing would end in a slash.
        let [old, new] = [from, to].map(|folder| if path == top { folder.to_owned() } else { folder.join(beneath) });
        if *kind == FileKind::Folder {
            files.push(FileRequest::new(new, Change::MakeFolder).mode(Mode::Bits(mode & FOLDER_MODE)));
            files.push(FileRequest::new(old, Change::RemoveFolder));
        } else {
            files.push(rename(old, new));
        }
    }
    Ok(files)
}
