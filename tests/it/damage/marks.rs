//! Damage by escapes, listings, diffs, and what a chat puts around text.

use super::Kind;
use super::case::Case;
use super::space::by_line;

pub(super) const KINDS: &[Kind] = &[
    ("line breaks as escapes", |case, _| case.old(|text| text.replace('\n', "\\n"))),
    ("quotes as escapes", |case, _| case.old(|text| text.replace('"', "\\\""))),
    ("a whole text as in JSON", |case, _| {
        case.old(|text| serde_json::to_string(text).unwrap().trim_matches('"').to_owned())
    }),
    ("backslashes doubled", |case, _| case.old(|text| text.replace('\\', "\\\\"))),
    ("indentation as escapes", |case, _| {
        *case = case.rewritten(|text| text.replace("    ", "\t"))?;
        case.old(|text| text.replace('\t', "\\t"))
    }),
    ("signs by number, as in JSON", |case, _| {
        case.old(|text| text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"))
    }),
    ("quotes by number, as in JSON", |case, _| case.old(|text| text.replace('"', "\\u0022").replace('\'', "\\u0027"))),
    ("letters by number, as in JSON", |case, _| {
        *case = case.rewritten(|text| text.replace('e', "é"))?;
        case.old(|text| text.replace('é', "\\u00e9"))
    }),
    ("escapes resolved that the file has", |case, _| {
        *case = case.rewritten(|text| text.replace(", ", "\\n"))?;
        case.old(|text| text.replace("\\n", "\n"))
    }),
    ("entities of HTML", |case, _| {
        case.old(|text| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
    }),
    ("entities of HTML for quotes", |case, _| case.old(|text| text.replace('"', "&quot;").replace('\'', "&#39;"))),
    ("entities of HTML, by number", |case, _| case.old(|text| text.replace('\'', "&#x27;").replace('"', "&#34;"))),
    ("numbers of a listing, a tab after them", |case, _| numbered(case, |number, line| format!("{number:>6}\t{line}"))),
    ("numbers of a listing, an arrow after them", |case, _| {
        numbered(case, |number, line| format!("{number:>5}→{line}"))
    }),
    ("numbers of a listing, a bar after them", |case, _| {
        numbered(case, |number, line| format!("{number:>4} | {line}"))
    }),
    ("numbers of a search", |case, _| numbered(case, |number, line| format!("{number}:{line}"))),
    ("numbers and a blank", |case, _| numbered(case, |number, line| format!("{number}: {line}"))),
    ("path and number of a search", |case, _| {
        let path = case.path.clone();
        numbered(case, |number, line| format!("src/{path}:{number}:{line}"))
    }),
    ("number of a line of context", |case, _| numbered(case, |number, line| format!("{number}-{line}"))),
    ("numbers of a listing, and less indentation", |case, _| {
        case.old(|text| by_line(text, |line| line.trim_start().to_owned()))?;
        numbered(case, |number, line| format!("{number}\t{line}"))
    }),
    ("the minus of a diff in front of each line", |case, _| case.old(|text| marked(text, |_| "-"))),
    ("the plus of a diff in front of each line", |case, _| case.old(|text| marked(text, |_| "+"))),
    ("old and unchanged lines of a diff", |case, _| {
        let changed = case.changed_line();
        case.old(|text| marked(text, |index| if index == changed { "-" } else { " " }))
    }),
    ("a minus in front of the line that changes alone", |case, _| {
        let changed = case.changed_line();
        case.old(|text| marked(text, |index| if index == changed { "-" } else { "" }))
    }),
    ("a hunk of a diff", |case, _| {
        let changed = case.changed_line();
        let line = case.new.split('\n').nth(changed)?.to_owned();
        let old = marked(&case.old, |index| if index == changed { "-" } else { " " });
        let mut lines: Vec<&str> = old.split('\n').collect();
        let added = format!("+{line}");
        lines.insert(changed + 1, &added);
        let text = format!("@@ -1,{0} +1,{0} @@\n{1}", lines.len() - 1, lines.join("\n"));
        case.old(|_| text)
    }),
    ("the mark of a quotation", |case, _| case.old(|text| by_line(text, |line| format!("> {line}")))),
    ("the mark of a quotation without a blank", |case, _| case.old(|text| by_line(text, |line| format!(">{line}")))),
    ("a fence around", |case, _| case.old(|text| format!("```rust\n{text}\n```"))),
    ("a fence without a language around", |case, _| case.old(|text| format!("```\n{text}\n```\n"))),
    ("a fence in front", |case, _| case.old(|text| format!("```rust\n{text}"))),
    ("a fence around numbers of a listing", |case, _| {
        numbered(case, |number, line| format!("{number:>6}\t{line}"))?;
        case.old(|text| format!("```\n{text}\n```"))
    }),
    ("a fence around, and less indentation", |case, _| {
        case.old(|text| format!("```rust\n{}\n```", by_line(text, |line| line.trim_start().to_owned())))
    }),
    ("backticks around", |case, _| case.old(|text| format!("`{text}`"))),
    ("quotes around", |case, _| case.old(|text| format!("\"{text}\""))),
    ("tags around", |case, _| case.old(|text| format!("<old_string>\n{text}\n</old_string>"))),
    ("markers of a block around", |case, _| case.old(|text| format!("<<<<<<< SEARCH\n{text}\n======="))),
];

/// Puts the number of each line in front of it.
fn numbered(case: &mut Case, mark: impl Fn(usize, &str) -> String) -> Option<()> {
    let first = 1 + case.file[..case.at.start].matches('\n').count();
    let numbered = |text: &str| {
        let lines = text.split('\n').enumerate().map(|(index, line)| mark(first + index, line));
        lines.collect::<Vec<_>>().join("\n")
    };
    case.old(numbered)
}

/// Puts the marker of each line in front of it.
fn marked(text: &str, marker: impl Fn(usize) -> &'static str) -> String {
    let lines = text.split('\n').enumerate().map(|(index, line)| format!("{}{line}", marker(index)));
    lines.collect::<Vec<_>>().join("\n")
}
