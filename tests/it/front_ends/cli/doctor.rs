//! What `doctor` says of what is mounted in a workspace.

use std::fs;

use super::Workspace;
use crate::support::is_without;

#[test]
fn what_is_mounted_in_the_workspace_is_told_and_true() {
    if is_without("names of file systems") {
        return;
    }
    let here = Workspace::new();
    here.write("disk/x", "")
        .write("file", "one\n")
        .write("other", "one\n")
        .write("read only/x", "")
        .write("fixed", "one\n");
    let mounting = "mount -t tmpfs none disk && mount --bind other file && mkdir disk/inner && mount -t tmpfs none disk/inner \
                    && mount -t tmpfs -o ro none 'read only' && mount --bind fixed fixed && mount -o remount,bind,ro fixed";
    let doctor = ["--root", ".", "--json", "doctor"];
    let Some(ran) = here.run_mounted(mounting, &doctor) else { return };
    let json = ran.exits(0).json();
    let of = |path: &str, json: &serde_json::Value| {
        json["mounts"].as_array().unwrap().iter().find(|mount| mount["path"] == path).cloned().unwrap()
    };
    let paths: Vec<_> = json["mounts"].as_array().unwrap().iter().map(|mount| mount["path"].to_string()).collect();
    assert_eq!(paths, ["disk", "disk/inner", "file", "fixed", "read only"].map(|path| format!("{path:?}")), "{json}");
    for path in ["disk", "disk/inner"] {
        let disk = of(path, &json);
        assert_eq!(
            (&disk["usable"], &disk["guarantee"], &disk["file_system"]),
            (&true.into(), &"exchange".into(), &"tmpfs".into())
        );
    }
    for (path, told) in [("read only", "Read-only"), ("fixed", "Read-only")] {
        let none = of(path, &json);
        assert!(none["usable"] == false && none["why"].as_str().unwrap().contains(told), "{none}");
    }
    let file = of("file", &json);
    assert_eq!((&file["usable"], &file["with_swap_in_place"]), (&false.into(), &"in_place".into()), "{file}");
    let asked = here.run_mounted(mounting, &[&doctor[..], &["--swap", "in-place"]].concat()).unwrap();
    assert_eq!(of("file", &asked.json())["guarantee"], "in_place");

    // So it is.
    let edit = |path: &str, more: &[&str]| {
        let edit = ["--root", ".", "edit", path, "--old", "one", "--new", "two"];
        here.run_mounted(mounting, &[&edit[..], more].concat()).unwrap()
    };
    assert_ne!(edit("file", &[]).status, Some(0));
    edit("file", &["--swap", "in-place"]).exits(0);
    assert_ne!(edit("fixed", &["--swap", "in-place"]).status, Some(0));
    assert_eq!(["other", "fixed"].map(|name| fs::read_to_string(here.path().join(name)).unwrap()), ["two\n", "one\n"]);
    let people = here.run_mounted(mounting, &["--root", ".", "doctor"]).unwrap();
    assert_eq!(people.stdout.matches("mounted in it:").count(), 1, "{people:?}");
    assert!(people.stdout.contains("mounted in it:\n  disk: tmpfs; guarantee: exchange\n"), "{people:?}");
}
