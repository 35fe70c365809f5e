//! Determines whether a replacement is written like its anchor or already like the file, where the two differ in
//! indentation or look-alikes. The lines that both share decide; if they do not, nothing is guessed.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use imara_diff::{Algorithm, Diff, InternedInput};

use super::indent::{Indent, leading};
use super::{LOOK_ALIKES, is_blank, shown, trim_end};
use crate::text::MatchKind;
use crate::text::diagnose::fold::Folded;

/// A line of an anchor, and the line of the file that it matched; both without line breaks.
#[derive(Debug, Clone, Copy)]
pub(in crate::text) struct LinePair<'a> {
    pub(in crate::text) anchor: &'a [u8],
    pub(in crate::text) file: &'a [u8],
}

/// The indentation that the new lines are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Anchor,
    File,
}

/// A line that occurs once in the anchor and once in the replacement, ignoring white space at its ends; or a blank one.
/// As the pair of their indices.
type SharedLine = (usize, usize);

/// The lines to compare: those of an anchor and of its replacement.
#[derive(Debug, Clone, Copy)]
pub(in crate::text) struct FrameLines<'a> {
    pub(in crate::text) old: &'a [LinePair<'a>],
    pub(in crate::text) new: &'a [&'a [u8]],
    /// Lines of the anchor that stay, and are not written again.
    pub(in crate::text) context: &'a [LinePair<'a>],
    /// True if the first of them is a whole line; otherwise its indentation is before the match, and stays as it is.
    pub(in crate::text) starts_line: bool,
    /// True if the last of them includes its end.
    pub(in crate::text) ends_line: bool,
}

impl FrameLines<'_> {
    /// The number of lines at the beginning whose start is cut off, so that their indentation is unknown and not
    /// shifted.
    fn cut_at_start(&self) -> usize {
        usize::from(!self.starts_line)
    }

    /// Returns whether both lines include their end, or neither.
    fn end_alike(&self, (old, new): (usize, usize)) -> bool {
        self.ends_line || (old + 1 == self.old.len()) == (new + 1 == self.new.len())
    }
}

impl FrameLines<'_> {
    /// Returns whether the new lines written like this correspond to those of the anchor: there are as many of both,
    /// and no new line is written as only the file has it.
    fn are_told(&self, line: &[u8]) -> bool {
        let is_of_file = |new: &&[u8]| {
            let mut old = self.old.iter();
            old.clone().any(|pair| pair.file == *new) && old.all(|pair| pair.anchor != *new)
        };
        let old = self.old.iter().filter(|pair| pair.anchor == line).count();
        old == self.new.iter().filter(|new| **new == line).count() && !self.new.iter().any(is_of_file)
    }
}

/// The origin of a new line.
enum LineOrigin<'a> {
    /// The anchor has exactly this line, and the file has this for it: where it stayed, or wherever it occurs.
    Known(&'a [u8]),
    /// It shares its text with this line of the anchor, and the indentation of both is before the match.
    Cut(LinePair<'a>),
    /// It shares its text with this line of the anchor, perhaps with other blanks before it.
    Text(LinePair<'a>),
    /// It shares its text with a line of the anchor except for look-alikes.
    LooksAlike,
    /// No line of the anchor is like it.
    Fresh,
    /// The file has several lines that the anchor writes like this, with different white space, and nothing shows which
    /// is meant.
    Unsure,
}

/// The new lines as the file would have them; `None` if that cannot be determined, or if one cannot be shifted.
///
/// A line that is written alike in anchor and replacement keeps every byte that it has in the file.
pub(in crate::text) fn fit(kind: MatchKind, shift: &Indent, lines: &FrameLines<'_>) -> Option<Vec<Vec<u8>>> {
    let kept = kept(kind, lines);
    let shared = shared(kind, lines, &kept);
    let frame = frame(shift, lines, &shared)?;
    let known = if frame == Frame::Anchor { known(lines) } else { HashMap::new() };
    let mut fitted = Vec::with_capacity(lines.new.len());
    let mut fresh = Vec::new();
    for (index, line) in lines.new.iter().enumerate() {
        // A blank line has no indentation; blanks after the last line break may be that of the text after it.
        let is_last = !lines.ends_line && index + 1 == lines.new.len();
        let stays = index < lines.cut_at_start() || line.is_empty() || (is_blank(line) && !is_last);
        let shifted = |line: &[u8]| match frame {
            Frame::Anchor if stays => Some(line.to_vec()),
            Frame::File => Some(line.to_vec()),
            Frame::Anchor if is_unsure(shift, lines.old, line) => None,
            Frame::Anchor => shift.apply(line),
        };
        fitted.push(match origin(index, lines, (&kept, &shared), &known) {
            LineOrigin::Known(file) => file.to_vec(),
            LineOrigin::Cut(pair) => pair.file.to_vec(),
            LineOrigin::Text(pair) => [&shifted(&line[..leading(line)])?, &pair.file[leading(pair.file)..]].concat(),
            LineOrigin::LooksAlike => shifted(line)?,
            LineOrigin::Unsure => return None,
            LineOrigin::Fresh => {
                fresh.push(*line);
                shifted(line)?
            }
        });
    }
    let is_told = kind != MatchKind::LookAlikes || !is_disputed(lines, &fresh);
    is_told.then_some(fitted)
}

fn origin<'a>(
    index: usize,
    lines: &FrameLines<'a>,
    (kept, shared): (&[SharedLine], &[SharedLine]),
    known: &HashMap<&'a [u8], Option<&'a [u8]>>,
) -> LineOrigin<'a> {
    let (line, cut) = (lines.new[index], lines.cut_at_start());
    let is_whole = index >= cut && (lines.ends_line || index + 1 < lines.new.len());
    let pair_in = |pairs| old_of(pairs, index).map(|at| (at, lines.old[at]));
    if let Some(file) = known.get(line).filter(|_| is_whole) {
        let stayed = || pair_in(kept).filter(|(_, pair)| pair.anchor == line && lines.are_told(line));
        let file = file.or_else(|| stayed().map(|(_, pair)| pair.file));
        return file.map_or(LineOrigin::Unsure, LineOrigin::Known);
    }
    match pair_in(shared) {
        Some((at, pair)) if text(pair.anchor) == text(line) => {
            if at < cut && index < cut {
                LineOrigin::Cut(pair)
            } else {
                LineOrigin::Text(pair)
            }
        }
        Some(_) => LineOrigin::LooksAlike,
        None => LineOrigin::Fresh,
    }
}

