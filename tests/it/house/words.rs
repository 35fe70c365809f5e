//! One name for one thing: type names, and the words of docs/architecture.md.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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

/// The rows of the table of words: each word, and those that are not used for it.
fn words(page: &str) -> Vec<(&str, Vec<&str>)> {
    let table = page.split("\n## ").find(|section| section.starts_with("Words\n")).unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")).skip(1);
    rows.map(|row| {
        let (word, rest) = row.split_once(" | ").unwrap();
        let (_, not) = rest.strip_suffix(" |").unwrap().rsplit_once('|').unwrap();
        (word, not.split('`').skip(1).step_by(2).collect())
    })
    .collect()
}

/// The lines of a text that contain a phrase, in any case and across a line break.
fn lines_with(text: &str, phrase: &str) -> Vec<usize> {
    let (mut flat, mut places) = (String::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start().trim_start_matches(['/', '!', '|', '>']).trim();
        places.push((flat.len(), number + 1));
        flat.extend([&line.to_lowercase(), " "]);
    }
    let is_word = |at: usize| flat[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
    let found = flat.match_indices(phrase).filter(|(at, _)| is_word(*at));
    found.map(|(at, _)| places.iter().rev().find(|(start, _)| *start <= at).unwrap().1).collect()
}

#[test]
fn a_phrase_is_found_across_lines_and_as_words_only() {
    let text = "/// It is taken\n/// back.\n// Mistaken back then. Taken back.\n";
    assert_eq!(lines_with(text, "taken back"), [1, 3]);
}

#[test]
fn a_word_that_was_given_up_does_not_come_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let words = words(&page);
    assert!(words.len() > 20, "{words:?}");
    let documents = ["README.md", "journal-format.md", "SECURITY.md", "docs"].map(|name| root.join(name));
    let documents = documents.iter().flat_map(|path| match fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => vec![path.clone()],
    });
    let mut texts: Vec<(String, String)> = documents
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap()))
        .collect();
    for (_, text) in texts.iter_mut().filter(|(name, _)| name.ends_with("architecture.md")) {
        let table = text.split("\n## ").find(|section| section.starts_with("Words\n")).unwrap().to_owned();
        *text = text.replace(&table, "");
    }
    for folder in ["src", "tests"] {
        let sources = sources(folder).into_iter().filter(|source| !source.path.ends_with("house/words.rs"));
        texts.extend(sources.map(|source| (format!("{folder}/{}", source.path), source.text)));
    }
    let mut found = Vec::new();
    for (word, not) in &words {
        for (name, text) in &texts {
            // As words, and as a part of a name.
            let spelled = not.iter().flat_map(|phrase| [phrase.to_string(), phrase.replace(' ', "_")]);
            for phrase in spelled {
                let all = lines_with(text, &phrase).into_iter();
                found.extend(all.map(|line| format!("{name}:{line}: `{phrase}`, which is called {word}")));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
