//! Scripts that once broke the promise: each must not do so again. The name of a file says what is expected.

use std::path::Path;

use txedit::testing::scenario::{Scenario, run_sim};

#[test]
fn the_corpus_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/scenarios/corpus");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario: Scenario = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        if let Err(broken) = run_sim(&scenario) {
            wrong.push(format!("{name}: {}", broken.what));
        }
        count += 1;
    }
    assert!(count > 0, "the corpus is not there");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
