//! Which characters a pattern names, in whatever way it spells them.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, ClassSetItem, Visitor, visit};

/// Whether a regular expression names a character: by itself, or in a range that has it and not `without`.
pub(super) fn names(pattern: &str, character: char, without: char) -> bool {
    let search = Search { character, without, found: false };
    // What is no pattern names nothing: it is refused elsewhere.
    Parser::new().parse(pattern).is_ok_and(|ast| visit(&ast, search).unwrap_or_default())
}

struct Search {
    character: char,
    without: char,
    found: bool,
}

impl Visitor for Search {
    type Output = bool;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<bool, Self::Err> {
        Ok(self.found)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::Literal(literal) = ast {
            self.found |= literal.c == self.character;
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        self.found |= match item {
            ClassSetItem::Literal(literal) => literal.c == self.character,
            ClassSetItem::Range(range) => {
                let has = |c: char| (range.start.c..=range.end.c).contains(&c);
                has(self.character) && !has(self.without)
            }
            _ => false,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carriage_return_has_many_spellings() {
        for pattern in [r"\r", r"a\x0Db", r"\x{d}", r"\u{0d}", r"\U0000000D", r"[^\r\n]", r"(?x) [\x0b-\x0e] # x", "\r"]
        {
            assert!(names(pattern, '\r', '\n'), "{pattern}");
        }
        for pattern in [r"C:\\run", r"[^\n]", r"\s", r"[\x00-\x1f]", r"(?x) a # \r", "feff"] {
            assert!(!names(pattern, '\r', '\n'), "{pattern}");
        }
    }
}
