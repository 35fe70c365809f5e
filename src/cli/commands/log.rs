//! `txedit log`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::cli::args::LogArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, NAME, extent, kind_column, styled};
use crate::cli::report::warning_of;
use crate::engine::report::Logged;
use crate::error::Result;
use crate::path::{one_line, shown};
use crate::wire::history;

/// The fewest characters of an id in the log.
const ID: usize = 8;

/// The most files of a transaction that are named, and the most characters of their names.
const NAMED: usize = 3;
const NAMES: usize = 60;

pub(super) fn run(args: &LogArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    // All are in the root.
    let path = args.path.as_ref().map(|path| options.in_workspace(path)).filter(|path| path != engine.root());
    let logged = match (&args.session, &args.campaign) {
        (Some(session), _) => engine.log_of_session(session, args.limit, path.as_deref())?,
        (_, Some(campaign)) => engine.log_of_campaign(campaign, args.limit, path.as_deref())?,
        (None, None) => engine.log(args.limit, path.as_deref())?,
    };
    let ids = engine.short_ids(ID)?;
    let mut text = String::new();
    for one in &logged {
        let what = if options.verbose { None } else { names(one) };
        push(&mut text, one, what, |id| ids.get(id).map_or(id, String::as_str));
        if options.verbose {
            for (kind, path) in &one.files {
                let _ = writeln!(text, "    {}{}", kind_column(kind), shown(path));
            }
        }
    }
    let mut notes = warnings(&logged);
    if logged.is_empty() {
        let of = args.session.as_ref().map(|name| ("session", name));
        let of = of.or_else(|| args.campaign.as_ref().map(|name| ("campaign", name)));
        notes.push(match (&args.path, of) {
            _ if args.limit == 0 => "--limit 0 lists none".to_owned(),
            (Some(path), _) => format!("no transaction changed {}", shown(path)),
            (None, Some((what, name))) => format!("no transaction is of the {what} {}", one_line(name)),
            (None, None) => "no transactions".to_owned(),
        });
    }
    Ok(Answer::new(&history::Log::from(&logged[..]), text)?.noting(notes).paged())
}

/// Adds the line of one transaction: what it changed, or how much that is, and ids in the form that `id` gives them.
pub(super) fn push<'i>(text: &mut String, one: &'i Logged, what: Option<String>, id: impl Fn(&'i str) -> &'i str) {
    if let Some(why) = &one.unreadable {
        // Whoever recovers it needs the whole id, which is the name of its folder.
        let _ = writeln!(text, "{}  {}  {}", styled(NAME, &one.id), local(&one.time), one_line(why));
        return;
    }
    let what = what.unwrap_or_else(|| files(one.files.iter().map(|(kind, path)| (kind.as_str(), &**path))));
    let _ = write!(text, "{}  {}  {what}", styled(NAME, id(&one.id)), local(&one.time));
    if !one.reverts.is_empty() {
        let reverts: Vec<&str> = one.reverts.iter().map(|reverted| id(reverted)).collect();
        let _ = write!(text, "  undoes {}", reverts.join(", "));
    }
    if let Some(by) = &one.reverted_by {
        let _ = write!(text, "  undone by {}", id(by));
    }
    if let Some(label) = &one.label {
        let _ = write!(text, "  {}", one_line(label));
    }
    text.push('\n');
}

/// The time as a clock shows it here. One that is unknown is told as it is.
fn local(time: &str) -> String {
    let Ok(time) = time.parse::<jiff::Timestamp>() else { return time.to_owned() };
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The names of the files and folders that a small transaction changed.
fn names(one: &Logged) -> Option<String> {
    let spelled =
        |(kind, path): &(String, PathBuf)| if is_folder(kind) { format!("{}/", shown(path)) } else { shown(path) };
    let names = one.files.iter().map(spelled).collect::<Vec<_>>().join(", ");
    (one.files.len() <= NAMED && names.chars().count() <= NAMES).then_some(names)
}

fn is_folder(kind: &str) -> bool {
    matches!(kind, "folder" | "remove_folder")
}

/// The number of files and folders among these changes, each with its kind, as an answer to the change itself counts
/// them.
pub(super) fn files<'k>(changes: impl Iterator<Item = (&'k str, &'k Path)>) -> String {
    let (folders, files): (Vec<_>, Vec<_>) = changes.partition(|(kind, _)| is_folder(kind));
    let paths = |of: Vec<(&'k str, &'k Path)>| of.into_iter().map(|(_, path)| path).collect::<Vec<_>>();
    let (files, folders) = (paths(files), paths(folders));
    extent(files.len(), &files, &folders)
}

/// The warnings about these transactions.
pub(super) fn warnings<'a>(logged: impl IntoIterator<Item = &'a Logged>) -> Vec<String> {
    let of_one = |one: &'a Logged| one.warnings.iter().map(|w| warning_of(&format!("{}: {w}", one.id)));
    logged.into_iter().flat_map(of_one).collect()
}
