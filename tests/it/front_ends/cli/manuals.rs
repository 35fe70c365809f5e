//! `txedit man DIR`: a page for each command and each topic, which `man` shows without a complaint.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Workspace;

fn pages(folder: &Path) -> BTreeSet<String> {
    let sections = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pages = sections.flat_map(|section| fs::read_dir(section).unwrap().map(|entry| entry.unwrap().path()));
    pages.map(|page| page.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn each_command_and_each_topic_has_a_page() {
    let here = Workspace::new();
    let told = here.run(&["man", "out/man", "--json"]);
    let pages = pages(&here.path().join("out/man"));
    let mut named = BTreeSet::new();
    for page in told.exits(0).json()["pages"].as_array().unwrap() {
        named.insert(page.as_str().unwrap().to_owned());
    }
    assert_eq!(named, pages);
    let expected = [
        "man1/txedit.1",
        "man1/txedit-apply.1",
        "man1/txedit-kept-restore.1",
        "man1/txedit-history-prune.1",
        "man1/txedit-man.1",
        "man5/txedit-plan.5",
        "man5/txedit-patches.5",
        "man5/txedit-answers.5",
        "man7/txedit-recovery.7",
    ];
    for page in expected {
        assert!(pages.contains(page), "{page}: {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("child") || page.contains("help")), "{pages:?}");
    let read = |page: &str| fs::read_to_string(here.path().join("out/man").join(page)).unwrap();
    let apply = read("man1/txedit-apply.1");
    for word in [".SH EXAMPLES", "git diff | txedit", ".SH \"COMMON OPTIONS\"", "TXEDIT_ROOT", "txedit\\-plan(5)"] {
        assert!(apply.contains(word), "{word}: {apply}");
    }
    assert!(read("man1/txedit.1").contains(".SH \"EXIT STATUS\""), "the statuses are told once");
    // Again, over the pages of before.
    here.run(&["man", "out/man"]).exits(0);
}

#[test]
fn the_pages_are_right_for_groff() {
    let here = Workspace::new();
    here.run(&["man", "man"]).exits(0);
    for page in pages(&here.path().join("man")) {
        let path = here.path().join("man").join(&page);
        let line = ["-k", "-man", "-ww", "-Tutf8", "-rLL=100n", "-z", path.to_str().unwrap()];
        let Ok(groff) = Command::new("groff").args(line).output() else {
            eprintln!("skipped: groff is not here to look at the pages");
            return;
        };
        let said = String::from_utf8_lossy(&groff.stderr);
        // A word that does not fit a line, and a line that cannot be filled, are no mistakes.
        let said: Vec<&str> =
            said.lines().filter(|line| !line.contains("cannot adjust") && !line.contains("cannot break")).collect();
        assert!(groff.status.success() && said.is_empty(), "{page}: {said:#?}");
    }
}

#[test]
fn the_pages_are_right_for_mandoc() {
    let here = Workspace::new();
    here.run(&["man", "man"]).exits(0);
    for page in pages(&here.path().join("man")) {
        let path = here.path().join("man").join(&page);
        let Ok(lint) = Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).arg(path).output() else {
            eprintln!("skipped: mandoc is not here to look at the pages");
            return;
        };
        assert!(lint.status.success(), "{page}: {}", String::from_utf8_lossy(&lint.stdout));
    }
}

#[test]
fn man_shows_them() {
    let here = Workspace::new();
    here.run(&["man", "man"]).exits(0);
    let path = here.path().join("man/man5/txedit-plan.5");
    let mut man = Command::new("man");
    let Ok(shown) = man.args(["-l", "-P", "cat"]).arg(path).env("MANWIDTH", "100").output() else {
        eprintln!("skipped: man is not here");
        return;
    };
    let text = String::from_utf8_lossy(&shown.stdout);
    if !shown.status.success() && text.is_empty() {
        eprintln!("skipped: this man shows no file: {}", String::from_utf8_lossy(&shown.stderr));
        return;
    }
    for words in ["txedit-plan - requests", "TOLERANT MATCHING", "old_string"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
