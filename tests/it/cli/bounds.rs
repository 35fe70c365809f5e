//! What is outside though it is beneath the root: folders of version control, and what the operator denies.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::json;

use super::{Ran, Workspace, run};

const HOOK: &str = ".git/hooks/pre-commit";

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
fn folders_of_version_control_are_outside() {
    let here = workspace();
    symlink(".git/hooks", here.path().join("link")).unwrap();
    symlink("../.git/config", here.path().join("sub/settings")).unwrap();
    let folded = [".GIT/x", "sub/.Hg/x", ".g\u{200d}it/x", ".\u{17f}vn/x", "GIT~1/x", ".git./x", ".git:x/y"];
    let plain =
        [HOOK, ".git/config", "sub/.git", "new/.git", ".hg/hgrc", "a/.jj/x", ".svn/x", "link/x", "sub/settings"];
    for path in plain.into_iter().chain(folded) {
        denied(&apply(&here, &file(path), &[]));
    }
    for (change, from) in [(json!({"rename_to": HOOK}), "a"), (json!({"delete": true}), "sub/.git")] {
        let mut entry = change.clone();
        entry["file_path"] = json!(from);
        denied(&apply(&here, &json!({"files": [entry]}), &[]));
        denied(&run(here.command(&["stage", "plan.json", "--json"]).current_dir(here.path())));
    }
    denied(&here.run(&["edit", ".git/config", "--old", "core", "--new", "x", "--json"]));
    denied(&here.run(&["replace", "core", "x", ".git/config", "--json"]));
    assert_eq!(fs::read_to_string(here.path().join(".git/config")).unwrap(), "[core]\n");
    assert!(
        !here.path().join(HOOK).exists()
            && !here.path().join(".git/hooks/x").exists()
            && !here.path().join(".txedit").exists()
    );
    for name in [".github/workflows/x", ".gitignore", "x.git/config", ".git-x/y"] {
        apply(&here, &file(name), &[]).exits(0);
    }
}

#[test]
fn an_operator_may_open_them_and_what_was_done_then_is_not_undone_without_him() {
    let here = workspace();
    let done = apply(&here, &file(HOOK), &["--allow-vcs"]).exits(0).json();
    let id = done["transaction_id"].as_str().unwrap().to_owned();
    denied(&here.run(&["undo", &id, "--json"]));
    denied(&here.run(&["show", &id, "--format", "git", "--json"]));
    let shown = here.run(&["show", &id, "--json"]).exits(0).stdout.clone();
    assert!(shown.contains("--allow-vcs") && !shown.contains("+x"), "{shown}");
    assert!(here.path().join(HOOK).exists());
    run(here.command(&["undo", &id]).env("TXEDIT_ALLOW_VCS", "1")).exits(0);
    assert!(!here.path().join(HOOK).exists());
}

#[test]
fn what_is_denied_is_outside_by_whatever_name_it_is_reached() {
    let here = workspace();
    here.write(".env", "KEY=one\n")
        .write("deep/.ENV", "KEY=one\n")
        .write("build/out", "one\n")
        .write("keys/id", "one\n")
        .write("open", "one\n");
    symlink("../.env", here.path().join("deep/link")).unwrap();
    symlink("a", here.path().join(".env.local")).unwrap();
    let options = ["--deny", ".env*", "--deny", "/build/", "--deny", "keys/**"];
    for path in [".env", "deep/.env/x", "deep/.ENV", "deep/link", ".env.local", "build/out", "Build/x", "keys/new/x"] {
        denied(&apply(&here, &file(path), &options));
    }
    // What is not named is not searched either, with the rest of a tree.
    let replaced = ["replace", "one", "1", "--hidden", "--json"];
    let found = here.run(&[&replaced[..], &options].concat()).exits(0).json();
    assert_eq!(found["files_changed"], 1, "{found}");
    // What a denied symlink leads to is denied as well.
    let left = [(".env", "KEY=one\n"), ("a", "one\n"), ("build/out", "one\n"), ("keys/id", "one\n")];
    for (name, content) in left.into_iter().chain([("open", "1\n")]) {
        assert_eq!(fs::read_to_string(here.path().join(name)).unwrap(), content, "{name}");
    }
    denied(&here.run(&[&["replace", "one", "1", "build/out", "--json"], &options[..]].concat()));
    apply(&here, &file("deep/build/x"), &options).exits(0);
    for bad in ["", "!a", "#a", "{a"] {
        let ran = apply(&here, &file("x"), &["--deny", bad]);
        assert_eq!(ran.exits(2).json()["error_code"], "VALIDATION_FAILED", "{bad:?}");
    }
}

