//! What a diff of git says, in the other formats.

use serde_json::{Value, json};
use txedit::patch::Format;
use txedit::wire::request;
use txedit::{Matching, Patch, PathRule, Request, Result};

use super::{Random, Tree};

/// A format that says what was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dialect {
    Git,
    Envelope,
    SearchReplace,
    Plan,
}

impl Dialect {
    pub(super) const ALL: [Self; 4] = [Self::Git, Self::Envelope, Self::SearchReplace, Self::Plan];
}

/// What a diff says of one file.
#[derive(Debug, Default)]
pub(super) struct Section {
    old: Option<String>,
    new: Option<String>,
    hunks: Vec<Hunk>,
}

#[derive(Debug, Default)]
struct Hunk {
    /// Its first old line, from 1.
    start: usize,
    /// The sign, and the line with its break, if it has one.
    lines: Vec<(u8, Vec<u8>)>,
}

impl Hunk {
    fn side(&self, sign: u8) -> Vec<Vec<u8>> {
        self.lines.iter().filter(|(it, _)| *it == sign || *it == b' ').map(|(_, line)| line.clone()).collect()
    }
}

impl Section {
    /// The sections of a diff that git made of plain names.
    pub(super) fn read(diff: &[u8]) -> Vec<Self> {
        let mut sections: Vec<Self> = Vec::new();
        let mut left = (0, 0);
        for line in diff.split_inclusive(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end_matches('\n');
            if line.starts_with(b"\\") {
                let hunk = sections.last_mut().unwrap().hunks.last_mut().unwrap();
                hunk.lines.last_mut().unwrap().1.pop();
            } else if left != (0, 0) {
                let hunk = sections.last_mut().unwrap().hunks.last_mut().unwrap();
                hunk.lines.push((line[0], line[1..].to_vec()));
                left.0 -= usize::from(line[0] != b'+');
                left.1 -= usize::from(line[0] != b'-');
            } else if let Some(names) = text.strip_prefix("diff --git a/") {
                let (old, new) = names.split_once(" b/").unwrap();
                sections.push(Self { old: Some(old.into()), new: Some(new.into()), hunks: Vec::new() });
            } else if text.starts_with("new file mode") {
                sections.last_mut().unwrap().old = None;
            } else if text.starts_with("deleted file mode") {
                sections.last_mut().unwrap().new = None;
            } else if let Some(ranges) = text.strip_prefix("@@ -") {
                let mut words = ranges.split(' ').map(|word| word.trim_start_matches('+'));
                let mut range = || {
                    let word = words.next().unwrap();
                    let (start, count) = word.split_once(',').unwrap_or((word, "1"));
                    (start.parse().unwrap_or(1), count.parse().unwrap())
                };
                let ((start, old), (_, new)) = (range(), range());
                left = (old, new);
                sections.last_mut().unwrap().hunks.push(Hunk { start, lines: Vec::new() });
            }
        }
        sections
    }
}

/// A patch that says what `diff` does; `None` where the format cannot.
pub(super) fn render(
    dialect: Dialect,
    diff: &[u8],
    sections: &[Section],
    trees: (&Tree, &Tree),
    random: &mut Random,
) -> Option<Vec<u8>> {
    let all: Option<Vec<Vec<u8>>> = match dialect {
        Dialect::Git => return Some(diff.to_vec()),
        Dialect::Envelope => sections.iter().map(|section| enveloped(section, trees, random)).collect(),
        Dialect::SearchReplace => sections.iter().map(|section| searched(section, trees)).collect(),
        Dialect::Plan => return planned(sections, trees),
    };
    let all = all?.concat();
    Some(match dialect {
        Dialect::Envelope => [b"*** Begin Patch\n", &all[..], b"*** End Patch\n"].concat(),
        _ => all,
    })
}

/// The request of a rendering.
pub(super) fn request(dialect: Dialect, patch: &[u8], matching: Matching) -> Result<Request> {
    let format = match dialect {
        Dialect::Plan => {
            let word = if matching == Matching::Tolerant { "tolerant" } else { "exact" };
            let plan =
                String::from_utf8(patch.to_vec()).unwrap().replace("\"match\":\"\"", &format!("\"match\":\"{word}\""));
            return request::parse(plan.as_bytes())?.into_request(PathRule::AbsoluteOrRelative);
        }
        Dialect::Git => Format::Unified,
        Dialect::Envelope => Format::Envelope,
        Dialect::SearchReplace => Format::SearchReplace,
    };
    // Told by its content, as on the command line.
    let patch = Patch::read(patch, None, Some(matching))?;
    assert_eq!(patch.format, format);
    Ok(patch.request)
}

fn content<'t>(tree: &'t Tree, name: Option<&String>) -> Option<&'t [u8]> {
    tree.get(std::path::Path::new(name?)).map(|(content, _)| &content[..])
}

/// Whether the last line break stays as it is, and a new file has one: those formats say nothing of it.
fn keeps_end((before, after): (Option<&[u8]>, &[u8])) -> bool {
    let ends = |text: &[u8]| text.is_empty() || text.ends_with(b"\n");
    ends(after) == before.is_none_or(ends)
        && (before.is_none_or(<[u8]>::is_empty) == after.is_empty() || before.is_none())
}

fn without_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line that the first one of a hunk is beneath: the last in front of it that is indented less.
fn header<'t>(old: &'t [u8], hunk: &Hunk) -> Option<&'t [u8]> {
    let lines: Vec<&[u8]> = old.split(|byte| *byte == b'\n').collect();
    let depth = |line: &[u8]| line.len() - line.trim_ascii_start().len();
    let first = lines.get(hunk.start.checked_sub(1)?)?;
    let above = lines[..hunk.start - 1].iter().rev();
    let header = above.filter(|line| !line.trim_ascii().is_empty()).find(|line| depth(line) < depth(first))?;
    Some(header.trim_ascii())
}

