//! The settings of delegates: the program, the model, the limits, the roles.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::roles;
use super::sources::{At, Flags, Layer, layers};
use crate::engine::Engine;
use crate::error::{ErrorKind, Result};
use crate::limits;
use crate::request::validate::Findings;

/// The default program.
pub(super) const PROGRAM: &str = "kimi";

/// Its default arguments: those of Kimi Code.
const ARGS: [&str; 8] =
    ["-m", "{model}", "--agent-file", "{agent}", "--output-format", "stream-json", "-p", "{prompt}"];

/// The longest time limit in seconds: a day.
const MOST_SECONDS: f64 = 86_400.0;

/// The most bytes of one argument that the kernel accepts, its terminator included.
const ARGUMENT_BYTES: i64 = 131_071;

/// The smallest prompt limit: room for a prompt that only names the file with the prompt.
const FEWEST_PROMPT_BYTES: i64 = 8_192;

/// The most bytes of a role's text, and of a model's name.
const ROLE_BYTES: usize = 16 << 10;

/// Validated settings of delegates.
#[derive(Debug, Clone, PartialEq)]
pub struct DelegateSettings {
    /// A name to be searched in PATH, or an absolute path.
    pub program: String,
    /// Its arguments, which may contain `{model}`, `{prompt}`, `{agent}`, `{root}` and `{folder}`.
    pub args: Vec<String>,
    /// The model; if `None`, the program chooses.
    pub model: Option<String>,
    /// The time limit of a delegate.
    pub limit: Duration,
    /// The most bytes of a file that is shown to it.
    pub file_bytes: u64,
    /// The most bytes of a prompt that is passed as an argument; a longer one goes to a file.
    pub prompt_bytes: usize,
    /// The texts of the roles by their names.
    pub roles: BTreeMap<String, String>,
}

impl Default for DelegateSettings {
    fn default() -> Self {
        Self {
            program: PROGRAM.to_owned(),
            args: ARGS.map(str::to_owned).to_vec(),
            model: None,
            limit: limits::DELEGATE_TIME,
            file_bytes: limits::DELEGATE_FILE_BYTES,
            prompt_bytes: limits::DELEGATE_PROMPT_BYTES,
            roles: roles::BUILT_IN.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
        }
    }
}

impl DelegateSettings {
    /// Combines the defaults, the user's file, that of the workspace, the environment, and `flags`, each overriding
    /// those before. All errors in them are reported at once, each with its file and line.
    pub fn load(engine: &Engine, flags: &Flags) -> Result<Self> {
        let mut findings = Findings::new();
        let layers = layers(engine, flags, &mut findings)?;
        let mut settings = Self::default();
        for layer in layers {
            settings.take(layer, &mut findings);
        }
        findings.finish()?;
        Ok(settings)
    }

    /// Overrides the settings with those of `layer`.
    pub(super) fn take(&mut self, layer: Layer, findings: &mut Findings) {
        let mut refuse = |field: &str, place: &str, why: &str| {
            let path = vec!["delegate".to_owned(), field.to_owned()];
            findings.push(ErrorKind::ValidationFailed, path, format!("{place}: {why}"));
        };
        let Layer { deny: _, program, args, model, timeout, file_bytes, prompt_bytes, roles } = layer;
        if let Some(At { value, place }) = program {
            match check_program(&value) {
                Ok(()) => self.program = value,
                Err(why) => refuse("program", &place, why),
            }
        }
        if let Some(At { value, place }) = args {
            match check_args(&value) {
                Ok(()) => self.args = value,
                Err(why) => refuse("args", &place, why),
            }
        }
        if let Some(At { value, place }) = model {
            if value.trim().is_empty() || value.len() > ROLE_BYTES || value.contains('\0') {
                refuse("model", &place, "`model` is a name, not empty and without NUL");
            } else {
                self.model = Some(value);
            }
        }
        if let Some(At { value, place }) = timeout {
            if value > 0.0 && value <= MOST_SECONDS {
                self.limit = Duration::from_secs_f64(value);
            } else {
                refuse("timeout", &place, "`timeout` is a number of seconds above 0, and a day at most");
            }
        }
        if let Some(At { value, place }) = file_bytes {
            match u64::try_from(value) {
                Ok(bytes) if (1..=limits::DELEGATE_CONTEXT_BYTES).contains(&bytes) => self.file_bytes = bytes,
                _ => {
                    let why = format!("`max_file_bytes` is a number from 1 to {}", limits::DELEGATE_CONTEXT_BYTES);
                    refuse("max_file_bytes", &place, &why);
                }
            }
        }
        if let Some(At { value, place }) = prompt_bytes {
            match usize::try_from(value) {
                Ok(bytes) if (FEWEST_PROMPT_BYTES..=ARGUMENT_BYTES).contains(&value) => self.prompt_bytes = bytes,
                _ => {
                    let why = format!(
                        "`max_prompt_bytes` is a number from {FEWEST_PROMPT_BYTES} to {ARGUMENT_BYTES}, which is what \
                         one argument can carry"
                    );
                    refuse("max_prompt_bytes", &place, &why);
                }
            }
        }
        for (name, At { value, place }) in roles {
            if name.trim().is_empty() || value.trim().is_empty() || value.len() > ROLE_BYTES {
                refuse("roles", &place, "a role has a name and a text of 16,384 bytes at most");
            } else {
                self.roles.insert(name, value);
            }
        }
    }
}

fn check_program(program: &str) -> Result<(), &'static str> {
    if program.is_empty() || program.contains('\0') {
        return Err("`program` is empty or has a NUL");
    }
    // A relative path would be searched in the scratch folder.
    if program.contains('/') && !Path::new(program).is_absolute() {
        return Err("`program` is a name that PATH knows, or an absolute path");
    }
    Ok(())
}

fn check_args(args: &[String]) -> Result<(), &'static str> {
    if !args.iter().any(|arg| arg.contains("{prompt}")) {
        return Err("`args` has no {prompt}: the program would not know what is asked");
    }
    if args.iter().any(|arg| arg.contains('\0')) {
        return Err("an argument has a NUL");
    }
    Ok(())
}
