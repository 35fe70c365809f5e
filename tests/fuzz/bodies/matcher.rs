//! What the target `matcher` does with bytes. `tests/it/proof/fuzz_twins.rs` does the same with bytes of its own.

use txedit::testing::internals::text;
use txedit::{Anchor, Count, Edit, Matching};

/// The matcher does what the simplest search and replacement would do. Pieces of the data, between bytes 0xFE: the
/// content, then an old and a new text for each edit, the first byte of the old one saying how often it must be there.
pub(crate) fn run(data: &[u8]) {
    let mut pieces = data.split(|byte| *byte == 0xFE);
    let base = pieces.next().unwrap_or_default();
    let mut edits = Vec::new();
    while let (Some([how, text @ ..]), Some(new)) = (pieces.next(), pieces.next()) {
        let count = match how % 5 {
            0 => Count::Once,
            1 => Count::All,
            3 => Count::AtMostOnce,
            4 => Count::Any,
            _ => Count::Exactly(usize::from(how / 5 % 4) + 1),
        };
        edits.push(Edit {
            anchor: Anchor::Text { text: text.to_vec(), count, matching: Matching::Exact },
            replacement: new.to_vec(),
        });
    }
    let edited = text::edit(base, &edits);
    if let Err(why) = &edited {
        assert!(why.edit.0 < edits.len() && !why.message.is_empty());
    }
    let result = edited.ok().map(|edited| {
        let result = edited.splices.apply(base);
        assert_eq!(result.len(), edited.splices.new_len(base.len()));
        assert_eq!(edited.applied.len(), edits.len());
        result
    });
    // Line breaks of two kinds, and what is not text, have rules of their own.
    let plain = |bytes: &[u8]| bytes.is_ascii() && !bytes.iter().any(|byte| matches!(byte, 0 | b'\r'));
    let plain = plain(base)
        && edits.iter().all(|Edit { anchor, replacement }| {
            plain(replacement) && matches!(anchor, Anchor::Text { text, .. } if plain(text))
        });
    if plain && !edits.is_empty() {
        assert_eq!(result, simplest(base, &edits));
    }
}

fn simplest(base: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    let mut content = base.to_vec();
    if content.is_empty() && edits.iter().any(|edit| !edit.anchor.may_be_missing()) {
        return None;
    }
    for edit in edits {
        let Anchor::Text { text, count, .. } = &edit.anchor else { return None };
        if text.is_empty() {
            return None;
        }
        let all = content.windows(text.len()).filter(|window| window == text).count();
        let mut result = Vec::new();
        let (mut at, mut replaced) = (0, 0);
        while at < content.len() {
            if content[at..].starts_with(text) {
                result.extend_from_slice(&edit.replacement);
                at += text.len();
                replaced += 1;
            } else {
                result.push(content[at]);
                at += 1;
            }
        }
        let fits = match count {
            // Counted with overlaps: whoever wants one place must be sure which.
            Count::Once | Count::OnceNear(_) => all == 1,
            Count::Exactly(wanted) => replaced == *wanted,
            Count::All => replaced > 0,
            Count::AtMostOnce => all <= 1,
            Count::Any => true,
        };
        if !fits {
            return None;
        }
        content = result;
    }
    Some(content)
}
