//! Twins of the fuzz targets in `tests/fuzz`: the same bodies on the same seeds, changed by chance.
//!
//! `PROPTEST_CASES` says how many of each are tried. The targets themselves, guided by coverage: `tests/fuzz/run`.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[path = "../../fuzz/bodies/journal_scan.rs"]
mod journal_scan;
#[path = "../../fuzz/bodies/matcher.rs"]
mod matcher;
#[path = "../../fuzz/bodies/recovery_decision.rs"]
mod recovery_decision;
#[path = "../../fuzz/bodies/request_parse.rs"]
mod request_parse;

/// What a target does.
type Body = fn(&[u8]);

/// The seeds of a target, with their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut seeds: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    seeds.sort();
    assert!(seeds.len() >= 2, "{} has seeds", folder.display());
    seeds
}

/// What a fuzzer does to bytes.
#[derive(Debug, Clone)]
enum Step {
    Set(u8),
    Insert(Vec<u8>),
    Remove(usize),
    /// Repeats what stands there, elsewhere.
    Copy(usize, prop::sample::Index),
}

fn changed(mut bytes: Vec<u8>, steps: Vec<(prop::sample::Index, Step)>) -> Vec<u8> {
    for (place, step) in steps {
        let at = place.index(bytes.len() + 1);
        match step {
            Step::Set(byte) if at < bytes.len() => bytes[at] = byte,
            Step::Set(byte) => bytes.push(byte),
            Step::Insert(more) => drop(bytes.splice(at..at, more)),
            Step::Remove(length) => drop(bytes.drain(at..(at + length).min(bytes.len()))),
            Step::Copy(length, to) => {
                let copy = bytes[at..(at + length).min(bytes.len())].to_vec();
                let to = to.index(bytes.len() + 1);
                drop(bytes.splice(to..to, copy));
            }
        }
    }
    bytes
}

/// Bytes around the seeds of a target, now and then any bytes.
fn around(target: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let seeds: Vec<Vec<u8>> = corpus(target).into_iter().map(|(_, bytes)| bytes).collect();
    let step = prop_oneof![
        any::<u8>().prop_map(Step::Set),
        prop::sample::select(b"\"\\{}[]:,0-\n\xfe a".to_vec()).prop_map(Step::Set),
        prop::collection::vec(any::<u8>(), 1..6).prop_map(Step::Insert),
        (1..20_usize).prop_map(Step::Remove),
        (1..40_usize, any::<prop::sample::Index>()).prop_map(|(length, to)| Step::Copy(length, to)),
    ];
    let steps = prop::collection::vec((any::<prop::sample::Index>(), step), 0..8);
    let near = (prop::sample::select(seeds), steps).prop_map(|(seed, steps)| changed(seed, steps));
    prop_oneof![4 => near, 1 => prop::collection::vec(any::<u8>(), 0..300)]
}

/// Cases of each where nothing else is asked for.
const CASES: u32 = 4096;

fn cases() -> ProptestConfig {
    // What is found is kept as a seed in the corpus, by its name, not in a file of hashes.
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    ProptestConfig { cases: if asked { config.cases } else { CASES }, ..config }
}

#[test]
fn every_seed_of_the_fuzz_targets_passes() {
    let targets: [(&str, Body); 4] = [
        ("journal_scan", journal_scan::run),
        ("recovery_decision", recovery_decision::run),
        ("request_parse", request_parse::run),
        ("matcher", matcher::run),
    ];
    for (target, body) in targets {
        for (name, bytes) in corpus(target) {
            eprintln!("{target}/{name}");
            body(&bytes);
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_journal_scanner_answers_any_bytes(bytes in around("journal_scan")) {
        journal_scan::run(&bytes);
    }

    #[test]
    fn the_recovery_decision_answers_any_bytes(bytes in around("recovery_decision")) {
        recovery_decision::run(&bytes);
    }

    #[test]
    fn the_request_parser_answers_any_bytes(bytes in around("request_parse")) {
        request_parse::run(&bytes);
    }

    #[test]
    fn the_matcher_answers_any_bytes(bytes in around("matcher")) {
        matcher::run(&bytes);
    }
}
