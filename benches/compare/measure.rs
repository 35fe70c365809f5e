//! Rounds, medians, ratios.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::corpus::{self, Job, Tree};
use crate::disk::Disk;
use crate::peers::{self, Contender, Papers};
use crate::{Result, costs, millis};

/// Where cargo has programs look for libraries, which costs each of them two hundred calls.
pub(crate) const CARGOS_LIBRARIES: &str = "LD_LIBRARY_PATH";

/// One table: a tree, a job and those who do it.
pub(crate) struct Row {
    pub name: &'static str,
    pub tree: Tree,
    pub job: Job,
    /// `txedit` comes first.
    pub contenders: Vec<Contender>,
    pub goals: Vec<Goal>,
    pub rounds: usize,
    /// Whether the job cannot be done, and everything must stay as it was.
    pub fails: bool,
    /// Whether the disk is one on which many files were made and deleted.
    pub churned: bool,
    /// What peak memory may be, in MB.
    pub memory: Option<u64>,
    /// Where the tools are.
    pub tools: std::path::PathBuf,
}

/// What the first contender's median may be, beside that of another.
pub(crate) struct Goal {
    pub beside: &'static str,
    pub at_most: f64,
}

/// Measures a row and prints it; answers the goals that were not met.
pub(crate) fn row(row: &Row, rounds: usize, disk: &mut Disk) -> Result<Vec<String>> {
    let medians = take_turns(row, rounds, disk)?;
    let mut unmet = print(row.name, &medians, &row.goals);
    unmet.extend(costs::print(row, &papers(row, disk.beside())?, disk)?);
    Ok(unmet)
}

/// Measures everybody of a row in turns.
pub(crate) fn take_turns<'a>(row: &'a Row, rounds: usize, disk: &mut Disk) -> Result<Vec<(&'a str, Vec<Duration>)>> {
    let expected = if row.fails { row.tree.clone() } else { row.job.expected(&row.tree) };
    let papers = papers(row, disk.beside())?;
    let mut times: Vec<(&Contender, Vec<Duration>)> = Vec::new();
    for contender in &row.contenders {
        match contender.missing(&row.tools) {
            Some(why) => println!("{}: {why}", contender.name),
            None => times.push((contender, Vec::new())),
        }
    }
    for round in 0..rounds {
        for index in 0..times.len() {
            let turn = (round + index) % times.len();
            let (contender, list) = &mut times[turn];
            list.push(once(row, contender, &papers, &expected, disk)?);
        }
    }
    Ok(times.into_iter().map(|(who, list)| (who.name, list)).collect())
}

fn papers(row: &Row, beside: &Path) -> Result<Papers> {
    let papers = Papers {
        job: beside.join("job.json"),
        request: beside.join("request.json"),
        patch: beside.join("patch"),
        list: beside.join("list"),
    };
    fs::write(&papers.job, serde_json::to_vec(&row.job)?)?;
    fs::write(&papers.request, serde_json::to_vec(&row.job.request())?)?;
    let list = row.job.files.iter().flat_map(|path| [path.as_os_str().as_encoded_bytes(), &[0]].concat());
    fs::write(&papers.list, list.collect::<Vec<u8>>())?;
    if row.contenders.iter().any(Contender::takes_patches) {
        let patch = corpus::patch(&row.tree, &row.job.expected(&row.tree), beside)?;
        // The patch that fails is one for another content of its last file.
        let patch = if row.fails { spoilt(patch) } else { patch };
        fs::write(&papers.patch, patch)?;
    }
    Ok(papers)
}

/// The last line that a patch takes away is another one.
fn spoilt(patch: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&patch).into_owned();
    match text.rfind("\n-") {
        Some(at) => [&text[..at + 2], "nothing like it ", &text[at + 2..]].concat().into_bytes(),
        None => patch,
    }
}

/// Makes the tree anew, and the state folder of who has one.
pub(crate) fn prepare(row: &Row, contender: &Contender, disk: &mut Disk) -> Result<()> {
    disk.renew()?;
    let root = disk.path();
    corpus::write(&row.tree, &root)?;
    if contender.has_state {
        fs::write(root.join("before"), "one\n")?;
        for [old, new] in [["one", "two"], ["two", "one"]] {
            let mut edit = Command::new(peers::program_of(contender));
            crate::disk::run(
                edit.args(["--root", ".", "edit", "before", "--old", old, "--new", new]).current_dir(&root),
            )?;
        }
        fs::remove_file(root.join("before"))?;
    }
    if row.churned {
        churn(&root)?;
    }
    rustix::fs::sync();
    Ok(())
}

/// Makes and deletes as many files as a day of builds.
fn churn(root: &Path) -> Result<()> {
    for generation in 0..5 {
        let folder = root.join(format!("churn_{generation}"));
        fs::create_dir(&folder)?;
        for file in 0..20_000 {
            fs::write(folder.join(file.to_string()), [0; 3000])?;
        }
        rustix::fs::sync();
        fs::remove_dir_all(&folder)?;
        rustix::fs::sync();
    }
    Ok(())
}

fn once(row: &Row, contender: &Contender, papers: &Papers, expected: &Tree, disk: &mut Disk) -> Result<Duration> {
    prepare(row, contender, disk)?;
    let root = disk.path();
    let mut command = (contender.command)(papers, &row.tools);
    command.current_dir(&root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // The tree is in nobody's repository.
    command.env("GIT_CEILING_DIRECTORIES", disk.beside()).env_remove(CARGOS_LIBRARIES);
    let started = Instant::now();
    let output = command.spawn().and_then(std::process::Child::wait_with_output);
    let took = started.elapsed();
    let output = output.map_err(|e| format!("{}: {e}", contender.name))?;
    let is_success = output.status.success();
    // What only reads has nothing that could fail.
    let is_wrong = if row.fails { is_success && !contender.only_reads } else { !is_success };
    if is_wrong {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{}: {}: {}\n{said}", row.name, contender.name, output.status).into());
    }
    let expected = if contender.only_reads { &row.tree } else { expected };
    corpus::check(expected, &root).map_err(|e| format!("{}: {}: {e}", row.name, contender.name))?;
    Ok(took)
}

pub(crate) fn median(list: &[Duration]) -> Duration {
    quantile(list, 0.5)
}

pub(crate) fn quantile(list: &[Duration], at: f64) -> Duration {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let index = ((sorted.len() - 1) as f64 * at).round() as usize;
    sorted[index]
}

/// Prints a table; answers the goals that were not met.
pub(crate) fn print(name: &str, times: &[(&str, Vec<Duration>)], goals: &[Goal]) -> Vec<String> {
    println!("\n### {name} ({} rounds)\n", times[0].1.len());
    println!("| who | median | p99 | least | {} ÷ it | goal |\n|---|---|---|---|---|---|", times[0].0);
    let first = median(&times[0].1).as_secs_f64();
    let mut unmet = Vec::new();
    for (who, list) in times {
        let ratio = first / median(list).as_secs_f64();
        let goal = goals.iter().find(|goal| goal.beside == *who).map_or_else(String::new, |goal| {
            let met = ratio <= goal.at_most;
            if !met {
                unmet.push(format!("{name}: {ratio:.2} × {who}, not {:.2}", goal.at_most));
            }
            format!("≤ {:.2}: {}", goal.at_most, if met { "met" } else { "not met" })
        });
        let [median, p99, least] = [0.5, 0.99, 0.0].map(|at| millis(quantile(list, at)));
        println!("| {who} | {median} | {p99} | {least} | {ratio:.2} | {goal} |");
    }
    unmet
}
