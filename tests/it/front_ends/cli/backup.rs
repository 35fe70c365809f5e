//! Where the copies go that `backup` asks for: to names that are free, and nowhere else.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::Workspace;

#[test]
fn a_backup_takes_the_place_of_nothing_and_follows_no_symlink() {
    let here = Workspace::new();
    here.write("a", "one\n").write("b", "one\n").write("c", "one\n").write("other", "of a person\n");
    here.write("a.bak", "of a person\n");
    symlink("other", here.path().join("b.bak")).unwrap();
    symlink("nowhere", here.path().join("c.bak")).unwrap();
    for name in ["a", "b", "c"] {
        let entry = json!({"file_path": name, "edits": [{"old_string": "one", "new_string": "two"}]});
        // A symlink is not free either where the file that it leads to is.
        let moved = json!({"file_path": "other", "delete": true});
        for files in [json!([entry]), json!([entry, moved])] {
            if name != "b" && files.as_array().unwrap().len() == 2 {
                continue;
            }
            here.write("plan", &json!({"backup": true, "files": files}).to_string());
            for dry_run in [&["apply", "plan", "--json", "--dry-run"][..], &["apply", "plan", "--json"]] {
                let json = here.run(dry_run).json();
                let finding = &json["errors"][0];
                let (code, word) = if name == "c" { ("FILE_NOT_FOUND", "nowhere") } else { ("FILE_EXISTS", "undo") };
                assert_eq!((&finding["code"], &json["outcome"]), (&json!(code), &json!("unchanged")), "{json}");
                let message = finding["message"].as_str().unwrap();
                assert!(message.contains(&format!("{name}.bak")) && message.contains(word), "{message}");
            }
        }
    }
    for name in ["a.bak", "other"] {
        assert_eq!(fs::read_to_string(here.path().join(name)).unwrap(), "of a person\n", "{name}");
    }
    assert!(!here.path().join("nowhere").exists());
    // A name that the request itself frees is free.
    let files = json!([
        {"file_path": "a", "edits": [{"old_string": "one", "new_string": "two"}]},
        {"file_path": "a.bak", "rename_to": "older"}
    ]);
    here.write("plan", &json!({"backup": true, "files": files}).to_string());
    here.run(&["apply", "plan"]).exits(0);
    for (name, content) in [("a", "two\n"), ("a.bak", "one\n"), ("older", "of a person\n")] {
        assert_eq!(fs::read_to_string(here.path().join(name)).unwrap(), content, "{name}");
    }
}
