//! Scripts that once broke the promise: each must not do so again. The name of a file says what is expected.

use std::collections::BTreeSet;
use std::path::Path;

use txedit::testing::scenario::{Scenario, run_sim};

/// Scripts of what is known and not mended yet, each with its number in the issue. They must still fail, so that nobody
/// forgets to take them out.
const KNOWN: [(&str, u32); 0] = [];

/// Whether a scenario can meet what is known and not mended yet: those wait for their mend.
pub(super) fn may_meet_known(scenario: &Scenario) -> bool {
    let text = scenario.to_string();
    KNOWN.iter().any(|(_, item)| may_meet(*item, &text))
}

fn may_meet(item: u32, script: &str) -> bool {
    let within = |words: &[&str]| {
        let inner: Vec<&str> = script.lines().filter(|line| line.starts_with("  ")).collect();
        let is_it =
            |line: &&str, word: &&str| line.contains(&format!(": {word} ")) || line.contains(&format!("does {word} "));
        inner.iter().any(|line| words.iter().any(|word| is_it(line, word)))
    };
    match item {
        3 => script.contains("cut "),
        5 => script.contains("late "),
        6 => within(&["append", "write", "forge", "replace", "delete", "create", "late"]),
        7 => within(&["chmod", "chown", "setfattr", "rmfattr"]),
        8 => within(&["move", "mkdir", "rmdir", "delete"]),
        14 => within(&["forge"]),
        _ => true,
    }
}

#[test]
fn the_corpus_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/scenarios/corpus");
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario: Scenario = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        match (run_sim(&scenario), known) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some((_, item))) => {
                wrong.push(format!("{name} no longer fails: take it out of KNOWN, item {item}"));
            }
            (Err(broken), None) => wrong.push(format!("{name}: {}", broken.what)),
        }
        names.insert(name);
    }
    assert!(!names.is_empty(), "the corpus is not there");
    wrong
        .extend(KNOWN.iter().filter(|(known, _)| !names.contains(*known)).map(|(known, _)| format!("{known} is gone")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
