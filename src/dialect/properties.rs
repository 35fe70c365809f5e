//! A random change, rendered in each format and read back, is the same change.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::tests::{Tree, applied};
use super::{Format, Patch, detect};
use crate::text::diff;

/// Some lines, all different, so that the context of a change always identifies its place.
fn content() -> impl Strategy<Value = Vec<String>> {
    let word =
        select(vec!["alpha", "  beta", "\tgamma", "-- delta", "+ eps", "*** zeta", "@@ eta", "é“θ”", "𝒳 y", "===="]);
    vec(word, 1..20).prop_map(|words| words.iter().enumerate().map(|(at, word)| format!("{word} {at}")).collect())
}

/// The change of each line: it stays, goes, gets another text, or a line is inserted after it.
fn edits() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![4 => Just(0u8), 1 => Just(1), 1 => Just(2), 1 => Just(3)], 20)
}

/// The change of a file.
#[derive(Debug, Clone)]
enum RandomFate {
    Edited(Vec<u8>),
    Moved(Vec<u8>),
    Deleted,
    Created,
}

fn fate() -> impl Strategy<Value = RandomFate> {
    prop_oneof![4 => edits().prop_map(RandomFate::Edited), 1 => edits().prop_map(RandomFate::Moved), 1 => Just(RandomFate::Deleted), 1 => Just(RandomFate::Created)]
}

/// One file: its old content, and its new content and name.
#[derive(Debug, Clone)]
struct Changed {
    name: String,
    before: Option<String>,
    to: Option<String>,
    after: Option<String>,
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

fn edited(lines: &[String], edits: &[u8]) -> String {
    let mut new = Vec::new();
    for (line, edit) in lines.iter().zip(edits) {
        match edit {
            1 => {}
            2 => new.push(format!("{line} changed")),
            3 => new.extend([line.clone(), format!("behind {line}")]),
            _ => new.push(line.clone()),
        }
    }
    joined(&new)
}

fn changes() -> impl Strategy<Value = Vec<Changed>> {
    let name = select(vec!["/a.rs", "/b c.rs", "/d/é.rs", "/d/e/f", "/g%20"]);
    btree_map(name, (content(), fate()), 1..5).prop_map(|files| {
        let changed = files.into_iter().map(|(name, (lines, fate))| {
            let before = joined(&lines);
            let same = Some(name.to_owned());
            let (before, to, after) = match fate {
                RandomFate::Edited(edits) => (Some(before), same, Some(edited(&lines, &edits))),
                RandomFate::Moved(edits) => (Some(before), Some(format!("{name}.moved")), Some(edited(&lines, &edits))),
                RandomFate::Deleted => (Some(before), None, None),
                RandomFate::Created => (None, same, Some(before)),
            };
            Changed { name: name.to_owned(), before, to, after }
        });
        changed.filter(|it| it.before != it.after || it.to.as_ref() != Some(&it.name)).collect()
    })
}

fn trees(changes: &[Changed]) -> (Tree, Tree) {
    let before = changes.iter().filter_map(|it| Some((it.name.clone(), it.before.clone()?)));
    let after = changes.iter().filter_map(|it| Some((it.to.clone()?, it.after.clone()?)));
    (before.collect(), after.collect())
}

/// The hunks of a change as lines, each with its sign, without headers.
fn hunks(before: &str, after: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(diff::hunks(before.as_bytes(), after.as_bytes()).unwrap()).unwrap();
    let mut hunks: Vec<Vec<String>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("@@ -") {
            hunks.push(Vec::new());
        } else {
            hunks.last_mut().unwrap().push(line.to_owned());
        }
    }
    hunks
}

fn git(changes: &[Changed]) -> String {
    let mut text = String::new();
    for Changed { name, before, to, after } in changes {
        let to = to.as_ref().unwrap_or(name);
        let hunks = diff::hunks(before.as_deref().unwrap_or("").as_bytes(), after.as_deref().unwrap_or("").as_bytes());
        let hunks = String::from_utf8(hunks.unwrap()).unwrap();
        let _ = writeln!(text, "diff --git a{name} b{to}");
        match (before, after) {
            (None, _) => text += "new file mode 100644\n",
            (_, None) => text += "deleted file mode 100644\n",
            _ if name != to => {
                let _ = writeln!(text, "rename from {}\nrename to {}", &name[1..], &to[1..]);
            }
            _ => {}
        }
        if !hunks.is_empty() {
            let side = |sign, name: &str, there| {
                if there { format!("{sign} {name}\t\n") } else { format!("{sign} /dev/null\n") }
            };
            text += &side("---", &format!("a{name}"), before.is_some());
            text += &side("+++", &format!("b{to}"), after.is_some());
            text += &hunks;
        }
    }
    text
}

fn envelope(changes: &[Changed]) -> String {
    let mut text = String::from("*** Begin Patch\n");
    for Changed { name, before, to, after } in changes {
        match (before, after) {
            (None, Some(after)) => {
                let _ = writeln!(text, "*** Add File: {name}");
                after.lines().for_each(|line| text.extend(["+", line, "\n"]));
            }
            (_, None) => text.extend(["*** Delete File: ", name, "\n"]),
            (Some(before), Some(after)) => {
                let _ = writeln!(text, "*** Update File: {name}");
                let to = to.as_ref().filter(|to| *to != name);
                text += &to.map_or(String::new(), |to| format!("*** Move to: {to}\n"));
                for hunk in hunks(before, after) {
                    let _ = writeln!(text, "@@\n{}", hunk.join("\n"));
                }
            }
        }
    }
    text + "*** End Patch\n"
}

