//! Parses Markdown into a list of blocks: what the pages of docs/ consist of, without links and nesting.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A part of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MarkdownBlock {
    /// A heading of level 1, 2 or 3.
    Heading(u8, Text),
    Paragraph(Text),
    /// An item of a list, with its number or bullet.
    Item(String, Text),
    /// The lines of a code block, each with its line break.
    Code(String),
    Table {
        head: Vec<Text>,
        rows: Vec<Vec<Text>>,
    },
}

/// A text as pieces, each in one style.
pub(super) type Text = Vec<MarkdownSpan>;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkdownSpan {
    Roman(String),
    Strong(String),
    Code(String),
}

/// The characters of a text, with `backticks` around code.
pub(super) fn plain(text: &[MarkdownSpan]) -> String {
    text.iter().map(MarkdownSpan::plain).collect()
}

impl MarkdownSpan {
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Roman(text) | Self::Strong(text) => text.clone(),
            Self::Code(text) => format!("`{text}`"),
        }
    }
}

/// The blocks of a page. A link keeps only its text, and a quotation its paragraphs.
pub(super) fn parse(markdown: &str) -> Vec<MarkdownBlock> {
    let mut page = Page::default();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.blocks
}

#[derive(Default)]
struct Page {
    blocks: Vec<MarkdownBlock>,
    /// The text of the block that is open.
    text: Text,
    strong: bool,
    code: Option<String>,
    /// The number of the next item in each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    head: Vec<Text>,
    rows: Vec<Vec<Text>>,
    row: Vec<Text>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => self.code = Some(String::new()),
            Event::Start(Tag::List(first)) => {
                self.end_item();
                self.lists.push(first);
            }
            Event::Start(Tag::Strong) => self.strong = true,
            Event::End(TagEnd::Strong) => self.strong = false,
            Event::End(end) => self.end(end),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None if self.strong => self.text.push(MarkdownSpan::Strong(text.into_string())),
                None => self.text.push(MarkdownSpan::Roman(text.into_string())),
            },
            Event::Code(text) => self.text.push(MarkdownSpan::Code(text.into_string())),
            Event::SoftBreak | Event::HardBreak => self.text.push(MarkdownSpan::Roman(" ".to_owned())),
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Heading(level) => {
                let text = self.taken();
                self.blocks.push(MarkdownBlock::Heading(level as u8, text));
            }
            TagEnd::Paragraph if self.lists.is_empty() => {
                let text = self.taken();
                self.blocks.push(MarkdownBlock::Paragraph(text));
            }
            TagEnd::Paragraph | TagEnd::Item => self.end_item(),
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::CodeBlock => self.blocks.extend(self.code.take().map(MarkdownBlock::Code)),
            TagEnd::TableCell => {
                let cell = self.taken();
                self.row.push(cell);
            }
            TagEnd::TableHead => self.head = std::mem::take(&mut self.row),
            TagEnd::TableRow => self.rows.push(std::mem::take(&mut self.row)),
            TagEnd::Table => {
                let (head, rows) = (std::mem::take(&mut self.head), std::mem::take(&mut self.rows));
                self.blocks.push(MarkdownBlock::Table { head, rows });
            }
            _ => {}
        }
    }

    fn end_item(&mut self) {
        let text = self.taken();
        if let Some(number) = self.lists.last_mut().filter(|_| !text.is_empty()) {
            let mark = number.map_or("-".to_owned(), |number| format!("{number}."));
            *number = number.map(|number| number + 1);
            self.blocks.push(MarkdownBlock::Item(mark, text));
        }
    }

    fn taken(&mut self) -> Text {
        std::mem::take(&mut self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roman(text: &str) -> Text {
        vec![MarkdownSpan::Roman(text.to_owned())]
    }

    #[test]
    fn each_kind_of_block_is_read() {
        let page = "# A *b*\n\none [two](x.md)\nthree\n\n1. **first.** then\n2. second `c`\n\n```sh\nrun\n```\n\n- i\n";
        let blocks = parse(page);
        assert_eq!(plain(&[MarkdownSpan::Code("c".to_owned())]), "`c`");
        let MarkdownBlock::Heading(1, heading) = &blocks[0] else { panic!("{blocks:?}") };
        assert_eq!(plain(heading), "A b");
        let MarkdownBlock::Paragraph(paragraph) = &blocks[1] else { panic!("{blocks:?}") };
        assert_eq!(plain(paragraph), "one two three");
        let first = vec![MarkdownSpan::Strong("first.".to_owned()), MarkdownSpan::Roman(" then".to_owned())];
        assert_eq!(blocks[2], MarkdownBlock::Item("1.".to_owned(), first));
        let second = vec![MarkdownSpan::Roman("second ".to_owned()), MarkdownSpan::Code("c".to_owned())];
        assert_eq!(blocks[3], MarkdownBlock::Item("2.".to_owned(), second));
        assert_eq!(blocks[4], MarkdownBlock::Code("run\n".to_owned()));
        assert_eq!(blocks[5], MarkdownBlock::Item("-".to_owned(), roman("i")));
    }

    #[test]
    fn a_table_has_its_head_and_its_rows() {
        let blocks = parse("| a | b |\n|---|---|\n| c\\|d | e |\n");
        let rows = [vec![roman("c"), roman("e")]];
        let MarkdownBlock::Table { head, rows: found } = &blocks[0] else { panic!("{blocks:?}") };
        assert_eq!((head, found.len()), (&vec![roman("a"), roman("b")], rows.len()));
        assert_eq!((plain(&found[0][0]), plain(&found[0][1])), ("c|d".to_owned(), "e".to_owned()));
    }
}
