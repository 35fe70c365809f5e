//! The diagnosis of an anchor that was not found, or found too often: data in errors.

/// Below this similarity a region is not mentioned in the message.
const ALIKE: f64 = 0.4;

/// The region of a file most similar to an anchor, and the reason why it did not match.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The nearest region with line numbers.
    pub snippet: String,
    /// Its first line, from 1.
    pub line: usize,
    /// Its similarity, 0 to 1. It explains a failure; nothing is ever applied because of it.
    pub similarity: f64,
    /// A diff from the anchor to the region.
    pub diff: String,
    /// The characters that differ, if the region is similar.
    pub differences: Vec<Difference>,
    /// The cause, if it can be determined.
    pub cause: Option<MismatchCause>,
    /// The anchor that would have matched, if the cause is certain.
    pub suggestion: Option<String>,
    /// The text of the nearest place, if no other place comes near. It is a guess: the place may not be the one meant.
    pub nearest: Option<String>,
}

/// The reason why an anchor did not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MismatchCause {
    /// Other white space.
    WhiteSpace,
    /// Tabs against spaces.
    TabsAgainstSpaces,
    /// A character that only looks the same.
    LookAlike,
    /// Escapes that were never resolved: a backslash and an `n`; or that were resolved although the file has them.
    EscapedText,
    /// Line numbers copied from a listing, or from a search.
    LineNumbers,
    /// The `+`, `-` and spaces of a diff in front of lines.
    DiffMarkers,
    /// The `>` of a quotation in front of each line.
    Quoted,
    /// A code fence, quotes or tags around the text.
    Wrapped,
    /// Entities of HTML instead of the characters.
    HtmlEntities,
    /// Other quotes: single instead of double, for example.
    QuoteStyle,
    /// An ellipsis for lines that the file has.
    Elided,
    /// Lines of the file left out without an ellipsis.
    LinesLeftOut,
    /// The replacement is there already.
    AlreadyApplied,
    /// An earlier edit removed the text; its index.
    ConsumedByEdit(usize),
    /// An edit that was staged by an earlier call removed the text.
    ConsumedByStaged,
    /// It is in another file of the request; its index.
    InOtherFile(usize),
}

impl MismatchCause {
    /// The words that complete "not found in the file".
    fn advice(self) -> String {
        match self {
            Self::WhiteSpace => {
                "it differs from the text there in white space only: copy that text as it stands".into()
            }
            Self::TabsAgainstSpaces => {
                "the file has tabs where old_string has spaces, or the other way round: copy the text as it stands"
                    .into()
            }
            Self::LookAlike => {
                "it has characters that only look like those of the file, such as quotes, dashes or no-break spaces: \
                 copy the text as it stands"
                    .into()
            }
            Self::EscapedText => "escapes like \\n or \\\" differ from what the file has: write the characters \
                                  themselves, exactly as the file does"
                .into(),
            Self::LineNumbers => "it has line numbers from a listing, which are not in the file: leave them out".into(),
            Self::DiffMarkers => {
                "it has the markers of a diff in front of its lines, which are not in the file: leave \
                                  them out"
                    .into()
            }
            Self::Quoted => {
                "it has the > of a quotation in front of its lines, which is not in the file: leave it out".into()
            }
            Self::Wrapped => {
                "it is wrapped in a code fence, quotes or tags, which are not in the file: leave them out".into()
            }
            Self::HtmlEntities => {
                "it has HTML entities such as &lt; where the file has the characters: write the characters themselves"
                    .into()
            }
            Self::QuoteStyle => "it has other quotes than the file: copy the text as it stands".into(),
            Self::Elided => "it has an ellipsis for lines of the file: write all lines, in new_string as well those \
                             that shall stay"
                .into(),
            Self::LinesLeftOut => {
                "it leaves out lines that the file has: write all lines, in new_string as well those \
                                   that shall stay"
                    .into()
            }
            Self::AlreadyApplied => "new_string is there already: the edit may have been applied before".into(),
            Self::ConsumedByEdit(index) => format!(
                "edit {} of this request changed that text: adapt old_string to its result, or make one edit of both",
                index + 1
            ),
            Self::ConsumedByStaged => {
                "an edit that was staged before changed that text: adapt old_string to what is staged".into()
            }
            Self::InOtherFile(index) => {
                format!("it is in file {} of this request: move the edit there", index + 1)
            }
        }
    }
}

impl Diagnosis {
    /// The next step for the reader: a sentence after "not found in the file".
    #[must_use]
    pub fn advice(&self) -> String {
        let place = match self.cause {
            Some(
                MismatchCause::ConsumedByEdit(_) | MismatchCause::ConsumedByStaged | MismatchCause::InOtherFile(_),
            ) => String::new(),
            Some(_) => format!(" (see line {})", self.line),
            None if self.similarity < ALIKE => String::new(),
            None => format!(" (nearest: line {}, {:.0} % alike)", self.line, self.similarity * 100.0),
        };
        let next =
            self.cause.map_or("read the file again and copy the text as it stands".into(), MismatchCause::advice);
        format!("{place}: {next}")
    }
}

/// A run of characters that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The line of the file, from 1.
    pub line: usize,
    /// The anchor's characters, with escapes for invisible ones: `\t`, `\u{a0}`.
    pub anchor: String,
    /// The file's characters.
    pub file: String,
}

/// Places in a content where an anchor was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchPlaces {
    /// The number of places.
    pub total: usize,
    /// The first few.
    pub shown: Vec<MatchPlace>,
}

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchPlace {
    /// The line, from 1.
    pub line: usize,
    /// The line and a few around it, with line numbers.
    pub snippet: String,
    /// The anchor with the fewest surrounding lines that make it unique, if that is known and not too long.
    pub unique: Option<String>,
}
