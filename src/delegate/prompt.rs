//! Builds the prompt of a delegate: its part, the context, the files, the task.

use std::fmt::Write as _;
use std::path::Path;

use super::config::DelegateSettings;
use super::context::{ContextFile, DelegateContext};
use super::roles;
use super::sources::misuse;
use super::task::{Task, TaskKind};
use crate::error::Result;
use crate::path::one_line;

/// The text of the delegate's part; an unknown role is a finding.
pub(super) fn part<'s>(kind: &TaskKind, settings: &'s DelegateSettings) -> Result<&'s str> {
    Ok(match kind {
        TaskKind::Analyze { role, .. } => {
            let name = role.as_deref().unwrap_or(roles::GENERAL);
            settings.roles.get(name).map(String::as_str).ok_or_else(|| {
                let known: Vec<_> = settings.roles.keys().map(String::as_str).collect();
                misuse("role", format!("there is no role {name:?}; there are {}", known.join(", ")))
            })?
        }
        TaskKind::Implement { .. } => roles::IMPLEMENT,
        TaskKind::Refactor { .. } => roles::REFACTOR,
        TaskKind::Verify { .. } => roles::VERIFY,
    })
}

/// The whole prompt. `diff` is that of the transaction to be judged.
pub(super) fn build(task: &Task, part: &str, root: &Path, context: &DelegateContext, diff: Option<&str>) -> String {
    let mut text = format!("{part}\n\nThe project is in {}; change nothing there.\n", root.display());
    if task.kind.proposes() {
        let _ = write!(text, "\n{}\n", roles::PROPOSE);
        if !context.files.is_empty() {
            text.push_str("\nThe current folder holds copies of the files below, at their paths in the project.\n");
        }
    }
    let mut section = |title: &str, content: &str| {
        let _ = write!(text, "\n{title}:\n{}\n", content.trim_end());
    };
    match &task.kind {
        TaskKind::Analyze { context, .. } => {
            if let Some(context) = context {
                section("Context", context);
            }
        }
        TaskKind::Implement { constraints, .. } => {
            if let Some(constraints) = constraints {
                section("Constraints", constraints);
            }
        }
        TaskKind::Refactor { safety_checks, .. } => {
            if *safety_checks {
                section("Constraints", roles::SAFETY);
            }
        }
        TaskKind::Verify { requirements, .. } => {
            if let Some(requirements) = requirements {
                section("Requirements", requirements);
            }
        }
    }
    for file in &context.files {
        push_file(&mut text, file);
    }
    if let Some(diff) = diff {
        let fence = fence(diff);
        let _ = write!(text, "\nThe change to judge:\n{fence}diff\n{}\n{fence}\n", diff.trim_end());
    }
    let _ = write!(text, "\nTask:\n{}\n", task.prompt.trim_end());
    text
}

fn push_file(text: &mut String, file: &ContextFile) {
    let fence = fence(&file.text);
    let end = if file.text.ends_with('\n') || file.text.is_empty() { "" } else { "\n" };
    let _ = write!(text, "\nFile: {}\n{fence}\n{}{end}{fence}\n", one_line(&file.named), file.text);
}

/// A fence that `content` does not contain.
fn fence(content: &str) -> String {
    let runs = content.split(|c| c != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or(0).max(2) + 1)
}

/// The prompt that points to a file with the whole one.
pub(super) fn pointer(file: &Path, bytes: usize) -> String {
    format!(
        "Your task is in the file {}, {bytes} bytes: it was too long to be given here. Read all of it, in several \
         parts if need be, then do what it says. Everything that you need is in it.",
        file.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    fn shown(named: &str, text: &str) -> ContextFile {
        ContextFile {
            named: named.to_owned(),
            path: named.into(),
            text: text.to_owned(),
            digest: Digest::of(b""),
            encoding: None,
        }
    }

    #[test]
    fn each_part_stands_where_it_belongs() {
        let files = vec![shown("/p/-a\n{prompt}", "x\n"), shown("/p/b", "```` y")];
        let context = DelegateContext { files, skipped: Vec::new() };
        let kind = TaskKind::Implement { constraints: Some("KEEP".to_owned()), apply: false };
        let task = Task { prompt: "-p \"{model}\"\n'x'".to_owned(), files: Vec::new(), kind };
        let text = build(&task, "PART", Path::new("/p"), &context, Some("-old\n+new\n"));
        let expected = [
            "PART\n\nThe project is in /p;",
            "*** Begin Patch",
            "\nConstraints:\nKEEP\n",
            "\nFile: /p/-a\\n{prompt}\n```\nx\n```\n",
            "\nFile: /p/b\n`````\n```` y\n`````\n",
            "\nThe change to judge:\n```diff\n-old\n+new\n```\n",
            "\nTask:\n-p \"{model}\"\n'x'\n",
        ];
        let mut at = 0;
        for part in expected {
            let found = text[at..].find(part).unwrap_or_else(|| panic!("{part:?} after {at} in {text}"));
            at += found + part.len();
        }
        assert_eq!(at, text.len(), "the task comes last");
    }

    #[test]
    fn a_role_that_nobody_knows_is_a_finding() {
        let kind = |role: &str| TaskKind::Analyze { context: None, role: Some(role.to_owned()) };
        let settings = DelegateSettings::default();
        assert!(part(&kind("security"), &settings).unwrap().contains("attacker"));
        let error = part(&kind("poet"), &settings).unwrap_err();
        let crate::error::Detail::Findings(findings) = error.details() else { panic!("{error}") };
        assert!(findings[0].message.contains("general, performance, refactor, security"), "{findings:?}");
    }
}
