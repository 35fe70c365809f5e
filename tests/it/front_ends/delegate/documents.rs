//! The commands and the settings of docs/delegation.md.

use std::path::Path;
use std::process::Command;

use super::Office;
use crate::house::readme::blocks;

#[test]
fn the_commands_of_the_page_go_as_told() {
    let office = Office::saying("*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch\n");
    let files = ["src/auth.rs", "src/parse.rs", "src/run.rs"];
    for file in files {
        office.write(file, "fn main() {}\n");
    }
    office.write("plan.json", r#"{"files": [{"file_path": "a.txt", "content": "a"}]}"#);
    let committed = office.run(&["apply", "plan.json"]).done();
    let id = committed["transaction_id"].as_str().unwrap();
    let [commands] = &blocks("docs/delegation.md", "", "text")[..] else { panic!("one block is expected") };
    assert_eq!(commands.lines().count(), 4);
    let program = Path::new(env!("CARGO_BIN_EXE_txedit")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for line in commands.lines() {
        let mut shell = Command::new("sh");
        shell.args(["-c", &line.replace(" ID ", &format!(" {id} "))]);
        for (name, value) in office.plain_command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))) {
            shell.env(name, value);
        }
        shell.env("TXEDIT_ROOT", office.place("project")).env("PATH", &path).current_dir(office.place("project"));
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("*** Begin Patch"), "{line}: {output:?}");
    }
    assert!(!office.file("new.txt").exists(), "a proposal is staged, not committed");
}

#[test]
fn the_settings_of_the_page_are_taken() {
    let office = Office::saying("fine");
    let [settings] = &blocks("docs/delegation.md", "", "toml")[..] else { panic!("one block is expected") };
    // Beside what is not about delegates.
    office.configure(&format!("through = [\"target\"]\ncolor = \"never\"\n{settings}"));
    let json = office.analyze(&["Look", "--role", "dba"]).done();
    assert_eq!(json["model"], "kimi-code/k3");
    let words = office.words();
    assert!(words.iter().any(|word| word == "--agent-file") && words[1] == "kimi-code/k3", "{words:?}");
    assert!(office.prompt().contains("You review database queries."), "{}", office.prompt());
}
