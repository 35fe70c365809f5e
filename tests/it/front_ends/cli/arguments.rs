//! What is typed wrong, what the environment says, and what the shells are told.

use std::fs;
use std::process::Stdio;

use super::{Workspace, run};

#[test]
fn a_mistake_is_told_to_people_on_stderr_and_exits_with_2() {
    let here = Workspace::new();
    let lines: [&[&str]; 6] =
        [&[], &["aply"], &["apply"], &["edit", "a"], &["recover", "--forward"], &["--color", "pink", "status"]];
    for line in lines {
        let ran = here.run(line);
        ran.exits(2);
        assert_eq!(ran.stdout, "", "{line:?}");
        assert!(ran.stderr.contains("Usage") || ran.stderr.contains("--help"), "{ran:?}");
    }
}

#[test]
fn a_mistake_is_told_to_scripts_as_one_object() {
    let here = Workspace::new();
    for line in [&["--json", "aply"][..], &["edit", "a", "--json"], &["recover", "--json", "--back"]] {
        let ran = here.run(line);
        let json = ran.exits(2).json();
        assert_eq!(json["success"], false);
        assert_eq!(json["error_code"], "VALIDATION_FAILED");
        assert_eq!(json["outcome"], "unchanged");
        let message = json["errors"][0]["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.contains('\u{1b}') && !message.starts_with("error"), "{message}");
        assert_eq!(ran.stderr, "", "{line:?}");
    }
    let ran = run(here.command(&["aply"]).env("TXEDIT_JSON", "1"));
    assert_eq!(ran.exits(2).json()["error_code"], "VALIDATION_FAILED");
}

#[test]
fn an_unknown_option_is_no_operand() {
    let here = Workspace::new();
    here.write("src", "-i\n");
    let lines: [&[&str]; 5] = [
        &["replace", "-i", "src", "lib"],
        &["run", "--dryrun", "touch", "made"],
        &["apply", "--plan"],
        &["show", "-n"],
        &["kept", "drop", "-f"],
    ];
    for line in lines {
        let ran = here.run(line);
        let option = line.iter().find(|word| word.starts_with('-')).unwrap();
        assert!(ran.exits(2).stderr.contains("unexpected argument"), "{ran:?}");
        let told = [&format!("use '-- {option}'"), "a similar argument exists"];
        assert!(told.iter().any(|told| ran.stderr.contains(*told)), "{ran:?}");
    }
    assert!(!here.path().join("made").exists());
    assert!(here.run(lines[0]).stderr.contains("use '-- -i'"));
    here.run(&["replace", "--", "-i", "--in-place", "src"]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("src")).unwrap(), "--in-place\n");
    // After its name, options are the program's.
    here.run(&["run", "sed", "-i", "s/--in-place/-q/", "src"]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("src")).unwrap(), "-q\n");
}

#[test]
fn help_and_version_are_results() {
    let here = Workspace::new();
    let version = here.run(&["--version"]);
    assert_eq!(version.exits(0).stdout, concat!("txedit ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = here.run(&["--help"]);
    assert!(help.exits(0).stdout.contains("Exit status"), "{help:?}");
    assert!(!help.stdout.contains("tour-child"), "{help:?}");
}

#[test]
fn values_of_the_environment_are_those_of_the_options() {
    let here = Workspace::new();
    for (name, wrong) in [("TXEDIT_DURABILITY", "eternal"), ("TXEDIT_LOCK_TIMEOUT", "-1"), ("TXEDIT_COLOR", "pink")] {
        let ran = run(here.command(&["doctor"]).env(name, wrong));
        ran.exits(2);
        assert!(ran.stderr.contains(wrong) || ran.stderr.contains("--lock-timeout"), "{ran:?}");
    }

    let steps = |command: &mut std::process::Command| run(command).exits(0).json()["commit_steps"].to_string();
    let power = steps(&mut here.command(&["doctor", "--json"]));
    let process = steps(here.command(&["doctor", "--json"]).env("TXEDIT_DURABILITY", "process"));
    assert!(power.contains("barrier: ") && !process.contains("barrier: "), "{power} {process}");
    assert_eq!(steps(&mut here.command(&["doctor", "--json", "--durability", "process"])), process);
    // The option wins, on either side of the command.
    for line in [["doctor", "--durability", "power", "--json"], ["--durability", "power", "--json", "doctor"]] {
        assert_eq!(steps(here.command(&line).env("TXEDIT_DURABILITY", "process")), power);
    }
}

#[test]
fn flags_of_the_environment_are_those_of_the_options() {
    let here = Workspace::new();
    run(here.command(&["doctor"]).env("TXEDIT_JSON", "1")).json();
    let plain = run(here.command(&["doctor"]).env("TXEDIT_JSON", "0"));
    assert!(!plain.exits(0).stdout.starts_with('{'), "{plain:?}");

    let colored = run(here.command(&["doctor"]).env("TXEDIT_COLOR", "always"));
    assert!(colored.stdout.contains('\u{1b}'), "{colored:?}");
    assert_eq!(here.run(&["doctor", "--color", "always"]).stdout, colored.stdout);
    assert!(!plain.stdout.contains('\u{1b}'), "{plain:?}");
}

#[test]
fn shells_are_told_every_command() {
    let here = Workspace::new();
    for (shell, mark) in [("bash", "complete -F"), ("zsh", "#compdef txedit"), ("fish", "complete -c txedit")] {
        let ran = here.run(&["completions", shell]);
        let script = &ran.exits(0).stdout;
        assert!(script.contains(mark), "{shell}: {script}");
        for command in ["apply", "edit", "undo", "recover", "doctor", "--lock-timeout"] {
            let word = command.trim_start_matches("--");
            assert!(script.contains(word), "{shell} does not know {command}");
        }
        assert!(!script.contains("tour-child"), "{shell} is told of a command that is not for people");
        let json = here.run(&["completions", shell, "--json"]).exits(0).json();
        assert_eq!(json["script"].as_str(), Some(script.as_str()));
    }
    here.run(&["completions", "tcsh"]).exits(2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let here = Workspace::new();
    for line in [&["completions", "zsh"][..], &["completions", "zsh", "--json"], &["--help"]] {
        let mut command = here.command(line);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran = super::Ran::from(child.wait_with_output().unwrap());
        ran.exits(0);
        assert_eq!(ran.stderr, "", "{line:?}");
    }
}

#[test]
fn what_is_no_number_folder_or_command_is_said_to_be_none() {
    let here = Workspace::new();
    here.write("a", "one\n");
    for line in [
        &["edit", "a", "--near-line", "-5", "--old", "one", "--new", "two"][..],
        &["edit", "a", "--lock-timeout", "-1", "--old", "one", "--new", "two"],
        &["status", "--check-timeout", "-0.5"],
    ] {
        let ran = here.run(line);
        assert!(!ran.exits(2).stderr.contains("use '--"), "{ran:?}");
    }
    for command in ["", "  "] {
        let ran = here.run(&["apply", "--plan-command", command]);
        assert!(ran.exits(2).stderr.contains("--plan-command is empty"), "{ran:?}");
    }
    for folder in ["nowhere", "a"] {
        let ran = here.run(&["doctor", folder]);
        assert!(ran.exits(2).stderr.contains("is not a folder"), "{ran:?}");
    }
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
}
