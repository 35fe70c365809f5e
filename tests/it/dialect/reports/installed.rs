//! What becomes of files by the tools themselves, and by their reports, one after the other until nothing is left.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use txedit::Patch;

use super::super::apply_request;
use super::{PYTHON, PYTHON_CRLF, RUST, SCRIPT, SCRIPT_CRLF, write};

/// Reports that no tool needs: each leaves some fixes to the next.
const ROUNDS: usize = 20;

fn run(folder: &Path, command: &[&str]) -> Option<Output> {
    Command::new(command[0]).args(&command[1..]).current_dir(folder).output().ok()
}

/// Returns whether a tool is here; if it is not, says so.
fn is_installed(tool: &[&str]) -> bool {
    let scratch = TempDir::new().unwrap();
    let is_here = run(scratch.path(), tool).is_some_and(|output| output.status.success());
    if !is_here {
        eprintln!("skipped: `{}` does not run here", tool.join(" "));
    }
    is_here
}

/// Compares the results of `fix`, and of the reports of `report`, for these files.
fn agree(files: &[(&str, &str)], others: &[(&str, &str)], report: &[&str], fix: &[&str]) {
    let [by_tool, by_report] = [(); 2].map(|()| TempDir::new().unwrap());
    for folder in [&by_tool, &by_report] {
        write(folder.path(), files);
        write(folder.path(), others);
    }
    let fixed = run(by_tool.path(), fix).unwrap();
    let folder = by_report.path();
    let mut rounds = 0;
    loop {
        let output = run(folder, report).unwrap();
        let patch = Patch::read(&output.stdout, None, None);
        let patch = patch.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)));
        if patch.is_empty() {
            break;
        }
        apply_request(folder, &patch.request).unwrap();
        rounds += 1;
        assert!(rounds < ROUNDS, "the reports do not come to an end");
    }
    assert!(rounds > 0, "there is something to fix");
    for (name, before) in files {
        let read = |folder: &TempDir| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read(&by_report), read(&by_tool), "{name}, by {fix:?}: {}", String::from_utf8_lossy(&fixed.stderr));
        assert_ne!(&read(&by_report), before, "{name} is fixed");
    }
}

#[test]
fn clippy_and_its_reports_do_the_same() {
    if !is_installed(&["cargo", "clippy", "--version"]) {
        return;
    }
    let manifest = "[package]\nname = \"fixed\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let report = ["cargo", "clippy", "-q", "--offline", "--message-format=json"];
    let fix = ["cargo", "clippy", "-q", "--offline", "--fix", "--lib", "--allow-no-vcs"];
    agree(&[("src/lib.rs", RUST)], &[("Cargo.toml", manifest)], &report, &fix);
}

#[test]
fn a_report_of_a_package_names_the_files_of_its_workspace() {
    if !is_installed(&["cargo", "clippy", "--version"]) {
        return;
    }
    let manifest = "[package]\nname = \"fixed\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let root = TempDir::new().unwrap();
    let files = [
        ("rust/Cargo.toml", "[workspace]\nmembers = [\"crates/fixed\"]\nresolver = \"2\"\n"),
        ("rust/crates/fixed/Cargo.toml", manifest),
        ("rust/crates/fixed/src/lib.rs", "pub fn f() -> bool { let mut y = true; y }\n"),
    ];
    write(root.path(), &files);
    let output =
        run(&root.path().join("rust/crates/fixed"), &["cargo", "clippy", "-q", "--offline", "--message-format=json"])
            .unwrap();
    // The root of txedit is above the workspace, and cargo ran in a package of it.
    apply_request(root.path(), &Patch::read(&output.stdout, None, None).unwrap().request).unwrap();
    let fixed = fs::read_to_string(root.path().join("rust/crates/fixed/src/lib.rs")).unwrap();
    assert!(!fixed.contains("mut"), "{fixed}");
}

#[test]
fn ruff_and_its_reports_do_the_same() {
    if !is_installed(&["ruff", "--version"]) {
        return;
    }
    let rules = ["ruff", "check", "--isolated", "--no-cache", "--select", "F,E,UP"];
    for format in ["json", "json-lines"] {
        let report = [&rules[..], &["--output-format", format, "."]].concat();
        let fix = [&rules[..], &["--fix", "-q", "."]].concat();
        agree(&[("a.py", PYTHON), ("b.py", PYTHON_CRLF)], &[], &report, &fix);
    }
}

#[test]
fn eslint_and_its_reports_do_the_same() {
    if !is_installed(&["eslint", "--version"]) {
        return;
    }
    let rules = "export default [{rules: {\"prefer-const\": 2, \"no-var\": 2, \"no-undef-init\": 2, \
                 \"object-shorthand\": 2, \"unicode-bom\": 2}}];\n";
    let files = [("a.js", SCRIPT), ("b.js", SCRIPT_CRLF)];
    agree(&files, &[("eslint.config.mjs", rules)], &["eslint", "-f", "json", "."], &["eslint", "--fix", "."]);
}

#[test]
fn ast_grep_and_its_matches_do_the_same() {
    if !is_installed(&["ast-grep", "--version"]) {
        return;
    }
    let before = "f(f(1)); f(2); f(g(f(3), f(f(4))));\n";
    for style in ["--json=compact", "--json=stream"] {
        let folder = TempDir::new().unwrap();
        let rewrite = ["ast-grep", "run", "-p", "f($A)", "-r", "h($A)"];
        write(folder.path(), &[("a.js", before), ("b.js", before)]);
        let report = run(folder.path(), &[&rewrite[..], &[style, "b.js"]].concat()).unwrap();
        run(folder.path(), &[&rewrite[..], &["-U", "a.js"]].concat()).unwrap();
        apply_request(folder.path(), &Patch::read(&report.stdout, None, None).unwrap().request).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("b.js"), read("a.js"));
        assert_ne!(read("a.js"), before);
    }
}
