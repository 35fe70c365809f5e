//! Edits of a file in another encoding than UTF-8.
//!
//! The edits are made in the decoded text, where everything about matching holds as it does for UTF-8. Then only the new
//! text is encoded, and put into the bytes: what no edit touches is never written anew, so that it keeps even what
//! decoding cannot express: malformed bytes, and the choice among several ways to write a character.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memmem};

use super::splice::{Splice, Splices};
use super::{Edited, RefusedEdit, apply};
use crate::charset::{Charset, Decoded, MALFORMED};
use crate::error::{Detail, EncodingFault, Error, ErrorKind};
use crate::index::{EditIndex, FileIndex};
use crate::limits;
use crate::request::edit::{Anchor, Edit, Side};

const NOT_UTF8: Detail = Detail::Encoding(EncodingFault::NotUtf8);

const BYTES: Detail = Detail::Encoding(EncodingFault::Bytes);

/// A content as edits see it: its bytes, or its text if they are in another encoding.
#[derive(Debug)]
pub struct FileText<'b> {
    bytes: &'b [u8],
    named: Option<Charset>,
    decoded: Option<(Charset, Decoded)>,
}

/// Applies `edits` to the text of `base`, which is in the encoding `named`, or in the one that its byte-order mark names.
/// The splices are those of the bytes.
pub fn edit(base: &[u8], named: Option<Charset>, edits: &[Edit]) -> Result<Edited, RefusedEdit> {
    let text = FileText::read(base, named)?;
    let Edited { splices, applied } = text.edit(edits)?;
    let splices = text.written(splices, edits)?;
    Ok(Edited { splices, applied })
}

/// A whole content in the encoding that is named for it, in which UTF-16 starts with its mark.
pub fn content(content: &[u8], encoding: Option<Charset>) -> Result<Cow<'_, [u8]>, RefusedContent> {
    let Some(charset) = encoding.filter(|charset| !charset.is_utf8()) else { return Ok(content.into()) };
    let text = std::str::from_utf8(content).map_err(|_| RefusedContent::NotUtf8(charset))?;
    let bytes = charset.encode_file(text).map_err(|character| RefusedContent::Unmappable(character, charset))?;
    match Charset::of(&bytes, encoding) {
        Ok(_) => Ok(bytes.into()),
        Err(_) => Err(RefusedContent::Marked(charset)),
    }
}

/// Why a whole content cannot be written in the encoding that is named for it.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub enum RefusedContent {
    /// It is not text in UTF-8.
    #[error("the content is to be written in {0}, and is not in UTF-8, from which it is encoded")]
    NotUtf8(Charset),
    /// The encoding does not have this character.
    #[error("{}", unwritable(*.0, *.1))]
    Unmappable(char, Charset),
    /// Its first bytes would be taken for the mark of another encoding.
    #[error("the content would start with the byte-order mark of another encoding than {0}")]
    Marked(Charset),
}

impl RefusedContent {
    pub(crate) fn into_error(self, file: FileIndex) -> Error {
        let detail = match self {
            Self::Unmappable(character, _) => Detail::Encoding(EncodingFault::Unmappable(character)),
            Self::NotUtf8(_) => Detail::Encoding(EncodingFault::NotUtf8),
            Self::Marked(_) => Detail::Encoding(EncodingFault::Marked),
        };
        Error::new(ErrorKind::InvalidEncoding, self.to_string()).in_file(file).detail(detail)
    }
}

/// `U+20AC '€' cannot be written in Shift_JIS`.
fn unwritable(character: char, charset: Charset) -> String {
    let shown = if character.is_control() { String::new() } else { format!(" '{character}'") };
    format!("U+{:04X}{shown} cannot be written in {charset}", u32::from(character))
}

impl<'b> FileText<'b> {
    /// Decodes `bytes`, if they are in another encoding than UTF-8.
    pub fn read(bytes: &'b [u8], named: Option<Charset>) -> Result<Self, RefusedEdit> {
        let charset = Charset::of(bytes, named).map_err(|clash| {
            let detail = Detail::Encoding(EncodingFault::Contradicted);
            refused(EditIndex(0), ErrorKind::InvalidEncoding, clash.to_string(), detail)
        })?;
        if let Some(charset) = charset
            && bytes.len() as u64 > limits::DECODED_FILE_BYTES
        {
            let most = limits::DECODED_FILE_BYTES;
            let message = format!("it has {} bytes, and a file in {charset} may have {most} to be edited", bytes.len());
            return Err(refused(EditIndex(0), ErrorKind::FileTooLarge, message, Detail::None));
        }
        let decoded = charset.map(|charset| (charset, charset.decode(bytes)));
        Ok(Self { bytes, named, decoded })
    }