/// Only edits of files and new ones: the format has nothing else.
fn blocks(changes: &[Changed]) -> String {
    let mut text = String::from("Here it is.\n\n");
    for Changed { name, before, after, .. } in changes {
        let hunks = match before {
            Some(before) => hunks(before, after.as_ref().unwrap()),
            None => vec![after.iter().flat_map(|after| after.lines()).map(|line| format!("+{line}")).collect()],
        };
        for hunk in hunks {
            let side = |but: char| -> String {
                hunk.iter().filter(|line| !line.starts_with(but)).flat_map(|line| [&line[1..], "\n"]).collect()
            };
            let _ = write!(
                text,
                "`{name}`\n```\n<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n```\n\n",
                side('+'),
                side('-')
            );
        }
    }
    text
}

fn workspace_edit(changes: &[Changed]) -> String {
    let uri = |name: &str| format!("file://{}", name.replace('%', "%25").replace(' ', "%20").replace('é', "%C3%A9"));
    let position = |text: &str, at: usize| {
        let line = text[..at].matches('\n').count();
        let start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
        json!({"line": line, "character": text[start..at].encode_utf16().count()})
    };
    let mut list = Vec::new();
    for Changed { name, before, to, after } in changes {
        let (old, new) = (before.clone().unwrap_or_default(), after.clone().unwrap_or_default());
        // One edit for the part that differs, by characters.
        let lead = old.char_indices().zip(new.chars()).take_while(|((_, a), b)| a == b).last();
        let lead = lead.map_or(0, |((at, c), _)| at + c.len_utf8());
        let trail = old[lead..].chars().rev().zip(new[lead..].chars().rev()).take_while(|(a, b)| a == b);
        let trail: usize = trail.map(|(c, _)| c.len_utf8()).sum();
        let range = json!({"start": position(&old, lead), "end": position(&old, old.len() - trail)});
        let edit = json!({"range": range, "newText": new[lead..new.len() - trail]});
        let edits = json!({"textDocument": {"uri": uri(name), "version": 1}, "edits": [edit]});
        match (before, after) {
            (None, _) => list.extend([json!({"kind": "create", "uri": uri(name)}), edits]),
            (_, None) => list.push(json!({"kind": "delete", "uri": uri(name)})),
            _ => {
                list.push(edits);
                if let Some(to) = to.as_ref().filter(|to| *to != name) {
                    list.push(json!({"kind": "rename", "oldUri": uri(name), "newUri": uri(to)}));
                }
            }
        }
    }
    json!({"documentChanges": list}).to_string()
}

/// Only edits: one match for each changed line.
fn ast_grep(changes: &[Changed]) -> String {
    let mut list = Vec::new();
    for Changed { name, before, after, .. } in changes {
        let (before, after) = (before.as_ref().unwrap(), after.as_ref().unwrap());
        let mut at = 0;
        let after: BTreeMap<&str, &str> =
            after.lines().map(|line| (line.strip_suffix(" changed").unwrap_or(line), line)).collect();
        for line in before.lines() {
            let offsets = json!({"start": at, "end": at + line.len()});
            if after[line] != line {
                list.push(
                    json!({"text": line, "range": {"byteOffset": offsets}, "file": name, "replacement": after[line]}),
                );
            }
            at += line.len() + 1;
        }
    }
    json!(list).to_string()
}

fn check(format: Format, text: &str, changes: &[Changed]) -> Result<(), TestCaseError> {
    let (mut before, mut after) = trees(changes);
    if format == Format::Unified {
        // Its names are relative to the root.
        let relative = |tree: Tree| tree.into_iter().map(|(name, text)| (name[1..].to_owned(), text)).collect();
        (before, after) = (relative(before), relative(after));
    }
    prop_assert_eq!(detect(text.as_bytes()), Some(format), "{}", text);
    let patch =
        Patch::read(text.as_bytes(), None, None).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    prop_assert_eq!(applied(&before, &patch), Ok(after), "{}", text);
    Ok(())
}

proptest! {
    #[test]
    fn a_change_is_the_same_in_every_format(changes in changes()) {
        prop_assume!(!changes.is_empty());
        check(Format::Unified, &git(&changes), &changes)?;
        check(Format::Envelope, &envelope(&changes), &changes)?;
        check(Format::WorkspaceEdit, &workspace_edit(&changes), &changes)?;
        let stays = |it: &&Changed| it.to.as_ref() == Some(&it.name);
        let edited: Vec<Changed> = changes.iter().filter(stays).cloned().collect();
        if !edited.is_empty() {
            check(Format::SearchReplace, &blocks(&edited), &edited)?;
        }
    }

    #[test]
    fn lines_that_change_are_matches_of_ast_grep(lines in content(), edits in edits()) {
        let only: Vec<u8> = edits.iter().map(|edit| if *edit == 0 { 0 } else { 2 }).collect();
        prop_assume!(only.iter().take(lines.len()).any(|edit| *edit > 0));
        let (before, after) = (joined(&lines), edited(&lines, &only));
        let name = "/a".to_owned();
        let changes = [Changed { to: Some(name.clone()), name, before: Some(before), after: Some(after) }];
        check(Format::AstGrep, &ast_grep(&changes), &changes)?;
    }
}
