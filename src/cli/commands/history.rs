//! `txedit history prune` and `txedit history move`.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::cli::args::HistoryCommand;
use crate::cli::exit;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, NAME, count, styled};
use crate::cli::report::warning_of;
use crate::engine::Retention;
use crate::error::Result;
use crate::path::shown;
use crate::wire::history;

const DAY: u64 = 24 * 60 * 60;

pub(super) fn run(command: &HistoryCommand, options: &CommonOptions) -> Result<Answer, Failure> {
    match command {
        HistoryCommand::Prune { keep, max_bytes, max_age } => pruned(*keep, *max_bytes, *max_age, options),
        HistoryCommand::Move { to } => moved(to.as_deref(), options),
    }
}

fn pruned(
    keep: Option<usize>,
    max_bytes: Option<u64>,
    max_age: Option<u64>,
    options: &CommonOptions,
) -> Result<Answer, Failure> {
    let usual = Retention::default();
    let retention = Retention {
        count: keep.unwrap_or(usual.count),
        bytes: max_bytes.unwrap_or(usual.bytes),
        age: max_age.map_or(usual.age, |days| Duration::from_secs(days.saturating_mul(DAY))),
    };
    let pruned = options.engine()?.prune(&retention)?;
    let mut text = format!("pruned {}, {}\n", count(pruned.ids.len(), "transaction"), bytes(pruned.bytes));
    for id in &pruned.left {
        let _ = writeln!(text, "  left {}: another program wrote into its originals", styled(NAME, id));
    }
    for id in &pruned.in_trash {
        let _ = writeln!(
            text,
            "  {} is not deleted yet: its contents are still in the trash; prune again",
            styled(NAME, id)
        );
    }
    if options.verbose {
        for id in &pruned.ids {
            let _ = writeln!(text, "  {}", styled(NAME, id));
        }
    }
    let gone = pruned.ids.len() + pruned.left.len() + pruned.in_trash.len();
    // Whoever prunes to be rid of a secret must not read 0 while it is there.
    let status = if pruned.in_trash.is_empty() { exit::DONE } else { exit::IO };
    let done = (gone > 0).then(|| format!("pruned {}", count(gone, "transaction")));
    Ok(Answer::new(&history::PrunedJson::from(&pruned), text)?.exiting(status).having_done(done))
}

fn moved(to: Option<&Path>, options: &CommonOptions) -> Result<Answer, Failure> {
    let to = to.map(|to| options.current.join(to));
    let moved = options.engine()?.move_state(to.as_deref())?;
    let text = format!("the state folder is now {}, no longer {}\n", shown(&moved.to), shown(&moved.from));
    let notes = moved.warnings.iter().map(|warning| warning_of(warning));
    let answer = Answer::new(&history::MovedJson::from(&moved), text)?.noting(notes);
    Ok(answer.having_done(Some("moved the state folder".to_owned())))
}

fn bytes(number: u64) -> String {
    if number == 1 { "1 byte".to_owned() } else { format!("{number} bytes") }
}
