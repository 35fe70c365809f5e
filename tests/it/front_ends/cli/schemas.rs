//! The schemas that the program prints: there is one for everything, and each says all that there is.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Workspace;
use crate::support::schema::{faults, schemas};

/// What `txedit --help` lists.
fn commands(here: &Workspace) -> BTreeSet<String> {
    let help = here.run(&["--help"]).exits(0).stdout.clone();
    let (_, listed) = help.split_once("\nCommands:\n").unwrap();
    let names = listed.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn every_command_that_answers_in_json_has_a_schema() {
    let here = Workspace::new();
    let listed = here.run(&["schema", "--json"]).exits(0).json();
    let listed = listed["schemas"].as_array().unwrap();
    let described: BTreeSet<String> = listed
        .iter()
        .flat_map(|schema| schema["commands"].as_array().into_iter().flatten())
        .map(|command| command.as_str().unwrap().split(' ').next().unwrap().to_owned())
        .collect();
    // The stdout of the servers is the protocol's, or has their address.
    let with_server: BTreeSet<String> = described.into_iter().chain(["mcp".to_owned(), "review".to_owned()]).collect();
    assert_eq!(commands(&here), with_server);

    let told = here.run(&["schema"]).exits(0).stdout.clone();
    for schema in listed {
        let name = schema["name"].as_str().unwrap();
        assert!(told.lines().any(|line| line.starts_with(&format!("{name}  "))), "{name} in:\n{told}");
    }
}

#[test]
fn every_schema_is_one() {
    assert!(schemas().len() > 20);
    for (name, schema) in schemas() {
        jsonschema::draft202012::meta::validate(schema).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert_eq!(schema["type"], "object", "{name}");
        if name != "request" {
            assert_eq!(schema["properties"]["schema_version"]["const"], txedit::wire::SCHEMA_VERSION, "{name}");
            let required = schema["required"].as_array().unwrap();
            assert!(["schema_version", "success"].iter().all(|field| required.contains(&json!(field))), "{name}");
        }
        let text = schema.to_string();
        assert!(!text.contains("\"null\"") && !text.contains("uint"), "{name} has what is Rust's own: {text}");
    }
}

#[test]
fn a_schema_has_the_names_of_its_commands() {
    let here = Workspace::new();
    let by_command = here.run(&["schema", "kept", "restore"]).exits(0).stdout.clone();
    assert_eq!(by_command, here.run(&["schema", "answer"]).exits(0).stdout);
    assert_eq!(here.run(&["schema", "undo", "--json"]).exits(0).json()["schema"], *schemas()["answer"]);

    let failed = here.run(&["schema", "logs", "--json"]).exits(2).json();
    assert_eq!(failed["error_code"], "VALIDATION_FAILED");
    let finding = failed["errors"][0]["message"].as_str().unwrap();
    assert!(finding.contains("\"logs\"") && finding.contains("kept list"), "{finding}");
}

#[test]
fn a_field_more_a_field_less_and_another_type_are_faults() {
    let here = Workspace::new();
    here.write("a.txt", "one\n").run(&["edit", "a.txt", "--old", "one", "--new", "two"]).exits(0);
    let log = here.run(&["log", "--json"]).exits(0).json();
    assert_eq!(faults("log", &log), Vec::<String>::new());
    let with = |change: &dyn Fn(&mut Value)| {
        let mut other = log.clone();
        change(&mut other["transactions"][0]);
        faults("log", &other).concat()
    };
    assert!(with(&|one| one["mood"] = json!("good")).contains("mood"));
    assert!(with(&|one| one["time"] = json!(12)).contains("string"));
    assert!(with(&|one| one["label"] = Value::Null).contains("null"));
    assert!(with(&|one| drop(one.as_object_mut().unwrap().remove("owner"))).contains("owner"));
}

#[test]
fn the_schema_of_a_request_takes_what_apply_takes() {
    let here = Workspace::new();
    here.write("a.txt", "one\n").write("b.txt", "two\n").write("c.txt", "");
    let plan = json!({
        "label": "l", "idempotency_key": "k", "dry_run": false, "include_content": true, "verbose": true, "backup": true,
        "check": ["true"],
        "files": [
            {"file_path": "a.txt", "edits": [
                {"old_string": "one", "new_string": "two", "expected_matches": 1, "near_line": 1, "match": "tolerant"}]},
            {"file_path": "b.txt", "content": "new\n", "if_exists": "replace", "mode": "600"},
            {"file_path": "c.txt", "delete": true},
            {"file_path": "link", "symlink_to": "a.txt"},
            {"file_path": "folder", "make_folder": true}]});
    assert_eq!(faults("request", &plan), Vec::<String>::new());
    here.write("plan.json", &plan.to_string()).run(&["apply", "plan.json", "--json", "--allow-checks"]).exits(0);

    // What is refused by the one is refused by the other.
    for (place, value) in [("/files/0/file_paht", json!("a.txt")), ("/dryrun", json!(true)), ("/label", json!(1))] {
        let (parent, name) = place.rsplit_once('/').unwrap();
        let mut wrong = plan.clone();
        wrong.pointer_mut(parent).unwrap()[name] = value;
        assert_eq!(faults("request", &wrong).len(), 1, "{wrong}");
        here.write("plan.json", &wrong.to_string()).run(&["apply", "plan.json", "--json"]).exits(2);
    }
    let no_files = json!({"label": "l"});
    assert!(faults("request", &no_files).concat().contains("files"));
}

/// The schemas of the entries of each `file_results` in a schema.
fn file_results<'s>(schema: &'s Value, found: &mut Vec<&'s Value>) {
    match schema {
        Value::Object(fields) => {
            found.extend(fields.get("file_results").map(|list| &list["items"]));
            fields.values().for_each(|field| file_results(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| file_results(item, found)),
        _ => {}
    }
}

#[test]
fn a_file_has_one_shape_in_every_answer() {
    let shape = &schemas()["answer"]["$defs"]["FileResult"];
    assert!(shape["properties"].as_object().unwrap().len() > 20, "{shape}");
    let mut with_files = Vec::new();
    for (name, schema) in schemas() {
        let mut found = Vec::new();
        file_results(schema, &mut found);
        assert!(found.iter().all(|items| **items == json!({"$ref": "#/$defs/FileResult"})), "{name}: {found:?}");
        if !found.is_empty() {
            assert_eq!(&schema["$defs"]["FileResult"], shape, "{name}");
            with_files.push(name);
        }
    }
    with_files.retain(|name| *name != "delegate");
    assert_eq!(with_files, ["answer", "log", "preview", "recover", "replace", "review", "show", "stage", "status"]);
}

#[test]
fn one_reader_reads_the_files_of_all_commands() {
    let here = Workspace::new();
    here.write("a.txt", "one\n");
    let edit =
        |old: &str| json!({"files": [{"file_path": "a.txt", "edits": [{"old_string": old, "new_string": "new"}]}]});
    here.write("plan.json", &edit("two").to_string());
    let paths = |answer: &Value, place: &str| -> Vec<String> {
        let files = answer.pointer(&format!("{place}/file_results")).and_then(Value::as_array);
        let files = files.unwrap_or_else(|| panic!("no files at {place:?} in {answer}")).iter();
        files
            .map(|file| format!("{} {}", file["operation"].as_str().unwrap(), file["file_path"].as_str().unwrap()))
            .collect()
    };
    let own = here.path().join("a.txt").display().to_string();
    for (line, place, path) in [
        (&["edit", "a.txt", "--old", "one", "--new", "two"][..], "", &*own),
        (&["replace", "two", "three", "a.txt", "--dry-run"], "", &own),
        (&["apply", "plan.json", "--dry-run"], "", "a.txt"),
        (&["log"], "/transactions/0", "a.txt"),
        (&["stage", "plan.json"], "", "a.txt"),
        (&["status"], "/open/0", "a.txt"),
        (&["undo"], "", "a.txt"),
    ] {
        let answer = here.run(&[line, &["--json"]].concat()).exits(0).json();
        // What comes back is a whole content.
        let operation = if line == ["undo"] { "replace" } else { "edit" };
        assert_eq!(paths(&answer, place), [format!("{operation} {path}")], "{line:?}: {answer}");
    }
}
