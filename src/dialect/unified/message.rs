//! The commit message before its diff. It may quote patches of any kind, which must be ignored.

/// Returns whether a line starts a mail of `git format-patch`, or a commit of `git log` and `git show`.
pub(in crate::dialect) fn is_start(line: &[u8]) -> bool {
    is_mail(line) || is_commit(line)
}

/// The number of lines of a commit before what may be its diff; 0 if `lines` does not start with one.
pub(super) fn len(lines: &[&[u8]]) -> usize {
    let Some((first, rest)) = lines.split_first() else { return 0 };
    let end = if is_mail(first) {
        // As in git, a line of three dashes ends it, or else its diff: a removed line can be two dashes.
        let mail = rest.iter().take_while(|line| !is_mail(line)).enumerate();
        let starts = |at: usize, with: &[u8]| rest.get(at).is_some_and(|line| line.starts_with(with));
        let is_end = |at: usize, line: &[u8]| {
            line.trim_ascii_end() == b"---"
                || line.starts_with(b"diff --git ")
                || (line.starts_with(b"--- ") && starts(at + 1, b"+++ "))
        };
        mail.map(|(at, line)| is_end(at, line)).position(|is_end| is_end)
    } else if is_commit(first) {
        // Its lines are indented.
        rest.iter().position(|line| is_commit(line) || line.starts_with(b"diff ") || line.starts_with(b"--- "))
    } else {
        return 0;
    };
    end.map_or(1, |end| end + 1)
}

fn is_mail(line: &[u8]) -> bool {
    line.strip_prefix(b"From ").is_some_and(starts_with_id)
}

fn is_commit(line: &[u8]) -> bool {
    line.strip_prefix(b"commit ").is_some_and(starts_with_id)
}

fn starts_with_id(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    matches!(digits, 40 | 64) && text.get(digits).is_none_or(u8::is_ascii_whitespace)
}
