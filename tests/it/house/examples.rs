//! Each code block of a document is run by a test, or listed here with the reason why not.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::readme::{blocks, sh, two_files};
use crate::support::sources::root;

/// The blocks by document, section and language, how many there are, and which test runs them or why none does.
const BLOCKS: [(&str, &str, &str, usize, &str); 30] = [
    ("README.md", "", "console", 1, "readme::the_transcript_is_what_happens"),
    ("README.md", "", "sh", 2, "not run: `tour` is run by cli::tour, and `cargo test` is what runs this"),
    (
        "README.md",
        "Install",
        "sh",
        2,
        "not run: packaging/try does with the packages; it compiles the program anew; cli::arguments runs `completions`",
    ),
    ("README.md", "Recipes", "sh", 6, "readme::the_recipes_do_what_they_say"),
    ("README.md", "For agents", "json", 3, "examples::every_client_starts_a_server_that_answers"),
    ("README.md", "As a library", "toml", 1, "not run: another package would have to be built"),
    ("README.md", "As a library", "rust", 1, "a doc test of src/lib.rs"),
    ("README.md", "Speed", "sh", 1, "not run: it takes an hour and brings other programs"),
    ("docs/answers.md", "Schemas", "sh", 1, "examples::an_answer_fits_the_schema_of_the_page"),
    ("docs/architecture.md", "Bird's eye", "text", 1, "not run: a picture"),
    ("docs/campaigns.md", "", "sh", 1, "examples::the_campaign_of_the_page_goes_as_told"),
    ("docs/cli.md", "The first minute", "sh", 2, "readme::the_first_minute_goes_as_told"),
    ("docs/cli.md", "The first minute", "json", 1, "readme::the_first_minute_goes_as_told"),
    ("docs/cli.md", "The settings file", "toml", 1, "examples::the_settings_file_of_the_page_is_taken"),
    ("docs/delegation.md", "", "text", 1, "delegate::documents::the_commands_of_the_page_go_as_told"),
    ("docs/delegation.md", "", "toml", 1, "delegate::documents::the_settings_of_the_page_are_taken"),
    ("docs/mcp.md", "Clients", "json", 6, "examples::every_client_starts_a_server_that_answers"),
    ("docs/mcp.md", "Clients", "toml", 1, "examples::every_client_starts_a_server_that_answers"),
    ("docs/mcp.md", "HTTP", "sh", 1, "examples::the_http_server_starts_as_told"),
    ("docs/packers.md", "", "sh", 1, "not run: it installs packers, and takes some minutes"),
    ("docs/performance.md", "How fast it is", "sh", 1, "not run: it takes an hour and brings other programs"),
    ("docs/performance.md", "Benchmarks", "sh", 1, "not run: `cargo test` runs each benchmark once"),
    ("docs/plan.md", "What may be missing", "json", 1, "examples::what_may_be_missing_on_the_page_is_left_out"),
    ("docs/plan.md", "Folders and symlinks", "json", 1, "examples::the_folders_of_the_page_come_and_go"),
    ("docs/plan.md", "What is outside", "toml", 1, "examples::the_settings_of_the_page_deny"),
    ("docs/plan.md", "Several calls, one transaction", "sh", 1, "examples::several_calls_make_one_transaction"),
    ("docs/review.md", "", "text", 1, "not run: it serves until it is ended; web::safety starts it"),
    (
        "docs/testing.md",
        "Line coverage",
        "sh",
        1,
        "not run: it builds everything with instrumentation, and wants LLVM's tools",
    ),
    ("docs/testing.md", "Testing scripts of your own", "rust", 1, "a doc test of src/lib.rs"),
    ("SECURITY.md", "", "", 0, "it has none"),
];

/// How many blocks a document has of each section and language.
fn found(document: &str) -> BTreeMap<(String, String), usize> {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let (mut section, mut is_code, mut found) = (String::new(), false, BTreeMap::new());
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            if !is_code {
                *found.entry((section.clone(), language.to_owned())).or_default() += 1;
            }
            is_code = !is_code;
        } else if let Some(heading) = line.strip_prefix("## ").filter(|_| !is_code) {
            heading.clone_into(&mut section);
        }
    }
    found
}

