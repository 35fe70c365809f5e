//! What was interrupted and then copied, as a person meets it.

use super::Workspace;
use super::doubted::copy;
use super::interrupted::{contents, killed_with};

fn copied() -> (Workspace, String) {
    let (here, id) = killed_with(Workspace::new(), Some("K"));
    copy(&here.path().join(".txedit/txn").join(&id));
    (here, id)
}

#[test]
fn what_a_copy_is_told_to_become_it_becomes() {
    for (decision, planned, content) in [("--back", "all files old", "old"), ("--forward", "all files new", "new")] {
        let (here, id) = copied();
        let plan = here.run(&["recover", &id, "--trust-journal", decision, "--plan"]);
        assert!(plan.exits(0).stdout.contains(planned), "{plan:?}");
        here.run(&["recover", &id, "--trust-journal", decision]).exits(0);
        assert_eq!(contents(&here), [content; 5]);
        here.run(&["status"]).exits(0);
        // Its key is free, or answered.
        let again = here.run(&["apply", "plan.json", "--json"]).exits(0).json();
        assert_eq!(again["already_applied"] == true, content == "new", "{again}");
        assert_eq!(contents(&here), ["new"; 5]);
        here.run(&["undo"]).exits(0);
        assert_eq!(contents(&here), ["old"; 5]);
    }
}

#[test]
fn what_is_kept_of_a_copy_is_named_to_who_asks_for_it() {
    let (here, id) = copied();
    here.run(&["recover", &id, "--discard"]).exits(0);
    let told = here.run(&["kept", "restore", &id, "--json"]).exits(2).json();
    assert_eq!(told["error_code"], "VALIDATION_FAILED");
    assert!(told.to_string().contains("txedit kept list"), "{told}");
    let told = told["error"].as_str().unwrap();
    // Three were never swapped: what was staged for them is nobody else's.
    assert!(told.ends_with("keeps 2 contents; name the one to restore: 1, 2"), "{told}");
    here.run(&["kept", "restore", &id, "1"]).exits(0);
    assert_eq!(contents(&here), ["old", "new", "old", "old", "old"]);
}
