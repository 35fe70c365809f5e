//! The common options, validated once.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

use super::args::{self, Common};
use super::config::{self, CheckCommand, ConfigFile, RootConfig, Seconds};
use super::denied::{self, Denied};
use super::home::{unfit_folders, user_state};
use crate::check::process::TRANSACTION;
use crate::check::{Check, CheckIn};
use crate::engine::{Durability, Engine, Retention, Settings, is_of_parts_alone};
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::journal::Swap;
use crate::limits;
use crate::path::STATE_FOLDER;
use crate::path::bounds::VCS_FOLDERS;
use crate::request::validate::is_name;

/// The wait for locks.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that a check may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(600);

/// What a time must be.
pub(super) const TIME: &str = "a time must be a number of seconds, 0 or more";

/// Why an empty check is refused: probably a variable was forgotten.
pub(super) const EMPTY_CHECK: &str = "is empty and would check nothing: give a command, or leave it out";

/// The variable that names the session of the caller.
const SESSION: &str = "TXEDIT_SESSION";

/// The variable that names the state folder of this workspace, and of no other.
pub(crate) const STATE_DIR: &str = "TXEDIT_STATE_DIR";

/// The word for a value of an option.
trait ValueName {
    fn name(&self) -> String;
}

impl<T: ValueEnum> ValueName for T {
    fn name(&self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// The common options, validated.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct CommonOptions {
    /// The workspace.
    root: Root,
    /// True if an option or a variable names it.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "only a server asks somebody else"))]
    is_named: bool,
    /// The folder that relative paths of the command line start from.
    pub(crate) current: PathBuf,
    /// What was typed, and the settings file: another workspace may want something else.
    asked: (Common, ConfigFile),
    /// What counts in the workspace.
    chosen: Chosen,
    /// How new contents take the place of old ones.
    pub(crate) swap: Swap,
    /// The longest wait for locks.
    lock_timeout: Duration,
    /// True if a plan, or a client of the server, may name a check.
    pub(crate) allow_checks: bool,
    /// The time limit of a check.
    pub(crate) check_limit: Duration,
    /// The state folder that was named, absolute.
    state_dir: Option<PathBuf>,
    /// The session of the caller.
    session: Option<String>,
    /// True if version control folders may be read and written.
    allow_vcs: bool,
    /// True if a request may set the set-user-id or set-group-id bit.
    allow_set_id: bool,
    /// The transaction whose check started this program.
    pub(crate) inside: Option<String>,
    /// True if the result is JSON.
    pub(crate) json: bool,
    /// True if notes and progress bars are hidden.
    pub(crate) quiet: bool,
    /// True if all files and edits are listed.
    pub(crate) verbose: bool,
}

impl CommonOptions {
    /// Validates what was typed.
    pub(crate) fn new(common: &Common, config: &ConfigFile) -> Result<Self> {
        let current = current_folder(&common.folders)?;
        let unfit = unfit_folders();
        let asked_for = root_asked_for(common.root.as_ref(), env::var_os("CLAUDE_PROJECT_DIR"));
        let is_named = asked_for.is_some();
        let root = match asked_for {
            Some((name, folder)) => root_named(name, named_folder(name, &current.join(folder))?, &unfit)?,
            None => root_around(&current, &unfit),
        };
        let check_limit = time("--check-timeout", common.check_timeout, config.check_timeout, CHECK_TIMEOUT)?;
        // A script may ask for a quiet run in an environment that asks for a verbose one.
        let verbose = common.verbose && !common.quiet;
        let chosen = Chosen::new(common, config.at(root.folder()), check_limit)?;
        Ok(Self {
            asked: (common.clone(), config.clone()),
            chosen,
            root,
            is_named,
            swap: match common.swap.or(config.swap).unwrap_or_default() {
                args::SwapArg::Auto => Swap::Auto,
                args::SwapArg::Exchange => Swap::Exchange,
                args::SwapArg::Aside => Swap::Aside,
                args::SwapArg::InPlace => Swap::InPlace,
            },
            lock_timeout: time("--lock-timeout", common.lock_timeout, config.lock_timeout, LOCK_TIMEOUT)?,
            allow_checks: common.allow_checks,
            check_limit,
            state_dir: state_dir(common.state_dir.as_deref(), &current)?,
            session: session()?,
            allow_vcs: common.allow_vcs,
            allow_set_id: common.allow_set_id,
            inside: env::var(TRANSACTION).ok(),
            json: common.json,
            quiet: common.quiet,
            verbose,
            current,
        })
    }

