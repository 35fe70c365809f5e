//! Who takes part: each a command that does a job in the tree it is started in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::Result;
use crate::disk::run;

/// The program that is measured, if not the one that was built with this bench.
pub(crate) static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// `txedit`.
pub(crate) fn program() -> &'static Path {
    PROGRAM.get().map_or(Path::new(env!("CARGO_BIN_EXE_txedit")), PathBuf::as_path)
}

/// An earlier one, to be measured beside it.
pub(crate) static BEFORE: OnceLock<PathBuf> = OnceLock::new();

/// The `txedit` that makes the state folder of a contender.
pub(crate) fn program_of(contender: &Contender) -> &'static Path {
    if contender.name == TX_BEFORE.name { before() } else { program() }
}

fn before() -> &'static Path {
    BEFORE.get().map_or(program(), PathBuf::as_path)
}

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
    /// The program that it is, where that may be missing; one with a slash is among the tools.
    needs: Option<&'static str>,
    /// Whether it leaves the files as they are.
    pub only_reads: bool,
}

impl Contender {
    const fn new(name: &'static str, command: fn(&Papers, &Path) -> Command) -> Self {
        Self { name, command, has_state: false, needs: None, only_reads: false }
    }

    const fn with_state(self) -> Self {
        Self { has_state: true, ..self }
    }

    const fn needing(self, program: &'static str) -> Self {
        Self { needs: Some(program), ..self }
    }

    const fn only_reading(self) -> Self {
        Self { only_reads: true, ..self }
    }

    pub(crate) fn takes_patches(&self) -> bool {
        self.needs == Some("git")
    }

    /// Why it cannot take part here.
    pub(crate) fn missing(&self, tools: &Path) -> Option<String> {
        let program = self.needs?;
        let is_tool = program.contains('/');
        let program = if is_tool { tools.join(program) } else { program.into() };
        let advice = if is_tool { " (--install brings it)" } else { "" };
        let found = Command::new(&program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_err().then(|| format!("{} is not there{advice}", program.display()))
    }
}

fn txedit(durability: &str) -> Command {
    txedit_by(program(), durability)
}

fn txedit_by(program: &Path, durability: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["--root", ".", "--quiet", "--durability", durability]);
    command
}

fn checked(place: &str, papers: &Papers) -> Command {
    let mut command = txedit("power");
    command.args(["--check-in", place, "--check", "true", "apply"]).arg(&papers.request);
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

/// The interpreter itself: what stands in the path may be a script that looks for it, which takes longer than the job.
fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let said = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        said.map_or_else(|_| "python3".to_owned(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned())
    })
}

fn old_and_new(papers: &Papers) -> (String, String) {
    let job = fs::read(&papers.job).unwrap_or_default();
    let job: crate::corpus::Job = serde_json::from_slice(&job).unwrap_or_else(|e| panic!("a job: {e}"));
    job.pairs[0].clone()
}

/// Replaces the text in the files of the list.
fn sed(papers: &Papers) -> String {
    let (old, new) = old_and_new(papers);
    format!("xargs -0 sed -i 's/{old}/{new}/g' < \"$1\"")
}

/// Finds the files that have the text, and replaces it there.
fn grep_and_sed(papers: &Papers) -> String {
    let (old, new) = old_and_new(papers);
    format!("grep -rlZ --exclude-dir=.txedit '{old}' . | xargs -0 sed -i 's/{old}/{new}/g'")
}

fn run_in_view(script: &str, papers: &Papers) -> Command {
    let mut command = txedit("power");
    command.args(["run", "--", "sh", "-c", script, "sh"]).arg(&papers.list);
    command
}

fn with_command(mut command: Command, arguments: &[&str]) -> Command {
    command.args(arguments);
    command
}

