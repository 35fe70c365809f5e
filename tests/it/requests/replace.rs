//! A replacement in a tree is a request like any other.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use txedit::search::{Query, ReplaceGuard, Replacements, SearchTree, search};
use txedit::{CancelToken, Durability, Engine, ErrorKind, Result, Run, Settings};

fn found(root: &Path) -> Result<Replacements> {
    let query = Query { pattern: "old".to_owned(), replacement: "new".to_owned(), ..Query::default() };
    let root = root.canonicalize().unwrap();
    let tree = SearchTree { base: root.clone(), root, ..SearchTree::default() };
    search(&query, &tree, ReplaceGuard::default(), &CancelToken::new())
}

fn apply(root: &Path, found: &Replacements) -> Result<()> {
    let settings =
        Settings::default().durability(Durability::Process).lock_timeout(Duration::from_secs(10)).program("test");
    Engine::open_with(root, settings)?.apply(&found.request, Run::default())?;
    Ok(())
}

#[test]
fn a_file_that_changes_after_the_search_fails_all_of_it() {
    let scratch = TempDir::new().unwrap();
    let file = |name: &str| scratch.path().join(name);
    for name in ["a", "b", "c"] {
        fs::write(file(name), "old\n").unwrap();
    }
    let before = found(scratch.path()).unwrap();
    // Where the text still stands as often, only the hash tells.
    fs::write(file("b"), "somebody else's old\n").unwrap();
    let error = apply(scratch.path(), &before).unwrap_err();
    assert_eq!((error.kind(), error.file()), (ErrorKind::HashMismatch, Some(1)));
    assert_eq!(fs::read_to_string(file("a")).unwrap(), "old\n");
    apply(scratch.path(), &found(scratch.path()).unwrap()).unwrap();
    assert_eq!(fs::read_to_string(file("b")).unwrap(), "somebody else's new\n");
    assert_eq!(found(scratch.path()).unwrap_err().kind(), ErrorKind::MatchNotFound);
}