    /// The workspace, absolute.
    pub(crate) fn root(&self) -> Result<&Path> {
        match &self.root {
            Root::Certain(root) | Root::Current(root) => Ok(root),
            Root::Unfit(folder) => Err(unfit(folder)),
        }
    }

    /// Returns whether the workspace was named, by the option or by a variable, and can be one.
    #[cfg(feature = "mcp")]
    pub(crate) fn is_named(&self) -> bool {
        self.is_named && matches!(self.root, Root::Certain(_))
    }

    /// Refuses an option that names one workspace, for a command about none or many; a variable stays for the others.
    pub(crate) fn refuse_workspace(&self, why: &str) -> Result<()> {
        let common = &self.asked.0;
        let is_typed = |is_there: bool, variable: &str| is_there && env::var_os(variable).is_none();
        if is_typed(common.root.is_some(), "TXEDIT_ROOT") {
            return Err(usage("--root", why));
        }
        if is_typed(common.state_dir.is_some(), STATE_DIR) {
            return Err(usage("--state-dir", why));
        }
        Ok(())
    }

    /// The options that say how each command works, as they were typed, to be passed on to others.
    pub(crate) fn of_each_command(&self) -> Vec<String> {
        let common = &self.asked.0;
        let word = |value: Option<&dyn ValueName>| value.map(ValueName::name);
        let text = |value: &Option<OsString>| value.as_ref().map(|value| value.to_string_lossy().into_owned());
        let valued = [
            ("durability", word(common.durability.as_ref().map(|value| value as _))),
            ("swap", word(common.swap.as_ref().map(|value| value as _))),
            ("check-in", word(common.check_in.as_ref().map(|value| value as _))),
            ("lock-timeout", common.lock_timeout.map(|value| value.to_string())),
            ("check", text(&common.check)),
            ("check-timeout", common.check_timeout.map(|value| value.to_string())),
        ];
        let flags = [
            ("allow-checks", common.allow_checks),
            ("allow-vcs", common.allow_vcs),
            ("allow-set-id", common.allow_set_id),
        ];
        let valued = valued.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?)));
        let flags = flags.into_iter().filter(|(_, is)| *is).map(|(name, _)| format!("--{name}"));
        let through = common.through.iter().map(|folder| format!("--through={}", folder.display()));
        let deny = denied::of_environment().into_iter().chain(common.deny.iter().cloned());
        let deny = deny.map(|glob| format!("--deny={glob}"));
        valued.chain(flags).chain(through).chain(deny).collect()
    }

    /// Opens the engine of the workspace.
    pub(crate) fn engine(&self) -> Result<Engine> {
        self.engine_at(self.root()?)
    }

    /// Opens the engine of a folder that the user did not name, but perhaps a client.
    #[cfg(feature = "mcp")]
    pub(crate) fn engine_of_client(&self, root: &Path) -> Result<Engine> {
        let real = root.canonicalize().map_err(|e| Error::io("find", root, e))?;
        if unfit_folders().contains(&real) { Err(unfit(&real)) } else { self.engine_at(&real) }
    }

    /// Opens the engine of a root that was opened before, and whose folder was made anew since.
    #[cfg(feature = "mcp")]
    pub(crate) fn engine_again(&self, root: &Path) -> Result<Engine> {
        self.engine_at(root)
    }

    fn engine_at(&self, root: &Path) -> Result<Engine> {
        let (common, config) = &self.asked;
        let chosen = Chosen::new(common, config.at(root), self.check_limit)?;
        let engine = Engine::open_with(root, self.settings(&chosen))?.inside_of(self.inside.clone());
        let settings = config::names()?;
        let settings = settings.iter().filter_map(|file| Some(file.strip_prefix(engine.root()).ok()?.to_owned()));
        let mut bounds = denied::at(engine.root(), &chosen.denied)?.barring_settings(settings.collect());
        if self.allow_vcs {
            bounds = bounds.allowing_vcs();
        }
        let engine = engine.with_check(chosen.check).with_bounds(bounds);
        let engine = if self.allow_set_id { engine } else { engine.refusing_set_id() };
        Ok(if self.allow_checks { engine.allowing_checks() } else { engine })
    }

    /// What is doubtful in the settings file.
    pub(crate) fn settings_warnings(&self) -> Result<Vec<String>> {
        self.asked.1.warnings()
    }

    /// The settings of an engine in a folder that was just made, which has its state in it.
    pub(crate) fn scratch_settings(&self) -> Settings {
        self.settings(&self.chosen).state_dir(None)
    }

    /// The settings of the engine.
    fn settings(&self, chosen: &Chosen) -> Settings {
        Settings {
            durability: chosen.durability,
            swap: self.swap,
            lock_timeout: self.lock_timeout,
            retention: Retention::default(),
            program: concat!("txedit ", env!("CARGO_PKG_VERSION")).to_owned(),
            check_in: chosen.check_in,
            through: chosen.through.clone(),
            session: self.session.clone(),
            user_state: user_state(),
            state_dir: self.state_dir.clone(),
        }
    }

    /// The failures that a commit survives.
    pub(crate) fn durability(&self) -> Durability {
        self.chosen.durability
    }

    /// The options with which this program is started again to commit something in the same way.
    pub(crate) fn for_children(&self) -> [&'static str; 4] {
        let durability = match self.chosen.durability {
            Durability::Power => "power",
            Durability::Process => "process",
        };
        ["--durability", durability, "--swap", self.swap.as_str()]
    }
}

