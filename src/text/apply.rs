//! Applying edits in order, or saying why one cannot be.

use std::cell::OnceCell;
use std::ops::{ControlFlow, Range};

use memchr::memchr;

use super::content::{Changes, Content};
use super::diagnose::{self, Cause};
use super::locate::{Needle, Overlap, places};
use super::newline::{Ending, breaks, convert};
use super::{Applied, Edited, MatchKind, Refused};
use crate::error::{Detail, ErrorKind};
use crate::request::edit::{Anchor, Count, Edit};

/// Lines that an answer names for one edit.
const LINES: usize = 100;

/// Matches remembered to be shown where there are too many.
const REMEMBERED: usize = 5;

/// Places whose old text is kept, in all edits together, to tell which edit took an anchor away.
const KEPT_PLACES: usize = 1 << 20;

pub(super) fn edit(base: &[u8], edits: &[Edit]) -> Result<Edited, Refused> {
    if edits.is_empty() {
        return Ok(Edited { splices: super::splice::Splices::none(), applied: Vec::new() });
    }
    if memchr(0, base).is_some() {
        let message =
            "the file has a NUL byte and is not text: edits are for text only; write its whole content instead";
        return Err(refused(0, ErrorKind::InvalidEncoding, message, Detail::None));
    }
    // A patch may well insert into an empty file; a text cannot be in one.
    let inserts =
        matches!(&edits[0].anchor, Anchor::Range { range, expected } if range.is_empty() && expected.is_empty());
    if base.is_empty() && !inserts {
        return Err(refused(0, ErrorKind::EmptyFile, "Cannot edit empty file", Detail::None));
    }
    let mut editor = Editor { base, content: Content::new(base), utf8: None, back: Vec::new(), kept_places: 0 };
    let mut applied = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        applied.push(editor.apply(index, edit)?);
    }
    Ok(Edited { splices: editor.content.splices(), applied })
}

fn refused(edit: usize, kind: ErrorKind, message: impl Into<String>, detail: Detail) -> Refused {
    Refused { edit, kind, message: message.into(), detail }
}

fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

struct Editor<'a> {
    base: &'a [u8],
    content: Content<'a>,
    /// Whether the base is UTF-8, once that was asked.
    utf8: Option<bool>,
    /// For each edit that was applied, what would take it back; the oldest are dropped where there are too many places.
    back: Vec<Option<Changes>>,
    kept_places: usize,
}

