//! Finds out which characters a pattern names, however it spells them, and other facts of its syntax.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, ClassBracketed, ClassSetItem, Visitor, visit};
use regex_syntax::hir::{Class, HirKind, translate::Translator};

/// Returns whether a regular expression is about a character: it names it literally; or within a class that matches it
/// or `without`; or it has a class, not a negated one, that matches it and not `without`.
pub(super) fn names(pattern: &str, character: char, without: char) -> bool {
    let search = NamedGroups { pattern, character, without, named: false, found: false };
    // An invalid pattern names nothing: it is refused elsewhere.
    Parser::new().parse(pattern).is_ok_and(|ast| visit(&ast, search).unwrap_or_default())
}

/// Returns whether text appended to a pattern would be part of a comment.
pub(super) fn ends_in_comment(pattern: &str) -> bool {
    let parsed = Parser::new().parse_with_comments(pattern);
    parsed.is_ok_and(|parsed| {
        let last = parsed.comments.last();
        last.is_some_and(|comment| comment.span.end.offset == pattern.len() && !pattern.ends_with('\n'))
    })
}

struct NamedGroups<'p> {
    pattern: &'p str,
    character: char,
    without: char,
    /// True if the class being visited names the character.
    named: bool,
    found: bool,
}

impl NamedGroups<'_> {
    /// Whether a class has the character, and whether it has the other one.
    fn has(&self, class: &ClassBracketed) -> Option<(bool, bool)> {
        let class = Ast::class_bracketed(class.clone());
        let class = Translator::new().translate(self.pattern, &class).ok()?;
        let has = |character: char| match class.kind() {
            HirKind::Class(Class::Unicode(class)) => {
                class.iter().any(|range| (range.start()..=range.end()).contains(&character))
            }
            // A class of one character is parsed as a literal.
            HirKind::Literal(literal) => *literal.0 == *character.to_string().as_bytes(),
            _ => false,
        };
        Some((has(self.character), has(self.without)))
    }
}

impl Visitor for NamedGroups<'_> {
    type Output = bool;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<bool, Self::Err> {
        Ok(self.found)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        match ast {
            Ast::Literal(literal) => self.found |= literal.c == self.character,
            Ast::ClassBracketed(_) => self.named = false,
            _ => {}
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::ClassBracketed(class) = ast
            && let Some((has, has_other)) = self.has(class)
        {
            self.found |= self.named && (has || has_other) || !class.negated && has && !has_other;
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        self.named |= matches!(item, ClassSetItem::Literal(literal) if literal.c == self.character);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carriage_return_has_many_spellings() {
        for pattern in
            [r"\r", r"a\x0Db", r"\x{d}", r"\u{0d}", r"\U0000000D", r"[^\r]", r"[\r\n]", r"(?x) [\x0b-\x0e] # x", "\r"]
        {
            assert!(names(pattern, '\r', '\n'), "{pattern}");
        }
        for pattern in
            [r"C:\\run", r"[^\n]", r"\s", r"[\x00-\x1f]", r"[^\r\n]", r"[\s&&[^\r\n]]", r"(?x) a # \r", "feff"]
        {
            assert!(!names(pattern, '\r', '\n'), "{pattern}");
        }
        for pattern in [r"[\x00-\x1f&&[^\n]]", r"[\s--\n]", r"[\s--\r]", r"[[\r]]", r"[\r]"] {
            assert!(names(pattern, '\r', '\n'), "{pattern}");
        }
    }

    #[test]
    fn a_comment_at_the_end_is_recognised() {
        for (pattern, ends) in [("(?x)a # c", true), ("(?x)a # c\n", false), ("a # c", false), ("(?x:a # c\n)", false)]
        {
            assert_eq!(ends_in_comment(pattern), ends, "{pattern}");
        }
    }
}