#[test]
fn every_block_is_run_or_has_a_reason() {
    let docs =
        fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let docs = docs.filter(|name| name.strip_suffix(".md").is_some()).map(|name| format!("docs/{name}"));
    for document in docs.chain(["README.md".to_owned(), "SECURITY.md".to_owned(), "CHANGELOG.md".to_owned()]) {
        let of_it = BLOCKS.iter().filter(|(name, .., count, _)| *name == document && *count > 0);
        let listed =
            of_it.map(|(_, section, language, count, _)| ((section.to_string(), language.to_string()), *count));
        assert_eq!(found(&document), listed.collect(), "{document}: give each block a test, or list it with a reason");
    }
    let sources = ["house/readme.rs", "house/examples.rs", "front_ends/delegate/documents.rs"]
        .map(|file| root().join("tests/it").join(file));
    let sources = sources.map(|path| fs::read_to_string(path).unwrap()).concat();
    for (document, section, .., how) in BLOCKS {
        let is_told = ["not run: ", "a doc test of ", "it has none"].iter().any(|start| how.starts_with(start));
        let test = how.rsplit("::").next().unwrap();
        assert!(is_told || sources.contains(&format!("fn {test}()")), "{document}, {section}: there is no {how}");
    }
}

/// A project at `folder`, under version control.
fn project(folder: &Path) {
    two_files(folder);
    assert!(sh(folder, "git init -q").status.success());
}

#[test]
fn several_calls_make_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path());
    let plan = r#"{"files": [{"file_path": "src/greet.rs", "rename_to": "src/welcome.rs"}]}"#;
    fs::write(folder.path().join("rename.json"), plan).unwrap();
    let patch = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-mod greet;\n+mod welcome;\n";
    fs::write(folder.path().join("fix.patch"), patch).unwrap();
    let [script] = &blocks("docs/plan.md", "Several calls, one transaction", "sh")[..] else { panic!("one script") };
    let [stage, add, preview, commit] = script.lines().collect::<Vec<_>>()[..] else { panic!("four commands") };
    let run = |line: &str| {
        let output = sh(folder.path(), &format!("cargo() {{ :; }}; exec 2>&1; {line}"));
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (done, id) = run(&format!("{stage}\necho \"$id\""));
    let id = id.lines().last().unwrap();
    assert!(done && folder.path().join("src/greet.rs").exists(), "nothing is changed yet");
    let with = |line: &str| run(&format!("id={id}; {}", line.replace("cargo check", "true")));
    assert!(with(add).0);
    let (done, told) = with(preview);
    assert!(done && told.contains("+mod welcome;"), "{told}");
    assert!(told.contains("plan hash "), "{told}");
    let (done, told) = with(commit);
    assert!(done && folder.path().join("src/welcome.rs").exists(), "{told}");
}

#[test]
fn an_answer_fits_the_schema_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path());
    assert!(sh(folder.path(), "txedit edit src/greet.rs --old greet --new welcome").status.success());
    let [script] = &blocks("docs/answers.md", "Schemas", "sh")[..] else { panic!("one script") };
    let done = sh(folder.path(), script);
    assert!(done.status.success() && done.stdout.is_empty(), "{done:?}");
    let [schema, log] = ["log.schema.json", "log.json"]
        .map(|name| serde_json::from_slice::<Value>(&fs::read(folder.path().join(name)).unwrap()).unwrap());
    assert_eq!(log["transactions"].as_array().map(Vec::len), Some(1));
    jsonschema::draft202012::validate(&schema, &log).unwrap();
}

#[test]
fn the_folders_of_the_page_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("old/sub")).unwrap();
    fs::write(folder.path().join("old/a.txt"), "").unwrap();
    let [plan] = &blocks("docs/plan.md", "Folders and symlinks", "json")[..] else { panic!("one plan") };
    fs::write(folder.path().join("plan.json"), plan).unwrap();
    assert!(sh(folder.path(), "txedit apply plan.json").status.success());
    let stays = ["old", "cache/private"].map(|path| folder.path().join(path).exists());
    assert_eq!(stays, [false, true]);
    assert_eq!(fs::read_link(folder.path().join("current")).unwrap(), Path::new("cache/private"));
}

#[test]
fn what_may_be_missing_on_the_page_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let [plan] = &blocks("docs/plan.md", "What may be missing", "json")[..] else { panic!("one plan") };
    fs::write(folder.path().join("plan.json"), plan).unwrap();
    let apply = || sh(folder.path(), "txedit apply plan.json").status.code();
    assert_eq!(apply(), Some(9));
    fs::write(folder.path().join("setup.cfg"), "python_requires = >=3.8\n").unwrap();
    assert_eq!(apply(), Some(0));
    assert_eq!(fs::read_to_string(folder.path().join("setup.cfg")).unwrap(), "python_requires = >=3.9\n");
}

#[test]
fn the_settings_file_of_the_page_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path());
    let [settings] = &blocks("docs/cli.md", "The settings file", "toml")[..] else { panic!("one file of settings") };
    let here = folder.path().canonicalize().unwrap();
    let settings =
        settings.replace("/home/me/shop", here.to_str().unwrap()).replace("cargo check --quiet", "test ! -e no");
    fs::create_dir_all(here.join("config/txedit")).unwrap();
    fs::write(here.join("config/txedit/config.toml"), settings).unwrap();
    let run = |line: &str| sh(&here, &format!("export XDG_CONFIG_HOME=\"$PWD/config\"; txedit {line}"));
    assert_eq!(run("create yes --text x").status.code(), Some(0));
    for file in ["no", "migrations/1", "x.pem"] {
        assert!(!run(&format!("create {file} --text x")).status.success(), "{file}");
    }
}

