//! Who takes part: each a command that does a job in the tree it is started in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::disk::run;

/// `txedit`, built with this bench.
pub(crate) const TXEDIT: &str = env!("CARGO_BIN_EXE_txedit");

/// What a contender finds beside the tree.
#[derive(Debug, Clone)]
pub(crate) struct Papers {
    pub job: PathBuf,
    pub request: PathBuf,
    pub patch: PathBuf,
    /// The files, each ended by a zero byte.
    pub list: PathBuf,
}

/// Somebody who can do the job.
#[derive(Debug, Clone)]
pub(crate) struct Contender {
    pub name: &'static str,
    pub command: fn(&Papers, &Path) -> Command,
    /// Whether it has a state folder, which is there before.
    pub has_state: bool,
}

fn txedit(durability: &str) -> Command {
    let mut command = Command::new(TXEDIT);
    command.args(["--root", ".", "--quiet", "--durability", durability]);
    command
}

fn shell(script: &str, arguments: &[&Path]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).args(arguments);
    command
}

fn floor(how: &str, papers: &Papers) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.args(["floor", how]).arg(&papers.job);
    command
}

fn old_and_new(papers: &Papers) -> (String, String) {
    let job = fs::read(&papers.job).unwrap_or_default();
    let job: crate::corpus::Job = serde_json::from_slice(&job).unwrap_or_else(|e| panic!("a job: {e}"));
    job.pairs[0].clone()
}

fn with_command(mut command: Command, arguments: &[&str]) -> Command {
    command.args(arguments);
    command
}

macro_rules! contender {
    ($id:ident, $name:literal, $has_state:literal, $command:expr) => {
        pub(crate) const $id: Contender = Contender { name: $name, command: $command, has_state: $has_state };
    };
}

contender!(TX, "txedit", true, |papers, _| {
    let mut command = txedit("power");
    command.arg("apply").arg(&papers.request);
    command
});
contender!(TX_FIRST, "txedit, first commit here", false, TX.command);
contender!(TX_PROCESS, "txedit --durability process", true, |papers, _| {
    let mut command = txedit("process");
    command.arg("apply").arg(&papers.request);
    command
});
contender!(TX_REPLACE, "txedit replace", true, |papers, _| {
    let (old, new) = old_and_new(papers);
    with_command(txedit("power"), &["replace", &old, &new])
});
contender!(GIT_SYNC, "git apply + sync", false, |papers, _| shell("git apply \"$1\" && sync -f .", &[&papers.patch]));
contender!(GIT, "git apply", false, |papers, _| shell("git apply \"$1\"", &[&papers.patch]));
contender!(SED, "sed -i", false, |papers, _| {
    let (old, new) = old_and_new(papers);
    let script = format!("xargs -0 sed -i 's/{old}/{new}/g' < \"$1\"");
    shell(&script, &[&papers.list])
});
contender!(SD, "sd", false, |papers, tools| {
    let (old, new) = old_and_new(papers);
    let script = format!("xargs -0 \"$2\" --fixed-strings {old} {new} < \"$1\"");
    shell(&script, &[&papers.list, &tools.join("bin/sd")])
});
contender!(SD_FIND, "find | sd", false, |papers, tools| {
    let (old, new) = old_and_new(papers);
    let script = format!("find . -type f -print0 | xargs -0 \"$1\" --fixed-strings {old} {new}");
    shell(&script, &[&tools.join("bin/sd")])
});
contender!(FASTMOD, "fastmod", false, |papers, tools| {
    let (old, new) = old_and_new(papers);
    with_command(Command::new(tools.join("bin/fastmod")), &["--accept-all", "--fixed-strings", &old, &new])
});
contender!(PYTHON, "Python, fsync each", false, |papers, _| {
    let mut command = Command::new("python3");
    command.args(["-c", include_str!("one_by_one.py")]).arg(&papers.job);
    command
});
contender!(PERL, "perl -pi", false, |papers, _| {
    let job: crate::corpus::Job =
        serde_json::from_slice(&fs::read(&papers.job).unwrap_or_default()).unwrap_or_else(|e| panic!("a job: {e}"));
    let pairs: Vec<_> = job.pairs.iter().map(|(old, new)| format!("{old} => '{new}'")).collect();
    // One pass, however many texts there are.
    let script =
        format!("BEGIN {{ %new = ({}); }} s/(mark_\\d+)/exists $new{{$1}} ? $new{{$1}} : $1/ge", pairs.join(", "));
    let mut command = Command::new("perl");
    command.args(["-pi", "-e", &script]).args(&job.files);
    command
});
contender!(READ, "floor: read and hash", false, |papers, _| floor("read", papers));
contender!(WRITE, "floor: write in place", false, |papers, _| floor("write", papers));
contender!(RENAME, "floor: temp + rename", false, |papers, _| floor("rename", papers));
contender!(SYNCFS, "floor: temp + rename + one syncfs", false, |papers, _| floor("syncfs", papers));
contender!(FSYNC, "floor: temp + fsync + rename + fsync, each", false, |papers, _| floor("fsync", papers));
contender!(FSTX, "crate fstx", false, |papers, _| floor("fstx", papers));
contender!(FS_TRANSACTION, "crate fs-transaction", false, |papers, _| floor("fs-transaction", papers));

impl Contender {
    /// Why it cannot take part here.
    pub(crate) fn missing(&self, tools: &Path) -> Option<String> {
        let needs = match self.name {
            "sd" | "find | sd" => tools.join("bin/sd"),
            "fastmod" => tools.join("bin/fastmod"),
            "Python, fsync each" => "python3".into(),
            "perl -pi" => "perl".into(),
            "git apply" | "git apply + sync" => "git".into(),
            _ => return None,
        };
        let found = Command::new(&needs).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_err().then(|| format!("{} is not there (--install brings it)", needs.display()))
    }
}

/// Where npm puts the reference server.
pub(crate) fn reference_server(tools: &Path) -> PathBuf {
    tools.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
}

/// Brings what is missing.
pub(crate) fn install(tools: &Path) -> Result<()> {
    fs::create_dir_all(tools)?;
    for name in ["sd", "fastmod"] {
        if !tools.join("bin").join(name).exists() {
            run(Command::new("cargo").args(["install", "--locked", "--quiet", name, "--root"]).arg(tools))?;
        }
    }
    if !reference_server(tools).exists() {
        let package = "@modelcontextprotocol/server-filesystem";
        run(Command::new("npm").args(["install", "--silent", "--no-save", package, "--prefix"]).arg(tools))?;
    }
    Ok(())
}

/// Who they are.
pub(crate) fn versions(tools: &Path) -> String {
    let [sd, fastmod] = ["bin/sd", "bin/fastmod"].map(|name| tools.join(name));
    let programs = [Path::new(TXEDIT), Path::new("git"), Path::new("python3"), &sd, &fastmod];
    let said = programs.iter().filter_map(|program| {
        let said = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
    });
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    said.chain([format!("Linux {}", release.trim())]).collect::<Vec<_>>().join(", ")
}
