//! The README is short, and each link of a document leads somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::sources::root;

const README_BYTES: usize = 12_000;

fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut documents: Vec<_> = docs.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    documents.push(root().join("README.md"));
    documents
}

/// The lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchors of the headings, as a forge makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    headings
        .map(|line| line.trim_start_matches('#').trim().chars().filter(kept).collect::<String>())
        .map(|heading| heading.to_lowercase().replace(' ', "-"))
        .collect()
}

/// Where the links lead, those to other hosts left out.
fn links(text: &str) -> Vec<String> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split_once(')')));
    targets.map(|(target, _)| target.to_owned()).filter(|target| !target.contains("://")).collect()
}

fn broken(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).unwrap();
    let leads = |link: &str| {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = if file.is_empty() { document.to_owned() } else { document.parent().unwrap().join(file) };
        fs::read_to_string(target).is_ok_and(|target| anchor.is_empty() || anchors(&target).contains(anchor))
    };
    links(&text).into_iter().filter(|link| !leads(link)).map(|link| format!("{}: {link}", document.display())).collect()
}

#[test]
fn the_readme_is_short() {
    let bytes = fs::read(root().join("README.md")).unwrap().len();
    assert!(bytes <= README_BYTES, "README.md has {bytes} bytes: what is more than {README_BYTES} belongs to docs/");
}

#[test]
fn the_readme_asks_for_the_compiler_that_the_package_asks_for() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let asked: BTreeSet<_> = readme.split("Rust ").skip(1).filter_map(|rest| rest.split_once(" or newer")).collect();
    let asked: BTreeSet<_> = asked.iter().map(|(version, _)| *version).filter(|version| version.len() < 8).collect();
    assert_eq!(asked, BTreeSet::from([env!("CARGO_PKG_RUST_VERSION").trim_end_matches(".0")]));
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() >= 12, "only {} documents were found", documents.len());
    let count: usize = documents.iter().map(|path| links(&fs::read_to_string(path).unwrap()).len()).sum();
    assert!(count > 100, "only {count} links were found");
    let broken: Vec<_> = documents.iter().flat_map(|path| broken(path)).collect();
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}