/// A line without the white space at its ends.
fn text(line: &[u8]) -> &[u8] {
    trim_end(&line[leading(line)..])
}

/// The whole lines of the anchor as written, each with its line in the file, if that is the same wherever it occurs.
fn known<'a>(lines: &FrameLines<'a>) -> HashMap<&'a [u8], Option<&'a [u8]>> {
    let whole = lines.old.len() - usize::from(!lines.ends_line);
    let mut known = HashMap::new();
    for pair in lines.old.iter().take(whole).skip(lines.cut_at_start()) {
        let file = known.entry(pair.anchor).or_insert(Some(pair.file));
        *file = file.filter(|file| *file == pair.file);
    }
    known
}

/// The lines that a comparison of anchor and replacement leaves unchanged.
fn kept(kind: MatchKind, lines: &FrameLines<'_>) -> Vec<SharedLine> {
    let (old, new) = (shown_anchor(kind, lines), shown_new(kind, lines));
    let mut input: InternedInput<&[u8]> = InternedInput::default();
    input.update_before(old.iter().map(|line| &**line));
    input.update_after(new.iter().map(|line| &**line));
    let diff = Diff::compute(Algorithm::Myers, &input);
    let kept_old = (0..).zip(&input.before).filter(|(at, _)| !diff.is_removed(*at)).map(|(at, _)| at as usize);
    let kept_new = (0..).zip(&input.after).filter(|(at, _)| !diff.is_added(*at)).map(|(at, _)| at as usize);
    kept_old.zip(kept_new).filter(|pair| lines.end_alike(*pair)).collect()
}

/// Those of them that are certain. A line that occurs twice is not among them: either could be meant.
fn shared(kind: MatchKind, lines: &FrameLines<'_>, kept: &[SharedLine]) -> Vec<SharedLine> {
    let (old, new) = (shown_anchor(kind, lines), shown_new(kind, lines));
    let mut count: HashMap<&[u8], usize> = HashMap::new();
    for line in old.iter().chain(&new) {
        *count.entry(line).or_default() += 1;
    }
    kept.iter().copied().filter(|(at, _)| is_blank(&old[*at]) || count[&*old[*at]] == 2).collect()
}

fn shown_anchor<'a>(kind: MatchKind, lines: &FrameLines<'a>) -> Vec<Cow<'a, [u8]>> {
    lines.old.iter().map(|pair| compared(pair.anchor, kind)).collect()
}

fn shown_new<'a>(kind: MatchKind, lines: &FrameLines<'a>) -> Vec<Cow<'a, [u8]>> {
    lines.new.iter().map(|line| compared(line, kind)).collect()
}

/// A line as it is compared: a blank one consists of its white space.
fn compared(line: &[u8], kind: MatchKind) -> Cow<'_, [u8]> {
    if is_blank(line) { line.into() } else { shown(line, kind) }
}

/// The old line that shares its text with the new line of this index.
fn old_of(shared: &[SharedLine], new: usize) -> Option<usize> {
    shared.binary_search_by_key(&new, |pair| pair.1).ok().map(|at| shared[at].0)
}