impl Editor<'_> {
    fn apply(&mut self, index: usize, edit: &Edit) -> Result<Applied, Refused> {
        if !edit.replacement.is_ascii() && !*self.utf8.get_or_insert_with(|| std::str::from_utf8(self.base).is_ok()) {
            let message = "the file is not UTF-8, so text beyond ASCII cannot be put into it: convert the file first, \
                           or use ASCII only";
            return Err(refused(index, ErrorKind::InvalidEncoding, message, Detail::None));
        }
        let matches = match &edit.anchor {
            Anchor::Text { text, count } => self.find(index, edit, text, *count)?,
            Anchor::Range { range, expected } => vec![self.check(index, range, expected)?],
        };
        let lines = matches.iter().take(LINES).map(|range| self.content.line_at(range.start)).collect();
        let changes = match edit.anchor {
            Anchor::Text { .. } => self.changes(&matches, &edit.replacement),
            Anchor::Range { .. } => {
                let mut changes = Changes::default();
                let span = self.content.add(&edit.replacement);
                changes.push(matches[0].clone(), span);
                changes
            }
        };
        let back = self.content.replace(&changes);
        self.remember(back);
        Ok(Applied { replaced: matches.len(), lines, match_kind: MatchKind::Exact })
    }

    fn remember(&mut self, back: Changes) {
        self.kept_places += back.len();
        self.back.push(Some(back));
        if self.kept_places > KEPT_PLACES {
            self.back.iter_mut().for_each(|back| *back = None);
            self.kept_places = 0;
        }
    }

    /// The matches of a text, if there are as many as there must be.
    fn find(&self, index: usize, edit: &Edit, text: &[u8], count: Count) -> Result<Vec<Range<usize>>, Refused> {
        let overlap = if count == Count::Once { Overlap::Counted } else { Overlap::Skipped };
        let remembered = match count {
            Count::Once => REMEMBERED,
            Count::Exactly(wanted) => wanted.max(REMEMBERED),
            Count::All => usize::MAX,
        };
        let mut matches = Vec::new();
        let mut total = 0;
        // An empty text stands everywhere and nowhere; validation refuses it with better words.
        if !text.is_empty() {
            Needle::new(text).each_in(&self.content, overlap, |range| {
                total += 1;
                if matches.len() < remembered {
                    matches.push(range);
                }
                ControlFlow::Continue(())
            });
        }
        if total == 0 {
            return Err(self.not_found(index, edit, text));
        }
        let shown = || Detail::Matches(places(&self.content, &matches, total));
        match count {
            Count::Once if total > 1 => {
                let message = format!(
                    "old_string found {}, expected 1: add lines around it until it is unique, or replace all of them",
                    times(total)
                );
                Err(refused(index, ErrorKind::AmbiguousMatch, message, shown()))
            }
            Count::Exactly(wanted) if wanted != total => {
                let message = format!(
                    "old_string found {}, expected {wanted}: look at each place, then correct expected_matches or old_string",
                    times(total)
                );
                Err(refused(index, ErrorKind::MatchCountMismatch, message, shown()))
            }
            _ => Ok(matches),
        }
    }

    /// Checks that `expected` stands at `range`.
    fn check(&self, index: usize, range: &Range<usize>, expected: &[u8]) -> Result<Range<usize>, Refused> {
        let len = self.content.len();
        let message = if range.start > range.end || range.end > len {
            format!(
                "the range {}..{} is not in the file, which has {len} bytes there: read the file again and make the edit anew",
                range.start, range.end
            )
        } else if *self.content.bytes(range.clone()) == *expected {
            return Ok(range.clone());
        } else {
            let line = self.content.line_at(range.start);
            format!(
                "the text expected at line {line} (bytes {}..{}) is not what stands there: \
                 read the file again and make the edit anew",
                range.start, range.end
            )
        };
        let diagnosis = diagnose::at_range(&self.content.bytes(0..len), range, expected);
        Err(refused(index, ErrorKind::MatchNotFound, message, Detail::NoMatch(Box::new(diagnosis))))
    }

    /// Each match, and the replacement with the line endings that belong there.
    fn changes(&mut self, matches: &[Range<usize>], replacement: &[u8]) -> Changes {
        let mut changes = Changes::default();
        let converts = memchr(b'\n', replacement).is_some();
        let mut nearby = Nearby::default();
        for range in matches {
            let span = if converts {
                let endings: Vec<Ending> = breaks(&self.content.bytes(range.clone())).map(|b| b.1).collect();
                let usual = if endings.is_empty() { nearby.of(&self.content, range) } else { None };
                let text = convert(replacement, &endings, usual);
                self.content.add(&text)
            } else {
                self.content.add(replacement)
            };
            changes.push(range.clone(), span);
        }
        changes
    }

    fn not_found(&self, index: usize, edit: &Edit, text: &[u8]) -> Refused {
        let state = self.content.bytes(0..self.content.len());
        let mut diagnosis = diagnose::diagnose(&state, text, &edit.replacement);
        if let Some(taker) = self.taker(text) {
            diagnosis.cause = Some(Cause::ConsumedByEdit(taker));
            diagnosis.suggestion = None;
        }
        let message = format!("old_string not found in the file{}", diagnosis.advice());
        refused(index, ErrorKind::MatchNotFound, message, Detail::NoMatch(Box::new(diagnosis)))
    }

    /// The edit that took `text` away, if one did: edits are taken back, the newest first, until it is there again.
    ///
    /// What was not there before a step can only be there after it where the step changed something.
    fn taker(&self, text: &[u8]) -> Option<usize> {
        if text.is_empty() {
            return None;
        }
        let needle = Needle::new(text);
        let mut content = self.content.clone();
        for (index, back) in self.back.iter().enumerate().rev() {
            let restored = content.replace(back.as_ref()?);
            if restored.ranges().any(|range| needle.is_around(&content, range)) {
                return Some(index);
            }
        }
        None
    }
}

/// The line ending that is usual around a match, found with one look for many matches.
#[derive(Default)]
struct Nearby {
    /// The next line break as last looked up: where the look started, and what it found.
    next: Option<(usize, Option<(usize, Ending)>)>,
    /// The last one of the content.
    last: OnceCell<Option<Ending>>,
}

impl Nearby {
    /// For a match at `range`; ranges are asked about in ascending order.
    fn of(&mut self, content: &Content<'_>, range: &Range<usize>) -> Option<Ending> {
        let known = self.next.filter(|(_, found)| found.is_none_or(|(feed, _)| feed >= range.end));
        let (_, found) = known.unwrap_or_else(|| (range.end, content.next_break(range.end)));
        self.next = Some((range.end, found));
        match found {
            Some((_, ending)) => Some(ending),
            // There is none after this match, so the one before it is the last, whichever match it is.
            None => *self.last.get_or_init(|| content.previous_break(range.start)),
        }
    }
}