#[test]
fn what_was_done_before_it_was_denied_is_neither_told_nor_gone_on_with() {
    let here = workspace();
    here.write(".env", "KEY=one\n");
    let deny = |line: &[&str]| here.run(&[line, &["--deny", ".env", "--json"]].concat());
    let edit =
        |new: &str| json!({"files": [{"file_path": ".env", "edits": [{"old_string": "KEY", "new_string": new}]}]});
    let done = apply(&here, &edit("KEY2"), &[]).exits(0).json()["transaction_id"].as_str().unwrap().to_owned();
    here.write("open.json", &edit("KEY3").to_string());
    let open = here.run(&["stage", "open.json"]).exits(0).stdout.trim().to_owned();
    let kept =
        here.run(&["edit", ".env", "--old", "KEY", "--new", "K", "--check", "echo KEY9 > .env; false", "--json"]);
    let kept = kept.exits(7).json()["transaction_id"].as_str().unwrap().to_owned();
    for line in [
        &["preview", &open][..],
        &["commit", &open],
        &["undo", &done],
        &["undo", &done, "--rebase"],
        &["undo"],
        &["kept", "restore", &kept],
        &["show", &done, "--format", "git"],
    ] {
        let ran = deny(line);
        denied(&ran);
        assert!(!ran.stdout.contains("KEY"), "{line:?}: {ran:?}");
    }
    for line in [&["show", &done][..], &["log"], &["status"]] {
        let ran = deny(line);
        assert!(!ran.exits(0).stdout.contains("KEY"), "{line:?}: {ran:?}");
    }
    assert_eq!(fs::read_to_string(here.path().join(".env")).unwrap(), "KEY2=one\n");
}

#[test]
fn what_is_denied_is_neither_copied_nor_moved_nor_reached_through_another_root() {
    let here = workspace();
    here.write(".env", "KEY=one\n");
    let git = |how: &str| format!("diff --git a/.env b/x\nsimilarity index 100%\n{how} from .env\n{how} to x\n");
    for patch in [git("copy"), git("rename")] {
        here.write("patch", &patch);
        denied(&here.run(&["apply", "patch", "--deny", ".env", "--json"]));
    }
    let through = |at: &str| format!("{at}{}/.env", here.path().display());
    for path in [through("/proc/self/root"), through("/proc/thread-self/root"), "/proc/self/cwd/.env".to_owned()] {
        denied(&apply(&here, &file(&path), &["--deny", ".env"]));
    }
    let backup = json!({"backup": true, "files": [{"file_path": "a", "content": "x", "if_exists": "replace"}]});
    denied(&apply(&here, &backup, &["--deny", "*.bak"]));
    // Another name of a file of git's is another file once it is edited.
    fs::hard_link(here.path().join(".git/config"), here.path().join("linked")).unwrap();
    apply(&here, &file("linked"), &[]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join(".git/config")).unwrap(), "[core]\n");
    assert!(!here.path().join("x").exists() && !here.path().join("a.bak").exists());
}