    /// The text that edits apply to.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.decoded.as_ref().map_or(self.bytes, |(_, decoded)| decoded.text())
    }

    /// Returns whether a file that is decoded has bytes that are no character of its encoding.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.decoded.as_ref().is_some_and(|(_, decoded)| memchr(MALFORMED, decoded.text()).is_some())
    }

    /// Applies edits to the text. The splices are those of the text.
    pub fn edit(&self, edits: &[Edit]) -> Result<Edited, RefusedEdit> {
        let Some((charset, decoded)) = &self.decoded else { return super::edit(self.bytes, edits) };
        if let Some(index) = edits.iter().position(|edit| !is_utf8(edit)) {
            let message = format!("the file is in {charset}, and the edit is not in UTF-8, from which it is encoded");
            return Err(refused(EditIndex(index), ErrorKind::InvalidEncoding, message, NOT_UTF8));
        }
        edit_decoded(decoded.text(), edits)
    }

    /// The splices of the bytes for those that `edits` made in the text.
    pub fn written(&self, splices: Splices, edits: &[Edit]) -> Result<Splices, RefusedEdit> {
        let Some((charset, decoded)) = &self.decoded else { return Ok(splices) };
        let encoder = Encoder { bytes: self.bytes, charset: *charset, decoded, edits };
        // What an edit leaves at its ends keeps its bytes, unless that would divide what is written as one.
        let written = match encoder.written(&splices, shortened)? {
            Some(written) => written,
            None => encoder.written(&splices, whole)?.ok_or_else(|| encoder.within())?,
        };
        let after = written.apply(self.bytes);
        let is_same = Charset::of(&after, self.named) == Ok(Some(*charset))
            && charset.decode(&after).text() == splices.apply(decoded.text());
        if is_same { Ok(written) } else { Err(encoder.misread()) }
    }
}

/// What is inserted is encoded afterwards, so a malformed sequence elsewhere does not forbid it.
fn edit_decoded(text: &[u8], edits: &[Edit]) -> Result<Edited, RefusedEdit> {
    if memchr(0, text).is_some() && !edits.is_empty() {
        let message = "the file has the character U+0000 and is not text: write its whole content instead";
        let detail = Detail::Encoding(EncodingFault::NotText);
        return Err(refused(EditIndex(0), ErrorKind::InvalidEncoding, message, detail));
    }
    apply::edit_text(text, Some(true), edits)
}

/// Returns whether all texts of an edit are UTF-8.
fn is_utf8(edit: &Edit) -> bool {
    let is_utf8 = |text: &[u8]| std::str::from_utf8(text).is_ok();
    let is_anchor_utf8 = match &edit.anchor {
        Anchor::Text { text, .. } | Anchor::Range { expected: text, .. } => is_utf8(text),
        Anchor::Span { .. } => true,
        Anchor::Hunk(hunk) => {
            hunk.lines.iter().all(|line| is_utf8(&line.text)) && hunk.headers.iter().all(|h| is_utf8(h))
        }
    };
    is_anchor_utf8 && is_utf8(&edit.replacement)
}

fn refused(edit: EditIndex, kind: ErrorKind, message: impl Into<String>, detail: Detail) -> RefusedEdit {
    RefusedEdit { edit, kind, message: message.into(), detail }
}

/// The part of a splice that is written: the range in the text, and its new text.
type WrittenPart<'t> = (Range<usize>, &'t str);

fn whole<'t>(range: &Range<usize>, _: &str, new: &'t str) -> WrittenPart<'t> {
    (range.clone(), new)
}

