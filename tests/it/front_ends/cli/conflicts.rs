//! Why an undo is refused: what stands in its way, and nothing else.

use serde_json::{Value, json};

use super::Workspace;

fn one_file() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\n");
    here
}

fn conflict(here: &Workspace, id: &str) -> Value {
    let json = here.run(&["undo", id, "--json"]).exits(3).json();
    assert_eq!(json["error_code"], "UNDO_CONFLICT", "{json}");
    json["context"]["conflicts"][0].clone()
}

fn changed(here: &Workspace, old: &str, new: &str) -> String {
    let json = here.run(&["edit", "a", "--old", old, "--new", new, "--json"]).exits(0).json();
    json["transaction_id"].as_str().unwrap().to_owned()
}

fn rolled_back(here: &Workspace, line: &[&str]) -> String {
    let json = here.run(&[line, &["--json"]].concat()).exits(0).json();
    json["transaction_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_conflict_names_what_stands_in_the_way_and_nothing_else() {
    let here = one_file();
    let first = changed(&here, "one", "two");
    let undo = rolled_back(&here, &["undo"]);
    rolled_back(&here, &["redo"]);
    here.write("a", "by hand\n");
    // The undo and the redo cancel out.
    let found = conflict(&here, &first);
    assert_eq!((&found["changed_by"], &found["by_another_program"]), (&json!([]), &json!(true)), "{undo}");
    assert!(found["diff"].as_str().unwrap().contains("-two\n+by hand\n"), "{found}");
    let ran = here.run(&["undo", &first]);
    assert!(ran.exits(3).stderr.contains("a, by another program") && !ran.stderr.contains(&undo), "{ran:?}");
}

#[test]
fn a_conflict_tells_later_transactions_and_other_programs_apart() {
    let here = one_file();
    let first = changed(&here, "one", "two");
    let second = changed(&here, "two", "three");
    let third = changed(&here, "three", "four");
    let found = conflict(&here, &first);
    assert_eq!((&found["changed_by"], &found["by_another_program"]), (&json!([second, third]), &Value::Null));
    rolled_back(&here, &["undo", &third]);
    assert_eq!(conflict(&here, &first)["changed_by"], json!([second]));
    // Between two transactions another program was at it.
    here.write("a", "by hand\n");
    let fourth = changed(&here, "by hand", "five");
    let found = conflict(&here, &first);
    assert_eq!((&found["changed_by"], &found["by_another_program"]), (&json!([second, fourth]), &json!(true)));
    // What leads back to where it was is nobody's fault.
    here.write("a", "two\n");
    here.run(&["undo", &first]).exits(0);
}
