//! Claims of answers that are not true: the judge of scenarios sees each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use txedit::error::NotOld;
use txedit::fs::sim::SimFs;
use txedit::testing::scenario::{Claimed, ScenarioComparison};

const ID: &str = "20260101T000000.000000Z-0123456789abcdef";

/// What is said of a workspace with a file `a`, an empty folder `d` and an interrupted transaction, where others touched
/// these paths.
fn judged(touched: &[&str], judge: impl FnOnce(&Claimed<'_>) -> Result<(), String>) -> Result<(), String> {
    let machine = SimFs::new();
    machine.make_folders(format!("/w/.txedit/txn/{ID}")).unwrap();
    machine.make_folders("/w/d").unwrap();
    machine.create("/w/a", "red\n").unwrap();
    let entries: BTreeMap<_, _> = machine.entries("/w").unwrap().into_iter().collect();
    let mut files = entries.clone();
    files.retain(|path, _| !path.starts_with(".txedit"));
    let touched: BTreeSet<PathBuf> = touched.iter().map(PathBuf::from).collect();
    let compared =
        ScenarioComparison { root: Path::new("/w"), before: &files, after: &files, touched: &touched, checked: false };
    judge(&Claimed { entries: &entries, compared })
}

#[test]
fn warnings_that_are_not_true_are_seen() {
    let is_seen = |touched: &[&str], warning: &str| judged(touched, |claimed| claimed.judge_warning(warning)).is_err();
    let interrupted = |id: &str, rest: &str| format!("an interrupted transaction, {id}, {rest}");
    let other = ID.replace("2026", "2025");
    assert!(is_seen(&[], "the check changed a; what it wrote stands"));
    assert!(!is_seen(&["a"], "the check changed a; what it wrote stands"));
    assert!(is_seen(&[], &interrupted(ID, "was recovered first: committed; why")));
    assert!(!is_seen(&[], &interrupted(&other, "was recovered first: committed; why")));
    assert!(is_seen(&[], &interrupted(&other, "is left as it is: why")));
    assert!(!is_seen(&[], &interrupted(ID, "is left as it is: why")));
    assert!(is_seen(&[], "/w/g stays, which the undone transaction had made: why"));
    assert!(is_seen(&[], "/w/d stays, which the undone transaction had made: it is not empty"));
    assert!(!is_seen(&[], "/w/d stays, which the undone transaction had made: why"));
}

#[test]
fn what_a_warning_calls_not_old_was_changed_by_others() {
    let left = [NotOld::new("/w/a", true, "why")];
    assert!(judged(&[], |claimed| claimed.judge_not_old(&left)).is_err());
    judged(&["a"], |claimed| claimed.judge_not_old(&left)).unwrap();
}
