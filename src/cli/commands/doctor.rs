//! `txedit doctor [DIR]`; `--torture N` is in `torture`.

mod mounts;

use std::fmt::Write as _;

use mounts::MountJson;
use schemars::JsonSchema;
use serde::Serialize;

use crate::check::CheckPlace;
use crate::cli::args::DoctorArgs;
use crate::cli::exit;
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::{Answer, BAD, GOOD, HEADING, NOTE, styled};
use crate::cli::report::warning_of;
use crate::engine::Durability;
use crate::error::{Error, Result};
use crate::fs::probe::{self, Guarantees};
use crate::journal::{Guarantee, Swap, SwapMethod};
use crate::path::shown;
use crate::view::{self, NoView};

pub(super) fn run(args: &DoctorArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let folder = match &args.folder {
        Some(folder) => options.absolute(folder),
        None => options.root()?.to_owned(),
    };
    if let Some(rounds) = args.torture {
        return super::torture::run(rounds, &folder, options);
    }
    if !folder.is_dir() {
        return Err(usage("DIR", format!("{} is not a folder: name one that is there", shown(&folder))).into());
    }
    let found = probe::guarantees(&folder).map_err(|e| Error::io("test", &folder, e))?;
    let view = view::try_out(&folder).map_err(|e| Error::io("try a view of", &folder, e))?.err();
    let swap = found.swap(options.swap);
    let guarantee = found.guarantee(options.swap);
    let facts = facts(&found, swap, guarantee);
    let steps = steps(&found, guarantee, options.durability());
    let usable = is_usable(&facts);
    let overwriting = found.guarantee(Swap::InPlace).filter(|_| guarantee.is_none() && found.locks);
    let guarantee = guarantee.filter(|_| usable);

    let mut text = String::new();
    let system = &found.file_system;
    let place = if system.local { "local" } else { "shared with other machines" };
    let _ = writeln!(text, "{}: {}, {place}", styled(HEADING, shown(&folder)), system.name);
    push_facts(&mut text, &facts);
    push_view(&mut text, view.as_ref());
    if let Some(guarantee) = guarantee {
        let _ = writeln!(text, "{}", styled(HEADING, reader(guarantee)));
        if guarantee == Guarantee::InPlace {
            let _ = writeln!(text, "  {ONLY_OVERWRITES}");
        }
    }
    if usable {
        let _ = writeln!(text, "{}", styled(HEADING, "so a commit here does this:"));
        for (number, step) in steps.iter().enumerate() {
            let _ = writeln!(text, "  {}. {step}", number + 1);
        }
    } else {
        let _ = writeln!(text, "{}", styled(BAD, "no transaction can be committed here; move the workspace"));
        if let Some(overwriting) = overwriting {
            let _ = writeln!(text, "with --swap in-place, {}\n  {ONLY_OVERWRITES}", reader(overwriting));
        }
    }
    let mounts =
        mounts::in_folder(&folder, options.swap).map_err(|e| Error::io("list what is mounted in", &folder, e))?;
    mounts::push(&mut text, &mounts);
    let warnings = options.settings_warnings()?;
    let json = DoctorJson {
        success: true,
        folder: folder.display().to_string(),
        file_system: &system.name,
        local: system.local,
        usable,
        guarantee: guarantee.map(Guarantee::as_str),
        with_swap_in_place: overwriting.map(Guarantee::as_str),
        guarantees: &facts,
        checks_in: if view.is_none() { CheckPlace::View } else { CheckPlace::Tree }.word(),
        mounts: &mounts,
        no_view: view.as_ref().map(|none| NoViewJson { why: &none.why, advice: none.advice }),
        commit_steps: if usable { &steps } else { &[] },
        warnings: &warnings,
    };
    let status = if usable { exit::DONE } else { exit::IO };
    Ok(Answer::new(&json, text)?.noting(warnings.iter().map(|warning| warning_of(warning))).exiting(status))
}

