//! `txedit tour`: its steps check themselves, with real kills; here it must end well and leave nothing.

use std::fs;

use super::{Workspace, run};

#[test]
fn the_tour_shows_every_step_and_leaves_nothing_behind() {
    let here = Workspace::new();
    fs::create_dir(here.path().join("scratch")).unwrap();
    let tour = |line: &[&str]| run(here.command(line).env("TMPDIR", here.path().join("scratch")));
    let json = tour(&["tour", "--json"]).exits(0).json();
    let steps = json["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 5, "{json}");
    assert_eq!(steps[2]["facts"]["killed_with_swapped"], 2);
    assert_eq!(steps[2]["facts"]["outcome"], "all-new");
    assert_eq!(steps[3]["facts"]["outcome"], "all-old");

    let people = tour(&["tour", "--durability", "process"]);
    let text = &people.exits(0).stdout;
    let found = "it was interrupted: 2 of 5 swapped, 3 not";
    for part in ["1. a commit", "kill -9", found, "all-new", "all-old", "undone by", "everything was as promised"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(fs::read_dir(here.path().join("scratch")).unwrap().count(), 0);
    assert!(!here.path().join(".txedit").exists());
}
