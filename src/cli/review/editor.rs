//! Has a text edited in the user's editor.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use super::asking::Asking;
use crate::cli::output;
use crate::cli::pager::command_of;
use crate::error::Result;
use crate::fs::scratch::Scratch;

/// The editor if no variable names one.
const USUAL: &str = "vi";

/// What an editor left.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EditedText {
    Saved(Vec<u8>),
    /// It could not be started, or ended with a failure: with these words.
    Failed(String),
}

/// Has a text edited that is part of the file at `path`, of which the editor gets to know the kind.
pub(super) fn edit(text: &[u8], path: &Path, asking: &mut Asking) -> Result<EditedText> {
    let scratch = Scratch::new_in(&env::temp_dir())?;
    let name = format!("change{}", extension(path));
    scratch.write(Path::new(&name), text)?;
    let editor = ["VISUAL", "EDITOR"].into_iter().filter_map(env::var_os).find(|editor| !editor.is_empty());
    let editor = editor.unwrap_or_else(|| USUAL.into());
    let file = scratch.path().join(&name);
    let mut command = command_of(&editor, &[file.as_os_str()]);
    // What is typed is for the editor only if somebody types; otherwise the lines are answers.
    let input = asking.input_of_child()?.map_or_else(Stdio::null, Stdio::from);
    // The output of this program is its answer.
    command.stdin(input).stdout(if output::is_seen() { Stdio::inherit() } else { output::as_messages() });
    let failed = |how: String| EditedText::Failed(format!("{}: {how}", Path::new(&editor).display()));
    let status = match asking.leaving_terminal(|| command.status())? {
        Ok(status) => status,
        Err(error) => return Ok(failed(error.to_string())),
    };
    if !status.success() {
        return Ok(failed(status.to_string()));
    }
    match scratch.read(Path::new(&name))? {
        Some(text) => Ok(EditedText::Saved(text)),
        None => Ok(failed("the file is gone".to_owned())),
    }
}

/// The end of a name, if it is a plain one: an editor is told no more of it.
fn extension(path: &Path) -> String {
    let is_plain = |end: &&str| !end.is_empty() && end.chars().all(|c| c.is_ascii_alphanumeric());
    let plain = path.extension().and_then(OsStr::to_str).filter(is_plain);
    plain.map_or_else(String::new, |end| format!(".{end}"))
}

/// What was edited, as it stands in front of `after`: whole lines do not run into what follows.
pub(super) fn whole_lines(mut edited: Vec<u8>, after: &[u8]) -> Vec<u8> {
    if !edited.is_empty() && !edited.ends_with(b"\n") && !after.is_empty() {
        edited.push(b'\n');
    }
    edited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_is_told_the_kind_of_a_file_only() {
        assert_eq!(extension(Path::new("src/a.rs")), ".rs");
        for strange in ["a", "a.", "a.\x1b[2J", "a.b c", ".profile"] {
            assert_eq!(extension(Path::new(strange)), "", "{strange:?}");
        }
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(whole_lines(b"a".to_vec(), b"b\n"), b"a\n");
        assert_eq!(whole_lines(b"a".to_vec(), b""), b"a");
        assert_eq!(whole_lines(Vec::new(), b"b\n"), b"");
    }
}
