//! What a contender costs besides time: memory, system calls, flushes of the device, commits of the file system's journal.

use std::fs;
use std::process::{Command, Stdio};

use crate::Result;
use crate::disk::Disk;
use crate::measure::{CARGOS_LIBRARIES, Row, prepare};
use crate::peers::{Contender, Papers, TX_BEFORE};

/// Calls that make something durable.
const SYNCS: [&str; 4] = ["fsync", "fdatasync", "syncfs", "sync"];

/// Files up to which system calls are counted, which slows each of them down.
const COUNTED: usize = 1000;

/// Measures and prints them for each `txedit` that is the row's first; answers the goal of memory if it was not met.
pub(crate) fn print(row: &Row, papers: &Papers, disk: &mut Disk) -> Result<Option<String>> {
    println!();
    let unmet = of(row, &row.contenders[0], papers, disk)?;
    if let Some(before) = row.contenders.iter().find(|contender| contender.name == TX_BEFORE.name) {
        of(row, before, papers, disk)?;
    }
    Ok(unmet)
}

/// Those of one contender, as far as the tools for it are there.
fn of(row: &Row, contender: &Contender, papers: &Papers, disk: &mut Disk) -> Result<Option<String>> {
    let name = contender.name;
    let mut watched = |tool: &[&str]| watched((row, contender), papers, disk, tool);
    if row.job.files.len() <= COUNTED
        && let Some((table, ..)) = watched(&["strace", "-f", "-c", "-o"])?
    {
        println!("system calls of {name}: {}", calls(&table));
    }
    let Some((told, flushes, commits)) = watched(&["/usr/bin/time", "-f", "%M", "-o"])? else {
        return Ok(None);
    };
    if let Some(flushes) = flushes {
        println!("flushes of the device by {name}: {flushes}");
    }
    if let Some(commits) = commits {
        println!("commits of the file system's journal by {name}: {commits}");
    }
    let megabytes = told.lines().last().unwrap_or_default().trim().parse::<u64>()?.div_ceil(1024);
    let Some(limit) = row.memory else {
        println!("peak memory of {name}: {megabytes} MB");
        return Ok(None);
    };
    let met = megabytes <= limit;
    println!("peak memory of {name}: {megabytes} MB (goal: ≤ {limit}: {})", if met { "met" } else { "not met" });
    Ok((!met).then(|| format!("{}: {megabytes} MB of memory, not {limit}", row.name)))
}

/// What a tool wrote, how often the device was flushed, and how often the file system committed its journal.
type Watched = (String, Option<u64>, Option<u64>);

/// Has a contender do the job under a tool. `None` where the tool is missing.
fn watched(
    (row, contender): (&Row, &Contender),
    papers: &Papers,
    disk: &mut Disk,
    tool: &[&str],
) -> Result<Option<Watched>> {
    prepare(row, contender, disk)?;
    let told = disk.beside().join("told");
    let own = (contender.command)(papers, &row.tools);
    let mut command = Command::new(tool[0]);
    command
        .args(&tool[1..])
        .arg(&told)
        .arg(own.get_program())
        .args(own.get_args())
        .current_dir(disk.path())
        .env_remove(CARGOS_LIBRARIES);
    let before = (disk.flushes(), disk.commits());
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        println!("{} is not installed: not all is measured", tool[0]);
        return Ok(None);
    };
    if output.status.success() == row.fails {
        return Err(format!("{}: watched by {}: {}", row.name, tool[0], output.status).into());
    }
    let since = |after: Option<u64>, before| after.zip(before).map(|(after, before)| after - before);
    let (flushes, commits) = (since(disk.flushes(), before.0), since(disk.commits(), before.1));
    Ok(Some((fs::read_to_string(told)?, flushes, commits)))
}

/// All calls, and each kind of sync, from the table of strace.
fn calls(table: &str) -> String {
    let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let counted: Vec<(&str, &str)> = lines.filter_map(|columns| Some((*columns.last()?, *columns.get(3)?))).collect();
    let of = |name: &str| counted.iter().find(|(call, _)| *call == name).map(|(_, calls)| *calls);
    let syncs: Vec<String> = SYNCS.iter().filter_map(|name| of(name).map(|calls| format!("{calls} {name}"))).collect();
    let syncs = if syncs.is_empty() { "none sync".to_owned() } else { syncs.join(" and ") };
    format!("{}, of which {syncs}", of("total").unwrap_or("?"))
}