#[test]
fn a_repository_is_outside_whatever_its_name() {
    let here = workspace();
    for name in ["data", "deep/bare"] {
        for inside in ["HEAD", "objects/x", "refs/heads/main", "config", "hooks/x"] {
            here.write(&format!("{name}/{inside}"), "one\n");
        }
    }
    here.write("like/HEAD", "one\n").write("like/refs/x", "one\n");
    symlink("data/hooks", here.path().join("link")).unwrap();
    for path in ["data/config", "data/hooks/pre-commit", "data/new/x", "deep/bare/HEAD", "link/x"] {
        denied(&apply(&here, &file(path), &[]));
    }
    denied(&here.run(&["replace", "one", "1", "data", "--json"]));
    let found = here.run(&["replace", "one", "1", "--json"]).exits(0).json();
    assert_eq!(found["files_changed"], 3, "a, and what is only like one: {found}");
    assert_eq!(fs::read_to_string(here.path().join("data/config")).unwrap(), "one\n");
    apply(&here, &file("data/hooks/pre-commit"), &["--allow-vcs"]).exits(0);
    // A root that is one itself is one, too.
    let bare = here.path().join("deep/bare");
    denied(&run(here
        .command(&["edit", "config", "--old", "one", "--new", "x", "--json", "--root", "."])
        .current_dir(bare)));
}

#[test]
fn what_a_git_file_names_is_outside_without_a_store_of_its_own() {
    let here = workspace();
    for inside in ["HEAD", "commondir", "config", "hooks/x"] {
        here.write(&format!("store/{inside}"), "one\n");
    }
    for path in ["store/config", "store/hooks/pre-commit"] {
        denied(&apply(&here, &file(path), &[]));
    }
    assert_eq!(here.run(&["replace", "one", "1", "--json"]).exits(0).json()["files_changed"], 1, "a alone");
    apply(&here, &file("store/config"), &["--allow-vcs"]).exits(0);
}

#[test]
fn other_systems_of_version_control_are_outside_too() {
    let here = workspace();
    for path in [".sl/config", "deep/.bzr/branch/branch.conf", "_darcs/prefs/defaults", ".pijul/config", "_DARCS/x"] {
        denied(&apply(&here, &file(path), &[]));
        apply(&here, &file(path), &["--allow-vcs"]).exits(0);
    }
    for path in ["darcs/x", "_darcsx/x", "x.sl", "bzr/x"] {
        apply(&here, &file(path), &[]).exits(0);
    }
}

