//! What the target `journal_scan` does with bytes. `tests/it/proof/fuzz_twins.rs` does the same with bytes of its own.

use txedit::journal::scan;
use txedit::testing::internals::journal::record::{Chain, encode};

/// The journal scanner answers to any bytes, and accepts only what it would write itself. The bytes are tried as they
/// are, and as lines to which somebody computed the digests.
pub(crate) fn run(data: &[u8]) {
    let mut chain = Chain::default();
    let lines = data.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line));
    let chained: Vec<u8> =
        lines.flat_map(|line| [format!("{} ", chain.next(line)).as_bytes(), line, b"\n"].concat()).collect();
    for bytes in [data, &chained] {
        match scan(bytes) {
            Ok(journal) => assert_eq!(encode(&journal), bytes, "a journal has one spelling"),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}
