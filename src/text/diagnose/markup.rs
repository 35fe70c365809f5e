//! What a chat, a diff or a page puts around and in front of text: fences, quotes, markers, entities.

/// `anchor` without the lines or characters around it that show where a text begins and ends.
pub(super) fn unwrapped(anchor: &[u8]) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = anchor.trim_ascii().split_inclusive(|byte| *byte == b'\n').collect();
    let opens = lines.first().is_some_and(|line| is_wrapping(line.trim_ascii()));
    let closes = lines.len() > 1 && lines.last().is_some_and(|line| is_wrapping(line.trim_ascii()));
    if opens || closes {
        let inner = lines.get(usize::from(opens)..lines.len() - usize::from(closes))?.concat();
        // The line break before the closing line belongs to that.
        let inner = if closes { inner.strip_suffix(b"\n").unwrap_or(&inner).to_vec() } else { inner };
        return Some(unwrapped(&inner).unwrap_or(inner));
    }
    let whole = anchor.trim_ascii();
    let pairs: [(&[u8], &[u8]); 7] = [
        (b"<old_string>", b"</old_string>"),
        (b"<![CDATA[", b"]]>"),
        (b"```", b"```"),
        (b"`", b"`"),
        (b"\"", b"\""),
        (b"'", b"'"),
        ("\u{201C}".as_bytes(), "\u{201D}".as_bytes()),
    ];
    pairs.iter().find_map(|(open, close)| Some(whole.strip_prefix(*open)?.strip_suffix(*close)?.to_vec()))
}

/// Whether a line is the first or last of a wrapping: a fence, the markers of a conflict, a tag.
fn is_wrapping(line: &[u8]) -> bool {
    let fence = line.iter().take_while(|byte| matches!(byte, b'`' | b'~')).count();
    let is_fence = fence >= 3 && !line[fence..].contains(&b'`');
    let is_marker = [&b"<<<<<<<"[..], b"=======", b">>>>>>>"].iter().any(|marker| line.starts_with(marker));
    let is_tag = line.starts_with(b"<") && line.ends_with(b">") && {
        let name = line[1..line.len() - 1].strip_prefix(b"/").unwrap_or(&line[1..line.len() - 1]);
        [&b"old_string"[..], b"old_str", b"old", b"code", b"search", b"![CDATA["].contains(&name)
    };
    is_fence || is_marker || is_tag || line == b"<![CDATA[" || line == b"]]>"
}

/// `anchor` without the `>` of a quotation in front of each line.
pub(super) fn unquoted(anchor: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(anchor.len());
    for line in anchor.split_inclusive(|byte| *byte == b'\n') {
        let line = if line.trim_ascii().is_empty() { line } else { line.strip_prefix(b">")? };
        plain.extend_from_slice(line.strip_prefix(b" ").unwrap_or(line));
    }
    Some(plain)
}

/// The texts that `anchor` may stand for as a part of a diff: its old lines; all of them; and its lines where only those
/// that change have a marker.
pub(super) fn unmarked(anchor: &[u8]) -> Vec<Vec<u8>> {
    let is_heading = |line: &[u8]| {
        [&b"@@"[..], b"--- ", b"+++ ", b"diff --git ", b"index "].iter().any(|heading| line.starts_with(heading))
    };
    let lines = anchor.split_inclusive(|byte| *byte == b'\n').skip_while(|line| is_heading(line));
    let lines: Vec<&[u8]> = lines.collect();
    let has_heading = lines.len() < anchor.split_inclusive(|byte| *byte == b'\n').count();
    let is = |line: &[u8], marker: u8| line.first() == Some(&marker);
    if !has_heading && !lines.iter().any(|line| is(line, b'-') || is(line, b'+')) {
        return Vec::new();
    }
    let is_whole = lines
        .iter()
        .all(|line| line.trim_ascii().is_empty() || line.starts_with(b" ") || is(line, b'-') || is(line, b'+'));
    let bare = |line: &[u8], is_marked: bool| if is_marked { line.get(1..).unwrap_or_default() } else { line }.to_vec();
    let is_feed = |line: &[u8]| line.trim_ascii().is_empty() && line.len() < 2;
    let mut list = Vec::new();
    if is_whole {
        let old = lines.iter().filter(|line| !is(line, b'+'));
        list.push(old.map(|line| bare(line, !is_feed(line))).collect::<Vec<_>>().concat());
        list.push(lines.iter().map(|line| bare(line, !is_feed(line))).collect::<Vec<_>>().concat());
    }
    let old = lines.iter().filter(|line| !is(line, b'+'));
    list.push(old.map(|line| bare(line, is(line, b'-'))).collect::<Vec<_>>().concat());
    list.push(lines.iter().map(|line| bare(line, is(line, b'-') || is(line, b'+'))).collect::<Vec<_>>().concat());
    list
}