pub(crate) const TX: Contender = Contender::new("txedit", |papers, _| {
    let mut command = txedit("power");
    command.arg("apply").arg(&papers.request);
    command
})
.with_state();
/// The earlier `txedit`, where there is one.
pub(crate) const TX_BEFORE: Contender = Contender::new("txedit before", |papers, _| {
    let mut command = txedit_by(before(), "power");
    command.arg("apply").arg(&papers.request);
    command
})
.with_state();
pub(crate) const TX_FIRST: Contender = Contender::new("txedit, first commit here", TX.command);
pub(crate) const TX_PROCESS: Contender = Contender::new("txedit --durability process", |papers, _| {
    let mut command = txedit("process");
    command.arg("apply").arg(&papers.request);
    command
})
.with_state();
pub(crate) const TX_ASIDE: Contender = Contender::new("txedit --swap aside", |papers, _| {
    let mut command = txedit("power");
    command.args(["--swap", "aside", "apply"]).arg(&papers.request);
    command
})
.with_state();
pub(crate) const TX_REPLACE: Contender = Contender::new("txedit replace", |papers, _| {
    let (old, new) = old_and_new(papers);
    with_command(txedit("power"), &["replace", &old, &new])
})
.with_state();
pub(crate) const TX_RUN: Contender =
    Contender::new("txedit run -- sed -i", |papers, _| run_in_view(&sed(papers), papers)).with_state();
pub(crate) const TX_RUN_SEARCH: Contender =
    Contender::new("txedit run -- grep | sed -i", |papers, _| run_in_view(&grep_and_sed(papers), papers)).with_state();
/// The least that a view and a commit of it need: an overlay, what was written copied to its place, one sync.
pub(crate) const OVERLAY: Contender = Contender::new("sed -i in an overlay, cp, sync", |papers, _| {
    // Unmounted before anything is copied: a mount that ends with its name space may outlive the process for a moment.
    let inside =
        format!("mount -t overlay -o \"$2\" overlay \"$PWD\" && (cd \"$PWD\" && {}) && umount \"$PWD\"", sed(papers));
    let script = format!(
        "mkdir -p .overlay/upper .overlay/work && \
         layers=lowerdir=$PWD,upperdir=$PWD/.overlay/upper,workdir=$PWD/.overlay/work && \
         unshare --mount sh -c '{}' sh \"$1\" \"$layers\" && \
         cp -r --preserve=mode .overlay/upper/. . && rm -rf .overlay && sync -f .",
        inside.replace('\'', "'\\''")
    );
    shell(&script, &[&papers.list])
});
pub(crate) const TX_CHECK_VIEW: Contender =
    Contender::new("txedit, a check in a view", |papers, _| checked("view", papers)).with_state();
pub(crate) const TX_CHECK_TREE: Contender =
    Contender::new("txedit, a check in the tree", |papers, _| checked("tree", papers)).with_state();
pub(crate) const GIT_SYNC: Contender =
    Contender::new("git apply + sync", |papers, _| shell("git apply \"$1\" && sync -f .", &[&papers.patch]))
        .needing("git");
pub(crate) const GIT: Contender =
    Contender::new("git apply", |papers, _| shell("git apply \"$1\"", &[&papers.patch])).needing("git");
pub(crate) const SED: Contender = Contender::new("sed -i", |papers, _| shell(&sed(papers), &[&papers.list]));
pub(crate) const SEARCH: Contender =
    Contender::new("grep | sed -i", |papers, _| shell(&grep_and_sed(papers), &[&papers.list]));
