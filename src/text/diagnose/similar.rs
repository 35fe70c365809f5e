//! The similarity of two texts.

use imara_diff::{Algorithm, Diff, InternedInput};

/// The total length up to which texts are compared byte by byte; longer ones are compared word by word.
const BY_BYTES: usize = 600;

/// The similarity of `region` to `anchor`, 0 to 1: twice the bytes they share in order, divided by all their bytes.
///
/// An anchor may start and end inside a line, so bytes of the region before the first and after the last shared byte do
/// not count.
pub(super) fn ratio(anchor: &[u8], region: &[u8]) -> f64 {
    if anchor.is_empty() && region.is_empty() {
        return 1.0;
    }
    let (anchor, region) = (line_feeds(anchor), line_feeds(region));
    let by_bytes = anchor.len() + region.len() <= BY_BYTES;
    let split = |text| if by_bytes { bytes(text) } else { words(text) };
    let (old, new) = (split(&anchor), split(&region));
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let diff = Diff::compute(Algorithm::Myers, &input);
    let index = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let shared: usize = (0..old.len()).filter(|at| !diff.is_removed(index(*at))).map(|at| old[at].len()).sum();
    let is_shared = |at: &usize| !diff.is_added(index(*at));
    let Some(first) = (0..new.len()).find(is_shared) else { return 0.0 };
    let last = (0..new.len()).rfind(is_shared).unwrap_or(first);
    let counted: usize = new[first..=last].iter().map(|token| token.len()).sum();
    as_float(2 * shared) / as_float(anchor.len() + counted)
}

#[expect(clippy::cast_precision_loss, reason = "texts compared here are far shorter than 2^52 bytes")]
fn as_float(len: usize) -> f64 {
    len as f64
}

/// A text with line feeds only.
pub(super) fn line_feeds(text: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        if *byte != b'\r' || text.get(at + 1) != Some(&b'\n') {
            result.push(*byte);
        }
    }
    result
}

fn bytes(text: &[u8]) -> Vec<&[u8]> {
    text.chunks(1).collect()
}

/// Words, runs of white space, and single other bytes.
fn words(text: &[u8]) -> Vec<&[u8]> {
    let class = |byte: u8| match byte {
        b'_' | 0x80.. => 0,
        _ if byte.is_ascii_alphanumeric() => 0,
        _ if byte.is_ascii_whitespace() => 1,
        _ => 2,
    };
    text.chunk_by(|a, b| class(*a) == class(*b) && class(*a) < 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_is_between_none_and_all() {
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 0.01, "{value} is not {expected}");
        near(ratio(b"abc", b"abc"), 1.0);
        near(ratio(b"a\nb", b"a\r\nb"), 1.0);
        near(ratio(b"bc", b"abcd"), 1.0);
        near(ratio(b"abcd", b"abxd"), 0.75);
        near(ratio(b"abc", b"xyz"), 0.0);
        near(ratio(b"abc", b""), 0.0);
        let long = b"one two three ".repeat(50);
        let changed = [&long[..], b"four"].concat();
        assert!(ratio(&changed, &long) > 0.98);
    }
}
