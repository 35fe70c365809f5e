//! One name for one thing: type names, and the words of docs/architecture.md.

use std::collections::BTreeMap;

use crate::support::sources::sources;

/// The name of the type that a line defines. Associated types of an `impl` or a trait are indented and are not counted.
fn type_defined(line: &str) -> Option<&str> {
    let indented = line.starts_with(' ');
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.strip_prefix('(').map_or(rest, |rest| rest.split_once(')').map_or(rest, |(_, rest)| rest)),
        None => line,
    };
    let (keyword, rest) = line.trim_start().split_once(' ')?;
    let defines = matches!(keyword, "struct" | "enum" | "trait" | "union") || (keyword == "type" && !indented);
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (defines && rest.starts_with(char::is_uppercase)).then(|| &rest[..end])
}

#[test]
fn type_definitions_are_recognised() {
    assert_eq!(type_defined("pub(crate) struct Handle(u32);"), Some("Handle"));
    assert_eq!(type_defined("pub enum Change<T> {"), Some("Change"));
    assert_eq!(type_defined("    struct Local;"), Some("Local"));
    assert_eq!(type_defined("type Pair = (u8, u8);"), Some("Pair"));
    assert_eq!(type_defined("    type Item = u8;"), None);
    assert_eq!(type_defined("struct_of(Handle)"), None);
}

#[test]
fn a_type_name_stands_once() {
    let sources = sources("src");
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        for (number, line) in source.code() {
            if let Some(name) = type_defined(line) {
                places.entry(name).or_default().push(format!("src/{}:{number}", source.path));
            }
        }
    }
    assert!(places.len() > 600, "only {} type names were found", places.len());
    let repeated: Vec<_> = places.iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(repeated.is_empty(), "one name for several types: {repeated:#?}");
}
