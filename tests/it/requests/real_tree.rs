//! A rename of an identifier across the sources of one of this project's own dependencies.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use txedit::ErrorKind;
use txedit::error::Detail;

use crate::support::mounts::run;
use crate::support::workspace::Workspace;

/// Large, and of many files; one of them is there wherever the project was built.
const PACKAGES: [(&str, &str); 3] =
    [("clap_builder-4", "Command"), ("rustix-1", "Errno"), ("serde_json-1", "Deserializer")];

/// The unpacked sources of a dependency, in the folder where cargo keeps them.
fn sources() -> Option<(PathBuf, &'static str)> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let registries: Vec<_> =
        fs::read_dir(home.join("registry/src")).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    PACKAGES.iter().find_map(|(package, identifier)| {
        let packages = registries.iter().filter_map(|registry| fs::read_dir(registry).ok()).flatten();
        let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(package));
        packages.filter_map(|entry| Some(entry.ok()?.path())).find(named).map(|path| (path, *identifier))
    })
}

/// A copy of the sources, and one edit for each file in which the identifier stands.
fn workspace() -> Option<(Workspace, Vec<Value>)> {
    let Some((sources, identifier)) = sources() else {
        eprintln!("skipped: cargo keeps none of {PACKAGES:?} here");
        return None;
    };
    let workspace = Workspace::new();
    run("cp", ["-a", &format!("{}/.", sources.display()), workspace.root().to_str().unwrap()]).unwrap();
    let tree = workspace.tree();
    let has = |content: &[u8]| String::from_utf8_lossy(content).contains(identifier);
    let files = tree.0.iter().filter(|(path, node)| has(&node.content) && is_source(path));
    let edits = files.map(|(path, _)| {
        let lines = [(identifier, format!("Renamed{identifier}"))];
        let edits = lines.map(|(old, new)| json!({ "old_string": old, "new_string": new, "replace_all": true }));
        json!({ "file_path": path, "edits": edits })
    });
    let edits: Vec<_> = edits.collect();
    Some((workspace, edits))
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

#[test]
fn an_identifier_is_renamed_everywhere_and_back() {
    let Some((workspace, edits)) = workspace() else { return };
    let before = workspace.tree();
    let report = workspace.apply(&json!({ "files": edits })).unwrap();
    let replaced: usize = report.files.iter().flat_map(|file| &file.edits).map(|edit| edit.replaced).sum();
    assert!(report.files.len() >= 10 && replaced >= 100, "{} files, {replaced} edits", report.files.len());
    let after = workspace.tree();
    let mut changed = 0;
    for (path, node) in &before.0 {
        if edits.iter().any(|edit| edit["file_path"] == json!(path)) {
            let identifier = edits[0]["edits"][0]["old_string"].as_str().unwrap();
            let renamed = String::from_utf8_lossy(&node.content).replace(identifier, &format!("Renamed{identifier}"));
            assert_eq!(String::from_utf8_lossy(&after.0[path].content), renamed, "{}", path.display());
            changed += 1;
        } else if node.mode & 0o170_000 != 0o040_000 {
            assert_eq!(&after.0[path], node, "{}", path.display());
        }
    }
    assert_eq!((changed, after.0.len()), (edits.len(), before.0.len()));

    workspace.undo(None).unwrap();
    let undone = workspace.tree();
    undone.clone().restorable().assert_same(&before.clone().restorable());
    let is_edited = |path: &Path| edits.iter().any(|edit| edit["file_path"] == json!(path));
    for (path, node) in before.0.iter().filter(|(path, node)| !is_edited(path) && node.mode & 0o170_000 == 0o100_000) {
        assert_eq!(&undone.0[path], node, "{}", path.display());
    }
}

#[test]
fn one_wrong_edit_at_the_end_leaves_everything_unchanged() {
    let Some((workspace, mut edits)) = workspace() else { return };
    let last = edits.last_mut().unwrap();
    let path = last["file_path"].as_str().unwrap().to_owned();
    let line = workspace.read(&path).lines().find(|line| line.len() > 30).unwrap().to_owned();
    let wrong = line.replacen(' ', "  ", 1).replacen('e', "3", 1);
    last["edits"].as_array_mut().unwrap().push(json!({ "old_string": wrong, "new_string": "x" }));
    let file = edits.len() - 1;
    let error = workspace.refuses(&json!({ "files": edits }));
    assert_eq!((error.kind(), error.file(), error.edit()), (ErrorKind::MatchNotFound, Some(file), Some(1)), "{error}");
    assert_eq!(error.path(), Some(Path::new(&path)));
    let Detail::NoMatch(diagnosis) = error.details() else { panic!("{error} has no diagnosis") };
    // The file as the edits before left it: the line is found all the same.
    let nearest = line.split(' ').next_back().unwrap();
    assert!(diagnosis.snippet.contains(nearest) && diagnosis.line > 0, "{diagnosis:?} {line}");
}
