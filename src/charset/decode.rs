//! Decodes a content to UTF-8, and finds the bytes of a place in the text.
//!
//! A table of a place for every few kilobytes would be exact for each character only at several times the size of the
//! file. So the places of blocks are kept, and a place within a block is found by decoding that block again.

use encoding_rs::{DecoderResult, Encoding, UTF_16LE};
use memchr::memchr;

use super::{Charset, stateful};

/// The byte that stands in a decoded text for bytes that are no character. No UTF-8 has it, so no text matches it.
pub(crate) const MALFORMED: u8 = 0xff;

/// The least bytes of a block.
const BLOCK: usize = 4 << 10;

/// A content, decoded.
#[derive(Debug)]
pub(crate) struct Decoded {
    charset: Charset,
    text: Vec<u8>,
    /// The start of each block: in the text, and in the bytes.
    blocks: Vec<(usize, usize)>,
}

impl Charset {
    /// Decodes a content. A byte-order mark is the first character of the text, as it is of a text in UTF-8.
    pub(crate) fn decode(self, bytes: &[u8]) -> Decoded {
        self.decode_in_blocks(bytes, BLOCK)
    }

    pub(super) fn decode_in_blocks(self, bytes: &[u8], block: usize) -> Decoded {
        let encoding = self.encoding;
        let mut decoded = Decoded { charset: self, text: Vec::with_capacity(bytes.len()), blocks: Vec::new() };
        if self.is_stateful() {
            stateful::decode(bytes, &mut decoded.text);
            return decoded;
        }
        let mut at = 0;
        while at < bytes.len() {
            decoded.blocks.push((decoded.text.len(), at));
            let end = block_end(encoding, bytes, at.saturating_add(block));
            decode_block(encoding, &bytes[at..end], &mut decoded.text);
            at = end;
        }
        decoded
    }
}

impl Decoded {
    /// The text: UTF-8, except for a byte [`MALFORMED`] for each malformed sequence.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    pub(crate) fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// The places in the bytes of these places in the text, which ascend: by turns the start of an edit, and its end, between
    /// which there may be escape sequences. `None` is a place within what the encoding
    /// writes as one: a few sequences of Big5 stand for two characters.
    pub(crate) fn places(&self, bytes: &[u8], wanted: impl Iterator<Item = usize>) -> Vec<Option<usize>> {
        if self.charset.is_stateful() {
            return stateful::places(bytes, wanted);
        }
        let (mut text_at, mut byte_at) = (0, 0);
        let find = |wanted| {
            let block = self.blocks.partition_point(|(start, _)| *start <= wanted);
            if let Some(&(start, byte)) = block.checked_sub(1).and_then(|block| self.blocks.get(block))
                && start > text_at
            {
                (text_at, byte_at) = (start, byte);
            }
            while text_at < wanted && byte_at < bytes.len() {
                let (read, written) = first_character(self.charset.encoding, &bytes[byte_at..]);
                (text_at, byte_at) = (text_at + written, byte_at + read);
            }
            (text_at == wanted).then_some(byte_at)
        };
        wanted.map(find).collect()
    }
}

/// The first place from `from` on that is between two characters, whatever is in front of it.
fn block_end(encoding: &'static Encoding, bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    if !encoding.is_ascii_compatible() {
        // UTF-16: not within a unit, and not after the first half of a pair.
        at += at % 2;
        while at < bytes.len() && matches!(unit(encoding, &bytes[at - 2..]), Some(0xd800..0xdc00)) {
            at += 2;
        }
    } else if !encoding.is_single_byte() {
        // A line feed is a character of its own in each of these encodings, also after the first byte of another.
        at = bytes.get(at..).and_then(|rest| memchr(b'\n', rest)).map_or(bytes.len(), |feed| at + feed + 1);
    }
    at.min(bytes.len())
}

/// The first unit of UTF-16.
fn unit(encoding: &'static Encoding, bytes: &[u8]) -> Option<u16> {
    let &unit = bytes.first_chunk()?;
    Some(if encoding == UTF_16LE { u16::from_le_bytes(unit) } else { u16::from_be_bytes(unit) })
}

fn decode_block(encoding: &'static Encoding, bytes: &[u8], text: &mut Vec<u8>) {
    let mut buffer = [0; 4 << 10];
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut at = 0;
    loop {
        let (result, read, written) = decoder.decode_to_utf8_without_replacement(&bytes[at..], &mut buffer, true);
        text.extend_from_slice(&buffer[..written]);
        at += read;
        match result {
            DecoderResult::InputEmpty => return,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(_, after) => {
                text.push(MALFORMED);
                // A new decoder reads again what this one has read beyond the sequence, so that both walks agree.
                at -= usize::from(after);
                decoder = encoding.new_decoder_without_bom_handling();
            }
        }
    }
}

/// The number of bytes of the first character, or malformed sequence, and of those that it has in the text.
fn first_character(encoding: &'static Encoding, bytes: &[u8]) -> (usize, usize) {
    if encoding.is_ascii_compatible() {
        if bytes[0].is_ascii() {
            return (1, 1);
        }
    } else if let Some(character) = unit(encoding, bytes).and_then(|unit| char::from_u32(unit.into())) {
        return (2, character.len_utf8());
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut buffer = [0; 32];
    for at in 0..bytes.len() {
        let (byte, is_last) = (&bytes[at..=at], at + 1 == bytes.len());
        let (result, read, written) = decoder.decode_to_utf8_without_replacement(byte, &mut buffer, is_last);
        match result {
            // The byte that shows it may be one that is not read yet.
            DecoderResult::Malformed(_, after) => return (at + read - usize::from(after), 1),
            _ if written > 0 => return (at + read, written),
            _ => {}
        }
    }
    unreachable!("the last byte of a content ends a character, or is malformed")
}