/// `anchor` with the entities of HTML resolved, if it has any.
pub(super) fn unescaped_html(anchor: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(anchor.len());
    let mut rest = anchor;
    while let Some(first) = rest.first() {
        if let Some((c, len)) = entity(rest) {
            plain.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[len..];
        } else {
            plain.push(*first);
            rest = &rest[1..];
        }
    }
    (plain.len() != anchor.len()).then_some(plain)
}

/// The longest entity that is looked for.
const ENTITY: usize = 10;

/// The character of the entity at the start of `text`, and the length of the entity.
fn entity(text: &[u8]) -> Option<(char, usize)> {
    let name = text.strip_prefix(b"&")?;
    let end = name.iter().take(ENTITY).position(|byte| *byte == b';')?;
    let number = |digits: &[u8], radix| u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok();
    let c = match &name[..end] {
        b"lt" => '<',
        b"gt" => '>',
        b"amp" => '&',
        b"quot" => '"',
        b"apos" => '\'',
        b"nbsp" => '\u{A0}',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        _ => return None,
    };
    Some((c, end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(found: Option<Vec<u8>>) -> Option<String> {
        found.map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn wrappings_are_taken_away() {
        for wrapped in [
            "```rust\nlet a;\n```",
            "\n```\nlet a;\n```\n",
            "~~~\nlet a;\n~~~",
            "`let a;`",
            "\"let a;\"",
            "<old_string>\nlet a;\n</old_string>",
            "<<<<<<< SEARCH\nlet a;\n=======",
            "<![CDATA[let a;]]>",
        ] {
            assert_eq!(text(unwrapped(wrapped.as_bytes())).as_deref(), Some("let a;"), "{wrapped:?}");
        }
        assert_eq!(unwrapped(b"let a = `b`;"), None);
    }

    #[test]
    fn quotation_marks_must_be_on_every_line() {
        assert_eq!(text(unquoted(b"> a\n>  b\n>\n\n>c")).as_deref(), Some("a\n b\n\n\nc"));
        assert_eq!(unquoted(b"> a\nb"), None);
    }

    #[test]
    fn a_part_of_a_diff_has_an_old_side() {
        let first = |diff: &str| text(unmarked(diff.as_bytes()).into_iter().next());
        assert_eq!(first("@@ -1 +1 @@\n a\n-b\n+c\n").as_deref(), Some("a\nb\n"));
        assert_eq!(first("-a\n\n-b").as_deref(), Some("a\n\nb"));
        assert_eq!(text(unmarked(b"fn\n-    a\n}").into_iter().next()).as_deref(), Some("fn\n    a\n}"));
        assert_eq!(first(" a\n b\n"), None);
    }

    #[test]
    fn entities_are_resolved() {
        assert_eq!(
            text(unescaped_html(b"a &lt;b&gt; &amp;&amp; &#39;c&#x27; &amp;lt;")).as_deref(),
            Some("a <b> && 'c' &lt;")
        );
        assert_eq!(unescaped_html(b"a & b; &what;"), None);
    }
}