/// The answer for scripts.
#[derive(Serialize, JsonSchema)]
pub(super) struct DoctorJson<'a> {
    success: bool,
    folder: String,
    file_system: &'a str,
    local: bool,
    usable: bool,
    /// What a reader of the files can count on during a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<&'static str>,
    /// What `--swap in-place` would give, where nothing can be committed without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    with_swap_in_place: Option<&'static str>,
    guarantees: &'a [Fact],
    /// Where a check runs unless `--check-in` says another place.
    checks_in: &'static str,
    /// What is mounted in the folder, where other things may hold.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    mounts: &'a [MountJson],
    #[serde(skip_serializing_if = "Option::is_none")]
    no_view: Option<NoViewJson<'a>>,
    commit_steps: &'a [String],
    /// What is doubtful in the settings file.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct NoViewJson<'a> {
    why: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

fn push_facts(text: &mut String, facts: &[Fact]) {
    for fact in facts {
        let (style, word) = match (fact.holds, fact.needed) {
            (true, _) => (GOOD, "yes"),
            (false, true) => (BAD, "no"),
            (false, false) => (NOTE, "no"),
        };
        let _ = writeln!(text, "  {:4}{}", styled(style, format!("{word:4}")), fact.what);
        if !fact.holds {
            let _ = writeln!(text, "      {}", fact.without);
        }
    }
}

/// Says where checks run here, and what would allow a view.
fn push_view(text: &mut String, none: Option<&NoView>) {
    let (style, word) = if none.is_none() { (GOOD, "yes ") } else { (NOTE, "no  ") };
    let _ = writeln!(text, "  {}a check can run in a private view, before any file is touched", styled(style, word));
    let Some(NoView { why, advice }) = none else { return };
    let _ = writeln!(text, "      {why}: it runs in the tree, or with --check-in view in a copy");
    if let Some(advice) = advice {
        let _ = writeln!(text, "      {advice}");
    }
}

fn is_usable(facts: &[Fact]) -> bool {
    facts.iter().all(|fact| fact.holds || !fact.needed)
}

/// The result of one test.
#[derive(Serialize, JsonSchema)]
struct Fact {
    name: &'static str,
    holds: bool,
    /// True if nothing can be committed without it.
    needed: bool,
    #[serde(skip)]
    what: &'static str,
    /// The consequence if it does not hold.
    #[serde(skip)]
    without: &'static str,
}

const ONLY_OVERWRITES: &str =
    "only the content and the mode of files that are there can change: nothing is made, deleted or moved";

/// What a reader of the files can count on during a commit, in words.
const fn reader(guarantee: Guarantee) -> &'static str {
    match guarantee {
        Guarantee::Exchange => "guarantee: exchange; whoever opens a file meanwhile finds the old or the new one",
        Guarantee::Aside => "guarantee: aside; whoever opens a file meanwhile may find none, for a moment",
        Guarantee::InPlace => "guarantee: in_place; whoever reads a file meanwhile may find a part of the new content",
    }
}

fn births(found: &Guarantees, guarantee: Option<Guarantee>) -> Fact {
    let without = match guarantee {
        Some(Guarantee::Aside | Guarantee::InPlace) => {
            "each commit leaves a proof in $XDG_STATE_HOME/txedit/born (~/.local/state), to be recovered after a restart"
        }
        _ => "an interrupted transaction can only be recovered before the next boot without --trust-journal",
    };
    Fact { name: "birth_times", holds: found.birth_times, needed: false, what: "files have a birth time", without }
}

