//! What is outside though it is beneath the root: folders of version control, and what the operator denies.

mod denials;
mod version_control;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::json;

use super::{Ran, Workspace, run};

fn workspace() -> Workspace {
    let here = Workspace::new();
    here.write(".git/config", "[core]\n")
        .write(".git/hooks/x.sample", "")
        .write("sub/.git", "gitdir: ../.git/modules/sub\n")
        .write("a", "one\n");
    here
}

fn apply(here: &Workspace, plan: &serde_json::Value, options: &[&str]) -> Ran {
    here.write("plan.json", &plan.to_string());
    here.run(&[&["apply", "plan.json", "--json"], options].concat())
}

#[track_caller]
fn denied(ran: &Ran) {
    let json = ran.exits(2).json();
    let code = if json["errors"].is_array() { &json["errors"][0]["code"] } else { &json["error_code"] };
    assert_eq!((code, &json["outcome"]), (&json!("PATH_DENIED"), &json!("unchanged")), "{json}");
}

fn file(path: &str) -> serde_json::Value {
    json!({"files": [{"file_path": path, "content": "x\n", "if_exists": "replace", "mode": "755"}]})
}

#[test]
fn a_request_makes_no_file_that_runs_as_its_owner() {
    let here = workspace();
    let mode = |path: &str, mode: &str| json!({"files": [{"file_path": path, "mode": mode}]});
    let with = |mode: &str| json!({"files": [{"file_path": "new", "content": "x", "mode": mode}]});
    let moved = json!({"files": [{"file_path": "a", "rename_to": "b", "mode": "4755"}]});
    for plan in [mode("a", "4755"), mode("a", "2755"), with("6755"), mode("a", "7777"), moved] {
        here.write("plan.json", &plan.to_string());
        for command in ["apply", "stage"] {
            let json = here.run(&[command, "plan.json", "--json"]).exits(2).json();
            assert_eq!(
                (&json["errors"][0]["code"], &json["outcome"]),
                (&json!("VALIDATION_FAILED"), &json!("unchanged"))
            );
            assert!(json["recovery_hint"].as_str().unwrap().contains("--allow-set-id"), "{json}");
        }
    }
    apply(&here, &mode("a", "4755"), &["--allow-set-id"]).exits(0);
    // What it had it keeps.
    apply(&here, &mode("a", "4711"), &[]).exits(0);
    let bits = fs::metadata(here.path().join("a")).unwrap().permissions().mode() & 0o7777;
    assert_eq!(bits, 0o4711);
    apply(&here, &mode("a", "1755"), &[]).exits(0);
    here.run(&["undo"]).exits(0);
}

/// Set-user-id of a folder says nothing; set-group-id hands on its group, and lets nobody act as another.
#[test]
fn a_folder_may_hand_on_its_group_and_has_no_set_user_id_unless_that_is_allowed() {
    let here = workspace();
    let makes = |path: &str, mode: &str| json!({"files": [{"file_path": path, "make_folder": true, "mode": mode}]});
    for mode in ["4755", "6755"] {
        for dry in [false, true] {
            let mut plan = makes("folder", mode);
            plan["dry_run"] = json!(dry);
            let json = apply(&here, &plan, &[]).exits(2).json();
            assert_eq!(json["errors"][0]["code"], json!("VALIDATION_FAILED"), "{json}");
            assert!(json["recovery_hint"].as_str().unwrap().contains("--allow-set-id"), "{json}");
        }
    }
    let mode_of = |path: &str| fs::metadata(here.path().join(path)).unwrap().permissions().mode() & 0o7777;
    for (path, mode, options) in [
        ("group", "2775", &[][..]),
        ("sticky", "1777", &[]),
        ("both", "3770", &[]),
        ("user", "6755", &["--allow-set-id"]),
    ] {
        apply(&here, &makes(path, mode), options).exits(0);
        assert_eq!(format!("{:o}", mode_of(path)), mode);
    }
}

