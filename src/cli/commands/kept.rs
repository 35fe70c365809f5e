//! `txedit kept list|restore|drop`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::transact;
use crate::cli::args::KeptCommand;
use crate::cli::failure::Failure;
use crate::cli::ids;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, NAME, styled};
use crate::engine::ids::IdScope;
use crate::engine::report::Kept;
use crate::error::{self, Result};
use crate::path::{one_line, shown};
use crate::wire::history;

pub(super) fn run(command: &KeptCommand, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    match command {
        KeptCommand::List => {
            let kept = engine.kept()?;
            let mut text = String::new();
            for one in &kept {
                push(&mut text, one);
            }
            let note = kept.is_empty().then(|| "nothing was kept".to_owned());
            Ok(Answer::new(&history::KeptList::from(&kept[..]), text)?.noting(note))
        }
        KeptCommand::Restore { id, path } => {
            let id = ids::meant(id, IdScope::Kept, &engine)?;
            let path = path.as_ref().map(|path| options.in_workspace(path));
            let report = transact::watched(options, |run| engine.kept_restore(&id, path.as_deref(), run))?;
            Ok(transact::answer_without_request(&report, "restored by", options)?)
        }
        KeptCommand::Drop { id } => {
            let id = ids::meant(id, IdScope::Kept, &engine)?;
            engine.kept_drop(&id)?;
            let text = format!("deleted {}\n", styled(NAME, &id));
            let json = DroppedJson { success: true, transaction_id: &id, dropped: true };
            Ok(Answer::new(&json, text)?.having_done(Some(format!("deleted what {id} kept"))))
        }
    }
}

/// The answer of `kept drop`.
#[derive(Serialize, JsonSchema)]
pub(super) struct DroppedJson<'a> {
    success: bool,
    transaction_id: &'a str,
    dropped: bool,
}

/// Adds the kept content of one transaction.
pub(super) fn push(text: &mut String, one: &Kept) {
    let _ = writeln!(text, "kept by {}", styled(NAME, &one.id));
    for content in &one.contents {
        push_content(text, content);
    }
    if one.contents.is_empty() {
        let _ = writeln!(
            text,
            "  its journal is not there, cannot be read, or names none of what is in {}",
            shown(&one.folder)
        );
    }
}

/// Adds one kept content.
pub(super) fn push_content(text: &mut String, content: &error::KeptContent) {
    let (path, place) = (shown(&content.path), shown(&content.kept_path));
    let _ = writeln!(text, "  {path}: {}\n    as {place}", one_line(&content.reason));
}