pub(crate) const SD: Contender = Contender::new("sd", |papers, tools| {
    let (old, new) = old_and_new(papers);
    let script = format!("xargs -0 \"$2\" --fixed-strings {old} {new} < \"$1\"");
    shell(&script, &[&papers.list, &tools.join("bin/sd")])
})
.needing("bin/sd");
pub(crate) const SD_FIND: Contender = Contender::new("find | sd", |papers, tools| {
    let (old, new) = old_and_new(papers);
    let script = format!("find . -type f -print0 | xargs -0 \"$1\" --fixed-strings {old} {new}");
    shell(&script, &[&tools.join("bin/sd")])
})
.needing("bin/sd");
pub(crate) const FASTMOD: Contender = Contender::new("fastmod", |papers, tools| {
    let (old, new) = old_and_new(papers);
    with_command(Command::new(tools.join("bin/fastmod")), &["--accept-all", "--fixed-strings", &old, &new])
})
.needing("bin/fastmod");
pub(crate) const PYTHON: Contender = Contender::new("Python, fsync each", |papers, _| {
    let mut command = Command::new(python());
    command.args(["-c", include_str!("one_by_one.py")]).arg(&papers.job);
    command
})
.needing("python3");
pub(crate) const PERL: Contender = Contender::new("perl -pi", |papers, _| {
    let job: crate::corpus::Job =
        serde_json::from_slice(&fs::read(&papers.job).unwrap_or_default()).unwrap_or_else(|e| panic!("a job: {e}"));
    let pairs: Vec<_> = job.pairs.iter().map(|(old, new)| format!("{old} => '{new}'")).collect();
    // One pass, however many texts there are.
    let script =
        format!("BEGIN {{ %new = ({}); }} s/(mark_\\d+)/exists $new{{$1}} ? $new{{$1}} : $1/ge", pairs.join(", "));
    let mut command = Command::new("perl");
    command.args(["-pi", "-e", &script]).args(&job.files);
    command
})
.needing("perl");
pub(crate) const READ: Contender =
    Contender::new("floor: read and hash", |papers, _| floor("read", papers)).only_reading();
pub(crate) const WRITE: Contender = Contender::new("floor: write in place", |papers, _| floor("write", papers));
pub(crate) const RENAME: Contender = Contender::new("floor: temp + rename", |papers, _| floor("rename", papers));
pub(crate) const SYNCFS: Contender =
    Contender::new("floor: temp + rename + one syncfs", |papers, _| floor("syncfs", papers));
/// The least of what can be rolled back: all new contents on the disk before the first file has one, then all names.
pub(crate) const SYNCFS_TWICE: Contender =
    Contender::new("floor: temp + syncfs + rename + syncfs", |papers, _| floor("syncfs twice", papers));
/// The least of what is promised: nobody who promises it takes less.
pub(crate) const PROMISED: Contender =
    Contender::new("floor: the bare protocol", |papers, _| floor("promised", papers));
pub(crate) const PROMISED_ASIDE: Contender =
    Contender::new("floor: the bare protocol step by step", |papers, _| floor("promised step by step", papers));
/// The bare protocol with the other calls that `txedit` makes.
pub(crate) const EVERY_CALL: Contender =
    Contender::new("floor: the calls of txedit", |papers, _| floor("every call", papers));
pub(crate) const EVERY_CALL_REFUSED: Contender =
    Contender::new("floor: the calls of txedit", |papers, _| floor("every call, refused", papers)).only_reading();
/// The same, by the request, read as `txedit` reads it.
pub(crate) const UNDERSTOOD: Contender = Contender::new(READ_REQUEST, |papers, _| by_request("understood", papers));
pub(crate) const UNDERSTOOD_REFUSED: Contender =
    Contender::new(READ_REQUEST, |papers, _| by_request("understood, refused", papers)).only_reading();
const READ_REQUEST: &str = "floor: these calls, and the request read";

fn by_request(how: &str, papers: &Papers) -> Command {
    floor(how, &Papers { job: papers.request.clone(), ..papers.clone() })
}

/// Looks for the text, and names the files that have it.
pub(crate) const RG: Contender = Contender::new("rg -l", |papers, _| {
    let (old, _) = old_and_new(papers);
    with_command(Command::new("rg"), &["-l", "--fixed-strings", &old])
})
.needing("rg")
.only_reading();
pub(crate) const FSYNC: Contender =
    Contender::new("floor: temp + fsync + rename + fsync, each", |papers, _| floor("fsync", papers));
pub(crate) const FSTX: Contender = Contender::new("crate fstx", |papers, _| floor("fstx", papers));
pub(crate) const FS_TRANSACTION: Contender =
    Contender::new("crate fs-transaction", |papers, _| floor("fs-transaction", papers));

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
    let programs = [program(), Path::new("git"), Path::new("python3"), &sd, &fastmod];
    let said = programs.iter().filter_map(|program| {
        let said = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
    });
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    said.chain([format!("Linux {}", release.trim())]).collect::<Vec<_>>().join(", ")
}
