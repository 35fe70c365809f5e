//! What is shown of a text that was not found, or was found too often, can be searched for as it is.

use super::Workspace;

fn workspace(content: &str) -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", content);
    here
}

/// The first indented line under this heading.
#[track_caller]
fn shown<'t>(text: &'t str, heading: &str) -> &'t str {
    let (_, after) = text.split_once(heading).unwrap_or_else(|| panic!("{heading:?} is not in:\n{text}"));
    after.lines().nth(1).unwrap().strip_prefix("    ").unwrap()
}

#[test]
fn the_nearest_text_can_be_searched_for() {
    let here = workspace("first\nlet total = count(items, 10) + rest;\nlast\n");
    let ran = here.run(&["edit", "a", "--old", "= count(items, 20) + rest", "--new", "= none"]);
    let nearest = shown(&ran.exits(1).stderr, "what is there, to search for if it is meant:").to_owned();
    here.run(&["edit", "a", "--old", &nearest, "--new", "= none"]).exits(0);
    assert_eq!(std::fs::read_to_string(here.path().join("a")).unwrap(), "first\nlet total = none;\nlast\n");
}

#[test]
fn of_several_places_those_near_the_line_are_shown_with_what_is_only_there() {
    let lines: Vec<String> = (0..60).map(|n| format!("a{n}\nsame\n")).collect();
    let here = workspace(&lines.concat());
    let ran = here.run(&["edit", "a", "--old", "same", "--new", "other", "--near-line", "100"]);
    let unique = ran.exits(1).stderr.split_once("  line 100:").expect("the line itself is named").1.to_owned();
    let (_, unique) = unique.split_once("to search for, since it is there only:\n").unwrap();
    let unique: Vec<&str> = unique.lines().map_while(|line| line.strip_prefix("    ")).collect();
    let unique = unique.join("\n");
    assert_eq!(ran.stderr.matches("  line ").count(), 8, "{ran:?}");
    assert!(ran.stderr.contains("and 52 more places"), "{ran:?}");
    assert!(unique.contains("same") && unique.contains("a49"), "{unique}");
    here.run(&["edit", "a", "--old", &unique, "--new", &unique.replace("same", "other")]).exits(0);
    let content = std::fs::read_to_string(here.path().join("a")).unwrap();
    assert_eq!(content.lines().nth(99), Some("other"));
    here.run(&["edit", "a", "--old", "same", "--new", "x", "--all", "--near-line", "1"]).exits(2);
}
