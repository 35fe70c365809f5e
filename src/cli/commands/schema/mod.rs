//! `txedit schema [NAME]`: the JSON Schema of what the program reads and writes as JSON.

mod generate;
mod table;

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cli::args::SchemaArgs;
use crate::cli::failure::Failure;
use crate::cli::options::usage;
use crate::cli::output::{Answer, NAME, styled};
use crate::error::{Error, ErrorKind, Result};
use table::{DescribedJson, TABLE};

pub(super) fn run(args: &SchemaArgs) -> Result<Answer, Failure> {
    if args.name.is_empty() {
        return Ok(list()?);
    }
    let asked = args.name.join(" ");
    let described = DescribedJson::named(&asked).ok_or_else(|| unknown(&asked))?;
    let schema = described.schema();
    let mut text = serde_json::to_string_pretty(&schema)
        .map_err(|e| Error::new(ErrorKind::UnknownError, format!("cannot write the schema as JSON: {e}")))?;
    text.push('\n');
    let json = SchemaJson { success: true, schemas: Vec::new(), name: Some(described.name), schema: Some(schema) };
    Ok(Answer::new(&json, text)?)
}

/// The list of the schemas, or one of them.
#[derive(Serialize, JsonSchema)]
pub(super) struct SchemaJson {
    success: bool,
    /// All schemas, if none was named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    schemas: Vec<ListedSchema>,
    /// The name of the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    /// The schema itself, of draft 2020-12.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Map<String, Value>>,
}

/// A schema in the list.
#[derive(Serialize, JsonSchema)]
struct ListedSchema {
    name: &'static str,
    /// What it describes.
    about: &'static str,
    /// The commands whose answer it describes; each is a name for it, too.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    commands: &'static [&'static str],
}

fn list() -> Result<Answer> {
    let mut text = String::new();
    let width = TABLE.iter().map(|described| described.name.len()).max().unwrap_or_default();
    for DescribedJson { name, about, .. } in TABLE {
        let _ = writeln!(text, "{}{}  {about}", styled(NAME, name), " ".repeat(width - name.len()));
    }
    let listed = |described: &DescribedJson| {
        let DescribedJson { name, about, commands, .. } = *described;
        ListedSchema { name, about, commands }
    };
    let schemas = TABLE.iter().map(listed).collect();
    Answer::new(&SchemaJson { success: true, schemas, name: None, schema: None }, text)
}

fn unknown(asked: &str) -> Error {
    let names: Vec<&str> = TABLE.iter().map(|described| described.name).collect();
    usage("schema", format!("there is no schema {asked:?}; there are: {}", names.join(", ")))
}
