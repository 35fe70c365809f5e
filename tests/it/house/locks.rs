//! The lock files fit the manifest.

use crate::support::sources::root;
use std::collections::BTreeSet;
use toml::{Table, Value};

fn table(path: &str) -> Table {
    std::fs::read_to_string(root().join(path)).unwrap().parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What the library asks for with only the feature `testing`, as the fuzz targets use it.
fn asked() -> BTreeSet<String> {
    let manifest = table("Cargo.toml");
    let testing = manifest["features"]["testing"].as_array().unwrap().iter().filter_map(Value::as_str);
    let optional: BTreeSet<_> = testing.filter_map(|feature| feature.strip_prefix("dep:")).collect();
    // A lock is for all systems at once.
    let targets = manifest["target"].as_table().unwrap().values();
    let tables = targets.filter_map(|target| target.get("dependencies")).chain([&manifest["dependencies"]]);
    let dependencies = tables.flat_map(|table| table.as_table().unwrap());
    let is_asked = |name: &str, what: &Value| what.get("optional").is_none() || optional.contains(name);
    dependencies.filter(|(name, what)| is_asked(name, what)).map(|(name, _)| name.clone()).collect()
}

/// The fuzz targets are a workspace of their own: no build of the library looks at their lock file, and their run
/// refuses one that does not fit.
#[test]
fn the_lock_of_the_fuzz_targets_has_what_the_library_asks_for() {
    let lock = table("tests/fuzz/Cargo.lock");
    let package = lock["package"].as_array().unwrap().iter().find(|package| package["name"].as_str() == Some("txedit"));
    let locked = package.unwrap()["dependencies"].as_array().unwrap().iter().filter_map(Value::as_str);
    // A name that is there in several versions is followed by its version.
    let locked: BTreeSet<_> = locked.filter_map(|name| name.split(' ').next()).map(str::to_owned).collect();
    let hint = "cargo metadata --manifest-path tests/fuzz/Cargo.toml writes it anew";
    assert_eq!(locked, asked(), "{hint}");
}
