//! What the operator denies, by globs.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{apply, denied, file, workspace};
use crate::front_ends::cli::run;

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
    assert_eq!(found["files_edited"], 1, "{found}");
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
    assert_eq!(search(&[]).exits(0).json()["files_edited"], 1);
    assert_eq!(fs::read_to_string(here.path().join("keys/id")).unwrap(), "one\n");
    // Nothing tells what is in it, by whatever way it is reached.
    symlink("keys", here.path().join("way")).unwrap();
    for text in ["one", "none"] {
        denied(&here.run(&["replace", text, "1", "way", "--json", "--deny", "/keys/*"]));
    }
}

#[test]
fn braces_of_a_name_are_denied_by_the_same_letters() {
    let here = workspace();
    here.write("{{slug}}/.env", "one\n").write("a{b}/keys/id", "one\n");
    symlink("keys", here.path().join("a{b}/{lnk}")).unwrap();
    denied(&apply(&here, &file("{{slug}}/.env"), &["--deny", "{{slug}}/.env"]));
    let root = here.path().join("a{b}");
    here.write("plan.json", &file("keys/id").to_string());
    let globs = ["keys", "{keys,other}", "k{e}ys/*", "{lnk}"].map(|rest| format!("{}/{rest}", root.display()));
    for glob in globs.iter().map(String::as_str).chain(["{lnk}", "/{x,{lnk\\}}"]) {
        let ran = here.run(&["--root", "a{b}", "apply", "plan.json", "--json", "--dry-run", "--deny", glob]);
        if glob.starts_with("/{x") { _ = ran.exits(2) } else { denied(&ran) }
    }
    for glob in ["{a}".repeat(10_000), "{".repeat(5_000) + "a" + &"}".repeat(5_000)] {
        let json = here.run(&["status", "--json", "--deny", &glob]).exits(2).json();
        assert!(json.to_string().contains("braces"), "{json}");
    }
}
