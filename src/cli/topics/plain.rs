//! Renders a topic as text for a terminal.

use std::fmt::Write as _;

use super::Topic;
use super::markdown::{MarkdownBlock, MarkdownSpan, Text, plain};
use crate::cli::output::{HEADING, styled};

/// The width of a line. Code and longer words are not wrapped.
const WIDTH: usize = 80;

/// The page in 80 columns: headings in capitals, and each row of a table as a list of its cells below the first.
pub(crate) fn render(topic: &Topic) -> String {
    let mut text = String::new();
    let mut was_item = false;
    for block in topic.blocks() {
        let is_item = matches!(block, MarkdownBlock::Item(..));
        // The items of a list are not separated by blank lines.
        let is_next_item = is_item && was_item;
        if !text.is_empty() && !is_next_item {
            text.push('\n');
        }
        was_item = is_item;
        push(&mut text, &block);
    }
    text
}

fn push(text: &mut String, block: &MarkdownBlock) {
    match block {
        MarkdownBlock::Heading(level, heading) => {
            let heading = plain(heading);
            let heading = if *level < 3 { heading.to_uppercase() } else { heading };
            let _ = writeln!(text, "{}", styled(HEADING, heading));
        }
        MarkdownBlock::Paragraph(paragraph) => wrap(text, "", "", paragraph),
        MarkdownBlock::Item(mark, item) => {
            let mark = format!("{mark} ");
            wrap(text, &mark, &" ".repeat(mark.len()), item);
        }
        MarkdownBlock::Code(code) => code.lines().for_each(|line| {
            let _ = writeln!(text, "{}", format!("    {line}").trim_end());
        }),
        MarkdownBlock::Table { head, rows } => rows.iter().for_each(|row| push_row(text, head, row)),
    }
}

/// Adds a row. In a table with more than two columns, each cell names its column.
fn push_row(text: &mut String, head: &[Text], row: &[Text]) {
    for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
        let indent = if column == 0 { "  " } else { "      " };
        let title = head.get(column).filter(|title| column > 0 && head.len() > 2 && !title.is_empty());
        match title {
            Some(title) => {
                let title = MarkdownSpan::Roman(format!("{}: ", plain(title)));
                wrap(text, indent, indent, &[&[title], &cell[..]].concat());
            }
            None => wrap(text, indent, indent, cell),
        }
    }
}

/// Adds `spans` as lines of at most `WIDTH` columns, the first after `first`, the others after `next`.
fn wrap(text: &mut String, first: &str, next: &str, spans: &[MarkdownSpan]) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in words(spans) {
        if !is_empty && columns(&line) + 1 + columns(&word) > WIDTH {
            let _ = writeln!(text, "{line}");
            next.clone_into(&mut line);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    let _ = writeln!(text, "{line}");
}

/// The words, styled if they are strong.
fn words(spans: &[MarkdownSpan]) -> Vec<String> {
    let mut words = vec![String::new()];
    for span in spans {
        let letters = span.plain();
        for (at, word) in letters.split(' ').enumerate() {
            if at > 0 {
                words.push(String::new());
            }
            let last = words.len() - 1;
            match span {
                MarkdownSpan::Strong(_) if !word.is_empty() => words[last].push_str(&styled(HEADING, word).to_string()),
                _ => words[last].push_str(word),
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The columns that a text takes on the terminal, without the escape sequences of its styles.
fn columns(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::topics::markdown::parse;

    fn rendered(markdown: &str) -> String {
        let mut text = String::new();
        for block in parse(markdown) {
            push(&mut text, &block);
        }
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn lines_are_wrapped_and_items_indented() {
        let item = format!("1. {}**end**.", "word ".repeat(20));
        let text = rendered(&item);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].starts_with("1. word") && lines[0].len() <= WIDTH && lines[1].starts_with("   word"),
            "{text}"
        );
        assert!(lines[1].ends_with(" end."), "{text}");
    }

    #[test]
    fn a_row_is_its_first_cell_and_the_others_beneath() {
        let text = rendered("| code | meaning | do |\n|---|---|---|\n| `A` | it is | see [b](b.md) |\n");
        assert_eq!(text, "  `A`\n      meaning: it is\n      do: see b\n");
        let text = rendered("| code | meaning |\n|---|---|\n| `A` | it is |\n");
        assert_eq!(text, "  `A`\n      it is\n");
    }

    #[test]
    fn code_is_indented_and_stays_as_it_is() {
        assert_eq!(rendered("## Run\n\n```sh\na  b\n\nc\n```\n"), "RUN\n    a  b\n\n    c\n");
    }
}