/// What counts in one workspace: what was typed or is in the environment, else what the settings file has.
#[derive(Debug, Clone)]
struct Chosen {
    /// The failures that a commit survives.
    durability: Durability,
    /// The check: a command that decides, with the new files in place, whether they stay.
    check: Option<Check>,
    /// Where checks run.
    check_in: CheckIn,
    /// The folders that are real in a view.
    through: Vec<PathBuf>,
    /// The denied globs.
    denied: Vec<Denied>,
}

impl Chosen {
    fn new(common: &Common, of_file: RootConfig, check_limit: Duration) -> Result<Self> {
        let RootConfig { deny, mut through, durability, check: of_file, check_in } = of_file;
        through.extend(common.through.iter().cloned());
        let check = match (&common.check, of_file) {
            (Some(command), _) => Some(typed_check(command, check_limit)?),
            (None, Some(CheckCommand(command))) => Some(check(command.into(), check_limit)),
            (None, None) => None,
        };
        Ok(Self {
            durability: match common.durability.or(durability).unwrap_or_default() {
                args::DurabilityArg::Power => Durability::Power,
                args::DurabilityArg::Process => Durability::Process,
            },
            check,
            check_in: match common.check_in.or(check_in).unwrap_or_default() {
                args::CheckInArg::Auto => CheckIn::Auto,
                args::CheckInArg::View => CheckIn::View,
                args::CheckInArg::Tree => CheckIn::Tree,
            },
            through,
            denied: denied::globs(deny, common)?,
        })
    }
}

/// The folder that relative paths start from: that of the process, changed by each folder in turn.
fn current_folder(changes: &[PathBuf]) -> Result<PathBuf> {
    let started = env::current_dir().map_err(|e| Error::io("find", "the current folder", e))?;
    changes.iter().try_fold(started, |current, folder| {
        let next = current.join(folder);
        if !next.is_dir() {
            return Err(usage("-C", format!("-C names {}, which is not a folder", next.display())));
        }
        next.canonicalize().map_err(|e| Error::io("find", &next, e))
    })
}

/// The state folder that was named.
fn state_dir(named: Option<&Path>, current: &Path) -> Result<Option<PathBuf>> {
    let Some(named) = named else { return Ok(None) };
    if named.file_name().is_none() {
        return Err(usage("--state-dir", format!("--state-dir names {}, which ends in no name", named.display())));
    }
    Ok(Some(current.join(named)))
}

/// The session that the environment names. An empty one is none.
fn session() -> Result<Option<String>> {
    let Some(name) = env::var_os(SESSION).filter(|name| !name.is_empty()) else { return Ok(None) };
    match name.into_string() {
        Ok(name) if is_name(&name) => Ok(Some(name)),
        _ => Err(usage(SESSION, session_words())),
    }
}

/// What the name of a session must be.
pub(super) fn session_words() -> String {
    format!("the name of a session has 1 to {} bytes and no control characters", limits::SESSION_BYTES)
}

pub(super) fn seconds(option: &str, seconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| usage(option, TIME))
}

/// The time that counts: the one that was typed, else that of the settings file.
fn time(option: &str, typed: Option<f64>, of_file: Option<Seconds>, otherwise: Duration) -> Result<Duration> {
    match (typed, of_file) {
        (Some(typed), _) => seconds(option, typed),
        (None, Some(Seconds(time))) => Ok(time),
        (None, None) => Ok(otherwise),
    }
}

/// A usage error.
pub(crate) fn usage(argument: &str, message: impl Into<String>) -> Error {
    let finding = Finding {
        kind: ErrorKind::ValidationFailed,
        message: message.into(),
        path: vec![argument.to_owned()],
        did_you_mean: None,
    };
    Error::findings(vec![finding])
}

/// The check of an option or of its variable.
fn typed_check(command: &OsString, limit: Duration) -> Result<Check> {
    if command.as_bytes().trim_ascii().is_empty() {
        return Err(usage("--check", format!("--check (or TXEDIT_CHECK) {EMPTY_CHECK}")));
    }
    Ok(check(command.clone(), limit))
}

