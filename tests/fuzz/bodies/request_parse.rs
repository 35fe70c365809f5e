//! What the target `request_parse` does with bytes. `tests/it/proof/fuzz_twins.rs` does the same with bytes of its own.

use txedit::PathRule;
use txedit::wire::request;

/// The request parser answers to any bytes; what it accepts, it writes and accepts again.
pub(crate) fn run(data: &[u8]) {
    let parsed = match request::parse(data) {
        Ok(parsed) => parsed,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    let text = serde_json::to_vec(&parsed).expect("a request is JSON");
    let again = request::parse(&text).expect("what was written is read");
    assert_eq!(again, parsed);
    for rule in [PathRule::Absolute, PathRule::AbsoluteOrRelative] {
        match parsed.clone().into_request(rule) {
            Ok(request) => assert_eq!(Some(request.files.len()), parsed.files.as_ref().map(Vec::len)),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}
