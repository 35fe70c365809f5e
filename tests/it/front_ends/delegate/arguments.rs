//! What the program is given: each value as it is, in one argument.

use super::{Office, text};

/// What would do harm if anybody looked into it.
const NASTY: &str = "--yolo '$(touch x)' \"`id`\" {prompt} {model} {agent}\n-p\n;&|<>\\ \u{1F600}";

#[test]
fn prompt_model_and_path_are_passed_as_they_are() {
    let office = Office::saying("fine");
    let name = "-a \"b\" 'c'\n{prompt} $(d).txt";
    office.write(name, "content\n");
    let file = office.file(name);
    let line = ["--model", NASTY, "--file", file.to_str().unwrap(), "--context", "-c {prompt}", NASTY];
    let answer = office.analyze(&line).done();
    assert_eq!((text(&answer, "answer"), text(&answer, "model")), ("fine", NASTY));
    assert_eq!(text(&answer["files"][0], "file_path"), file.to_str().unwrap());
    let words = office.words();
    assert_eq!(words[..2], ["-m", NASTY]);
    assert_eq!(words[4..7], ["--output-format", "stream-json", "-p"]);
    let prompt = &words[7];
    assert_eq!(words.len(), 8);
    assert!(prompt.ends_with(&format!("\nTask:\n{NASTY}\n")), "{prompt}");
    // But for line breaks in a name: it has one line of the prompt.
    let named = file.display().to_string().replace('\n', "\\n");
    assert!(prompt.contains(&format!("\nFile: {named}\n```\ncontent\n```\n")), "{prompt}");
    assert!(prompt.contains("\nContext:\n-c {prompt}\n"), "{prompt}");
}

#[test]
fn a_prompt_may_begin_with_a_hyphen_and_come_from_stdin() {
    let office = Office::saying("fine");
    office.analyze(&["--", "--help"]).done();
    assert!(office.prompt().ends_with("\nTask:\n--help\n"));
    office.analyze(&["-x -y"]).done();
    assert!(office.prompt().ends_with("\nTask:\n-x -y\n"));
    let input = office.place("seen/input");
    std::fs::write(&input, NASTY).unwrap();
    let mut command = office.command(&["delegate", "analyze", "-"]);
    office.ran(command.stdin(std::fs::File::open(input).unwrap())).done();
    assert!(office.prompt().ends_with(&format!("\nTask:\n{NASTY}\n")));
}

#[test]
fn an_agent_that_only_reads_goes_along() {
    let office = Office::with("cat \"$2\"");
    let answer = office.analyze(&["what?"]).done();
    assert_eq!(office.words()[0], "--agent-file");
    assert!(text(&answer, "answer").contains("\ntools: Read, Grep, Glob\n"), "{answer:#}");
}

#[test]
fn a_prompt_that_is_too_long_goes_to_a_file() {
    let office = Office::with("cp ../prompt.md \"$SEEN/prompt\"; cat \"$SEEN/answer\"");
    std::fs::write(office.place("seen/answer"), "read").unwrap();
    let long = "a line of forty characters, more or less\n".repeat(5_000);
    office.write("long.txt", &long);
    let file = office.file("long.txt");
    let answer = office.analyze(&["what?", "--file", file.to_str().unwrap()]).done();
    assert_eq!((text(&answer, "answer"), &answer["prompt_in_file"]), ("read", &true.into()));
    let whole = std::fs::read_to_string(office.place("seen/prompt")).unwrap();
    assert!(whole.contains(&long) && whole.ends_with("\nTask:\nwhat?\n"));
    let prompt = office.prompt();
    assert!(prompt.len() < 1_000 && prompt.contains(&format!("/prompt.md, {} bytes", whole.len())), "{prompt}");

    // The limit is that of the whole argument, to the byte.
    office.script("cat \"$SEEN/answer\"");
    office.analyze(&["what?"]).done();
    let rest = 120_000 - office.prompt().len();
    let fits = format!("what?{}", "!".repeat(rest));
    assert_eq!(office.analyze(&[&fits]).done()["prompt_in_file"], false);
    assert_eq!(office.prompt().len(), 120_000);
    assert_eq!(office.analyze(&[&format!("{fits}!")]).done()["prompt_in_file"], true);
}
