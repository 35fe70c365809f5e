//! Mounts in a workspace, by the program itself.

use std::fs;

use super::Workspace;
use crate::support::is_without;

/// A person decides for the old content where another program has written to a file that is overwritten in place.
#[test]
fn what_others_wrote_into_a_file_that_is_a_mount_is_kept_and_the_old_content_comes_back() {
    if is_without("mounts of the same file system") {
        return;
    }
    let here = Workspace::new();
    here.write("w/a", "one\n").write("w/f", "").write("other", "two\n");
    let plan = r#"{"files": [{"file_path": "a", "edits": [{"old_string": "one", "new_string": "ONE"}]},
        {"file_path": "f", "edits": [{"old_string": "two", "new_string": "TWO"}]}]}"#;
    here.write("plan.json", plan);
    let program = env!("CARGO_BIN_EXE_txedit");
    let kill = "strace -f -o /dev/null -e trace=pwrite64 -e inject=pwrite64:signal=KILL:when";
    let script = format!(
        "cd w && strace -V >/dev/null && mount --bind ../other f && {{ for n in 4 5 6 7 8 9; do \
         {kill}=$n '{program}' --root . --swap in-place apply ../plan.json >/dev/null 2>&1; \
         [ \"$(cat a)\" = ONE ] && break; '{program}' --root . recover >/dev/null 2>&1; done; echo FOREIGN >> f; \
         '{program}' --root . recover \"$(ls .txedit/txn)\" --back > ../told 2>&1; echo $? > ../status; cat a f > ../files; }}"
    );
    let Some(status) = here.run_mounted(&script, &["--root", ".", "status"]) else { return };
    let told = fs::read_to_string(here.path().join("told")).unwrap();
    assert_eq!(fs::read_to_string(here.path().join("files")).unwrap(), "one\ntwo\n", "{told}");
    assert_eq!(fs::read_to_string(here.path().join("status")).unwrap(), "0\n", "{told}");
    assert!(status.stdout.contains("000001.kept"), "{status:?}");
}

#[test]
fn one_folder_that_is_mounted_twice_is_refused_before_anything_is_made() {
    if is_without("mounts of the same file system") {
        return;
    }
    let here = Workspace::new();
    here.write("m/x", "").write("m2/x", "").write("k/b", "one\n").write("k/c", "one\n").write("a", "one\n");
    let edits = ["a", "m/b", "m2/c"]
        .map(|path| format!(r#"{{"file_path": "{path}", "edits": [{{"old_string": "one", "new_string": "two"}}]}}"#));
    here.write("plan.json", &format!(r#"{{"files": [{}]}}"#, edits.join(", ")));
    let mounting = "mount --bind k m && mount --bind k m2";
    let Some(ran) = here.run_mounted(mounting, &["--root", ".", "--json", "apply", "plan.json"]) else { return };
    let json = ran.exits(5).json();
    assert_eq!(json["error_code"], "CROSS_DEVICE", "{json}");
    assert!(json["error"].as_str().unwrap().contains("m and m2 are one folder that is mounted twice"), "{json}");
    assert!(!here.path().join("k/.txedit/parts").exists());
    assert_eq!(fs::read_to_string(here.path().join("k/b")).unwrap(), "one\n");
}
