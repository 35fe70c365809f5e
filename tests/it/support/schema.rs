//! Holds what the program prints with `--json` against its schema, in which a field that it does not name is a fault.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::process::{Command, Output};
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::support::is_setting;

/// What `txedit schema` lists.
static SCHEMAS: LazyLock<Vec<NamedSchema>> = LazyLock::new(all);

/// A schema, as the program prints it.
pub(crate) struct NamedSchema {
    pub(crate) name: String,
    /// The words of each command whose answer it describes.
    commands: Vec<Vec<String>>,
    pub(crate) schema: Value,
    /// It validates what has no other fields.
    closed: Validator,
}

fn print(line: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    let output = command.arg("schema").args(line).output().unwrap();
    assert!(output.status.success(), "{line:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn all() -> Vec<NamedSchema> {
    let list = print(&["--json"]);
    let named = list["schemas"].as_array().unwrap().iter().map(|listed| {
        let name = listed["name"].as_str().unwrap().to_owned();
        let schema = print(&name.split(' ').collect::<Vec<_>>());
        let words = |command: &Value| command.as_str().unwrap().split(' ').map(str::to_owned).collect();
        let commands = listed["commands"].as_array().into_iter().flatten().map(words).collect();
        let mut closed = schema.clone();
        close(&mut closed);
        let closed = jsonschema::draft202012::new(&closed).unwrap_or_else(|e| panic!("{name}: {e}"));
        NamedSchema { name, commands, schema, closed }
    });
    named.collect()
}

/// Lets no object have a field that the schema does not name.
pub(crate) fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object) {
                fields.entry("additionalProperties").or_insert(Value::Bool(false));
            }
            fields.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// All schemas, by name.
pub(crate) fn schemas() -> BTreeMap<&'static str, &'static Value> {
    SCHEMAS.iter().map(|named| (named.name.as_str(), &named.schema)).collect()
}

/// What is wrong with a JSON object by the closed schema of this name.
pub(crate) fn faults(name: &str, json: &Value) -> Vec<String> {
    let schema = SCHEMAS.iter().find(|schema| schema.name == name).unwrap_or_else(|| panic!("no schema {name}"));
    schema.closed.iter_errors(json).map(|error| format!("{} at {:?}", error, error.instance_path().as_str())).collect()
}

/// The place of a command in a line: that of its first word, and the number of its words; `None` if it is another command.
fn place(command: &[String], line: &[&str]) -> Option<(usize, usize)> {
    let first = line.iter().position(|word| *word == command[0])?;
    let is_in = command.iter().all(|word| line[first..].iter().any(|given| given == word));
    is_in.then_some((first, command.len()))
}

/// The schema of the answer to a line: of the command that comes first, with the most words.
fn schema_of(line: &[OsString]) -> Option<&'static str> {
    let line: Vec<&str> = line.iter().filter_map(|word| word.to_str()).flat_map(|word| word.split('=')).collect();
    let own = line.split(|word| *word == "--").next().unwrap_or_default();
    let places = SCHEMAS.iter().flat_map(|schema| {
        let found = schema.commands.iter().filter_map(|command| place(command, own));
        found.map(|(first, words)| (first, std::cmp::Reverse(words), schema.name.as_str()))
    });
    places.min().map(|(.., name)| name)
}

/// Checks the answer to a line that asked for JSON, as far as it is one.
#[track_caller]
pub(crate) fn check(command: &Command, output: &Output) {
    let line: Vec<OsString> = command.get_args().map(OsStr::to_owned).collect();
    let asks = line.iter().any(|word| word == "--json")
        || command.get_envs().any(|(name, value)| name == "TXEDIT_JSON" && value.is_some());
    let Ok(Value::Object(answer)) = serde_json::from_slice::<Value>(&output.stdout) else { return };
    if asks {
        check_answer(schema_of(&line), answer);
    }
}

/// Checks an answer by the schema of its command, or by any if the command is not known.
#[track_caller]
pub(crate) fn check_answer(command: Option<&str>, answer: Map<String, Value>) {
    let is_failure = answer.contains_key("error_code");
    let answer = Value::Object(answer);
    let Some(name) = command.filter(|_| !is_failure).or(is_failure.then_some("error")) else {
        let fits = SCHEMAS.iter().any(|schema| schema.closed.is_valid(&answer));
        assert!(fits, "no schema fits this answer: {answer}");
        return;
    };
    let faults = faults(name, &answer);
    assert!(faults.is_empty(), "the schema {name} does not fit:\n{}\n{answer}", faults.join("\n"));
}
