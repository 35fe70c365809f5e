//! The names in a diff: quoted as git quotes them, with prefixes that are not part of them.

/// The names of both sides; `None` is `/dev/null`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamePair {
    pub(super) old: Option<Vec<u8>>,
    pub(super) new: Option<Vec<u8>>,
}

/// The name in a `---` or `+++` line, as git reads it: a tab ends it, and a time follows. Without a tab the time may
/// follow blanks.
pub(super) fn of_line(text: &[u8]) -> Vec<u8> {
    if text.starts_with(b"\"") {
        return unquoted(text);
    }
    let tabs: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\t').collect();
    match tabs[..] {
        [] => without_time(text.trim_ascii_end()).to_vec(),
        // A tab can be part of the name; a time has none, but text can follow it after another tab.
        [first, .., last] if !starts_like_a_time(&text[first + 1..]) => text[..last].to_vec(),
        [first, ..] => text[..first].to_vec(),
    }
}

fn starts_like_a_time(text: &[u8]) -> bool {
    let days = [&b"Mon "[..], b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun "];
    text.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'(')
        || days.iter().any(|day| text.starts_with(day))
}

/// A name without `2020-01-01 10:00:00.0 +0100` after it.
fn without_time(text: &[u8]) -> &[u8] {
    let last_word = |text: &[u8]| text.iter().rposition(|byte| *byte == b' ').map_or(0, |blank| blank + 1);
    let has_form = |word: &[u8], signs: &[u8]| {
        word.first().is_some_and(u8::is_ascii_digit)
            && word.iter().all(|byte| byte.is_ascii_digit() || signs.contains(byte))
            && word.iter().filter(|byte| signs.contains(byte)).count() >= 2
    };
    let mut rest = text;
    let zone = &rest[last_word(rest)..];
    if let [b'+' | b'-', digits @ ..] = zone
        && digits.len() == 4
        && digits.iter().all(u8::is_ascii_digit)
    {
        rest = rest[..last_word(rest)].trim_ascii_end();
    }
    for signs in [&b":."[..], b"-"] {
        let start = last_word(rest);
        if start == 0 || !has_form(&rest[start..], signs) {
            return text;
        }
        rest = rest[..start].trim_ascii_end();
    }
    rest
}

/// Returns whether such a line names `file`, with at most one folder before it.
pub(super) fn is_of(text: &[u8], file: &[u8]) -> bool {
    let name = of_line(text);
    let prefix = name.trim_ascii_end().strip_suffix(file.trim_ascii_end());
    let is_folder = |prefix: &[u8]| prefix.strip_suffix(b"/").is_some_and(|folder| !folder.contains(&b'/'));
    prefix.is_some_and(|prefix| prefix.is_empty() || is_folder(prefix))
}

/// Returns whether the time in such a line is the epoch: `diff -N` marks a missing file in this way.
pub(super) fn has_epoch(text: &[u8]) -> bool {
    let mut times = text.split(|byte| *byte == b'\t').skip(1).filter_map(|time| std::str::from_utf8(time).ok());
    times.any(|time| minutes_since_epoch(time) == Some(0))
}

/// The minutes from the epoch to a time like `1970-01-01 01:00:00.0 +0100`, if it is near and a full minute.
fn minutes_since_epoch(time: &str) -> Option<i32> {
    let mut words = time.split_ascii_whitespace();
    let day = match words.next()? {
        "1970-01-01" => 0,
        "1969-12-31" => -24 * 60,
        _ => return None,
    };
    let (clock, seconds) = words.next()?.rsplit_once(':')?;
    let minutes = |clock: &str| {
        let (hours, minutes) = clock.split_at_checked(2)?;
        let minutes = minutes.strip_prefix(':').unwrap_or(minutes);
        Some(60 * hours.parse::<i32>().ok()? + minutes.parse::<i32>().ok()?)
    };
    let zone = words.next().unwrap_or("+0000");
    let ahead = minutes(zone.get(1..)?)?;
    let ahead = if zone.starts_with('-') { -ahead } else { ahead };
    let is_full = seconds.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    is_full.then_some(day + minutes(clock)? - ahead)
}

