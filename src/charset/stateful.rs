//! ISO-2022-JP, in which an escape sequence says what the bytes after it mean, until the next one.
//!
//! An edit takes the escape sequences at its ends with it: it begins after the character before it, and ends before the first
//! byte of the character after it. What is put there begins in the mode of the first place, and ends in that of the second.
//! Two escape sequences with nothing between them are malformed.

use encoding_rs::{DecoderResult, ISO_2022_JP};

use super::{Charset, decode::MALFORMED};

const ESCAPE_BYTES: usize = 3;

/// The mode at the start of a file.
const ASCII: Escape = *b"\x1b(B";

/// An escape sequence, and the mode that it starts.
type Escape = [u8; ESCAPE_BYTES];

const MODES: [Escape; 5] = [ASCII, *b"\x1b(J", *b"\x1b(I", *b"\x1b$@", *b"\x1b$B"];

impl Charset {
    /// True for the encoding that this module is about.
    pub(super) fn is_stateful(self) -> bool {
        self.encoding == ISO_2022_JP
    }
}

/// Appends the text to which the bytes are decoded.
pub(super) fn decode(bytes: &[u8], text: &mut Vec<u8>) {
    walk(bytes, |part, _| text.extend_from_slice(part));
}

/// The places in the bytes of these places in the text: by turns the start of an edit, and its end.
pub(super) fn places(bytes: &[u8], wanted: impl Iterator<Item = usize>) -> Vec<Option<usize>> {
    // The place in the text, and in the bytes, after each character.
    let mut ends = vec![(0, 0)];
    let mut text_at = 0;
    walk(bytes, |part, byte_at| {
        text_at += part.len();
        ends.push((text_at, byte_at));
    });
    let find = |(nth, wanted): (usize, usize)| {
        let found = ends.binary_search_by_key(&wanted, |(text_at, _)| *text_at).ok()?;
        let end = ends[found].1;
        Some(if nth % 2 == 0 { end } else { end + escape_at(bytes, end).map_or(0, |mode| mode.len()) })
    };
    wanted.enumerate().map(find).collect()
}

/// Calls `found` with the text of each character, or malformed sequence, and the place in the bytes after it.
fn walk(bytes: &[u8], mut found: impl FnMut(&[u8], usize)) {
    let mut decoder = ISO_2022_JP.new_decoder_without_bom_handling();
    let mut buffer = [0; 32];
    let mut at = 0;
    loop {
        let rest = &bytes[at..bytes.len().min(at + 1)];
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(rest, &mut buffer, at + rest.len() == bytes.len());
        at += read;
        if written > 0 {
            found(&buffer[..written], at);
        }
        match result {
            // What it has read beyond the sequence it remembers.
            DecoderResult::Malformed(..) => found(&[MALFORMED], at),
            DecoderResult::InputEmpty if at == bytes.len() => return,
            DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
        }
    }
}

fn escape_at(bytes: &[u8], at: usize) -> Option<Escape> {
    let there = bytes.get(at..)?.first_chunk::<ESCAPE_BYTES>()?;
    MODES.into_iter().find(|mode| mode == there)
}

/// The mode at a place.
fn mode_at(bytes: &[u8], place: usize) -> Escape {
    let mut starts = (0..(place + 1).saturating_sub(ESCAPE_BYTES)).rev();
    starts.find_map(|at| escape_at(bytes, at)).unwrap_or(ASCII)
}

/// Fits new text, as it is encoded from the start of a file to its end, in between the ends of an edit.
pub(super) fn fit(encoded: &[u8], bytes: &[u8], range: &std::ops::Range<usize>) -> Vec<u8> {
    let (before, after) = (mode_at(bytes, range.start), mode_at(bytes, range.end));
    if encoded.is_empty() {
        return if before == after { Vec::new() } else { after.to_vec() };
    }
    let mut fitted = match escape_at(encoded, 0) {
        Some(first) if first == before => encoded[ESCAPE_BYTES..].to_vec(),
        None if before != ASCII => [&ASCII[..], encoded].concat(),
        _ => encoded.to_vec(),
    };
    // An encoder ends in ASCII.
    let mut last = ASCII;
    if fitted.ends_with(&ASCII) {
        fitted.truncate(fitted.len() - ESCAPE_BYTES);
        last = match mode_at(&fitted, fitted.len()) {
            // Its only escape sequence was that of the mode which was there before.
            ASCII => before,
            mode => mode,
        };
    }
    if last != after {
        fitted.extend_from_slice(&after);
    }
    fitted
}
