//! Pages that need nothing else: no script, and nothing from elsewhere.

use std::fmt::Write as _;

use crate::path::is_escaped;

const STYLE: &str = "\
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; --added: #1a7f3722; --removed: #cf222e22; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8884; vertical-align: top; overflow-wrap: anywhere; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; } dt { opacity: .75; } dd { margin: 0; font-size: 1.6rem; }
.failed { font-weight: 600; } code, pre { font: .9em/1.45 ui-monospace, monospace; }
section { margin: 1.5rem 0; border: 1px solid #8884; border-radius: 6px; overflow: hidden; }
section h2 { margin: 0; padding: .4rem .8rem; font-size: 1rem; background: #8881; overflow-wrap: anywhere; }
pre { margin: 0; padding: .4rem 0; overflow-x: auto; } pre span { display: block; padding: 0 .8rem; min-width: max-content; }
.added { background: var(--added); } .removed { background: var(--removed); } .place { opacity: .75; }";

/// A page with this title, around a body that is HTML.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = text(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style></head>\n<body><main><h1>{title}</h1>\n{body}</main></body></html>\n"
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
                "place"
            }
            Some(b'+') if is_in_hunk => "added",
            Some(b'-') if is_in_hunk => "removed",
            Some(b' ') if is_in_hunk => "",
            _ => "place",
        };
        let _ = write!(lines, "<span class=\"{class}\">{}</span>", text(line));
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
        let classes: Vec<_> = page.split("class=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(classes, ["place", "place", "place", "removed", "added", "added", "", "place", "removed"]);
        assert!(page.contains("<span class=\"removed\">-&lt;x&gt;</span>"), "{page}");
    }
}
