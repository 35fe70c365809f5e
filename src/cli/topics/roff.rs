//! Renders a topic as a manual page.

use std::io;

use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::Topic;
use super::markdown::{MarkdownBlock, MarkdownSpan, Text, plain};

/// The manual that all pages belong to.
pub(crate) const MANUAL: &str = "txedit manual";
/// The program and its version, at the foot of each page.
pub(crate) const SOURCE: &str = concat!("txedit ", env!("CARGO_PKG_VERSION"));

/// The page in roff, the language of `man`.
pub(crate) fn render(topic: &Topic) -> io::Result<Vec<u8>> {
    let mut page = Roff::new();
    let name = format!("txedit-{}", topic.name);
    page.control("TH", [&*name, &*topic.section.to_string(), "", SOURCE, MANUAL]);
    page.control("SH", ["NAME"]).text([roman(format!("{name} - {}", topic.about))]);
    page.control("SH", ["DESCRIPTION"]);
    for block in topic.blocks() {
        push(&mut page, &block);
    }
    see_also(&mut page, &["txedit(1)".to_owned()]);
    let mut bytes = Vec::new();
    page.to_writer(&mut bytes)?;
    Ok(bytes)
}

/// Adds the section with the other pages.
pub(crate) fn see_also(page: &mut Roff, others: &[String]) {
    page.control("SH", ["SEE ALSO"]).text([roman(others.join(", "))]);
}

/// Adds the lines of an example, unchanged.
pub(crate) fn example<'a>(page: &mut Roff, lines: impl IntoIterator<Item = &'a str>) {
    page.control("RS", ["4"]).control("EX", []);
    for line in lines {
        page.text([roman(line)]);
    }
    page.control("EE", []).control("RE", []);
}

fn push(page: &mut Roff, block: &MarkdownBlock) {
    match block {
        // The title is the name of the page.
        MarkdownBlock::Heading(1, _) => {}
        MarkdownBlock::Heading(2, text) => {
            page.control("SH", [&*plain(text).to_uppercase()]);
        }
        MarkdownBlock::Heading(_, text) => {
            page.control("SS", [&*plain(text)]);
        }
        MarkdownBlock::Paragraph(text) => {
            page.control("PP", []).text(inline(text));
        }
        MarkdownBlock::Item(mark, text) => {
            let mark = if mark == "-" { "\\(bu" } else { mark };
            page.control("IP", [mark, "4"]).text(inline(text));
        }
        MarkdownBlock::Code(code) => example(page, code.lines()),
        MarkdownBlock::Table { head, rows } => rows.iter().for_each(|row| push_row(page, head, row)),
    }
}

/// Adds a row, with its first cell as the tag. In a table with more than two columns, each cell names its column.
fn push_row(page: &mut Roff, head: &[Text], row: &[Text]) {
    let Some((first, others)) = row.split_first() else { return };
    page.control("TP", []).text(inline(first));
    let told = others.iter().zip(&head[1..]).filter(|(cell, _)| !cell.is_empty());
    for (at, (cell, title)) in told.enumerate() {
        if at > 0 {
            page.control("br", []);
        }
        let mut text = inline(cell);
        if head.len() > 2 && !title.is_empty() {
            text.insert(0, roman(format!("{}: ", plain(title))));
        }
        page.text(text);
    }
}

fn inline(text: &[MarkdownSpan]) -> Vec<Inline> {
    let one = |span: &MarkdownSpan| match span {
        MarkdownSpan::Roman(text) => roman(text),
        MarkdownSpan::Strong(text) | MarkdownSpan::Code(text) => bold(text),
    };
    text.iter().map(one).collect()
}
