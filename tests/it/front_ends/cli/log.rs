//! The log as people read it: a short id that every command takes, the local time, and the names of a few files.

use std::fs;

use serde_json::json;

use super::{Workspace, run};

/// The minutes of the day in a text like `2026-11-21T23:14:59Z` or `2026-11-21 23:14:59`.
fn minutes(time: &str) -> u32 {
    time[11..13].parse::<u32>().unwrap() * 60 + time[14..16].parse::<u32>().unwrap()
}

#[test]
fn a_line_has_a_short_id_the_local_time_and_the_names_of_few_files() {
    let here = Workspace::new();
    here.write("src/a", "one\n").write(
        "plan.json",
        &json!({"label": "all of it", "files": [
        {"file_path": "src/a", "edits": [{"old_string": "one", "new_string": "two"}]},
        {"file_path": "b", "content": ""},
        {"file_path": "c", "make_folder": true}]})
        .to_string(),
    );
    let id = here.run(&["apply", "plan.json", "--json"]).exits(0).json()["transaction_id"].as_str().unwrap().to_owned();
    let log = |zone: &str| run(here.command(&["log"]).env("TZ", zone)).exits(0).stdout.clone();
    let [universal, local] = ["UTC0", "XYZ-5:30"].map(log);
    let columns: Vec<&str> = local.trim_end().split("  ").collect();
    let [short, time, files, label] = columns[..] else { panic!("{local}") };
    assert!(short.len() >= 8 && id.split_once('-').unwrap().1.starts_with(short), "{local}");
    let told = here.run(&["log", "--json"]).json()["transactions"][0]["time"].as_str().unwrap().to_owned();
    assert_eq!(minutes(time), (minutes(&told) + 330) % (24 * 60), "{local} {told}");
    assert!(universal.contains(&told.replace('T', " ").replace('Z', "")), "{universal} {told}");
    assert_eq!((files, label), ("c/, src/a, b", "all of it"));
    assert_eq!(here.run(&["show", short, "--json"]).exits(0).json()["transaction_id"], id);
    let shown = run(here.command(&["show", short, "--stat"]).env("TZ", "XYZ-5:30"));
    assert!(shown.exits(0).stdout.starts_with(&format!("{id}  {time}  2 files, 1 folder  all of it\n")), "{shown:?}");

    here.run(&["undo", short]).exits(0);
    let log = here.run(&["log"]).exits(0).stdout.clone();
    let (undo, undone) = log.split_once('\n').unwrap();
    assert!(undo.contains(&format!("  undoes {short}")), "{log}");
    assert!(undone.contains(&format!("  undone by {}", undo.split("  ").next().unwrap())), "{log}");
    assert_eq!(fs::read_to_string(here.path().join("src/a")).unwrap(), "one\n");
}

#[test]
fn many_files_or_long_names_are_counted() {
    let here = Workspace::new();
    let long = "n".repeat(70);
    for names in [&["a", "b", "c", "d"][..], &[&long]] {
        let files: Vec<_> = names.iter().map(|name| json!({"file_path": name, "content": ""})).collect();
        here.write("plan.json", &json!({ "files": files }).to_string());
        here.run(&["apply", "plan.json"]).exits(0);
        let newest = here.run(&["log", "--limit", "1"]);
        let told = if names.len() == 1 { "  1 file\n" } else { "  4 files\n" };
        assert!(newest.exits(0).stdout.ends_with(told), "{newest:?}");
        assert!(here.run(&["log", "-v"]).exits(0).stdout.contains(names[0]));
    }
}

#[test]
fn a_transaction_is_one_page_in_which_nothing_is_markup_that_is_a_name_or_a_text() {
    let here = Workspace::new();
    let path = "<img src=x onerror=alert(1)>";
    here.write(path, "</script><b>one</b>\n").write(
        "plan.json",
        &json!({"label": "<i>label</i>", "files": [
            {"file_path": path, "edits": [{"old_string": "one", "new_string": "two\u{202e}"}]},
            {"file_path": "made", "make_folder": true}]})
        .to_string(),
    );
    here.run(&["apply", "plan.json"]).exits(0);
    let page = here.run(&["show", "--html"]).exits(0).stdout.clone();
    for part in [
        "edit</span> &lt;img src=x onerror=alert(1)&gt; <span class=\"counts\">+1 −1</span>",
        "<span class=\"line del\">-&lt;/script&gt;&lt;b&gt;one&lt;/b&gt;</span>",
        "<span class=\"line add\">+&lt;/script&gt;&lt;b&gt;two\\u{202e}&lt;/b&gt;</span>",
        "<td>&lt;i&gt;label&lt;/i&gt;",
        "folder</span> made",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    for markup in ["<img", "<script", "<b>", "<i>", "http:", "https:", "\u{202e}"] {
        assert!(!page.contains(markup), "{markup} is in {page}");
    }
    here.run(&["show", "--html", "--json"]).exits(2);
    here.run(&["show", "--html", "--stat"]).exits(2);
}
