//! `txedit log`.

use std::fmt::Write as _;
use std::path::Path;

use crate::cli::args::LogArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, NAME, extent, kind_column, styled};
use crate::cli::report::warning_of;
use crate::engine::report::Logged;
use crate::error::Result;
use crate::path::{one_line, shown};
use crate::wire::history;

pub(super) fn run(args: &LogArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    // All are in the root.
    let path = args.path.as_ref().map(|path| options.in_workspace(path)).filter(|path| path != engine.root());
    let logged = match &args.session {
        Some(session) => engine.log_of_session(session, args.limit, path.as_deref())?,
        None => engine.log(args.limit, path.as_deref())?,
    };
    let mut text = String::new();
    for one in &logged {
        push(&mut text, one);
        if options.verbose {
            for (kind, path) in &one.files {
                let _ = writeln!(text, "    {}{}", kind_column(kind), shown(path));
            }
        }
    }
    let mut notes = warnings(&logged);
    if logged.is_empty() {
        notes.push(match (&args.path, &args.session) {
            _ if args.limit == 0 => "--limit 0 lists none".to_owned(),
            (Some(path), _) => format!("no transaction changed {}", shown(path)),
            (None, Some(session)) => format!("no transaction is of the session {}", one_line(session)),
            (None, None) => "no transactions".to_owned(),
        });
    }
    Ok(Answer::new(&history::Log::from(&logged[..]), text)?.noting(notes))
}

/// Adds the line of one transaction.
pub(super) fn push(text: &mut String, one: &Logged) {
    if let Some(why) = &one.unreadable {
        let _ = writeln!(text, "{}  {}  {}", styled(NAME, &one.id), one.time, one_line(why));
        return;
    }
    let _ = write!(
        text,
        "{}  {}  {}",
        styled(NAME, &one.id),
        one.time,
        files(one.files.iter().map(|(kind, path)| (kind.as_str(), &**path)))
    );
    if !one.reverts.is_empty() {
        let _ = write!(text, "  undoes {}", one.reverts.join(", "));
    }
    if let Some(by) = &one.reverted_by {
        let _ = write!(text, "  undone by {by}");
    }
    if let Some(label) = &one.label {
        let _ = write!(text, "  {}", one_line(label));
    }
    text.push('\n');
}

/// The number of files and folders among these changes, each with its kind, as an answer to the change itself counts
/// them.
pub(super) fn files<'k>(changes: impl Iterator<Item = (&'k str, &'k Path)>) -> String {
    let (folders, files): (Vec<_>, Vec<_>) = changes.partition(|(kind, _)| matches!(*kind, "folder" | "remove_folder"));
    let paths = |of: Vec<(&'k str, &'k Path)>| of.into_iter().map(|(_, path)| path).collect::<Vec<_>>();
    let (files, folders) = (paths(files), paths(folders));
    extent(files.len(), &files, &folders)
}

/// The warnings about these transactions.
pub(super) fn warnings<'a>(logged: impl IntoIterator<Item = &'a Logged>) -> Vec<String> {
    let of_one = |one: &'a Logged| one.warnings.iter().map(|w| warning_of(&format!("{}: {w}", one.id)));
    logged.into_iter().flat_map(of_one).collect()
}