fn enveloped(section: &Section, (before, after): (&Tree, &Tree), random: &mut Random) -> Option<Vec<u8>> {
    let (old, new) = (content(before, section.old.as_ref()), content(after, section.new.as_ref()));
    let (old, new) = match (old, new) {
        (Some(_), None) => return Some(format!("*** Delete File: {}\n", section.old.as_ref()?).into_bytes()),
        (old, new) => (old, new?),
    };
    if !keeps_end((old, new)) {
        return None;
    }
    let name = section.new.as_ref()?;
    let Some(old_name) = &section.old else {
        let lines = new.split_inclusive(|byte| *byte == b'\n').flat_map(|line| [b"+", line].concat());
        return Some([format!("*** Add File: {name}\n").into_bytes(), lines.collect()].concat());
    };
    let mut text = format!("*** Update File: {old_name}\n").into_bytes();
    if name != old_name {
        text.extend(format!("*** Move to: {name}\n").into_bytes());
    }
    for hunk in &section.hunks {
        let header = old.filter(|_| random.chance(30)).and_then(|old| header(old, hunk)).unwrap_or_default();
        text.extend(if header.is_empty() { b"@@\n".to_vec() } else { [b"@@ ", header, b"\n"].concat() });
        for (sign, line) in &hunk.lines {
            text.extend([&[*sign], without_break(line), b"\n"].concat());
        }
    }
    Some(text)
}

fn searched(section: &Section, (before, after): (&Tree, &Tree)) -> Option<Vec<u8>> {
    let (old, new) = (content(before, section.old.as_ref()), content(after, section.new.as_ref())?);
    let name = section.new.as_ref()?;
    if !keeps_end((old, new)) || section.old.as_ref().is_some_and(|old| old != name) {
        return None;
    }
    // Where the last lines of a file without a last line break go, the line before keeps its own.
    let bare = |hunk: &Hunk, sign| hunk.side(sign).iter().map(|line| without_break(line).to_vec()).collect::<Vec<_>>();
    let ends_shorter = |hunk: &Hunk| {
        let (old, new) = (bare(hunk, b'-'), bare(hunk, b'+'));
        old.last() != new.last() && new.last().is_none_or(|last| old.contains(last))
    };
    if old.is_some_and(|old| !old.ends_with(b"\n")) && section.hunks.last().is_some_and(ends_shorter) {
        return None;
    }
    // Marks that no line of the texts looks like.
    let looks = |sign: u8, count: usize| {
        let is_mark = |line: &[u8]| line.iter().take_while(|byte| **byte == sign).count() == count;
        [old.unwrap_or_default(), new].iter().any(|text| text.split(|byte| *byte == b'\n').any(is_mark))
    };
    let count = (5..=9).rev().find(|count| b"<=>".iter().all(|sign| !looks(*sign, *count)))?;
    let [head, divider, tail] = ["<", "=", ">"].map(|sign| sign.repeat(count));
    let block = |search: Vec<u8>, replace: Vec<u8>| {
        let head = format!("{name}\n{head} SEARCH\n");
        let [divider, tail] = [format!("{divider}\n"), format!("{tail} REPLACE\n\n")];
        [head.into_bytes(), search, divider.into_bytes(), replace, tail.into_bytes()].concat()
    };
    if old.is_none() {
        return Some(block(Vec::new(), new.to_vec()));
    }
    let joined = |lines: Vec<Vec<u8>>| -> Vec<u8> {
        lines.iter().flat_map(|line| [without_break(line), b"\n"].concat()).collect()
    };
    let blocks = section.hunks.iter().map(|hunk| {
        let search = joined(hunk.side(b'-'));
        // An empty SEARCH makes a new file, and one of blanks is refused.
        (!search.trim_ascii().is_empty()).then(|| block(search, joined(hunk.side(b'+'))))
    });
    blocks.collect::<Option<Vec<_>>>().map(|blocks| blocks.concat())
}

fn planned(sections: &[Section], (before, after): (&Tree, &Tree)) -> Option<Vec<u8>> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
    let mut files: Vec<Value> = Vec::new();
    for section in sections {
        let (old, new) = (content(before, section.old.as_ref()), content(after, section.new.as_ref()));
        let Some(old_name) = &section.old else {
            files.push(json!({"file_path": section.new, "content": text(new?.to_vec())?}));
            continue;
        };
        let Some(name) = &section.new else {
            files.push(json!({"file_path": old_name, "delete": true}));
            continue;
        };
        let mut file = json!({"file_path": old_name});
        if name != old_name {
            file["rename_to"] = name.as_str().into();
        }
        let is_text = std::str::from_utf8(old?).is_ok();
        let mut edits = Vec::new();
        for hunk in &section.hunks {
            let (old, new) = (hunk.side(b'-').concat(), hunk.side(b'+').concat());
            // Neither an insertion into nothing, nor text beyond ASCII in a file that is not UTF-8.
            if old.is_empty() || !(is_text || new.is_ascii()) {
                return None;
            }
            edits.push(json!({"old_string": text(old)?, "new_string": text(new)?, "match": ""}));
        }
        if !edits.is_empty() {
            file["edits"] = edits.into();
        }
        files.push(file);
    }
    Some(json!({ "files": files }).to_string().into_bytes())
}
