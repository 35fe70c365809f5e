//! Every commit of this project, applied as a patch.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{apply, git, has_git, output, variable};

fn text(git: &mut std::process::Command) -> String {
    String::from_utf8(output(git).unwrap()).unwrap().trim().to_owned()
}

/// Git in this project's repository, with an index of its own over `folder`.
fn over(folder: &Path, index: &Path) -> std::process::Command {
    let mut git = git(Path::new(env!("CARGO_MANIFEST_DIR")));
    git.arg("--work-tree").arg(folder).env("GIT_INDEX_FILE", index).env_remove("GIT_CEILING_DIRECTORIES");
    git
}

/// The files that a commit changes and that are no text: patches of those are refused, so git brings them.
fn binary(folder: &Path, index: &Path, parent: &str, commit: &str) -> Vec<String> {
    let counts = text(over(folder, index).args(["diff", "--numstat", "--no-renames", parent, commit]));
    counts.lines().filter_map(|line| line.strip_prefix("-\t-\t")).map(str::to_owned).collect()
}

fn take(folder: &Path, index: &Path, commit: &str, name: &str) {
    let path = folder.join(name);
    match output(over(folder, index).args(["show", &format!("{commit}:{name}")])) {
        Some(content) => {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        None => fs::remove_file(path).unwrap(),
    }
}

#[test]
fn every_commit_applied_gives_the_tree_that_git_has() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !has_git() || !project.join(".git").exists() {
        eprintln!("skipped: this is no checkout of the repository");
        return;
    }
    let scratch = TempDir::new().unwrap();
    let (folder, index) = (scratch.path().join("tree"), scratch.path().join("index"));
    let most = variable("TXEDIT_TEST_COMMITS", 25).to_string();
    let commits = text(over(&folder, &index).args(["rev-list", "--topo-order", "--parents", "-n", &most, "HEAD"]));
    let mut last = String::new();
    let mut count = 0;
    // Oldest first: where a commit follows the one before, its tree is there already.
    for line in commits.lines().rev() {
        let mut ids = line.split(' ');
        let commit = ids.next().unwrap();
        let empty = text(over(&folder, &index).args(["hash-object", "-t", "tree", "/dev/null"]));
        let parent = ids.next().map_or(empty, str::to_owned);
        if parent != last {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir(&folder).unwrap();
            output(over(&folder, &index).args(["read-tree", &parent])).unwrap();
            output(over(&folder, &index).args(["checkout-index", "-a", "-f"])).unwrap();
        }
        let binary = binary(&folder, &index, &parent, commit);
        let diff = ["diff", "-M", "-C", "--no-ext-diff", "--no-textconv", &parent, commit, "--", "."];
        let others = binary.iter().map(|name| format!(":(exclude,literal){name}"));
        let patch = output(over(&folder, &index).args(diff).args(others)).unwrap();
        if !patch.is_empty() {
            apply(&folder, &patch).unwrap_or_else(|error| panic!("{commit}: {error}"));
            count += 1;
        }
        for name in &binary {
            take(&folder, &index, commit, name);
        }
        output(over(&folder, &index).args(["add", "-A", "-f", ":!.txedit"])).unwrap();
        let made = text(over(&folder, &index).arg("write-tree"));
        assert_eq!(made, text(over(&folder, &index).args(["rev-parse", &format!("{commit}^{{tree}}")])), "{commit}");
        commit.clone_into(&mut last);
    }
    eprintln!("{count} commits");
    assert!(count > 0);
}
