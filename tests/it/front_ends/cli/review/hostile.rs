//! Names and contents that would command a terminal are shown as escapes.

use serde_json::json;

use super::Workspace;

/// What is left of a text once its colours are taken out.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap();
        if !after[end..].starts_with('m') {
            plain.push('\x1b');
        }
        rest = after[end..].strip_prefix('m').unwrap_or(after);
    }
    plain + rest
}

#[test]
fn nothing_of_a_file_reaches_the_terminal_as_a_command() {
    let here = Workspace::new();
    let name = "a\x1b]0;title\x07\u{202e}.txt";
    let old = "plain\nx\n";
    here.write(".git/HEAD", "").write(name, old);
    let plan = json!({ "label": "l\x1b[2J", "files": [
        { "file_path": name, "edits": [{ "old_string": "plain", "new_string": "pl\x1b[2J\x07\rain\tok\u{9b}1m" }] },
        { "file_path": "new\nline", "content": "\x1b[31mred\r\n\u{2028}\n" },
        { "file_path": "link", "symlink_to": "\x1b[3J" },
    ]});
    here.write("plan.json", &plan.to_string());
    here.stage();
    let ran = here.answered(&["review", "--color", "always"], "y y y \x1b[2J y");
    let shown = without_colours(&ran.exits(0).stderr);
    let is_command = |c: char| c.is_control() && c != '\n' && c != '\t' || ('\u{2028}'..='\u{202e}').contains(&c);
    assert_eq!(shown.chars().filter(|c| is_command(*c)).collect::<Vec<_>>(), Vec::<char>::new(), "{shown:?}");
    for part in [
        "a\\u{1b}]0;title\\u{7}\\u{202e}.txt (edit)",
        "\n-plain\n+pl\\u{1b}[2J\\u{7}\\rain\tok\\u{9b}1m\n",
        "new\\nline (create)",
        "\n+\\u{1b}[31mred\\r\n+\\u{2028}\n",
        "becomes a symlink to \\u{1b}[3J",
    ] {
        assert!(shown.contains(part), "{part:?} in:\n{shown}");
    }
    assert!(ran.stderr.contains("\x1b[31m-") || ran.stderr.contains("\x1b[31m"), "it is in colour");
    here.has(name, "pl\x1b[2J\x07\rain\tok\u{9b}1m\nx\n");
}

#[test]
fn the_words_that_differ_stand_out() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "let one = call(x);\n");
    here.write(
        "plan.json",
        &json!({ "files": [
        { "file_path": "a", "edits": [{ "old_string": "one", "new_string": "other" }] }] })
        .to_string(),
    );
    here.stage();
    let ran = here.answered(&["review", "--color", "always"], "n");
    let inverted: Vec<&str> = ran.stderr.split("\x1b[7m").skip(1).collect();
    let words: Vec<&str> = inverted
        .iter()
        .map(|rest| {
            let rest = &rest[rest.find(|c: char| c.is_ascii_lowercase() && c != 'm').unwrap()..];
            rest.split('\x1b').next().unwrap()
        })
        .collect();
    assert_eq!(words, ["one", "other"], "{:?}", ran.stderr);
    let plain = here.answered(&["review", "--color", "never"], "n");
    assert!(!plain.exits(0).stderr.contains('\x1b'), "{plain:?}");
}
