//! `status` and `recover` agree on what waits for a person, by name and by exit status.

use serde_json::Value;

use super::Workspace;
use super::doubted::harms;
use super::interrupted::killed_with;

/// What status, recover and its plan say of one transaction, with their exit status.
#[track_caller]
pub(super) fn all_exit(here: &Workspace, status: i32, id: &str, name: &str) {
    let is_told = |json: &Value, list: &str| {
        let list = json[list].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().any(|one| one["transaction_id"] == id)
    };
    let json = here.run(&["status", "--json"]).exits(status).json();
    assert!(is_told(&json, "interrupted") || is_told(&json, "unreadable"), "{name}: {json}");
    for (line, list) in [(&["recover", "--plan", "--json"][..], "plan"), (&["recover", "--json"], "recovered")] {
        let json = here.run(line).exits(status).json();
        assert!(is_told(&json, list), "{name}: {json}");
    }
    let people = here.run(&["recover"]);
    assert_eq!(people.exits(status).stdout.contains("you must decide"), status == 6, "{name}: {people:?}");
}

#[test]
fn status_and_recover_agree_on_what_is_interrupted() {
    for (name, harm, _) in harms() {
        let (here, id) = killed_with(Workspace::new(), Some("K"));
        let entry = here.path().join(".txedit/txn").join(&id);
        harm(&entry);
        // A copy blocks nothing but its own key.
        all_exit(&here, if name == "copied" { 0 } else { 6 }, &id, name);
        let told = here.run(&["status"]);
        assert!(told.stdout.contains(&id) && !told.stdout.contains("no interrupted"), "{name}: {told:?}");
    }
}
