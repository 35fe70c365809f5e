//! `replace_in_files`: renames across a tree in one call.

use super::{Definition, Job};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::walk::SearchTree;
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::replace::{self, Query, ReplaceGuard, Replacements};
use crate::request::Request;
use crate::wire::replace::Replaced;
use crate::wire::tools::{ReplaceInFiles, parse_flat, required};

pub(super) static REPLACE_IN_FILES: Definition = Definition {
    name: "replace_in_files",
    title: "Replace in all files",
    toolset: Toolset::Edit,
    description: "Replace a text, a word or a regular expression in all files beneath the root, as one transaction. \
                  Use it to rename across a tree, with dry_run first; not for a change that differs by place: use \
                  multi_edit_files. Hidden, ignored (.gitignore) and binary files are left out. Example: \
                  {\"pattern\": \"old_name\", \"replacement\": \"new_name\", \"word\": true, \"max_files\": 20}",
    writes: true,
    idempotent: false,
    input: schema::input::<ReplaceInFiles>,
    output: || {
        schema::output(&[
            ("dry_run", PropertyKind::Flag, "Whether nothing was written."),
            ("transaction_id", PropertyKind::Text, "For undo_transaction."),
            ("total_matches", PropertyKind::Count, "Matches in all files."),
            ("files_edited", PropertyKind::Count, "Files that were changed."),
            ("file_results", PropertyKind::Objects, "One for each file, with its matches; its diff in a dry run."),
            ("files_searched", PropertyKind::Count, "Files that were searched."),
            ("binary_files_skipped", PropertyKind::Count, "Files with a NUL byte, which were not."),
            ("warnings", PropertyKind::Texts, "What could not be searched, and what else to know."),
            ("failed_file_index", PropertyKind::Count, "On failure: the file among those with matches, from 0."),
            ("file_statuses", PropertyKind::Objects, "On failure: what is true of each file."),
        ])
    },
    run: |job, arguments| match parse_flat(arguments).and_then(|asked| prepared(job, asked)) {
        Ok(search) => match job.engine.apply_found(&Request::default(), || search.run(job), job.run) {
            (found, Ok(report)) => {
                let answer = Replaced::new(&report, &found.unwrap_or_default());
                ToolAnswer::done(&answer, ToolChanges::of(&report)).terse_unless(search.verbose)
            }
            (found, Err(error)) => job.failed(&error.without_encodings(), found.as_ref().map(|found| &found.request)),
        },
        Err(error) => job.failed(&error, None),
    },
};

/// A search: the pattern, the files, and the limits on the result.
struct ReplaceCall {
    query: Query,
    tree: SearchTree,
    guard: ReplaceGuard,
    dry_run: bool,
    verbose: bool,
}

impl ReplaceCall {
    fn run(&self, job: &Job<'_>) -> Result<Replacements> {
        let mut found = replace::search(&self.query, &self.tree, self.guard, job.run.cancel)?;
        found.request.dry_run = self.dry_run;
        found.request.verbose = self.verbose;
        Ok(found)
    }
}

fn prepared(job: &Job<'_>, asked: ReplaceInFiles) -> Result<ReplaceCall> {
    let [pattern, replacement] = required([("pattern", asked.pattern), ("replacement", asked.replacement)])?;
    let dry_run = asked.dry_run.unwrap_or(false);
    // Before the search, which would be in vain if writing is not allowed.
    job.check_writing(dry_run)?;
    let query = Query { pattern, replacement, regex: asked.regex.unwrap_or(false), word: asked.word.unwrap_or(false) };
    let (mut globs, exclude) = (asked.include.unwrap_or_default(), asked.exclude.unwrap_or_default());
    if let Some(glob) = globs.iter().chain(&exclude).find(|glob| glob.starts_with('!')) {
        let message = format!("the glob {glob:?} starts with a !: put what is to be left out into exclude, without it");
        return Err(Error::new(ErrorKind::InvalidPattern, message));
    }
    globs.extend(exclude.iter().map(|glob| format!("!{glob}")));
    let root = job.engine.root().to_owned();
    let tree =
        SearchTree { base: root.clone(), root, globs, bounds: job.engine.bounds().clone(), ..SearchTree::default() };
    let guard = ReplaceGuard {
        expected_matches: asked.expected_matches,
        max_files: asked.max_files,
        ..ReplaceGuard::default()
    };
    Ok(ReplaceCall { query, tree, guard, dry_run, verbose: asked.verbose.unwrap_or(false) })
}
