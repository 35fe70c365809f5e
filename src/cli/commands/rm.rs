//! `txedit rm PATH…`.

use std::collections::BTreeMap;

use super::transact;
use crate::cli::args::RmArgs;
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::Answer;
use crate::engine::report::Report;
use crate::error::Result;
use crate::fs::FileKind;
use crate::path::shown;
use crate::request::{Change, FileRequest, Request};
use crate::wire::Shape;

pub(super) fn run(args: &RmArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    // What is named twice, or is also in a folder that is named, is deleted once.
    let mut files = BTreeMap::new();
    for typed in &args.paths {
        let path = options.in_workspace(typed);
        let tree = transact::part_of(&engine, &path)?;
        let is_folder = tree.first().is_some_and(|top| top.kind == FileKind::Folder);
        if is_folder && !args.recursive {
            let message = format!("{} is a folder: -r deletes it with everything in it", shown(typed));
            return Err(usage("PATH", message).into());
        }
        if tree.is_empty() && !args.force {
            // The engine says that it is not there, with the names that are similar.
            files.insert(path.clone(), FileRequest::new(path, Change::Delete));
            continue;
        }
        for entry in tree {
            let path = engine.root().join(&entry.path);
            let change = if entry.kind == FileKind::Folder { Change::RemoveFolder } else { Change::Delete };
            files.insert(path.clone(), FileRequest::new(path, change));
        }
    }
    if files.is_empty() {
        let report = Report { dry_run: args.transaction.dry_run, ..Report::default() };
        return Ok(transact::answer(&report, &Request::default(), "", options)?);
    }
    transact::make(files.into_values().collect(), &args.transaction, Shape::Multi, options)
}
