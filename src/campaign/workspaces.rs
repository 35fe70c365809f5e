//! The workspaces of a campaign: `workspaces.jsonl`, and the lists and patterns that it is made from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ignore::overrides::OverrideBuilder;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::fs::records;

/// The most bytes of a workspace's name and values together: they are passed on in the environment.
const VALUES: usize = 32 << 10;

/// A workspace, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedWorkspace {
    /// Its name in reports [default: its root as it was given].
    #[serde(default)]
    pub(crate) name: String,
    /// Its root; absolute, once it is planned.
    pub(crate) root: String,
    /// The values of its variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) vars: BTreeMap<String, String>,
    /// The files and folders of it that this is about, relative to the root; all if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) paths: Vec<String>,
}

impl PlannedWorkspace {
    /// One without variables.
    pub(super) fn at(root: &str) -> Self {
        Self { name: root.to_owned(), root: root.to_owned(), vars: BTreeMap::new(), paths: Vec::new() }
    }

    /// The variables, with the two that each has.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let own =
            [("workspace", &self.name), ("root", &self.root)].map(|(name, value)| (name.to_owned(), value.clone()));
        self.vars.clone().into_iter().chain(own).collect()
    }
}

/// The workspaces that are given: folders, patterns of folders, and files with a list: a path on each line, or a JSON
/// object. `absolute` tells where relative paths start; `-` is read, too.
pub(crate) fn listed(
    given: &[PathBuf],
    absolute: impl Fn(&Path) -> PathBuf,
    read: impl Fn(&Path) -> Result<Vec<u8>>,
) -> Result<Vec<PlannedWorkspace>> {
    let mut list = Vec::new();
    for given in given {
        let path = absolute(given);
        if given.as_os_str() != "-" && records::is_folder(&path) {
            list.push(PlannedWorkspace::at(text(given)?));
        } else if given.as_os_str() != "-" && has_pattern(text(given)?) && path.symlink_metadata().is_err() {
            list.extend(folders(text(given)?, &absolute)?);
        } else {
            list.extend(lines(&read(given)?, given)?);
        }
    }
    checked(list, &absolute)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .ok_or_else(|| refused(format!("{} is not UTF-8, as a workspace of a campaign must be", path.display())))
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::ValidationFailed, message)
}

fn has_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The workspaces of a list.
fn lines(bytes: &[u8], from: &Path) -> Result<Vec<PlannedWorkspace>> {
    let text = std::str::from_utf8(bytes).map_err(|_| refused(format!("{} is not UTF-8", from.display())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut list = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with('{') {
            list.push(PlannedWorkspace::at(line));
            continue;
        }
        let mut one: PlannedWorkspace =
            serde_json::from_str(line).map_err(|e| refused(format!("{} line {}: {e}", from.display(), index + 1)))?;
        if one.name.is_empty() {
            one.name.clone_from(&one.root);
        }
        list.push(one);
    }
    Ok(list)
}

/// The folders that match a pattern, component by component, by name.
fn folders(pattern: &str, absolute: impl Fn(&Path) -> PathBuf) -> Result<Vec<PlannedWorkspace>> {
    let start = if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
    let mut found = vec![start];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        if !has_pattern(part) {
            for folder in &mut found {
                folder.push(part);
            }
            found.retain(|folder| records::is_folder(&absolute(folder)));
            continue;
        }
        if part == "**" {
            let message = format!("{pattern} has `**`, and a pattern of workspaces names each level: write */*");
            return Err(refused(message));
        }
        let one = OverrideBuilder::new("/").add(&format!("/{part}")).and_then(|built| built.build());
        let one = one.map_err(|e| refused(format!("{pattern} is not a pattern: {e}")))?;
        let mut next = Vec::new();
        for folder in found {
            for path in records::folders_in(&absolute(&folder))? {
                let name = path.file_name().unwrap_or_default();
                let is_hidden = name.as_encoded_bytes().starts_with(b".") && !part.starts_with('.');
                if !is_hidden && one.matched(Path::new("/").join(name), false).is_whitelist() {
                    next.push(folder.join(name));
                }
            }
        }
        found = next;
    }
    if found.is_empty() {
        return Err(refused(format!("no folder matches {pattern}")));
    }
    found.iter().map(|folder| Ok(PlannedWorkspace::at(text(folder)?))).collect()
}

