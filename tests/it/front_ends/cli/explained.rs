//! `--help` and `txedit help`: an example first, the common options last, and each example does what it says.

use std::fs;
use std::path::Path;
use std::process::Output;

use super::{Ran, Workspace};
use crate::house::readme::{sh, two_files};
use crate::support::sources::root;

/// The commands that the help of `path` lists, each with its path; those of commands with commands of their own, too.
fn commands(here: &Workspace, path: &[String]) -> Vec<Vec<String>> {
    let help = help(here, path);
    let Some((_, listed)) = help.split_once("\nCommands:\n") else { return vec![path.to_vec()] };
    let names = listed.lines().take_while(|line| !line.is_empty()).filter(|line| line.starts_with("  "));
    let names = names.filter(|line| !line.starts_with("   ")).map(|line| line.split_whitespace().next().unwrap());
    let own = names.filter(|name| *name != "help" || path.is_empty());
    let all = own.flat_map(|name| commands(here, &[path, &[name.to_owned()]].concat()));
    std::iter::once(path.to_vec()).chain(all).collect()
}

fn help(here: &Workspace, path: &[String]) -> String {
    let line: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    here.run(&line).exits(0).stdout.clone()
}

/// The examples of a help text.
fn examples(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
    lines.take_while(|line| !line.is_empty()).map(str::trim).collect()
}

#[test]
fn every_help_begins_with_an_example_and_ends_with_the_common_options() {
    let here = Workspace::new();
    let all = commands(&here, &[]);
    assert!(all.len() > 25, "{all:?}");
    for path in &all {
        let help = help(&here, path);
        let lines: Vec<&str> = help.lines().collect();
        let example = lines.iter().position(|line| line.starts_with("Example")).unwrap();
        assert!(example <= 3 && lines[example - 1].is_empty() && !examples(&help).is_empty(), "{path:?}: {help}");
        let usage = lines.iter().position(|line| line.starts_with("Usage: txedit")).unwrap();
        assert!(example < usage, "{path:?}: {help}");
        let (own, common) = help.split_once("\nCommon options:\n").unwrap();
        assert!(own.contains("\nOptions:\n"), "{path:?}: {help}");
        let common: Vec<&str> = common.lines().take_while(|line| !line.is_empty()).collect();
        assert!(common.len() <= 18, "one line for each: {common:#?}");
        let longest = help.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= 100, "{path:?}: {longest}");
    }
}

#[test]
fn help_of_a_command_is_what_its_option_prints() {
    let here = Workspace::new();
    for path in [&["apply"][..], &["kept", "restore"], &["history", "prune"], &[]] {
        let asked = here.run(&[&["help"], path].concat());
        let path: Vec<String> = path.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(asked.exits(0).stdout.trim_end(), help(&here, &path).trim_end());
    }
    let unknown = here.run(&["help", "plans"]);
    assert!(unknown.exits(2).stderr.contains("plan, patches, answers, recovery"), "{unknown:?}");
}

#[test]
fn help_of_a_topic_is_its_page_without_markdown() {
    let here = Workspace::new();
    let listed = help(&here, &[]);
    for (topic, page, about) in [
        ("plan", "docs/plan.md", "Tolerant matching"),
        ("patches", "docs/dialects.md", "*** Begin Patch"),
        ("answers", "docs/answers.md", "MATCH_NOT_FOUND"),
        ("recovery", "docs/recovery.md", "All or nothing."),
    ] {
        assert!(listed.contains(&format!("\n  {topic} ")), "--help lists the topics: {listed}");
        let text = here.run(&["help", topic]).exits(0).stdout.clone();
        assert!(text.to_lowercase().contains(&about.to_lowercase()), "{text}");
        for sign in ["](", "\n|", "```", " · "] {
            assert!(!text.contains(sign), "{topic} has {sign:?}");
        }
        let page = fs::read_to_string(root().join(page)).unwrap();
        let headings = page.lines().filter_map(|line| line.strip_prefix("## "));
        let mut rest = &*text;
        for heading in headings {
            let heading = heading.to_uppercase();
            rest = rest.split_once(&heading).unwrap_or_else(|| panic!("{topic} lacks {heading:?}")).1;
        }
        let json = here.run(&["help", topic, "--json"]).exits(0).json();
        assert_eq!(json["text"], text);
    }
}

/// Examples that no test runs, and the reason.
const NOT_RUN: [(&str, &str); 10] = [
    ("claude mcp add", "another program"),
    ("txedit tour", "cli::tour runs it"),
    ("txedit review --web", "it serves until it is ended; front_ends::web runs it"),
    ("txedit delegate", "a second model answers; tests/it/delegate has one that is a script"),
    ("txedit recover \"$id\" --back", "wants an interrupted transaction; cli::interrupted has them"),
    ("txedit kept restore", "wants a kept content; cli::kept has them"),
    ("txedit kept drop", "wants a kept content; cli::kept has them"),
    ("txedit completions", "writes to the home folder; cli::arguments runs it"),
    ("txedit campaign run rename --with", "wants GNU parallel; tests/campaigns/run has it"),
    ("txedit man", "writes to the home folder; cli::manuals runs it"),
];

