//! Shows a long result through the user's pager.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use super::signals;

/// The pager if no variable names one, and it is found.
const USUAL: [&str; 2] = ["less", "less -FRX"];

/// What `less` is told where its own variable is not set: end at once if the result fits, show colours, and leave it on the
/// terminal.
const OPTIONS_OF_LESS: &str = "FRX";

/// The exit statuses with which a shell says that it could not run a command.
const NOT_RUN: [i32; 2] = [126, 127];

/// Shows a result, and returns whether that was done: otherwise it is to be printed.
pub(super) fn show(result: &[u8]) -> bool {
    let Some(pager) = chosen(env::var_os("TXEDIT_PAGER"), env::var_os("PAGER"), is_found) else { return false };
    !result.is_empty() && run(&pager, result).unwrap_or(false)
}

/// The pager: that of the first variable that is set, otherwise the usual one where it is found. An empty variable, or
/// `cat`, wants none.
fn chosen(own: Option<OsString>, common: Option<OsString>, is_found: impl Fn(&str) -> bool) -> Option<OsString> {
    let named = own.or(common).or_else(|| is_found(USUAL[0]).then(|| USUAL[1].into()))?;
    let trimmed = named.as_bytes().trim_ascii();
    (!trimmed.is_empty() && trimmed != b"cat").then_some(named)
}

fn is_found(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn run(pager: &OsStr, result: &[u8]) -> io::Result<bool> {
    // An interrupt from the keyboard is for the pager, which this process must not leave alone with the terminal.
    signals::leave_interrupts_to_children()?;
    let mut command = command_of(pager, &[]);
    if env::var_os("LESS").is_none() {
        command.env("LESS", OPTIONS_OF_LESS);
    }
    let mut child = match command.stdin(Stdio::piped()).spawn() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        child => child?,
    };
    if let Some(mut input) = child.stdin.take() {
        // A pager that ends early has shown what its user wanted to see.
        input.write_all(result).ok();
    }
    let status = child.wait()?;
    Ok(!status.code().is_some_and(|code| NOT_RUN.contains(&code)))
}

/// The command that a variable names, with these arguments. A shell is started only for what wants one: it may end at an
/// interrupt that the program goes on after.
pub(super) fn command_of(named: &OsStr, arguments: &[&OsStr]) -> Command {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:,@ ".contains(c);
    let words = named.to_str().filter(|text| text.chars().all(is_plain)).unwrap_or_default();
    let mut words = words.split_whitespace();
    let Some(program) = words.next() else {
        let mut shell = Command::new("sh");
        let mut line = named.to_owned();
        if !arguments.is_empty() {
            line.push(" \"$@\"");
        }
        // What stands for the name of the script.
        shell.arg("-c").arg(line).args(arguments.first().map(|_| "sh")).args(arguments);
        return shell;
    };
    let mut command = Command::new(program);
    command.args(words).args(arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let pager = |own: Option<&str>, common: Option<&str>, is_found| {
            let chosen = chosen(own.map(OsString::from), common.map(OsString::from), |_| is_found);
            chosen.map(|pager| pager.into_string().unwrap())
        };
        assert_eq!(pager(Some("a -b"), Some("c"), true).as_deref(), Some("a -b"));
        assert_eq!(pager(None, Some("c"), true).as_deref(), Some("c"));
        assert_eq!(pager(None, None, true).as_deref(), Some("less -FRX"));
        for (own, common, is_found) in
            [(Some(""), Some("c"), true), (Some(" cat "), Some("c"), true), (None, Some(""), true), (None, None, false)]
        {
            assert_eq!(pager(own, common, is_found), None, "{own:?} {common:?}");
        }
    }

    #[test]
    fn only_what_wants_a_shell_gets_one() {
        let words = |pager: &str| {
            let command = command_of(OsStr::new(pager), &[]);
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|word| word.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words(" less  -R +G "), ["less", "-R", "+G"]);
        assert_eq!(words("delta | less"), ["sh", "-c", "delta | less"]);
        assert_eq!(words("LESS=R less"), ["sh", "-c", "LESS=R less"]);
        let with_file = command_of(OsStr::new("TERM=dumb ed"), &[OsStr::new("a b")]);
        assert_eq!(with_file.get_args().collect::<Vec<_>>(), ["-c", "TERM=dumb ed \"$@\"", "sh", "a b"]);
    }
}