/// The list with absolute roots; refused if one is there twice or in another one, or has not the variables that the others
/// have.
fn checked(mut list: Vec<PlannedWorkspace>, absolute: impl Fn(&Path) -> PathBuf) -> Result<Vec<PlannedWorkspace>> {
    let (mut roots, mut names) = (BTreeMap::new(), BTreeSet::new());
    for one in &mut list {
        let root = absolute(Path::new(&one.root));
        // One that is not there may come: it is reported if it does not.
        let root = records::real(&root).unwrap_or(root);
        text(&root)?.clone_into(&mut one.root);
        if let Some(other) = roots.insert(root, one.name.clone()) {
            let message = format!("{} and {other} are one folder, {}: name each workspace once", one.name, one.root);
            return Err(refused(message));
        }
        if !names.insert(one.name.clone()) {
            return Err(refused(format!("two workspaces are called {:?}: give one of them another name", one.name)));
        }
        let values = one.vars.values().chain([&one.name]);
        if values.clone().map(String::len).sum::<usize>() > VALUES || values.clone().any(|value| value.contains('\0')) {
            let message = format!("the name and the values of {} have more than {VALUES} bytes, or a NUL", one.root);
            return Err(refused(message));
        }
    }
    for (root, name) in &roots {
        let mut above = root.ancestors().skip(1);
        if let Some(other) = above.find_map(|folder| roots.get(folder)) {
            return Err(refused(format!("{name} is in {other}, and would be changed twice: name one of them")));
        }
    }
    let Some(first) = list.first() else { return Err(refused("there is no workspace: name at least one".to_owned())) };
    if let Some(one) = list.iter().find(|one| !one.vars.keys().eq(first.vars.keys())) {
        let message = format!("{} and {} have not the same variables: give each a value for all", first.name, one.name);
        return Err(refused(message));
    }
    if let Some(name) = first.vars.keys().find(|name| !is_variable(name)) {
        let message = format!(
            "{name:?} cannot be the name of a variable: letters, digits and _ can, and it is not root or workspace"
        );
        return Err(refused(message));
    }
    Ok(list)
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !["root", "workspace"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[&str], current: &Path, list: &str) -> Result<Vec<PlannedWorkspace>> {
        let given: Vec<_> = given.iter().map(PathBuf::from).collect();
        listed(&given, |path| current.join(path), |_| Ok(list.as_bytes().to_vec()))
    }

    #[test]
    fn folders_patterns_and_lists_are_workspaces() {
        let folder = tempfile::tempdir().unwrap();
        let current = folder.path().canonicalize().unwrap();
        for name in ["one/a", "one/b", "one/.hidden", "two/a"] {
            std::fs::create_dir_all(current.join(name)).unwrap();
        }
        std::fs::write(current.join("one/file"), "").unwrap();
        let names = |given: &[&str], list| {
            let list = of(given, &current, list).unwrap();
            list.into_iter().map(|one| (one.name, one.root)).collect::<Vec<_>>()
        };
        let at = |name: &str| (name.to_owned(), current.join(name).to_str().unwrap().to_owned());
        assert_eq!(names(&["one/a"], ""), [at("one/a")]);
        assert_eq!(names(&["*/a"], ""), [at("one/a"), at("two/a")]);
        assert_eq!(names(&["one/[a-b]"], ""), [at("one/a"), at("one/b")]);
        let list = "# a comment\none/a\n\n{\"root\": \"two/a\", \"name\": \"n\"}\n";
        assert_eq!(names(&["-"], list), [at("one/a"), ("n".to_owned(), at("two/a").1)]);
        let long = format!("{{\"root\": \"one/a\", \"name\": \"{}\"}}", "x".repeat(40_000));
        for list in ["one\none/a\n", &long] {
            assert!(of(&["-"], &current, list).is_err(), "{list}");
        }
        for (given, list) in [("no*", ""), ("**/a", ""), ("-", "one/a\none/../one/a\n"), ("-", ""), ("-", "{\"x\": 1}")]
        {
            assert_eq!(of(&[given], &current, list).unwrap_err().kind(), ErrorKind::ValidationFailed, "{given} {list}");
        }
    }

    #[test]
    fn each_has_the_same_variables() {
        let one = |root: &str, vars: &str| format!("{{\"root\": \"{root}\", \"vars\": {{{vars}}}}}\n");
        let of = |list: &str| of(&["-"], Path::new("/"), list).map(|list| list.len());
        assert_eq!(of(&(one("a", "\"x\": \"1\"") + &one("b", "\"x\": \"2\""))).unwrap(), 2);
        assert!(of(&(one("a", "\"x\": \"1\"") + &one("b", ""))).is_err());
        assert!(of(&one("a", "\"root\": \"1\"")).is_err());
        assert!(of(&one("a", "\"x y\": \"1\"")).is_err());
    }
}