/// Repositories; with a campaign in them; and one that was made.
const REPOSITORIES: &str =
    "for r in a b; do mkdir -p repos/$r && cp src/greet.rs repos/$r; done; printf 'repos/a\\nrepos/b\\n' > repos.jsonl";
const PLANNED: &str = "for r in a b; do mkdir -p repos/$r && cp src/greet.rs repos/$r; done; \
                       txedit -q campaign new rename --workspaces 'repos/*' --replace greet welcome >/dev/null";
const MADE: &str = "for r in a b; do mkdir -p repos/$r && cp src/greet.rs repos/$r; done; \
                    txedit -q campaign new rename --workspaces 'repos/*' --replace greet welcome >/dev/null; \
                    txedit -q campaign run rename >/dev/null";

/// A line of shell in front of the examples of a command.
fn setup(command: &str) -> &'static str {
    const COMMITTED: &str = "txedit -q apply plan.json >/dev/null; id=$(txedit log --limit 1 | cut -d' ' -f1)";
    match command {
        "campaign new" => REPOSITORIES,
        "campaign" | "campaign status" | "campaign undo" | "campaign report" => MADE,
        other if other.starts_with("campaign") => PLANNED,
        "preview" | "commit" | "rollback" => "id=$(txedit -q stage plan.json)",
        "review" => "id=$(txedit -q stage plan.json); printf 'y\\ny\\n' > ../answers; exec < ../answers",
        "show" | "undo" => COMMITTED,
        "journal" => "txedit -q apply plan.json >/dev/null; id=$(ls .git/txedit/history)",
        "history move" => "txedit -q apply plan.json >/dev/null; txedit history move .txedit",
        "redo" => "txedit -q apply plan.json >/dev/null; txedit -q undo >/dev/null",
        "apply" => "sed -i s/hello/bye/ src/greet.rs",
        _ => ":",
    }
}

/// A project with a plan, and another copy of it beside it.
fn project(folder: &Path, plan: &str) {
    for name in ["here", "other"] {
        let project = folder.join(name);
        fs::create_dir(&project).unwrap();
        two_files(&project);
        fs::write(project.join("plan.json"), plan).unwrap();
        let made = sh(&project, "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -q -m a");
        assert!(made.status.success(), "{made:?}");
    }
    sh(folder, "mkdir bin && printf '#!/bin/sh\n' > bin/cargo && chmod +x bin/cargo");
}

#[test]
fn every_example_does_what_it_says() {
    let here = Workspace::new();
    let plan = r#"{"files": [{"file_path": "src/greet.rs",
        "edits": [{"old_string": "fn greet", "new_string": "fn welcome"}]}]}"#;
    let mut run = 0;
    for path in commands(&here, &[]) {
        for example in examples(&help(&here, &path)) {
            if NOT_RUN.iter().any(|(start, _)| example.starts_with(start)) {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            project(folder.path(), plan);
            let before =
                if path.is_empty() && example.ends_with("undo") { setup("undo") } else { setup(&path.join(" ")) };
            let script = format!("export PATH=\"$PWD/../bin:$PATH\"; {before}; {example}");
            let output: Output = sh(&folder.path().join("here"), &script);
            let ran = Ran::from(output);
            assert_eq!(ran.status, Some(0), "{example}: {ran:?}");
            run += 1;
        }
    }
    assert!(run > 20, "{run}");
}

#[test]
fn every_command_and_every_common_option_is_in_the_page() {
    let here = Workspace::new();
    let page = fs::read_to_string(root().join("docs/cli.md")).unwrap();
    for path in commands(&here, &[]).iter().filter(|path| !path.is_empty()) {
        let first = format!("txedit {}", path[0]);
        assert!(page.lines().any(|line| line.starts_with("| `") && line.contains(&first)), "docs/cli.md lacks {first}");
    }
    let help = help(&here, &["status".to_owned()]);
    let common = help.split_once("\nCommon options:\n").unwrap().1;
    let options: Vec<&str> = common.split_whitespace().filter(|word| word.starts_with("--")).collect();
    assert!(options.len() >= 13, "{options:?}");
    for option in options.iter().filter(|option| !["--help", "--version"].contains(option)) {
        assert!(
            page.contains(&format!("{option} ")) || page.contains(&format!("{option}`")),
            "docs/cli.md lacks {option}"
        );
    }
}