/// Leaves out the characters that stay at the ends of a splice.
fn shortened<'t>(range: &Range<usize>, old: &str, new: &'t str) -> WrittenPart<'t> {
    let equal = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(|(old, new)| old == new).map(|(old, _)| old.len_utf8()).sum()
    };
    let start = equal(&mut old.chars().zip(new.chars()));
    let (old, new) = (&old[start..], &new[start..]);
    let end = equal(&mut old.chars().rev().zip(new.chars().rev()));
    (range.start + start..range.end - end, &new[..new.len() - end])
}

/// Puts splices of a text into its bytes.
struct Encoder<'a> {
    bytes: &'a [u8],
    charset: Charset,
    decoded: &'a Decoded,
    /// The edits that the splices are made of.
    edits: &'a [Edit],
}

impl Encoder<'_> {
    /// The splices of the bytes; `None` if one begins or ends within what the encoding writes as one.
    fn written(
        &self,
        splices: &Splices,
        part: impl for<'t> Fn(&Range<usize>, &str, &'t str) -> WrittenPart<'t>,
    ) -> Result<Option<Splices>, RefusedEdit> {
        let mut parts = Vec::new();
        for Splice { range, with } in splices {
            let (old, new) = (self.utf8(&self.decoded.text()[range.clone()])?, self.utf8(with)?);
            let (range, new) = part(range, old, new);
            parts.push((range, new));
        }
        let ends = parts.iter().flat_map(|(range, _)| [range.start, range.end]);
        let places = self.decoded.places(self.bytes, ends);
        let ranges = places.chunks_exact(2).map(|ends| Some(ends[0]?..ends[1]?));
        let Some(ranges) = ranges.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let encode = |(range, (_, new)): (Range<usize>, WrittenPart<'_>)| {
            let with = self.charset.encode_into(new, self.bytes, &range);
            Ok(Splice { range, with: with.map_err(|character| self.unmappable(character))? })
        };
        let list = ranges.into_iter().zip(parts).map(encode).collect::<Result<_, _>>()?;
        let Ok(splices) = Splices::new(self.bytes, list) else {
            unreachable!("places in the bytes ascend as in the text")
        };
        Ok(Some(splices))
    }

    /// The text of a splice, unless malformed bytes are in it.
    fn utf8<'t>(&self, text: &'t [u8]) -> Result<&'t str, RefusedEdit> {
        debug_assert!(text.contains(&MALFORMED) || std::str::from_utf8(text).is_ok(), "only one byte is no UTF-8");
        std::str::from_utf8(text).map_err(|_| {
            let charset = self.charset;
            let message =
                format!("it would replace bytes that are no character of {charset}: leave them out of the edit");
            refused(self.by_place(), ErrorKind::InvalidEncoding, message, BYTES)
        })
    }

    fn unmappable(&self, character: char) -> RefusedEdit {
        let mut utf8 = [0; 4];
        let utf8 = character.encode_utf8(&mut utf8).as_bytes();
        let inserts = |edit: &Edit| match &edit.anchor {
            Anchor::Hunk(hunk) => {
                let mut lines = hunk.lines.iter().filter(|line| line.side == Side::New);
                lines.any(|line| memmem::find(&line.text, utf8).is_some())
            }
            _ => memmem::find(&edit.replacement, utf8).is_some(),
        };
        let edit = self.edits.iter().position(inserts).map_or_else(|| self.by_place(), EditIndex);
        let detail = Detail::Encoding(EncodingFault::Unmappable(character));
        refused(edit, ErrorKind::InvalidEncoding, unwritable(character, self.charset), detail)
    }

    /// The only edits that can begin or end anywhere are those by position.
    fn by_place(&self) -> EditIndex {
        let is_by_place = |edit: &Edit| matches!(edit.anchor, Anchor::Span { .. } | Anchor::Range { .. });
        EditIndex(self.edits.iter().position(is_by_place).unwrap_or(self.edits.len().saturating_sub(1)))
    }

    fn within(&self) -> RefusedEdit {
        let message = format!("it begins or ends between two characters that {} writes as one", self.charset);
        refused(self.by_place(), ErrorKind::InvalidEncoding, message, BYTES)
    }

    fn misread(&self) -> RefusedEdit {
        let message = format!(
            "the file would then be read differently: next to the new text are malformed bytes of {}, or its byte-order \
             mark; leave these as they are",
            self.charset
        );
        refused(self.by_place(), ErrorKind::InvalidEncoding, message, BYTES)
    }
}

#[cfg(test)]
mod tests;
