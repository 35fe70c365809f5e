//! A transaction from its beginning to its end: committed, dropped, cancelled, over several calls.

mod begin;
mod cancelled;
mod checks;
mod displaced;
mod lives_on;
mod many;
mod open;
mod panics;
mod parts;
mod programs;
mod staged_links;

use txedit::error::Detail;
use txedit::{Error, ErrorKind, Outcome};

/// It was refused for this reason alone, and nothing was changed.
#[track_caller]
fn refused(error: &Error, kind: ErrorKind) {
    let kinds: Vec<ErrorKind> = match error.details() {
        Detail::Findings(findings) => findings.iter().map(|finding| finding.kind).collect(),
        _ => vec![error.kind()],
    };
    assert_eq!((kinds, error.outcome()), (vec![kind], Outcome::Unchanged), "{error}");
}