#[test]
fn a_root_in_a_folder_of_version_control_is_outside_as_a_whole() {
    let here = workspace();
    fs::write(here.path().join(".git/description"), "one\n").unwrap();
    for root in [".git", ".git/hooks"] {
        let inside = here.path().join(root);
        let line = ["edit", "description", "--old", "one", "--new", "x", "--json", "--root", "."];
        denied(&run(here.command(&line).current_dir(&inside)));
        here.write("plan.json", &file("pre-commit").to_string());
        denied(&here.run(&["apply", "plan.json", "--json", "--root", root]));
        assert!(!inside.join("pre-commit").exists());
    }
    here.run(&["apply", "plan.json", "--root", ".git/hooks", "--allow-vcs"]).exits(0);
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
            assert!(json["errors"][0]["message"].as_str().unwrap().contains("--allow-set-id"), "{json}");
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

#[test]
fn what_would_deny_nothing_of_what_is_meant_is_refused() {
    let here = workspace();
    here.write("plan.json", &file("b.key").to_string());
    here.run(&["apply", "plan.json", "--deny", ".env:*.key"]).exits(2);
    denied(&run(here.command(&["apply", "plan.json", "--json"]).env("TXEDIT_DENY", "a\\:b:*.key")));
    for value in [".env,*.key", ".env *.key", ":", "::", "\"*.key\""] {
        run(here.command(&["apply", "plan.json"]).env("TXEDIT_DENY", value)).exits(2);
        here.run(&["apply", "plan.json", "--deny", value]).exits(2);
    }
}

/// A glob of this machine denies beneath whatever root it fits.
#[test]
fn a_glob_that_begins_with_the_root_denies_the_rest_of_it() {
    let here = workspace();
    here.write("keys/id", "one\n").write("plan.json", &file("keys/id").to_string());
    let root = here.path().canonicalize().unwrap();
    let (above, root) = (root.parent().unwrap().to_str().unwrap(), root.to_str().unwrap());
    let apply = |glob: &str| here.run(&["apply", "plan.json", "--json", "--dry-run", "--deny", glob]);
    // Braces may have slashes in them.
    denied(&apply(&format!("{{{root}/keys,/nowhere}}")));
    denied(&apply(&format!("{above}/{{nowhere,{}/keys}}", root.rsplit('/').next().unwrap())));
    let fitting = [format!("{root}/keys"), format!("{above}/*/keys/id"), format!("{above}/**/id"), "/**/id".to_owned()];
    // In any case, as every glob.
    for glob in fitting.into_iter().chain([format!("{}/keys", root.to_uppercase())]) {
        denied(&apply(&glob));
    }
    for glob in [root, above, "/", &format!("{above}/*")] {
        apply(glob).exits(2);
    }
    // What is elsewhere on this machine stops nothing.
    let elsewhere = ["/nowhere/keys/id".to_owned(), format!("{above}/*/*/keys"), format!("{root}s/keys")];
    for glob in elsewhere.into_iter().chain([root.to_uppercase()]) {
        apply(&glob).exits(0);
    }
}

/// The way to the root may be by a symlink, and what fits a wildcard may be one.
#[test]
fn a_glob_denies_what_its_symlinks_lead_to() {
    let here = workspace();
    here.write("root/keys/id", "one\n").write("root/plan.json", &file("keys/id").to_string());
    symlink("root", here.path().join("my,link")).unwrap();
    symlink("keys", here.path().join("root/alias")).unwrap();
    let (above, inner) = (here.path().canonicalize().unwrap(), here.path().join("root"));
    let above = above.to_str().unwrap();
    let links = [format!("{above}/my\\,link/keys"), format!("{above}/my*/keys"), format!("{above}/m?\\,[l]ink/keys/*")];
    for glob in links.iter().map(String::as_str).chain(["/alias/*", "/al[i]as", "/{alias,x}/id", "alias"]) {
        let root = inner.to_str().unwrap();
        denied(&here.run(&[
            "--root",
            root,
            "apply",
            &format!("{root}/plan.json"),
            "--json",
            "--dry-run",
            "--deny",
            glob,
        ]));
    }
}

/// A folder of that name above the root is not meant by a glob that begins with a wildcard; one that is named is, and the
/// error says how to name the one in the root.
#[test]
fn a_glob_that_fits_the_root_as_a_whole_says_how_to_mean_another() {
    let here = workspace();
    here.write("plan.json", &file("a").to_string()).write("a", "one\n");
    let root = here.path().canonicalize().unwrap();
    let name = root.file_name().unwrap().to_str().unwrap();
    let apply = |glob: &str| here.run(&["apply", "plan.json", "--json", "--dry-run", "--deny", glob]);
    apply(&format!("/**/{name}")).exits(0);
    let first = format!("/{}", root.iter().nth(1).unwrap().to_str().unwrap());
    let json = apply(&first).exits(2).json();
    let advised = format!("{}{first}", root.display());
    assert!(json["errors"][0]["message"].as_str().unwrap().contains(&advised), "{json}");
    apply(&advised).exits(0);
    for whole in
        [format!("{first}/**"), format!("{first}/**/{name}"), format!("{}/**", root.parent().unwrap().display())]
    {
        apply(&whole).exits(2);
    }
}

#[test]
fn what_a_symlink_leads_to_is_denied_by_its_letters() {
    let here = workspace();
    here.write("k[ab]*/id", "one\n").write("ka/id", "one\n");
    symlink("k[ab]*", here.path().join("alias")).unwrap();
    let root = here.path().canonicalize().unwrap();
    for glob in ["alias".to_owned(), format!("{}/alias/id", root.display())] {
        for (name, is_denied) in [("k[ab]*/id", true), ("ka/id", false)] {
            here.write("plan.json", &file(name).to_string());
            let ran = here.run(&["apply", "plan.json", "--json", "--dry-run", "--deny", &glob]);
            if is_denied { denied(&ran) } else { _ = ran.exits(0) }
        }
    }
}

#[test]
fn a_denied_symlink_denies_what_it_leads_to() {
    let here = workspace();
    here.write("keys/id", "one\n");
    symlink("keys", here.path().join("alias")).unwrap();
    for name in ["alias/id", "keys/id"] {
        here.write("plan.json", &file(name).to_string());
        for glob in ["/alias", "alias"] {
            denied(&here.run(&["apply", "plan.json", "--json", "--deny", glob]));
        }
    }
}

/// A glob names symlinks in the folder that it says, in any case: beneath it nothing is searched for more of them.
#[test]
fn a_symlink_is_denied_in_any_case_in_the_folder_that_its_glob_names() {
    let here = workspace();
    here.write("keys/id", "one\n").write("plan.json", &file("keys/id").to_string());
    fs::create_dir_all(here.path().join("sub/deep")).unwrap();
    for (name, target) in
        [("lnk", "keys"), ("sub/inner", "../keys"), ("sub/#x", "../keys"), ("sub/deep/far", "../../keys")]
    {
        symlink(target, here.path().join(name)).unwrap();
    }
    let root = here.path().canonicalize().unwrap();
    let (above, root) = (root.parent().unwrap().to_str().unwrap(), root.to_str().unwrap());
    let apply = |glob: &str| here.run(&["apply", "plan.json", "--json", "--dry-run", "--deny", glob]);
    let other_case = ["/LNK", "LNK", "/{LNK,x}", "Lnk/id", "/SUB/Inner", "{x:y,LNK}"].map(String::from);
    let of_root = ["**/lnk", "/**/LNK", "l*"].map(String::from);
    let of_folder = ["sub/**", "/sub/**/inner", "sub/in*", "/sub/#[x]"].map(String::from);
    let of_machine = [format!("{above}/**/lnk"), format!("{root}/LNK"), format!("{root}/sub/**")];
    let mut all: Vec<_> = other_case.into_iter().chain(of_root).chain(of_folder).chain(of_machine).collect();
    all.push(format!("{}/lnk", root.to_uppercase()));
    for glob in all {
        denied(&apply(&glob));
    }
    // By their own names they are denied; what they lead to is to be denied by its own.
    for glob in ["inner", "**/inner", "sub/**/far", "sub"] {
        apply(glob).exits(0);
    }
    here.write("plan.json", &file("sub/inner/id").to_string());
    denied(&apply("inner"));
}

#[test]
fn many_folders_that_fit_are_no_hindrance_where_only_symlinks_are_looked_for() {
    let here = workspace();
    here.write("keys/id", "one\n").write("plan.json", &file("keys/id").to_string());
    for number in 0..=10_000 {
        fs::create_dir_all(here.path().join(format!("many/{number}"))).unwrap();
    }
    symlink("../keys", here.path().join("many/link")).unwrap();
    let apply = |glob: &str| here.run(&["apply", "plan.json", "--json", "--dry-run", "--deny", glob]);
    for glob in ["many/**", "/many/*"] {
        denied(&apply(glob));
    }
    // Here each of them would have to be looked into.
    let json = apply("many/*/x").exits(2).json();
    assert_eq!(json["errors"][0]["code"], "VALIDATION_FAILED", "{json}");
}

#[test]
fn a_search_in_what_is_denied_says_so() {
    let here = workspace();
    here.write("keys/id", "one\n").write("keys/deep/id", "one\n");
    let search = |paths: &[&str]| {
        let line = ["replace", "one", "1", "--json", "--deny", "keys/**"];
        here.run(&[&line[..], paths].concat())
    };
    denied(&search(&["keys"]));
    let elsewhere = here.run(&["replace", "none", "1", "--json", "--deny", "keys/**"]);
    let json = elsewhere.exits(1).json();
    assert_eq!(json["error_code"], "MATCH_NOT_FOUND");
    assert!(json["error"].as_str().unwrap().contains("2 files or folders are denied"), "{json}");
    let one = here.run(&["replace", "none", "1", "--json", "--deny", "keys"]).exits(1).json();
    assert!(one["error"].as_str().unwrap().contains("1 file or folder is denied"), "{one}");
    assert_eq!(search(&[]).exits(0).json()["files_changed"], 1);
    assert_eq!(fs::read_to_string(here.path().join("keys/id")).unwrap(), "one\n");
    // Nothing tells what is in it, by whatever way it is reached.
    symlink("keys", here.path().join("way")).unwrap();
    for text in ["one", "none"] {
        denied(&here.run(&["replace", text, "1", "way", "--json", "--deny", "/keys/*"]));
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