/// Both names without their prefixes, if they are of one file.
pub(super) fn pair(old: &[u8], new: &[u8]) -> Option<NamePair> {
    let is_file = |name: &[u8]| name != b"/dev/null";
    let bare = |name: &[u8]| match name {
        [b'a' | b'b', b'/', rest @ ..] => rest.to_vec(),
        _ => name.to_vec(),
    };
    let (old, new) = match (is_file(old), is_file(new)) {
        (true, true) => {
            let name = common(old, new).or_else(|| {
                // A backup copy next to its original.
                let kept = |a: &[u8], b: &[u8]| {
                    [&b".orig"[..], b".old", b".bak", b"~"].iter().any(|end| a == [b, end].concat())
                };
                (kept(old, new) || old == new).then(|| new.to_vec())
            })?;
            (Some(name.clone()), Some(name))
        }
        (true, false) => (Some(bare(old)), None),
        (false, true) => (None, Some(bare(new))),
        (false, false) => (None, None),
    };
    Some(NamePair { old, new })
}

/// The common name of both, which are either the same or differ in their first folder.
fn common(old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    if old == new {
        return Some(old.to_vec());
    }
    let behind = |name: &[u8]| name.iter().position(|byte| *byte == b'/').map(|slash| name[slash + 1..].to_vec());
    behind(old).filter(|rest| !rest.is_empty() && behind(new).as_ref() == Some(rest))
}

/// The name in a `diff --git` line, which contains it twice; `None` if the two differ.
pub(super) fn of_git_line(names: &[u8]) -> Option<Vec<u8>> {
    if names.starts_with(b"\"") {
        let end = closing_quote(names)?;
        let second = names[end + 1..].strip_prefix(b" ")?;
        return common(&unquoted(&names[..=end]), &unquoted(second));
    }
    // Names may contain spaces: the right one has the same name on both sides.
    let spaces = names.iter().enumerate().filter(|(_, byte)| **byte == b' ').map(|(at, _)| at);
    spaces.into_iter().find_map(|at| common(&names[..at], &unquoted(&names[at + 1..])))
}

/// The name in a `diff --git` line that contains it once, as Subversion writes it.
pub(super) fn only_of_git_line(name: &[u8]) -> Option<Vec<u8>> {
    let bare = name.strip_prefix(b"a/").or(name.strip_prefix(b"b/")).unwrap_or(name);
    (!bare.is_empty() && !name.contains(&b' ') && !name.starts_with(b"\"")).then(|| bare.to_vec())
}

fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A name without its quotes, if it has any.
pub(super) fn unquoted(text: &[u8]) -> Vec<u8> {
    let Some(end) = closing_quote(text).filter(|_| text.starts_with(b"\"")) else { return text.to_vec() };
    let mut name = Vec::with_capacity(end);
    let mut rest = &text[1..end];
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            name.push(*first);
            continue;
        }
        let octal = |digits: &[u8]| digits.iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
        match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                name.extend(u8::try_from(octal(&[*a, *b, *c])));
                rest = tail;
            }
            [escape, tail @ ..] => {
                name.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    other => *other,
                });
                rest = tail;
            }
            [] => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(names: &str) -> Option<String> {
        of_git_line(names.as_bytes()).map(|name| String::from_utf8(name).unwrap())
    }

    #[test]
    fn a_git_line_has_its_name_twice() {
        assert_eq!(git("a/x b/x").as_deref(), Some("x"));
        assert_eq!(git("a/x y b/x y").as_deref(), Some("x y"));
        assert_eq!(git("a/x b/x b/x b/x").as_deref(), Some("x b/x"));
        assert_eq!(git("src/x src/x").as_deref(), Some("src/x"), "no prefixes");
        assert_eq!(git("a/x b/y"), None);
        assert_eq!(git("a/x"), None);
        assert_eq!(git("\"a/\\303\\251\\t\\\"\" \"b/\\303\\251\\t\\\"\"").as_deref(), Some("é\t\""));
    }

    #[test]
    fn the_names_of_a_plain_diff() {
        let names = |old: &str, new: &str| {
            let text = |name: Option<Vec<u8>>| name.map_or("-".into(), |name| String::from_utf8(name).unwrap());
            pair(&of_line(old.as_bytes()), &of_line(new.as_bytes())).map(|it| (text(it.old), text(it.new)))
        };
        let both = |name: &str| Some((name.to_owned(), name.to_owned()));
        assert_eq!(names("a/src/x\t2020-01-01 10:00:00", "b/src/x"), both("src/x"));
        assert_eq!(names("src/x", "src/x"), both("src/x"));
        assert_eq!(names("old/x y\t", "new/x y\t"), both("x y"));
        assert_eq!(names("x.orig", "x"), both("x"));
        assert_eq!(names("/dev/null", "b/x"), Some(("-".into(), "x".into())));
        assert_eq!(names("a/x", "b/y"), None);
        assert!(has_epoch(b"x\t1970-01-01 00:00:00.000000000 +0000"));
        assert!(!has_epoch(b"x"));
    }
}
