//! The sources of settings: the user's file, that of the workspace, the environment, flags.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{input, os};
use crate::request::validate::Findings;

/// The file in the workspace.
const WORKSPACE_FILE: &str = ".txedit.toml";

/// The most bytes of a configuration.
const FILE_BYTES: u64 = 1 << 20;

/// Settings given with the call, or when the server was started.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flags {
    /// The model.
    pub model: Option<String>,
    /// The time limit in seconds.
    pub timeout: Option<f64>,
    /// The most bytes of a file that is shown to the delegate.
    pub file_bytes: Option<u64>,
    /// The most bytes of a prompt that is an argument.
    pub prompt_bytes: Option<u64>,
}

/// A value, and its source.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) place: String,
}

/// The settings of one source, not validated yet.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Layer {
    /// The place at which it denies paths. Only the command line does, by the user's file.
    pub(super) deny: Option<String>,
    pub(super) program: Option<At<String>>,
    pub(super) args: Option<At<Vec<String>>>,
    pub(super) model: Option<At<String>>,
    pub(super) timeout: Option<At<f64>>,
    pub(super) file_bytes: Option<At<i64>>,
    pub(super) prompt_bytes: Option<At<i64>>,
    pub(super) roles: Vec<(String, At<String>)>,
}

/// All sources, the weakest first.
pub(super) fn layers(engine: &Engine, flags: &Flags, findings: &mut Findings) -> Result<Vec<Layer>> {
    let mut layers = Vec::new();
    if let Some(path) = user_file() {
        match input::read_file(&path, FILE_BYTES) {
            Ok(bytes) => layers.extend(read::<UserFile>(&bytes, &path, findings)),
            Err(error) if error.kind() == ErrorKind::FileNotFound => {}
            Err(error) => return Err(error),
        }
    }
    let path = engine.root().join(WORKSPACE_FILE);
    match engine.read(&path, FILE_BYTES) {
        Ok(content) => {
            let layer = read::<WorkspaceFile>(&content.bytes, &path, findings);
            layers.extend(layer.map(|layer| of_workspace(layer, findings)));
        }
        Err(error) if matches!(error.kind(), ErrorKind::FileNotFound | ErrorKind::PathDenied) => {}
        Err(error) => return Err(error),
    }
    layers.push(of_environment(&|name| env::var_os(name), findings));
    layers.push(of_flags(flags));
    Ok(layers)
}

/// The user's configuration file, `config.toml`.
fn user_file() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || [env::home_dir(), os::home_of_user()].into_iter().flatten().find(|home| home.is_absolute());
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))?;
    Some(folder.join("txedit/config.toml"))
}

/// The user's configuration file, as far as it is about delegates. The command line reads the rest, and refuses what it does
/// not know.
#[derive(Debug, Deserialize)]
struct UserFile {
    #[serde(default)]
    delegate: Table,
}

/// The configuration file of a repository, which is not to choose anything else.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkspaceFile {
    /// Globs that every command denies count in the user's file only.
    deny: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    delegate: Table,
}

impl From<UserFile> for WorkspaceFile {
    fn from(UserFile { delegate }: UserFile) -> Self {
        Self { deny: None, delegate }
    }
}

/// The settings of delegates in a configuration file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    program: Option<Spanned<String>>,
    args: Option<Spanned<Vec<String>>>,
    model: Option<Spanned<String>>,
    timeout: Option<Spanned<f64>>,
    max_file_bytes: Option<Spanned<i64>>,
    max_prompt_bytes: Option<Spanned<i64>>,
    #[serde(default)]
    roles: BTreeMap<String, Spanned<String>>,
}

/// Reads a configuration; invalid TOML, or a field of an unknown name or type, is one finding.
fn read<F>(bytes: &[u8], path: &Path, findings: &mut Findings) -> Option<Layer>
where
    F: DeserializeOwned + Into<WorkspaceFile>,
{
    let mut refuse = |at: usize, why: &str| {
        let message = format!("{}: {}", place(bytes, path, at), why.trim_end());
        findings.push(ErrorKind::ValidationFailed, vec![path.to_string_lossy().into_owned()], message);
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            refuse(error.valid_up_to(), "not UTF-8");
            return None;
        }
    };
    let WorkspaceFile { deny, delegate: table } = match toml::from_str::<F>(text) {
        Ok(file) => file.into(),
        Err(error) => {
            refuse(error.span().unwrap_or_default().start, error.message());
            return None;
        }
    };
    let at = |span: Range<usize>| place(bytes, path, span.start);
    Some(Layer {
        deny: deny.map(|globs| at(globs.span())),
        program: table.program.map(|value| located(value, &at)),
        args: table.args.map(|value| located(value, &at)),
        model: table.model.map(|value| located(value, &at)),
        timeout: table.timeout.map(|value| located(value, &at)),
        file_bytes: table.max_file_bytes.map(|value| located(value, &at)),
        prompt_bytes: table.max_prompt_bytes.map(|value| located(value, &at)),
        roles: table.roles.into_iter().map(|(name, value)| (name, located(value, &at))).collect(),
    })
}

