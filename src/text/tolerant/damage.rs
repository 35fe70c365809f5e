//! Tolerant matching with damaged texts: the result is the intended one or a refusal, never anything else.
//!
//! `PROPTEST_CASES` sets the number of cases, if it is more than the default.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::request::edit::{Anchor, Count, Edit, Hunk, HunkLine, Matching, Side};
use crate::text::edit;

const TEXTS: [&str; 14] = [
    "a",
    "b(1)",
    "c “x” d",
    "}",
    "",
    "  ",
    "\t",
    "it’s",
    "e – f",
    "if x {",
    "g  h",
    "wait… ",
    "say(\"q\")\t",
    "return;",
];

/// A line: its side, its depth, and its text.
type DamageLine = (Side, usize, &'static str);

/// The damage to the old text and, with it, the new one.
#[derive(Debug, Clone, Copy)]
struct Damage {
    /// The indentation of one level, in the file and in the damaged text.
    levels: (&'static str, &'static str),
    /// The number of levels missing in the damaged text.
    short: usize,
    /// White space at the ends of lines: dropped or added.
    trailing: Option<&'static str>,
    /// Characters are replaced by the ASCII characters that they look like.
    ascii: bool,
    /// True if the new text is damaged like the old one.
    both: bool,
}

fn damage() -> impl Strategy<Value = Damage> {
    let levels =
        select(vec![("    ", "    "), ("  ", "  "), ("\t", "\t"), ("\t", "    "), ("  ", "\t"), ("    ", "\t")]);
    let trailing = select(vec![None, Some(""), Some(" "), Some("\t ")]);
    (levels, 0_usize..3, trailing, any::<bool>(), any::<bool>())
        .prop_map(|(levels, short, trailing, ascii, both)| Damage { levels, short, trailing, ascii, both })
}

fn lines() -> impl Strategy<Value = Vec<DamageLine>> {
    let line = (select(vec![Side::Both, Side::Both, Side::Old, Side::New]), 0_usize..4, select(TEXTS.to_vec()));
    vec(line, 1..8)
}

fn indented(level: &str, depth: usize, text: &str) -> String {
    if text.trim().is_empty() { text.to_owned() } else { format!("{}{text}", level.repeat(depth)) }
}

fn ascii(text: &str) -> String {
    text.replace(['“', '”'], "\"").replace('’', "'").replace('–', "-").replace('…', "...")
}

impl Damage {
    /// A line of the damaged text, if the damage can apply to it.
    fn of(&self, depth: usize, text: &str) -> Option<String> {
        let text = if self.ascii { ascii(text) } else { text.to_owned() };
        let text = match self.trailing {
            Some(trailing) => text.trim_end().to_owned() + trailing,
            None => text,
        };
        let depth = if text.trim().is_empty() { 0 } else { depth.checked_sub(self.short)? };
        Some(indented(self.levels.1, depth, &text))
    }

    /// A new line. A look-alike, or white space at an end, that no old line has is left as intended: nothing could show
    /// that it is damaged.
    fn of_new(&self, depth: usize, text: &'static str, old: &[DamageLine]) -> Option<String> {
        let ascii = self.ascii && text.chars().filter(|c| !c.is_ascii()).all(|c| old.iter().any(|it| it.2.contains(c)));
        Self { ascii, trailing: None, ..*self }.of(depth, text)
    }
}

/// A case: the file, the intended new file, and for each line of the change the line as written.
#[derive(Debug)]
struct Case {
    base: String,
    meant: String,
    written: Vec<HunkLine>,
    /// The lines of both sides as written on the new side.
    new: String,
}

fn case(before: &[DamageLine], lines: &[DamageLine], after: &[DamageLine], damage: Damage) -> Option<Case> {
    let old: Vec<DamageLine> = lines.iter().copied().filter(|line| line.0 != Side::New).collect();
    let plain = |list: &[DamageLine], left_out: Side| {
        let list = list.iter().filter(|line| line.0 != left_out);
        list.map(|(_, depth, text)| indented(damage.levels.0, *depth, text) + "\n").collect::<String>()
    };
    let around = |list: &[DamageLine]| {
        list.iter().map(|line| indented(damage.levels.0, line.1, line.2) + "\n").collect::<String>()
    };
    let (head, tail) = (around(before), around(after));
    let (mut written, mut new) = (Vec::new(), String::new());
    for &(side, depth, text) in lines {
        let meant = indented(damage.levels.0, depth, text);
        let line = match side {
            Side::New if damage.both => damage.of_new(depth, text, &old)?,
            Side::New => meant.clone(),
            Side::Old | Side::Both => damage.of(depth, text)?,
        };
        if side == Side::New || (side == Side::Both && damage.both) {
            new += &(line.clone() + "\n");
        } else if side == Side::Both {
            new += &(meant + "\n");
        }
        written.push(HunkLine { side, text: (line + "\n").into() });
    }
    // If no old line has blanks, nothing shows that blanks of another kind are meant.
    if damage.levels.0 != damage.levels.1 && old.iter().all(|(_, depth, text)| *depth == 0 || text.trim().is_empty()) {
        return None;
    }
    // A removed line that comes back with another indentation, but is written as it was, or as it is in the file,
    // cannot be told from one that is damaged.
    let plain_text = |text: &str| ascii(text).trim_end().to_owned();
    let written_as = |wanted: Side| {
        let both = lines.iter().zip(&written).filter(move |(line, _)| line.0 == wanted);
        both.map(|(line, written)| (line.1, line.2, plain_text(std::str::from_utf8(&written.text).unwrap())))
    };
    let is_like = |new: &(usize, &str, String), old: &(usize, &str, String)| {
        new.0 != old.0 && (new.2 == old.2 || new.2 == plain_text(&indented(damage.levels.0, old.0, old.1)))
    };
    if written_as(Side::New).any(|new| written_as(Side::Old).any(|old| is_like(&new, &old))) {
        return None;
    }
    // Nor can a new blank line whose white space differs from that of an old one written like it.
    let blank = |is_new: bool| {
        let both = lines.iter().zip(&written).filter(|(line, _)| line.2.trim().is_empty());
        both.filter(move |(line, _)| (line.0 == Side::New) == is_new)
    };
    let is_other = |(new, old): ((&DamageLine, &HunkLine), (&DamageLine, &HunkLine))| {
        new.1.text == old.1.text && new.0.2 != old.0.2
    };
    if blank(true).any(|new| blank(false).any(|old| is_other((new, old)))) {
        return None;
    }
    let base = format!("{head}{}{tail}", plain(lines, Side::New));
    // A text that occurs in several places may be meant in any of them.
    let trimmed = |text: &str| text.lines().map(|line| ascii(line).trim().to_owned()).collect::<Vec<_>>();
    let (there, sought) = (trimmed(&base), old.iter().map(|line| ascii(line.2).trim().to_owned()).collect::<Vec<_>>());
    if sought.is_empty() || there.windows(sought.len()).filter(|window| **window == *sought).count() != 1 {
        return None;
    }
    let meant = format!("{head}{}{tail}", plain(lines, Side::Old));
    Some(Case { base, meant, written, new })
}

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = config.cases.max(2_000);
    ProptestConfig { cases, max_global_rejects: u32::MAX, failure_persistence: None, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_damaged_edit_does_what_was_meant_or_nothing(
        before in vec((Just(Side::Both), 0_usize..3, select(TEXTS.to_vec())), 0..3),
        lines in lines(),
        after in vec((Just(Side::Both), 0_usize..3, select(TEXTS.to_vec())), 0..3),
        damage in damage(),
        repeats_context in any::<bool>(),
    ) {
        let case = case(&before, &lines, &after, damage);
        prop_assume!(case.is_some());
        let case = case.expect("assumed");
        let text = |left_out: Side| {
            let lines = case.written.iter().filter(|line| line.side != left_out);
            lines.flat_map(|line| line.text.clone()).collect::<Vec<u8>>()
        };
        let anchor = Anchor::Text { text: text(Side::New), count: Count::Once, matching: Matching::Tolerant };
        let as_text = Edit { anchor, replacement: case.new.clone().into() };
        // In a hunk, context is written once, or else twice and alike.
        let repeats_context = repeats_context && damage.both;
        let lines = case.written.clone();
        let hunk = Hunk { lines, loose_end: true, repeats_context, matching: Matching::Tolerant, ..Hunk::default() };
        // A text that the file contains exactly as written does not count as damaged, and neither does its replacement.
        prop_assume!(!case.base.contains(std::str::from_utf8(&text(Side::New)).unwrap()));
        for edited in [as_text, hunk.into_edit()] {
            let Ok(result) = edit(case.base.as_bytes(), std::slice::from_ref(&edited)) else { continue };
            let result = String::from_utf8(result.splices.apply(case.base.as_bytes())).unwrap();
            prop_assert_eq!(&result, &case.meant, "{:?}", edited);
        }
    }
}