/// The indentation in which the new lines are written, if that can be determined: all shared lines must agree, and the
/// outermost new line with them. That excludes an edit that reindents lines by exactly the anchor's error.
fn frame(shift: &Indent, lines: &FrameLines<'_>, shared: &[SharedLine]) -> Option<Frame> {
    let cut = lines.cut_at_start();
    let (old, new) = (lines.old.get(cut..)?, lines.new.get(cut..)?);
    let shared = shared.iter().filter(|(at, new_at)| *at.min(new_at) >= cut);
    let shared = shared.map(|(at, new_at)| (old[at - cut], new[new_at - cut]));
    let has_text = |line: &&[u8]| !is_blank(line);
    if *shift == Indent::Same || !new.iter().any(has_text) {
        return Some(Frame::Anchor);
    }
    let blanks = |line: &[u8]| line[..leading(line)].to_vec();
    let telling = shared.filter(|(pair, _)| !is_blank(pair.anchor));
    let telling: Vec<_> = telling.map(|(pair, line)| (pair, blanks(line))).collect();
    let old_texts = || old.iter().filter(|pair| !is_blank(pair.anchor));
    let new_texts = || new.iter().filter(|line| has_text(line));
    // If only the indentation changes, that is just where the anchor is inexact. Lines that occur twice count.
    let is_reindented = telling.len() == old_texts().count() && telling.len() == new_texts().count()
        || old_texts().map(|pair| text(pair.anchor)).eq(new_texts().map(|line| text(line)));
    if telling.is_empty() && !is_reindented {
        return by_kind_of_blanks(shift, new);
    }
    let is_all = |frame| {
        let of = |pair: &LinePair<'_>| if frame == Frame::Anchor { blanks(pair.anchor) } else { blanks(pair.file) };
        let outermost = old_texts().map(|pair| of(pair).len()).min();
        outermost == new_texts().map(|line| leading(line)).min() && telling.iter().all(|(pair, new)| of(pair) == *new)
    };
    match (is_all(Frame::Anchor), is_all(Frame::File)) {
        _ if is_reindented => None,
        (true, false) => Some(Frame::Anchor),
        (false, true) => Some(Frame::File),
        _ => None,
    }
}

/// Returns whether it is unknown how the blanks before a new line are shifted: no line of the anchor has the same, and
/// they are of another kind than what is added, or the width of a tab is known from one indentation only, which may
/// also lack some levels.
fn is_unsure(shift: &Indent, old: &[LinePair<'_>], line: &[u8]) -> bool {
    let lead = &line[..leading(line)];
    let mut leads = old.iter().filter(|pair| !is_blank(pair.anchor)).map(|pair| &pair.anchor[..leading(pair.anchor)]);
    if lead.is_empty() || leads.clone().any(|known| known == lead) {
        return false;
    }
    match shift {
        Indent::Add(more) => lead.iter().any(|byte| !more.contains(byte)),
        Indent::Tabs(_) | Indent::Spaces(_) => leads.next().is_none_or(|first| leads.all(|other| other == first)),
        Indent::Same | Indent::Remove(_) => false,
    }
}

/// If the anchor has spaces for the file's tabs, or the reverse, blanks of a single kind decide.
fn by_kind_of_blanks(shift: &Indent, new: &[&[u8]]) -> Option<Frame> {
    let (anchor, file) = match shift {
        Indent::Tabs(_) => (b' ', b'\t'),
        Indent::Spaces(_) => (b'\t', b' '),
        _ => return None,
    };
    let mut indented = new.iter().filter(|line| !is_blank(line)).map(|line| &line[..leading(line)]).peekable();
    indented.peek()?;
    let is_all = |blank: u8| indented.clone().all(|lead| !lead.is_empty() && lead.iter().all(|byte| *byte == blank));
    match (is_all(anchor), is_all(file)) {
        (true, _) => Some(Frame::Anchor),
        (_, true) => Some(Frame::File),
        _ => None,
    }
}

/// Returns whether one of these new lines has a character that anchor and file spell differently.
fn is_disputed(lines: &FrameLines<'_>, fresh: &[&[u8]]) -> bool {
    let differing = lines.old.iter().chain(lines.context).flat_map(|pair| {
        let (anchor, file) = (spellings(pair.anchor), spellings(pair.file));
        anchor.symmetric_difference(&file).map(|(class, _)| *class).collect::<Vec<_>>()
    });
    let differing: BTreeSet<u8> = differing.collect();
    fresh.iter().any(|line| spellings(line).iter().any(|(class, _)| differing.contains(class)))
}

/// The characters of a line without the white space at its ends, each with the one that it looks like.
fn spellings(line: &[u8]) -> BTreeSet<(u8, char)> {
    let text = String::from_utf8_lossy(text(line)).into_owned();
    let looks_like = |char: char| Folded::new(char.to_string().as_bytes(), LOOK_ALIKES).bytes.first().copied();
    text.chars().filter_map(|char| Some((looks_like(char)?, char))).collect()
}