fn check(command: OsString, limit: Duration) -> Check {
    Check { command: ["sh".into(), "-c".into(), command].to_vec(), limit }
}

/// The option that names the root.
const OPTION: &str = "--root";

/// The root that was named, and the option or variable that named it. An empty variable does not count.
fn root_asked_for(root: Option<&PathBuf>, project: Option<OsString>) -> Option<(&'static str, PathBuf)> {
    if let Some(root) = root {
        return Some((OPTION, root.clone()));
    }
    project.filter(|p| !p.is_empty()).map(|p| ("CLAUDE_PROJECT_DIR", PathBuf::from(p)))
}

/// The root, validated. Some clients set the variable to wherever they were started, even the home folder: only the
/// option may name an unfit folder.
fn root_named(name: &str, folder: PathBuf, unfit: &[PathBuf]) -> Result<Root> {
    let real = folder.canonicalize().map_err(|e| Error::io("find", &folder, e))?;
    Ok(if name != OPTION && unfit.contains(&real) { Root::Unfit(real) } else { Root::Certain(folder) })
}

fn named_folder(name: &str, folder: &Path) -> Result<PathBuf> {
    if folder.is_dir() {
        return Ok(folder.to_owned());
    }
    Err(usage(
        name,
        format!("{name} names {}, which is not a folder; name the folder of the project", folder.display()),
    ))
}

/// The workspace, and how certain it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Root {
    /// It was named, or a state folder or version control marks it.
    Certain(PathBuf),
    /// It is only the current folder.
    Current(PathBuf),
    /// The current folder cannot be the workspace unless it is named.
    Unfit(PathBuf),
}

impl Root {
    fn folder(&self) -> &Path {
        match self {
            Self::Certain(folder) | Self::Current(folder) | Self::Unfit(folder) => folder,
        }
    }
}

fn unfit(folder: &Path) -> Error {
    let message = format!(
        "{} is a workspace only if it is named: name the folder of the project, or this one, with --root",
        folder.display()
    );
    usage("--root", message)
}

/// Returns whether a folder has a state folder that is more than a place for the parts of a workspace above it.
fn has_state(folder: &Path) -> bool {
    let state = folder.join(STATE_FOLDER);
    state.is_dir() && !is_of_parts_alone(|name| Some(state.join(name).read_dir().ok()?.count()))
}

/// The nearest folder upwards with a state folder or a version control folder, else `current` itself. A marker in an
/// unfit folder does not count.
fn root_around(current: &Path, unfit: &[PathBuf]) -> Root {
    let marked = |folder: &&Path| {
        let is_marked =
            has_state(folder) || VCS_FOLDERS.iter().any(|name| folder.join(name).symlink_metadata().is_ok());
        is_marked && !unfit.iter().any(|unfit| unfit == folder)
    };
    match current.ancestors().find(marked) {
        Some(marked) => Root::Certain(marked.to_owned()),
        None if unfit.iter().any(|unfit| unfit == current) => Root::Unfit(current.to_owned()),
        None => Root::Current(current.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_beats_the_variable_and_an_empty_variable_is_none() {
        let option = PathBuf::from("/a");
        assert_eq!(root_asked_for(Some(&option), Some("/b".into())), Some(("--root", option)));
        assert_eq!(root_asked_for(None, Some("/b".into())), Some(("CLAUDE_PROJECT_DIR", PathBuf::from("/b"))));
        assert_eq!(root_asked_for(None, Some("".into())), None);
    }

    #[test]
    fn the_nearest_marked_folder_is_the_root() {
        let scratch = tempfile::tempdir().unwrap();
        let deep = scratch.path().join("outer/inner/deep");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir(scratch.path().join("outer/.hg")).unwrap();
        let certain = |folder: PathBuf| Root::Certain(folder);
        assert_eq!(root_around(&deep, &[]), certain(scratch.path().join("outer")));
        std::fs::write(scratch.path().join("outer/inner/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(root_around(&deep, &[]), certain(scratch.path().join("outer/inner")));
        std::fs::create_dir(deep.join(STATE_FOLDER)).unwrap();
        assert_eq!(root_around(&deep, &[]), certain(deep.clone()));
        let unfit = [deep.clone(), scratch.path().join("outer/inner"), scratch.path().join("outer")];
        assert_eq!(root_around(&deep, &unfit), Root::Unfit(deep.clone()));
        assert_eq!(root_around(&deep.join("x"), &unfit), Root::Current(deep.join("x")));
    }
}
