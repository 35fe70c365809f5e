//! Runs the program: builds its arguments from the template, and turns its end into an answer or an error.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use super::config::{DelegateSettings, PROGRAM};
use super::stream::{Flaw, StreamReader};
use crate::check::group::{self, Order, ProgramEnd, Ran, Stream, Streams, Tail};
use crate::engine::Run;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

/// The variable by which processes that a delegate starts are recognised. It holds the scratch folder, which is
/// different for each call.
const DELEGATION: &str = "TXEDIT_DELEGATION";

/// The values for the template.
#[derive(Debug)]
pub(super) struct Values<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) prompt: &'a str,
    pub(super) agent: &'a Path,
    pub(super) root: &'a Path,
    pub(super) folder: &'a Path,
}

impl Values<'_> {
    /// `None` for an unknown name.
    fn of(&self, name: &[u8]) -> Option<&[u8]> {
        Some(match name {
            b"model" => self.model.unwrap_or_default().as_bytes(),
            b"prompt" => self.prompt.as_bytes(),
            b"agent" => self.agent.as_os_str().as_bytes(),
            b"root" => self.root.as_os_str().as_bytes(),
            b"folder" => self.folder.as_os_str().as_bytes(),
            _ => return None,
        })
    }

    /// An argument of the template with the values filled in. Values themselves are never expanded.
    fn fill(&self, template: &str) -> OsString {
        let mut rest = template.as_bytes();
        let mut filled = Vec::new();
        while let Some(start) = memchr::memchr(b'{', rest) {
            let (before, from) = rest.split_at(start);
            filled.extend_from_slice(before);
            let value = memchr::memchr(b'}', from).and_then(|end| Some((end, self.of(&from[1..end])?)));
            if let Some((end, value)) = value {
                filled.extend_from_slice(value);
                rest = &from[end + 1..];
            } else {
                filled.push(b'{');
                rest = &from[1..];
            }
        }
        filled.extend_from_slice(rest);
        OsString::from_vec(filled)
    }
}

/// The program and its arguments. Without a model, the argument that would name it is left out, with the option before
/// it.
pub(super) fn command(settings: &DelegateSettings, values: &Values<'_>) -> Vec<OsString> {
    let mut command = vec![OsString::from(&settings.program)];
    let mut plain_option = false;
    for template in &settings.args {
        if values.model.is_none() && template.contains("{model}") {
            if plain_option {
                command.pop();
            }
            plain_option = false;
            continue;
        }
        plain_option = template.starts_with('-') && !template.contains('{') && !template.contains('=');
        command.push(values.fill(template));
    }
    command
}

/// Runs the program to its end; returns its last answer.
pub(super) fn run(settings: &DelegateSettings, command: &[OsString], folder: &Path, run: Run<'_>) -> Result<String> {
    let environment = [(DELEGATION, folder.as_os_str().to_owned())];
    let (environment, limit) = (&environment, settings.limit);
    let order = Order { command, folder, environment, inside: None, held: None, streams: Streams::Apart, limit };
    let mut reader = StreamReader::default();
    let mut errors = Tail::new(limits::DELEGATE_TAIL_BYTES);
    let mut printed = 0;
    let ran = group::run(&order, run.cancel, &mut |stream, bytes| {
        match stream {
            Stream::Errors => errors.add(bytes),
            Stream::Output => {
                printed += bytes.len();
                if printed > limits::DELEGATE_OUTPUT_BYTES {
                    return ControlFlow::Break(());
                }
                reader.add(bytes);
            }
        }
        ControlFlow::Continue(())
    });
    let fate = FailedRun { settings, errors: errors.text() };
    let Ran { end, behind } = ran.map_err(|error| fate.not_started(&error))?;
    if !behind.alive.is_empty() {
        let alive = behind.alive.join(", ");
        return Err(fate.error(&format!("left processes that could not be ended: {alive}; end it yourself")));
    }
    match end {
        ProgramEnd::Exited(status) if status.success() => reader.finish().map_err(|flaw| fate.flawed(flaw)),
        ProgramEnd::Exited(status) => Err(fate.failed(&status.to_string())),
        ProgramEnd::TimedOut => Err(fate.timed_out()),
        ProgramEnd::Unheard => Err(fate.error(&format!(
            "printed more than {} bytes and was stopped: ask for less at once",
            limits::DELEGATE_OUTPUT_BYTES
        ))),
        ProgramEnd::Cancelled => Err(Error::new(ErrorKind::Cancelled, "cancelled while the delegate worked")),
    }
}

/// The facts about a failed run.
struct FailedRun<'a> {
    settings: &'a DelegateSettings,
    /// The end of its errors.
    errors: String,
}

