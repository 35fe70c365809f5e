//! Real edits of real trees, written down in each format: what comes of it is the tree that was meant, or a refusal.
//!
//! The trees are the sources of crates that cargo has on the disk, edited at random, and this project's own commits. A
//! share runs by default; `TXEDIT_REPLAY_CASES=5000` asks for more, `TXEDIT_TEST_SEED` for others.

mod corpus;
mod edits;
mod render;

use std::collections::BTreeMap;
use std::fs;

use tempfile::TempDir;
use txedit::error::Detail;
use txedit::{Error, ErrorKind, Matching};

use super::random::{Random, Repository};
use super::{Tree, apply_request, has_git, read, variable, write};
use corpus::Corpus;
use render::{Dialect, Section};

/// What a dialect came to, under both ways to compare.
type Tally = BTreeMap<(Dialect, &'static str), BTreeMap<String, usize>>;

fn code(error: &Error) -> ErrorKind {
    match error.details() {
        Detail::Findings(findings) => findings[0].kind,
        _ => error.kind(),
    }
}

/// Whether a refusal of what says exactly what was meant is one: the format cannot say which of several equal places it
/// means, or two edits of a request look for the same text.
fn is_excused(dialect: Dialect, kind: ErrorKind) -> bool {
    match dialect {
        Dialect::Git => false,
        Dialect::Envelope | Dialect::SearchReplace => kind == ErrorKind::AmbiguousMatch,
        Dialect::Plan => matches!(kind, ErrorKind::AmbiguousMatch | ErrorKind::DuplicateOldString),
    }
}

/// Applies one rendering to `before`, and compares.
fn replay(dialect: Dialect, patch: &[u8], matching: Matching, before: &Tree, after: &Tree) -> Result<(), ErrorKind> {
    let scratch = TempDir::new().unwrap();
    write(scratch.path(), before);
    let done = render::request(dialect, patch, matching).and_then(|request| apply_request(scratch.path(), &request));
    let tree = read(scratch.path());
    let shown = || format!("{dialect:?}, {matching:?}:\n{}", String::from_utf8_lossy(patch));
    match done {
        Ok(()) => {
            if tree != *after {
                let wrong = after.iter().find(|(name, content)| tree.get(*name) != Some(content));
                let name = wrong.map(|(name, _)| name).or_else(|| tree.keys().find(|name| !after.contains_key(*name)));
                let of = |tree: &Tree| {
                    name.and_then(|name| tree.get(name)).map(|it| String::from_utf8_lossy(&it.0).into_owned())
                };
                if let Ok(folder) = std::env::var("TXEDIT_REPLAY_KEEP") {
                    fs::write(format!("{folder}/before"), of(before).unwrap_or_default()).unwrap();
                    fs::write(format!("{folder}/expected"), of(after).unwrap_or_default()).unwrap();
                    fs::write(format!("{folder}/got"), of(&tree).unwrap_or_default()).unwrap();
                }
                panic!("wrong: {name:?} is another than was meant\n{}", shown());
            }
            Ok(())
        }
        Err(error) => {
            assert!(tree == *before, "refused, and changed all the same\n{}", shown());
            let kind = code(&error);
            assert!(is_excused(dialect, kind), "a faithful patch is refused: {error}\n{}", shown());
            Err(kind)
        }
    }
}

#[test]
fn real_edits_are_applied_as_they_were_meant_or_refused() {
    if !has_git() {
        return;
    }
    let Some(corpus) = Corpus::find() else {
        eprintln!("skipped: cargo has the sources of fewer than four crates on the disk");
        return;
    };
    let (cases, first) = (variable("TXEDIT_REPLAY_CASES", 24), variable("TXEDIT_TEST_SEED", 1));
    let repository = Repository::new();
    let mut tally = Tally::new();
    for seed in first..first + cases {
        let random = &mut Random::new(seed);
        let Some((before, after)) = corpus.case(random) else { continue };
        let context = ["-U3", "-U3", "-U1", "-U5"][random.below(4)];
        let diff = repository.diff(&before, &after, &["-M", context]);
        let sections = Section::read(&diff);
        for dialect in Dialect::ALL {
            let Some(patch) = render::render(dialect, &diff, &sections, (&before, &after), random) else {
                *tally.entry((dialect, "not expressible")).or_default().entry(String::new()).or_default() += 1;
                continue;
            };
            for (word, matching) in [("exact", Matching::Exact), ("tolerant", Matching::Tolerant)] {
                let outcome = std::panic::catch_unwind(|| replay(dialect, &patch, matching, &before, &after));
                let outcome = outcome.unwrap_or_else(|_| panic!("seed {seed}"));
                let told = outcome.err().map_or_else(|| "applied".to_owned(), |kind| format!("{kind:?}"));
                *tally.entry((dialect, word)).or_default().entry(told).or_default() += 1;
            }
        }
    }
    eprintln!("{cases} cases from {corpus}: none wrong");
    for ((dialect, word), counts) in &tally {
        eprintln!("  {dialect:?} {word} {counts:?}");
        let applied = counts.get("applied").copied().unwrap_or(0);
        assert!(*word == "not expressible" || applied * 2 > counts.values().sum(), "{dialect:?} {word}");
    }
}