#[test]
fn the_settings_of_the_page_deny() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path());
    let [settings] = &blocks("docs/plan.md", "What is outside", "toml")[..] else { panic!("one file of settings") };
    fs::create_dir_all(folder.path().join("config/txedit")).unwrap();
    fs::write(folder.path().join("config/txedit/config.toml"), settings).unwrap();
    for (file, is_denied) in [(".envrc", true), (".env.local", true), ("sub/key.pem", true), ("src/main.rs", false)] {
        let plan = format!(r#"{{"files": [{{"file_path": "{file}", "content": "x", "if_exists": "replace"}}]}}"#);
        fs::write(folder.path().join("plan.json"), plan).unwrap();
        let output = sh(folder.path(), "export XDG_CONFIG_HOME=\"$PWD/config\"; txedit --json apply plan.json");
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(told.contains("PATH_DENIED"), is_denied, "{file}: {told}");
        assert_eq!(output.status.success(), !is_denied, "{file}: {told}");
    }
}

/// The command lines in a client's settings.
fn servers(settings: &Value, found: &mut Vec<Vec<String>>) {
    let words = |value: &Value| -> Vec<String> {
        let all = value.as_array().into_iter().flatten();
        all.map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    match settings.get("command") {
        Some(Value::String(program)) => found.push([vec![program.clone()], words(&settings["args"])].concat()),
        Some(line) => found.push(words(line)),
        None => settings.as_object().into_iter().flatten().for_each(|(_, inner)| servers(inner, found)),
    }
}

#[cfg(feature = "mcp")]
#[test]
fn every_client_starts_a_server_that_answers() {
    let json = [blocks("README.md", "For agents", "json"), blocks("docs/mcp.md", "Clients", "json")].concat();
    let mut settings: Vec<Value> = json.iter().map(|block| serde_json::from_str(block).unwrap()).collect();
    settings
        .extend(blocks("docs/mcp.md", "Clients", "toml").iter().map(|block| toml::from_str::<Value>(block).unwrap()));
    assert_eq!(settings.len(), 10, "{settings:?}");
    for settings in settings {
        let mut lines = Vec::new();
        servers(&settings, &mut lines);
        let [line] = &lines[..] else { panic!("one server is expected: {settings}") };
        // Those that bring the program along are tried with the packages: packaging/try.
        let at = line.iter().position(|word| word == "txedit").unwrap();
        assert!(["", "uvx", "npx -y"].contains(&line[..at].join(" ").as_str()), "{line:?}");
        let line = &line[at..];
        let folder = tempfile::tempdir().unwrap();
        project(folder.path());
        let arguments =
            line[1..].iter().map(|word| word.replace("${workspaceFolder}", folder.path().to_str().unwrap()));
        let mut server = Command::new(env!("CARGO_BIN_EXE_txedit"));
        server.args(arguments).current_dir(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.stderr(Stdio::null()).spawn().unwrap();
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
            "capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let mut input = server.stdin.take().unwrap();
        writeln!(input, "{}", hello.replace('\n', "")).unwrap();
        let mut answer = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        drop(input);
        server.wait().unwrap();
        assert!(answer.contains("\"serverInfo\""), "{line:?}: {answer}");
    }
}

#[cfg(feature = "mcp")]
#[test]
fn the_http_server_starts_as_told() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path());
    let [script] = &blocks("docs/mcp.md", "HTTP", "sh")[..] else { panic!("one script is expected") };
    // The port may be taken; and the shell becomes the server, so that this can end it.
    let script = script.replace(":8137", ":0").replace("\ntxedit", "\nexec txedit");
    let program = Path::new(env!("CARGO_BIN_EXE_txedit")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut server = Command::new("sh");
    server.args(["-c", &script]).current_dir(folder.path()).env("PATH", path);
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && url.trim_end().ends_with("/mcp"), "{url}");
}

#[test]
fn the_campaign_of_the_page_goes_as_told() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["repos/a", "repos/b"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("file"), "greet\n").unwrap();
    }
    let [script] = &blocks("docs/campaigns.md", "", "sh")[..] else { panic!("one script") };
    let output = sh(
        folder.path(),
        &format!("set -e; {}", script.replace("txedit campaign status", "cat repos/?/file; txedit campaign status")),
    );
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("welcome\nwelcome\n") && told.trim_end().ends_with("2 undone; 0 files changed"), "{told}");
    assert_eq!(fs::read_to_string(folder.path().join("repos/b/file")).unwrap(), "greet\n");
}