/// Texts in the errors of a program, and the advice for each; the first match counts.
const ADVICE: [(&[&str], &str); 4] = [
    (&["rate_limit", "rate limit", "429", "quota"], "its provider limits the rate: wait a little, then ask again"),
    (
        &["401", "403", "unauthorized", "api key", "api_key", "log in", "login", "sign in", "No model configured"],
        "it has no access: log in (for Kimi Code: `kimi login`), then ask again",
    ),
    (
        &["is not configured", "model not found", "unknown model"],
        "it does not know the model: correct `model`, or leave it out to let the program choose",
    ),
    (&["ECONNREFUSED", "ENOTFOUND", "ETIMEDOUT", "network", "Connection error"], "it cannot reach its provider"),
];

impl FailedRun<'_> {
    fn error(&self, what: &str) -> Error {
        self.of_kind(ErrorKind::DelegateFailed, what)
    }

    fn of_kind(&self, kind: ErrorKind, what: &str) -> Error {
        let mut message = format!("the delegate `{}` {what}", self.settings.program);
        let errors = self.errors.trim();
        if !errors.is_empty() {
            message.push_str("; the end of its errors:\n");
            message.push_str(errors);
        }
        Error::new(kind, message)
    }

    fn not_started(&self, error: &io::Error) -> Error {
        let why = match error.kind() {
            io::ErrorKind::NotFound if self.settings.program == PROGRAM => {
                "was not found: install it with `npm install -g @moonshot-ai/kimi-code` and log in with `kimi login`, \
                 or name another `program` in ~/.config/txedit/config.toml"
                    .to_owned()
            }
            io::ErrorKind::NotFound => {
                "was not found: install it, or correct `program` in ~/.config/txedit/config.toml".to_owned()
            }
            io::ErrorKind::PermissionDenied => "may not be run: make it executable".to_owned(),
            io::ErrorKind::ArgumentListTooLong => {
                "got arguments that are too long for the system: lower max_prompt_bytes".to_owned()
            }
            _ => format!("could not be run: {error}"),
        };
        self.error(&why)
    }

    fn failed(&self, status: &str) -> Error {
        let errors = self.errors.to_lowercase();
        let fits = |(signs, _): &&(&[&str], &str)| signs.iter().any(|sign| errors.contains(&sign.to_lowercase()));
        match ADVICE.iter().find(fits) {
            Some((_, advice)) => self.error(&format!("failed ({status}): {advice}")),
            None => self.error(&format!("failed ({status})")),
        }
    }

    fn timed_out(&self) -> Error {
        let seconds = self.settings.limit.as_secs_f64();
        let what = format!(
            "took longer than {seconds} seconds and was stopped with all that it had started: ask for less at once, or \
             raise `timeout`"
        );
        self.of_kind(ErrorKind::Timeout, &what)
    }

    fn flawed(&self, flaw: Flaw) -> Error {
        self.error(match flaw {
            Flaw::Silent => "ended without an answer: ask again, or try the program by hand",
            Flaw::Cut => "ended in the middle of its answer, which is not used: ask again",
            Flaw::Garbage => "printed what is neither messages nor text: check `args` in the configuration",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(settings: &DelegateSettings, model: Option<&str>, prompt: &str) -> Vec<String> {
        let values = Values {
            model,
            prompt,
            agent: Path::new("/s/agent.md"),
            root: Path::new("/r {prompt}"),
            folder: Path::new("/s/desk"),
        };
        let words = command(settings, &values).into_iter().map(|word| word.into_string().unwrap());
        words.collect()
    }

    #[test]
    fn each_value_is_one_argument_whatever_it_holds() {
        let settings = DelegateSettings::default();
        let prompt = "-y \"{model}\" '$(x)'\n{prompt} {agent";
        assert_eq!(
            words(&settings, Some("--yolo {prompt}"), prompt),
            [
                "kimi",
                "-m",
                "--yolo {prompt}",
                "--agent-file",
                "/s/agent.md",
                "--output-format",
                "stream-json",
                "-p",
                prompt
            ]
        );
        let args = ["--root={root}", "{folder}{folder}", "{\"a\": {prompt}}", "{unknown}", "{"].map(str::to_owned);
        let settings = DelegateSettings { args: args.to_vec(), ..settings };
        let expected = ["kimi", "--root=/r {prompt}", "/s/desk/s/desk", "{\"a\": P}", "{unknown}", "{"];
        assert_eq!(words(&settings, Some("m"), "P"), expected);
    }

    #[test]
    fn without_a_model_its_option_is_left_out() {
        let settings = DelegateSettings::default();
        assert_eq!(words(&settings, None, "P")[..2], ["kimi", "--agent-file"]);
        let args = ["run", "--model={model}", "{prompt}", "{model}"].map(str::to_owned);
        let settings = DelegateSettings { args: args.to_vec(), ..settings };
        assert_eq!(words(&settings, None, "P"), ["kimi", "run", "P"]);
    }
}
