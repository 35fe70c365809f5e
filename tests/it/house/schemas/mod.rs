//! Callers hold on to the schemas of the released version, docs/schema: what has the same `schema_version` has their fields.
//!
//! `TXEDIT_WRITE_SCHEMAS=1 cargo test --test it house::schemas` writes them anew, for a release.

mod broken;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use txedit::wire::SCHEMA_VERSION;

use crate::support::schema::schemas;
use crate::support::sources::root;
use broken::{Direction, broken};

fn file(name: &str) -> PathBuf {
    root().join("docs/schema").join(format!("{}.json", name.replace(' ', "-")))
}

/// The schema of the released version; `None` if that has none of this name.
fn released(name: &str) -> Option<Value> {
    fs::read(file(name)).ok().map(|text| serde_json::from_slice(&text).unwrap())
}

fn version(answer: &Value) -> u64 {
    answer["properties"]["schema_version"]["const"].as_u64().unwrap()
}

/// What callers of the released version would miss now.
fn missed() -> Vec<String> {
    let missed = schemas().into_iter().filter_map(|(name, now)| {
        let direction = if name == "request" { Direction::Read } else { Direction::Written };
        Some(broken(&released(name)?, now, direction).into_iter().map(move |what| format!("{name}: {what}")))
    });
    missed.flatten().collect()
}

fn write() {
    fs::create_dir_all(root().join("docs/schema")).unwrap();
    for (name, schema) in schemas() {
        fs::write(file(name), format!("{schema:#}\n")).unwrap();
    }
}

#[test]
fn no_field_goes_away_without_a_new_version() {
    let before = released("answer").as_ref().map(version);
    let is_new = before != Some(u64::from(SCHEMA_VERSION));
    let missed = if is_new { Vec::new() } else { missed() };
    assert!(
        missed.is_empty(),
        "callers of schema_version {SCHEMA_VERSION} rely on this: keep it, or raise SCHEMA_VERSION in src/wire/version.rs\n{}",
        missed.join("\n")
    );
    if std::env::var_os("TXEDIT_WRITE_SCHEMAS").is_some() {
        write();
        return;
    }
    assert!(!is_new, "docs/schema has version {before:?}: write it anew, as the documentation of this module says");
}

#[test]
fn every_released_schema_is_still_there() {
    let files = fs::read_dir(root().join("docs/schema")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = files.collect();
    assert!(files.len() > 20, "{files:?}");
    let now: Vec<PathBuf> = schemas().keys().map(|name| file(name)).collect();
    let gone: Vec<_> = files.iter().filter(|file| !now.contains(file)).collect();
    assert!(gone.is_empty(), "schemas that `txedit schema` no longer has: {gone:?}");
}
