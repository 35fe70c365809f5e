//! Encodes new text: exactly, or not at all.

use std::ops::Range;

use encoding_rs::{EncoderResult, UTF_16LE};

use super::{Charset, stateful};

impl Charset {
    /// The bytes of a text, or the first character that cannot be written in this encoding.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        if self.is_utf16() {
            let in_order = if self.encoding == UTF_16LE { u16::to_le_bytes } else { u16::to_be_bytes };
            return Ok(text.encode_utf16().flat_map(in_order).collect());
        }
        let bytes = self.encode_as_browsers_do(text)?;
        if text.is_ascii() || self.decode(&bytes).text() == text.as_bytes() {
            return Ok(bytes);
        }
        let is_changed = |character: &char| {
            let text = character.to_string();
            self.encode_as_browsers_do(&text).is_ok_and(|bytes| self.decode(&bytes).text() != text.as_bytes())
        };
        Err(text.chars().find(is_changed).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// The bytes of a text that is put between two places, as [`Decoded::places`](super::Decoded::places) finds them.
    pub(crate) fn encode_into(self, text: &str, bytes: &[u8], range: &Range<usize>) -> Result<Vec<u8>, char> {
        let encoded = self.encode(text)?;
        Ok(if self.is_stateful() { stateful::fit(&encoded, bytes, range) } else { encoded })
    }

    /// The bytes of a whole file: one in UTF-16 starts with its mark.
    pub(crate) fn encode_file(self, text: &str) -> Result<Vec<u8>, char> {
        const MARK: &str = "\u{feff}";
        if self.is_utf16() && !text.starts_with(MARK) {
            return self.encode(&[MARK, text].concat());
        }
        self.encode(text)
    }

    /// For a few characters these are the bytes of another one: `¥` becomes a backslash in `Shift_JIS`.
    fn encode_as_browsers_do(self, text: &str) -> Result<Vec<u8>, char> {
        let mut encoder = self.encoding.new_encoder();
        let mut bytes = Vec::with_capacity(text.len());
        let mut buffer = [0; 1 << 10];
        let mut rest = text;
        loop {
            let (result, read, written) = encoder.encode_from_utf8_without_replacement(rest, &mut buffer, true);
            bytes.extend_from_slice(&buffer[..written]);
            rest = &rest[read..];
            match result {
                EncoderResult::InputEmpty => return Ok(bytes),
                EncoderResult::OutputFull => {}
                EncoderResult::Unmappable(character) => return Err(character),
            }
        }
    }
}
