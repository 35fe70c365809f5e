//! Tests of what survives a crash, and of what each process sees.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::*;
use crate::fs::{Fs, Handle, Name, Rename};

mod differential;
mod durability;
mod processes;

const UNORDERED: Policy = Policy::Unordered;
const ORDERED: Policy = Policy::OrderedMetadata;

fn root(fs: &impl Fs) -> Handle {
    fs.open_folder(Path::new("/")).unwrap()
}

fn write(fs: &impl Fs, folder: &Handle, name: &str, bytes: &[u8]) -> Handle {
    let (file, guard, _) = fs.create(Name::new(folder, name), 0o600).unwrap();
    guard.disarm();
    assert_eq!(fs.write_at(&file, 0, bytes).unwrap(), bytes.len());
    file
}

/// All images, of which there must not be too many, each as `path=content` of its files and `path/` of its folders.
fn all(sim: &SimFs, policy: Policy) -> BTreeSet<String> {
    let images = sim.images(policy, 10_000, 0);
    assert!(images.exhaustive, "too many for this test");
    images.into_iter().map(|image| show(&image.tree())).collect()
}

fn show(tree: &SimTree) -> String {
    let shown: Vec<String> = tree.iter().map(|(path, entry)| show_entry(path, entry)).collect();
    shown.join(" ")
}

fn show_entry(path: &Path, entry: &SimEntry) -> String {
    let path = path.strip_prefix("/").unwrap().display();
    match entry.kind {
        crate::fs::FileKind::Folder => format!("{path}/"),
        _ => format!("{path}={}", String::from_utf8_lossy(&entry.content).replace('\0', "0")),
    }
}

fn set(images: &[&str]) -> BTreeSet<String> {
    images.iter().map(|image| (*image).to_owned()).collect()
}
