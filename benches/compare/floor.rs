//! Floors: the least that a program does which edits files, with one promise after the other left out. Each runs in a
//! process of its own, as the others do.

use std::fs::{self, File};
use std::io::{BufRead, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::corpus::{Job, replace};
use crate::promised::{self, Moves};
use crate::{Result, every_call, layers, mcp_floor};

/// `floor HOW JOB`, in the tree; of those that are to understand it, the job is a request.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [how, rest @ ..] = arguments else { return Err("floor HOW JOB".into()) };
    match how.as_str() {
        "serve" => return serve(replace_file),
        "serve what is promised" => return serve_promised(),
        "serve every call" => return mcp_floor::serve(),
        _ => {}
    }
    let paper = fs::read(rest.first().ok_or("floor HOW JOB")?)?;
    let job = if how.starts_with("understood") { Job::of_request(&paper)? } else { serde_json::from_slice(&paper)? };
    match how.as_str() {
        "read" => read(&job),
        "write" => write_in_place(&job),
        "rename" => rename(&job),
        "syncfs twice" => stage(&job).and_then(|()| sync()).and_then(|()| name(&job)).and_then(|()| sync()),
        "promised" => commit(&job, Moves::Exchange),
        "promised step by step" => commit(&job, Moves::StepByStep),
        "every call" | "understood" => every_call::commit(&files(&job), |old| job.apply(old), 1),
        "every call, refused" | "understood, refused" => every_call::refuse(&files(&job), |old| job.apply(old)),
        "syncfs" => rename(&job).and_then(|()| sync()),
        "fsync" => job.files.iter().try_for_each(|path| replace_file(path, &job.apply(&fs::read(path)?))),
        "fstx" => layers::fstx(&job),
        "fs-transaction" => layers::fs_transaction(&job),
        _ => Err(format!("no floor is called {how}").into()),
    }
}

/// What is promised, and no more.
fn commit(job: &Job, moves: Moves) -> Result<()> {
    promised::commit(&files(job), |old| job.apply(old), 1, moves)
}

fn files(job: &Job) -> Vec<&Path> {
    job.files.iter().map(PathBuf::as_path).collect()
}

/// Reads and hashes.
fn read(job: &Job) -> Result<()> {
    for path in &job.files {
        std::hint::black_box(blake3::hash(&fs::read(path)?));
    }
    Ok(())
}

/// Writes over what is there: half of it is lost with the power, or with the process.
fn write_in_place(job: &Job) -> Result<()> {
    job.files.iter().try_for_each(|path| Ok(fs::write(path, job.apply(&fs::read(path)?))?))
}

fn beside(path: &Path) -> PathBuf {
    path.with_extension("tmp")
}

/// Stages all, renames all, syncs nothing.
fn rename(job: &Job) -> Result<()> {
    stage(job)?;
    name(job)
}

fn stage(job: &Job) -> Result<()> {
    job.files.iter().try_for_each(|path| Ok(fs::write(beside(path), job.apply(&fs::read(path)?))?))
}

fn name(job: &Job) -> Result<()> {
    job.files.iter().try_for_each(|path| Ok(fs::rename(beside(path), path)?))
}

fn sync() -> Result<()> {
    Ok(rustix::fs::syncfs(File::open(".")?)?)
}

/// Temp file, fsync, rename, fsync of the folder: what one file needs to survive a power cut.
fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    let temp = beside(path);
    let file = File::create(&temp)?;
    file.write_all_at(content, 0)?;
    file.sync_all()?;
    fs::rename(temp, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
}

/// Like [`serve`], with all that is promised.
fn serve_promised() -> Result<()> {
    let mut commits = 0;
    serve(|path, content| {
        commits += 1;
        promised::commit(&[path], |_| content.to_vec(), commits, Moves::Exchange)
    })
}

/// One JSON line in, one out: the least server that edits a file and has it on the disk before it answers.
fn serve(mut replace_file: impl FnMut(&Path, &[u8]) -> Result<()>) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let call: serde_json::Value = serde_json::from_str(&line?)?;
        let text = |name: &str| call[name].as_str().ok_or_else(|| format!("{name} is missing"));
        let path = Path::new(text("path")?);
        replace_file(path, &replace(&fs::read(path)?, text("old")?, text("new")?))?;
        writeln!(out, "{}", serde_json::json!({ "success": true }))?;
        out.flush()?;
    }
    Ok(())
}
