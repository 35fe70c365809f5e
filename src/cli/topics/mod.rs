//! The topics of `txedit help TOPIC`, which are pages of docs/, and their manual pages.
//!
//! A page is parsed into blocks once ([`markdown`]); a terminal ([`plain`]) and a manual page ([`roff`]) show the same
//! blocks, so that no text exists twice.

mod markdown;
pub(crate) mod plain;
pub(crate) mod roff;

use markdown::MarkdownBlock;

/// A page of docs/ that the program carries.
#[derive(Debug)]
pub(crate) struct Topic {
    /// The word that names it: `txedit help NAME`, `man txedit-NAME`.
    pub(crate) name: &'static str,
    /// Its content in one line, for lists.
    pub(crate) about: &'static str,
    /// Its section of the manual: 5 for a format, 7 for anything else.
    pub(crate) section: u8,
    markdown: &'static str,
}

/// All topics, in the order of lists.
pub(crate) const TOPICS: [Topic; 4] = [
    Topic {
        name: "plan",
        about: "requests: fields, bounds, checks, retries, tolerant matching",
        section: 5,
        markdown: include_str!("../../../docs/plan.md"),
    },
    Topic {
        name: "patches",
        about: "the patch formats, and how they are applied",
        section: 5,
        markdown: include_str!("../../../docs/dialects.md"),
    },
    Topic {
        name: "answers",
        about: "answers as JSON, exit statuses and error codes",
        section: 5,
        markdown: include_str!("../../../docs/answers.md"),
    },
    Topic {
        name: "recovery",
        about: "the promises and their limits, recovery and undo",
        section: 7,
        markdown: include_str!("../../../docs/recovery.md"),
    },
];

/// The start of the line of links at the top of each page of docs/.
const NAVIGATION: &str = "README · ";

impl Topic {
    /// The topic of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TOPICS.iter().find(|topic| topic.name == name)
    }

    /// The page without its navigation.
    fn blocks(&self) -> Vec<MarkdownBlock> {
        let mut blocks = markdown::parse(self.markdown);
        blocks.retain(
            |block| !matches!(block, MarkdownBlock::Paragraph(text) if markdown::plain(text).starts_with(NAVIGATION)),
        );
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_is_found_by_its_name_and_has_no_navigation() {
        for topic in &TOPICS {
            assert_eq!(Topic::named(topic.name).unwrap().about, topic.about);
            let text = plain::render(topic);
            assert!(!text.contains(" · ") && !text.contains("](") && !text.contains("|---"), "{}: {text}", topic.name);
        }
        assert!(Topic::named("plans").is_none());
    }
}
