//! What the first contender of a row costs besides time: memory, system calls, flushes of the device.

use std::fs;
use std::process::{Command, Stdio};

use crate::Result;
use crate::disk::Disk;
use crate::measure::{CARGOS_LIBRARIES, Row, prepare};
use crate::peers::Papers;

/// Calls that make something durable.
const SYNCS: [&str; 4] = ["fsync", "fdatasync", "syncfs", "sync"];

/// Files up to which system calls are counted, which slows each of them down.
const COUNTED: usize = 1000;

/// Measures and prints them, as far as the tools for it are there; answers the goal of memory if it was not met.
pub(crate) fn print(row: &Row, papers: &Papers, disk: &mut Disk) -> Result<Option<String>> {
    let name = row.contenders[0].name;
    println!();
    if row.job.files.len() <= COUNTED
        && let Some((table, _)) = watched(row, papers, disk, &["strace", "-f", "-c", "-o"])?
    {
        println!("system calls of {name}: {}", calls(&table));
    }
    let Some((told, flushes)) = watched(row, papers, disk, &["/usr/bin/time", "-f", "%M", "-o"])? else {
        return Ok(None);
    };
    if let Some(flushes) = flushes {
        println!("flushes of the device by {name}: {flushes}");
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

/// Has the first contender do the job under a tool; answers what that wrote, and how often the device was flushed. `None`
/// where the tool is missing.
fn watched(row: &Row, papers: &Papers, disk: &mut Disk, tool: &[&str]) -> Result<Option<(String, Option<u64>)>> {
    prepare(row, &row.contenders[0], disk)?;
    let told = disk.beside().join("told");
    let own = (row.contenders[0].command)(papers, &row.tools);
    let mut command = Command::new(tool[0]);
    command
        .args(&tool[1..])
        .arg(&told)
        .arg(own.get_program())
        .args(own.get_args())
        .current_dir(disk.path())
        .env_remove(CARGOS_LIBRARIES);
    let before = disk.flushes();
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        println!("{} is not installed: not all is measured", tool[0]);
        return Ok(None);
    };
    if output.status.success() == row.fails {
        return Err(format!("{}: watched by {}: {}", row.name, tool[0], output.status).into());
    }
    let flushes = disk.flushes().zip(before).map(|(after, before)| after - before);
    Ok(Some((fs::read_to_string(told)?, flushes)))
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
