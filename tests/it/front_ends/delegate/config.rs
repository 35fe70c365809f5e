//! Where settings come from, and what is said of those that are wrong.

use super::{Office, text};

#[test]
fn the_nearer_word_counts() {
    let office = Office::saying("fine");
    let model = |office: &Office, line: &[&str], variable: Option<&str>| {
        let mut command = office.command(&[&["delegate", "analyze", "what?"], line].concat());
        command.envs(variable.map(|value| ("TXEDIT_DELEGATE_MODEL", value)));
        let answer = office.ran(&mut command).done();
        answer["model"].as_str().map(str::to_owned)
    };
    assert_eq!(model(&office, &[], None), None);
    assert_eq!(office.words()[0], "--agent-file", "no model, no option for it");
    office.configure("[delegate]\nmodel = \"of the user\"\n");
    assert_eq!(model(&office, &[], None).as_deref(), Some("of the user"));
    assert_eq!(office.words()[..2], ["-m", "of the user"]);
    office.write(".txedit.toml", "[delegate]\nmodel = \"of the workspace\"\n");
    assert_eq!(model(&office, &[], None).as_deref(), Some("of the workspace"));
    assert_eq!(model(&office, &[], Some("of the environment")).as_deref(), Some("of the environment"));
    assert_eq!(model(&office, &[], Some("")).as_deref(), Some("of the workspace"));
    let typed = ["--model", "typed"];
    assert_eq!(model(&office, &typed, Some("of the environment")).as_deref(), Some("typed"));
}

#[test]
fn program_limits_and_roles_are_the_users() {
    let office = Office::saying("fine");
    let program = office.place("bin/delegate");
    office.configure(&format!(
        "[delegate]\nprogram = {:?}\nargs = [\"run\", \"--in={{folder}}\", \"--of={{root}}\", \"{{prompt}}\"]\n\
         timeout = 1.5\nmax_file_bytes = 3\nmax_prompt_bytes = 9000\n\n[delegate.roles]\npoet = \"Answer in verse.\"\n\
         general = \"Be brief.\"\n",
        program.to_str().unwrap()
    ));
    office.write("a", "1234");
    let mut command = office.command(&["delegate", "analyze", "what?", "--file", "a", "--role", "poet"]);
    let answer = office.ran(command.env_remove("TXEDIT_DELEGATE_PROGRAM")).done();
    assert_eq!(text(&answer["skipped"][0], "error_code"), "FILE_TOO_LARGE");
    let words = office.words();
    assert_eq!((words.len(), words[0].as_str()), (4, "run"));
    assert!(words[1].starts_with("--in=/") && words[1].ends_with("/work"), "{words:?}");
    assert_eq!(words[2], format!("--of={}", office.place("project").display()));
    assert!(words[3].starts_with("Answer in verse."), "{words:?}");
    office.analyze(&["what?"]).done();
    assert!(office.prompt().starts_with("Be brief."), "{}", office.prompt());
    assert_eq!(office.analyze(&[&"long ".repeat(2_000)]).done()["prompt_in_file"], true);
    office.script("sleep 60");
    assert!(text(&office.analyze(&["what?"]).failed(5, "TIMEOUT"), "error").contains("1.5 seconds"));
}

#[test]
fn a_repository_does_not_choose_what_is_run() {
    let office = Office::with("touch \"$SEEN/run\"; echo fine");
    office.write(".txedit.toml", "[delegate]\ntimeout = 5\nprogram = \"/bin/evil\"\n\nargs = [\"{prompt}\"]\n");
    let findings = office.analyze(&["what?"]).findings();
    let file = office.file(".txedit.toml");
    for (line, field) in [(3, "program"), (5, "args")] {
        let words = format!("{}, line {line}: `{field}` is refused here", file.display());
        assert!(findings.contains(&words), "{findings}");
    }
    assert!(!office.place("seen/run").exists());
    // A line that would not count must not look as if it did.
    office.write(".txedit.toml", "deny = [\".env\"]\n");
    assert!(office.analyze(&["what?"]).findings().contains("line 1: `deny` counts in"));
    // Nor by a link to what the user could read.
    std::fs::remove_file(&file).unwrap();
    std::fs::write(office.place("seen/elsewhere"), "[delegate]\nmodel = \"x\"\n").unwrap();
    std::os::unix::fs::symlink(office.place("seen/elsewhere"), &file).unwrap();
    office.analyze(&["what?"]).failed(2, "OUTSIDE_ROOT");
    // What it may say of its own project, it may.
    std::fs::remove_file(&file).unwrap();
    office.write(".txedit.toml", "[delegate]\ntimeout = 60\n[delegate.roles]\nowner = \"You own this.\"\n");
    office.analyze(&["what?", "--role", "owner"]).done();
    assert!(office.prompt().starts_with("You own this."));
}

#[test]
fn what_is_wrong_is_named_with_file_and_line() {
    let office = Office::with("touch \"$SEEN/run\"; echo fine");
    let cases = [
        ("[delegate]\n\ntimeout = -1\n", 3, "`timeout` is a number of seconds above 0"),
        ("[delegate]\ntimeout = nan\n", 2, "`timeout` is a number of seconds above 0"),
        ("[delegate]\ntimeout = \"soon\"\n", 2, "invalid type"),
        ("[delegate]\nmodel = \"m\"\nmax_file_bytes = 0\n", 3, "`max_file_bytes` is a number from 1"),
        ("[delegate]\nmax_prompt_bytes = 131072\n", 2, "what one argument can carry"),
        ("[delegate]\nmodle = \"m\"\n", 2, "unknown field `modle`"),
        ("[delegat]\n", 1, "unknown field `delegat`"),
        ("[delegate]\nmodel = \n", 2, ""),
        ("[delegate]\nprogram = \"./here\"\n", 2, "`program` is a name that PATH knows, or an absolute path"),
        ("[delegate]\nargs = [\n \"x\"]\n", 2, "`args` has no {prompt}"),
        ("[delegate]\nmodel = \" \"\n", 2, "`model` is a name"),
        ("[delegate.roles]\na = \"x\"\nb = \"\"\n", 3, "a role has a name and a text"),
    ];
    for (content, line, words) in cases {
        let file = office.configure(content);
        let findings = office.analyze(&["what?"]).findings();
        let start = format!("{}, line {line}: ", file.display());
        assert!(findings.starts_with(&start) && findings.contains(words), "{content}: {findings}");
        assert_eq!(findings.lines().count(), 1, "{content}: {findings}");
    }
    // All of it at once, wherever it stands.
    let file = office.configure("[delegate]\ntimeout = 0\nmax_file_bytes = -1\n");
    office.write(".txedit.toml", "[delegate]\nmax_prompt_bytes = 1\n");
    let mut command = office.command(&["delegate", "analyze", "what?", "--timeout", "1e9"]);
    let findings = office.ran(command.env("TXEDIT_DELEGATE_MAX_FILE_BYTES", "many")).findings();
    for words in [
        format!("{}, line 2: ", file.display()),
        format!("{}, line 3: ", file.display()),
        format!("{}, line 2: ", office.file(".txedit.toml").display()),
        "TXEDIT_DELEGATE_MAX_FILE_BYTES: \"many\" is not a number".to_owned(),
        "the command line: `timeout`".to_owned(),
    ] {
        assert!(findings.contains(&words), "{words}: {findings}");
    }
    assert!(!office.place("seen/run").exists());
}