#[test]
fn the_settings_that_say_what_is_denied_are_outside() {
    let here = workspace();
    let edit = file("txedit/config.toml");
    // There is none yet, and one that is made is read by the next command.
    denied(&apply(&here, &edit, &[]));
    here.write("real.toml", "deny = [\"*.key\"]\n");
    fs::create_dir(here.path().join("txedit")).unwrap();
    symlink("../real.toml", here.path().join("txedit/config.toml")).unwrap();
    for path in ["txedit/config.toml", "real.toml", "b.key"] {
        denied(&apply(&here, &file(path), &[]));
    }
    apply(&here, &file("txedit/other.toml"), &[]).exits(0);
}

/// The file of the user's own settings, with this in it.
fn settings(here: &Workspace, text: &str) -> PathBuf {
    here.write("config/txedit/config.toml", text);
    here.path().join("config")
}

#[test]
fn the_user_and_the_environment_deny_too_and_no_flag_takes_that_back() {
    let here = workspace();
    here.write("plan.json", &file("b.key").to_string());
    let config = settings(&here, "deny = [\"*.key\"]\n");
    let line = ["apply", "plan.json", "--json", "--deny", "other"];
    denied(&run(here.command(&line).env("XDG_CONFIG_HOME", &config)));
    denied(&run(here.command(&line).env("TXEDIT_DENY", "x:*.key")));
    settings(&here, "deny = 7\n");
    let ran = run(here.command(&line).env("XDG_CONFIG_HOME", &config));
    let json = ran.exits(2).json();
    assert!(json["errors"][0]["message"].as_str().unwrap().contains("config.toml, line 1"), "{json}");
    settings(&here, "[delegate]\nmodel = \"x\"\n");
    run(here.command(&line).env("XDG_CONFIG_HOME", &config)).exits(0);
}

/// Settings that are not there yet would be those of the next command.
#[test]
fn settings_behind_a_symlink_that_leads_nowhere_are_outside() {
    for (link, target) in [(".config/txedit", "../dot/tx"), (".config", "dot"), (".config", "up"), ("abs", "abs")] {
        let here = Workspace::new();
        let inside = match target {
            "dot" => "dot/txedit",
            _ => "dot/tx",
        };
        match target {
            "up" => {
                symlink("away/.", here.path().join(".config")).unwrap();
                symlink("dot", here.path().join("away")).unwrap();
                fs::create_dir(here.path().join("dot")).unwrap();
                symlink(here.path().join("dot/tx"), here.path().join("dot/txedit")).unwrap();
            }
            "abs" => {
                fs::create_dir(here.path().join(".config")).unwrap();
                symlink(here.path().join("dot/tx"), here.path().join(".config/txedit")).unwrap();
            }
            _ => {
                fs::create_dir_all(here.path().join(link).parent().unwrap()).unwrap();
                symlink(target, here.path().join(link)).unwrap();
            }
        }
        for name in [format!("{inside}/config.toml"), format!("{inside}/CONFIG.toml")] {
            here.write("plan.json", &file(&name).to_string());
            let mut command = here.command(&["apply", "plan.json", "--json", "--root", "."]);
            let ran = run(command.env("HOME", here.path()).env_remove("XDG_CONFIG_HOME"));
            denied(&ran);
            assert!(!here.path().join(&name).exists());
        }
    }
}

#[test]
fn a_symlink_leads_into_no_folder_that_a_file_system_may_take_for_the_state() {
    let here = workspace();
    for (name, link) in
        [(".txedit.", "dots"), (".TXEDIT", "case"), (".txe\u{200d}dit", "unseen"), ("txedit~1", "short")]
    {
        here.write(&format!("{name}/x"), "one\n");
        symlink(name, here.path().join(link)).unwrap();
        symlink(format!("{name}/x"), here.path().join(format!("{link}-file"))).unwrap();
        for path in [format!("{link}/x"), format!("{link}/new"), format!("{link}-file"), format!("{name}/x")] {
            let json = apply(&here, &file(&path), &[]).exits(2).json();
            let code = if json["errors"].is_array() { &json["errors"][0]["code"] } else { &json["error_code"] };
            assert_eq!(code, "OUTSIDE_ROOT", "{path}: {json}");
        }
        assert_eq!(fs::read_to_string(here.path().join(name).join("x")).unwrap(), "one\n");
    }
}
