//! How delegates are run: the program, the model, the limits, the roles.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::roles;
use super::sources::{At, Flags, Layer, layers};
use crate::engine::Engine;
use crate::error::{ErrorKind, Result};
use crate::limits;
use crate::request::validate::Findings;

/// The program unless told otherwise.
pub(super) const PROGRAM: &str = "kimi";

/// Its arguments unless told otherwise: those of Kimi Code.
const ARGS: [&str; 8] =
    ["-m", "{model}", "--agent-file", "{agent}", "--output-format", "stream-json", "-p", "{prompt}"];

/// Seconds that may be asked for: a day.
const MOST_SECONDS: f64 = 86_400.0;

/// Bytes of one argument that the kernel takes, its end included.
const ARGUMENT_BYTES: i64 = 131_071;

/// Bytes of a prompt that does nothing but name the file with the prompt.
const FEWEST_PROMPT_BYTES: i64 = 8_192;

/// Bytes of a role's text, and of a model's name.
const ROLE_BYTES: usize = 16 << 10;

/// How delegates are run; all of it is valid.
#[derive(Debug, Clone, PartialEq)]
pub struct DelegateSettings {
    /// A name that is looked for as shells do, or an absolute path.
    pub program: String,
    /// Its arguments, with `{model}`, `{prompt}`, `{agent}`, `{root}` and `{folder}` in them.
    pub args: Vec<String>,
    /// The model; without one the program chooses.
    pub model: Option<String>,
    /// How long a delegate may take.
    pub limit: Duration,
    /// Bytes of a file that is shown to it.
    pub file_bytes: u64,
    /// Bytes of a prompt that is an argument; a longer one goes to a file.
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
    /// The defaults, then the user's file, then that of the workspace, then the environment, then `flags`. All that is
    /// wrong with them is found at once, each with its file and line.
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

    /// What `layer` says takes the place of what was said before.
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
    // It would be looked for in the scratch folder.
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
