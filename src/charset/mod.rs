//! Character encodings: which one a file is in, by its byte-order mark or because a caller names it.
//!
//! UTF-8, and whatever bytes are in no named encoding, are never decoded: they are edited as they are.

mod decode;
mod encode;
mod stateful;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

pub(crate) use decode::{Decoded, MALFORMED};

/// A character encoding, by its label in the [Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels).
///
/// ```
/// use txedit::Charset;
///
/// let latin: Charset = "latin1".parse()?;
/// assert_eq!(latin.name(), "windows-1252");
/// assert!("klingon".parse::<Charset>().unwrap_err().to_string().contains("klingon"));
/// # Ok::<(), txedit::error::NotACharset>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charset {
    encoding: &'static Encoding,
    /// True for `utf-16` without a byte order: the mark of the file decides.
    either_order: bool,
}

/// Why a label names no encoding in which files can be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotACharset {
    /// No encoding has this label.
    #[error(
        "no encoding is called {0:?}; the labels are those of the WHATWG, like windows-1252, shift_jis or utf-16le"
    )]
    Unknown(String),
}

/// A file whose byte-order mark contradicts the encoding that was named for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the file starts with the byte-order mark of {marked}, and its `encoding` was said to be {named}")]
pub(crate) struct Clash {
    pub named: Charset,
    marked: &'static str,
}

impl Charset {
    /// The name of the encoding, as the standard writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        if self.either_order { "UTF-16" } else { self.encoding.name() }
    }

    /// The encoding in which `bytes` are to be decoded; `None` if they are edited as they are.
    ///
    /// Only the two marks of UTF-16 say that without a name: a file that starts with one is hardly anything else. A name
    /// that contradicts a mark is refused, since an edit of the wrong text may match by accident.
    pub(crate) fn of(bytes: &[u8], named: Option<Self>) -> Result<Option<Self>, Clash> {
        let mark = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
        let encoding = match (named, mark) {
            (None, None) => return Ok(None),
            (None, Some(marked)) => marked,
            (Some(named), None) => named.encoding,
            (Some(named), Some(marked)) if named.fits(marked) => marked,
            (Some(named), Some(marked)) => return Err(Clash { named, marked: marked.name() }),
        };
        Ok((encoding != UTF_8).then_some(Self { encoding, either_order: false }))
    }

    fn fits(self, marked: &'static Encoding) -> bool {
        self.encoding == marked || self.either_order && marked == UTF_16BE
    }

    /// Whether files in it are edited as they are.
    pub(crate) fn is_utf8(self) -> bool {
        self.encoding == UTF_8
    }

    fn is_utf16(self) -> bool {
        self.encoding == UTF_16LE || self.encoding == UTF_16BE
    }
}

impl FromStr for Charset {
    type Err = NotACharset;

    fn from_str(label: &str) -> Result<Self, NotACharset> {
        let encoding = Encoding::for_label(label.as_bytes()).ok_or_else(|| NotACharset::Unknown(shortened(label)))?;
        let is_order_named = label.trim().eq_ignore_ascii_case("utf-16le");
        match encoding.name() {
            // It decodes everything to one character; its labels are of encodings that browsers gave up.
            "replacement" => Err(NotACharset::Unknown(shortened(label))),
            _ => Ok(Self { encoding, either_order: encoding == UTF_16LE && !is_order_named }),
        }
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The start of a label for a message: a hostile one must not fill the answer.
fn shortened(label: &str) -> String {
    label.chars().take(40).collect()
}

/// The text of a content for people: decoded if it is in another encoding than UTF-8, else as it is. A byte that is in
/// no UTF-8 stands for each malformed sequence.
pub(crate) fn readable(bytes: &[u8], named: Option<Charset>) -> Cow<'_, [u8]> {
    match Charset::of(bytes, named) {
        Ok(Some(charset)) => charset.decode(bytes).into_text().into(),
        _ => bytes.into(),
    }
}

#[cfg(test)]
mod tests;
