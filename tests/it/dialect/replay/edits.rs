//! Edits as people and programs make them, at random.

use super::{Random, Tree};

type Lines = Vec<Vec<u8>>;

/// The tree as it is taken for the case, and what becomes of it.
pub(super) fn changed(random: &mut Random, mut before: Tree) -> (Tree, Tree) {
    for (content, _) in before.values_mut() {
        *content = respelled(random, content);
    }
    let mut after = before.clone();
    let names: Vec<_> = before.keys().cloned().collect();
    for name in &names {
        let Some((content, _)) = after.get(name).cloned() else { continue };
        let new = (edited(random, &content), false);
        match random.below(12) {
            0 => drop(after.remove(name)),
            1 => {
                after.remove(name);
                after.insert(name.with_file_name("renamed.rs"), (content, false));
            }
            2 => {
                after.remove(name);
                after.insert(name.parent().unwrap().join("moved/away.rs"), new);
            }
            3 => drop(after.insert(name.with_extension("new"), new)),
            _ => drop(after.insert(name.clone(), new)),
        }
    }
    (before, after)
}

/// The same text as another editor would have left it.
fn respelled(random: &mut Random, content: &[u8]) -> Vec<u8> {
    let mut text = super::super::feeds(content);
    match random.below(20) {
        0 | 1 => text = replaced(&text, b"\n", b"\r\n"),
        2 | 3 => text.truncate(text.trim_ascii_end().len()),
        4 => text = replaced(&text, b"    ", b"\t"),
        // Not where there is UTF-8 already: a diff of two encodings in one file is refused.
        5 if text.is_ascii() => text = replaced(&text, b"the ", b"th\xe9 "),
        6 => text = [b"\xEF\xBB\xBF", &text[..]].concat(),
        7 => text = [&text[..], b"\n\n\n"].concat(),
        8 => text = replaced(&text, b"\n", b" \n"),
        _ => {}
    }
    text
}

fn replaced(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(text.len());
    let mut at = 0;
    for found in memchr::memmem::find_iter(text, old) {
        made.extend_from_slice(&text[at..found]);
        made.extend_from_slice(new);
        at = found + old.len();
    }
    made.extend_from_slice(&text[at..]);
    made
}

/// A few edits of one content. Line breaks stay of the kind that it has.
fn edited(random: &mut Random, content: &[u8]) -> Vec<u8> {
    let is_crlf = content.ends_with(b"\r\n") || memchr::memmem::find(content, b"\r\n").is_some();
    let end: &[u8] = if is_crlf { b"\r\n" } else { b"\n" };
    let has_end = content.ends_with(b"\n");
    let mut lines: Lines =
        content.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()).collect();
    if has_end {
        lines.pop();
    }
    for _ in 0..=random.below(4) {
        one(random, &mut lines, std::str::from_utf8(content).is_ok());
    }
    let mut text = lines.join(end);
    // Now and then an editor adds or drops the last line break.
    if has_end != random.chance(4) && !lines.is_empty() {
        text.extend_from_slice(end);
    }
    text
}

fn one(random: &mut Random, lines: &mut Lines, is_utf8: bool) {
    if lines.is_empty() {
        lines.push(b"new".to_vec());
        return;
    }
    let at = random.below(lines.len());
    let count = (1 + random.below(6)).min(lines.len() - at);
    match random.below(13) {
        0 => drop(lines.drain(at..at + count)),
        1 => {
            let copy = lines[at..at + count].to_vec();
            let to = random.below(lines.len() + 1);
            lines.splice(to..to, copy);
        }
        2 => {
            let moved: Lines = lines.drain(at..at + count).collect();
            let to = random.below(lines.len() + 1);
            lines.splice(to..to, moved);
        }
        3 => lines[at..at + count].iter_mut().for_each(|line| drop(line.splice(0..0, *b"    "))),
        4 => lines[at..at + count].iter_mut().for_each(|line| {
            line.drain(..line.iter().take_while(|byte| **byte == b' ').count().min(4));
        }),
        5 => lines.insert(at, Vec::new()),
        6 => lines.retain({
            let mut blank = 0;
            move |line| {
                blank += usize::from(line.is_empty());
                !line.is_empty() || blank != 2
            }
        }),
        7 => lines[at].extend_from_slice(b"  "),
        8 => {
            let bare = lines[at].trim_ascii_end().len();
            lines[at].truncate(bare);
        }
        9 => lines[at] = replaced(&lines[at], b"\"", if is_utf8 { "”".as_bytes() } else { b"\x94" }),
        10 if is_utf8 => lines.insert(at, "// Grüße — “so”".as_bytes().to_vec()),
        10 => lines.insert(at, b"// Gr\xfc\xdfe".to_vec()),
        11 => lines[at] = lines[random.below(lines.len())].clone(),
        _ => lines[at] = word_changed(random, &lines[at]),
    }
}

fn word_changed(random: &mut Random, line: &[u8]) -> Vec<u8> {
    let mut words: Lines = line.split(|byte| *byte == b' ').map(<[u8]>::to_vec).collect();
    let at = random.below(words.len());
    words[at] = [&words[at][..], b"_changed"].concat();
    words.join(&b' ')
}