fn located<T>(value: Spanned<T>, at: &dyn Fn(Range<usize>) -> String) -> At<T> {
    let place = at(value.span());
    At { value: value.into_inner(), place }
}

/// `FILE, line N`.
fn place(bytes: &[u8], path: &Path, at: usize) -> String {
    let before = &bytes[..at.min(bytes.len())];
    format!("{}, line {}", path.display(), memchr::memchr_iter(b'\n', before).count() + 1)
}

/// Removes settings that a repository must not choose.
fn of_workspace(mut layer: Layer, findings: &mut Findings) -> Layer {
    if let Some(place) = layer.deny.take() {
        let message =
            format!("{place}: `deny` counts in ~/.config/txedit/config.toml only; put it there, or use --deny");
        findings.push(ErrorKind::ValidationFailed, vec!["deny".to_owned()], message);
    }
    let places = [("program", layer.program.take().map(|at| at.place)), ("args", layer.args.take().map(|at| at.place))];
    for (field, place) in places {
        let Some(place) = place else { continue };
        let message = format!(
            "{place}: `{field}` is refused here, since a repository must not choose what is run; set it in \
             ~/.config/txedit/config.toml"
        );
        findings.push(ErrorKind::ValidationFailed, vec!["delegate".to_owned(), field.to_owned()], message);
    }
    layer
}

/// The settings in the environment. An empty variable counts as unset.
fn of_environment(variable: &dyn Fn(&str) -> Option<OsString>, findings: &mut Findings) -> Layer {
    let mut text = |name: &str| -> Option<At<String>> {
        let value = variable(name).filter(|value| !value.is_empty())?;
        let Ok(value) = value.into_string() else {
            findings.push(ErrorKind::ValidationFailed, vec![name.to_owned()], format!("{name}: not UTF-8"));
            return None;
        };
        Some(At { value, place: name.to_owned() })
    };
    let program = text("TXEDIT_DELEGATE_PROGRAM");
    let model = text("TXEDIT_DELEGATE_MODEL");
    let timeout = text("TXEDIT_DELEGATE_TIMEOUT");
    let file_bytes = text("TXEDIT_DELEGATE_MAX_FILE_BYTES");
    let prompt_bytes = text("TXEDIT_DELEGATE_MAX_PROMPT_BYTES");
    Layer {
        program,
        model,
        timeout: timeout.and_then(|at| number(at, findings)),
        file_bytes: file_bytes.and_then(|at| number(at, findings)),
        prompt_bytes: prompt_bytes.and_then(|at| number(at, findings)),
        ..Layer::default()
    }
}

fn number<T: FromStr>(at: At<String>, findings: &mut Findings) -> Option<At<T>> {
    let At { value, place } = at;
    if let Ok(value) = value.trim().parse() {
        return Some(At { value, place });
    }
    findings.push(ErrorKind::ValidationFailed, vec![place.clone()], format!("{place}: {value:?} is not a number"));
    None
}

fn typed<T>(value: T) -> At<T> {
    At { value, place: "the command line".to_owned() }
}

fn of_flags(flags: &Flags) -> Layer {
    let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    Layer {
        model: flags.model.clone().map(typed),
        timeout: flags.timeout.map(typed),
        file_bytes: flags.file_bytes.map(bytes).map(typed),
        prompt_bytes: flags.prompt_bytes.map(bytes).map(typed),
        ..Layer::default()
    }
}

/// The error for a wrong argument of a front-end.
pub(super) fn misuse(field: &str, message: String) -> Error {
    let mut findings = Findings::new();
    findings.push(ErrorKind::ValidationFailed, vec![field.to_owned()], message);
    findings.into_error()
}
