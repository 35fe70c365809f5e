//! Pages that need nothing else: no script, and nothing from elsewhere.

use std::fmt::Write as _;

use crate::path::is_escaped;

/// The look of the review page, and what it has not.
const STYLE: &str = concat!(
    include_str!("web/page/page.css"),
    include_str!("web/page/diff.css"),
    "
main { max-width: 70rem; margin: 0 auto; padding: 1.25rem; display: grid; grid-template-columns: minmax(0, 1fr); gap: .9rem; }
.top code { overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; letter-spacing: -.01em; }
table { border-collapse: collapse; width: 100%; background: var(--panel); }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--muted); font-weight: 600; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; } dt { color: var(--muted); } dd { font-size: 1.6rem; }
.failed { font-weight: 600; }
.difftext pre { max-height: none; }
.difftext .counts { float: right; font-weight: 400; }
"
);

/// A page with this title, around a body that is HTML.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = text(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style></head>\n\
         <body><header class=\"top\"><h1>txedit <span>{title}</span></h1></header>\n<main>\n{body}</main></body></html>\n"
    )
}

/// A text, so that nothing in it is taken for markup.
pub(crate) fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' => escaped.push('\t'),
            // It would change the direction of what follows, or is not shown.
            _ if is_escaped(character) => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// A unified diff; what it says by a sign at the start of a line is seen by colour as well.
pub(crate) fn diff(diff: &str) -> String {
    let mut lines = String::with_capacity(diff.len() * 2);
    let mut is_in_hunk = false;
    lines.push_str("<pre>");
    for line in diff.lines() {
        is_in_hunk &= matches!(line.as_bytes().first(), Some(b' ' | b'+' | b'-' | b'\\' | b'@'));
        let class = match line.as_bytes().first() {
            Some(b'@') => {
                is_in_hunk = true;
                "meta"
            }
            Some(b'+') if is_in_hunk => "add",
            Some(b'-') if is_in_hunk => "del",
            Some(b' ') if is_in_hunk => "same",
            _ => "meta",
        };
        let _ = write!(lines, "<span class=\"line {class}\">{}</span>", text(line));
    }
    lines.push_str("</pre>\n");
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(text("<a b='c' d=\"e\">&\u{202e}\t"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\\u{202e}\t");
    }

    #[test]
    fn lines_of_a_hunk_are_told_from_those_of_a_header() {
        let page = diff("--- a\n+++ b\n@@ -1 +1,2 @@\n-<x>\n+y\n+z\n same\n\\ No newline\n--- c\n");
        let classes: Vec<_> = page.split("class=\"line ").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(classes, ["meta", "meta", "meta", "del", "add", "add", "same", "meta", "del"]);
        assert!(page.contains("<span class=\"line del\">-&lt;x&gt;</span>"), "{page}");
    }
}