fn facts(found: &Guarantees, swap: Option<SwapMethod>, guarantee: Option<Guarantee>) -> Vec<Fact> {
    let fact = |name, holds, needed, what, without| Fact { name, holds, needed, what, without };
    vec![
        fact(
            "exchanges",
            found.exchanges,
            guarantee.is_none(),
            "two names can be exchanged in one step",
            "an edit cannot be swapped in without a moment in which the file is missing",
        ),
        fact(
            "keeps_existing",
            found.keeps_existing,
            guarantee.is_none() || swap == Some(SwapMethod::Rename),
            "a rename can be told not to replace an existing file",
            "a new file gets its name as a second one, which replaces nothing either",
        ),
        fact(
            "keeps_file_numbers",
            found.keeps_file_numbers,
            guarantee.is_none(),
            "a file keeps its inode number when it is renamed",
            probe::NUMBERS_BY_NAME,
        ),
        fact(
            "locks",
            found.locks,
            true,
            "folders can be locked against other processes",
            "two transactions at once could lose an update",
        ),
        fact(
            "syncs_whole",
            found.syncs_whole,
            false,
            "all of it can be made durable in one call",
            "each file and each folder is synced by itself, which is slower for many",
        ),
        fact(
            "keeps_names",
            found.file_system.keeps_names(),
            false,
            "names can be made durable",
            "its program passes no sync on to the other machine: only --durability process is offered",
        ),
        fact(
            "renames_survive",
            found.renames_survive,
            false,
            "a rename survives a power loss whole or not at all",
            without_a_journal(found),
        ),
        births(found, guarantee),
        fact(
            "shares_copies",
            found.shares_copies,
            false,
            "copies can share their bytes",
            "large files are copied whole",
        ),
        fact(
            "opens_beneath",
            found.opens_beneath,
            false,
            "a path can be opened in one step without following symlinks",
            "paths are walked name by name",
        ),
        fact("attributes", found.attributes, false, "files have extended attributes", "there are none to preserve"),
    ]
}

fn without_a_journal(found: &Guarantees) -> &'static str {
    if found.file_system.name == "overlay" {
        "its upper layer has no journal, or is out of sight: all or nothing holds against kill -9; against power loss only if \
         that layer's file system has a journal"
    } else {
        "the file system has no journal, or none that can be detected: all or nothing holds against kill -9, not against power \
         loss"
    }
}

fn steps(found: &Guarantees, guarantee: Option<Guarantee>, durability: Durability) -> Vec<String> {
    let open = if found.opens_beneath { "openat2" } else { "a walk with O_NOFOLLOW" };
    let copy = if found.shares_copies { "sharing unchanged bytes" } else { "copying unchanged bytes" };
    let mut steps = vec![
        "lock the folders of all files".to_owned(),
        format!("read every file through its locked folder ({open}), and work out what it becomes"),
        format!("write the new contents into the state folder, {copy}"),
        "write the journal, and seal it".to_owned(),
    ];
    let barrier = match (durability, found.syncs_whole, found.file_system.sync_each) {
        (Durability::Process, _, _) => None,
        (Durability::Power, true, true) if found.file_system.orders => {
            Some("the contents of a few files written out, then one fsync; one syncfs for many")
        }
        (Durability::Power, true, true) => Some("fsync of each of a few files, one syncfs for many"),
        (Durability::Power, true, false) => Some("one syncfs"),
        (Durability::Power, false, _) if found.file_system.syncs_folders => Some("fsync of every file and folder"),
        (Durability::Power, false, _) => Some("fsync of every file and folder, then sync of all disks"),
    };
    let barrier_step = |purpose: &str, steps: &mut Vec<String>| {
        if let Some(how) = barrier {
            steps.push(format!("barrier: {how}; {purpose}"));
        }
    };
    let survived = if found.renames_survive {
        "from here on, power loss ends in all-old or all-new"
    } else {
        "from here on, the contents are on the disk; what a power loss makes of the names is not known"
    };
    barrier_step(survived, &mut steps);
    steps.push("give the journal its name".to_owned());
    match guarantee {
        Some(Guarantee::Aside) => {
            steps.push(
                "move each file out of its name, give the name to the new content, and verify what came out".to_owned(),
            );
            barrier_step("from here on, no recovery moves a file", &mut steps);
        }
        Some(Guarantee::InPlace) => {
            steps.push("overwrite each file, of which there is a copy, and verify it".to_owned());
            barrier_step("from here on, no recovery writes into a file", &mut steps);
        }
        _ => steps.push("exchange each new content with its file, and verify the content that came out".to_owned()),
    }
    steps.push("name the journal done".to_owned());
    barrier_step("from here on, it is committed", &mut steps);
    steps.push("move the old contents into its history, for undo".to_owned());
    if barrier.is_none() {
        steps.push("no barriers: safe against kill -9, not against power loss (--durability process)".to_owned());
    }
    steps
}
