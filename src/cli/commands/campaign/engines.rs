//! `txedit campaign run --with`: the work is left to an engine that is there already.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::work::program;
use crate::campaign::{Campaign, DueWorkspace};
use crate::cli::args::CampaignRunArgs;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::signals;
use crate::error::{Error, ErrorKind, Result};
use crate::path::shown;

/// The jobs of an array, unless told otherwise.
const SHARDS: usize = 8;

/// Leaves the work in `due` to an engine, and waits for its end. What it did, only the reports tell.
pub(super) fn run(
    engine: &str,
    args: &CampaignRunArgs,
    campaign: &Campaign,
    due: &[DueWorkspace],
    options: &CommonOptions,
) -> Result<()> {
    let (name, rest) = engine.split_once(char::is_whitespace).unwrap_or((engine, ""));
    if args.shards.is_some() && name != "slurm" {
        return Err(usage("--shards", "only --with slurm has shards; other engines take one workspace after another"));
    }
    let folder = campaign.folder.to_str().ok_or_else(|| {
        usage("FOLDER", format!("{} is not UTF-8, and cannot be passed on to an engine", shown(&campaign.folder)))
    })?;
    if due.is_empty() {
        return Ok(());
    }
    let program = program()?;
    let txedit = quoted(&program.to_string_lossy());
    let (shell, lines) = match name {
        "slurm" => {
            let shards = args.shards.map_or(SHARDS, Into::into).min(due.len());
            if args.again {
                return Err(usage("--again", "what was undone is done once more by --jobs, or by a command"));
            }
            let job = format!("{txedit} campaign shard \"$SLURM_ARRAY_TASK_ID\"/{shards} {} --jobs 1", quoted(folder));
            let out = quoted(&format!("{folder}/slurm-%A-%a.out"));
            (format!("sbatch --wait --array=1-{shards} --output={out} {rest} --wrap {}", quoted(&job)), String::new())
        }
        "ray" | "dask" => (
            format!("python3 -m txedit.campaign {} --on {name} --program {txedit} {rest}", quoted(folder)),
            String::new(),
        ),
        _ => {
            let again = if args.again { " --again" } else { "" };
            let line = |due: &DueWorkspace| format!("{txedit} campaign work{again} {} {}\n", quoted(folder), due.index);
            (engine.to_owned(), due.iter().map(line).collect())
        }
    };
    signals::leave_interrupts_to_children().map_err(|e| Error::io("watch", "the signals", e))?;
    let mut child = Command::new("sh")
        .args(["-c", &shell])
        .current_dir(&options.current)
        .stdin(Stdio::piped())
        // The answer is printed once all is done.
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| Error::io("run", "sh", e))?;
    let fed = child.stdin.take().map(|mut pipe| pipe.write_all(lines.as_bytes()));
    let status = child.wait().map_err(|e| Error::io("wait for", "sh", e))?;
    // One that failed may have done everything, and one that did not nothing: the reports tell.
    if status.code() == Some(127) {
        let message = format!("the shell did not find what `{shell}` names: install it, or name another engine");
        return Err(Error::new(ErrorKind::ValidationFailed, message));
    }
    drop(fed);
    Ok(())
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
