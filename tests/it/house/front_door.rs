//! What a caller of the library sees: no type of another package stands in a public signature.

use crate::support::sources::{Source, root, sources};

/// Layers that no caller of the library sees.
const CLOSED: [&str; 4] = ["cli/", "mcp/", "delegate/", "main.rs"];

/// Who names a type of another package in public all the same, and why.
const NAMED: [(&str, &str, &str); 1] =
    [("testing/strategies.rs", "proptest", "strategies are for those who use proptest")];

/// The packages that the library uses, as code names them.
fn dependencies() -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest.split_once("[dependencies]\n").unwrap().1.split("\n[").next().unwrap();
    let names = section.lines().filter_map(|line| line.split_once(" = "));
    names.map(|(name, _)| name.replace('-', "_")).filter(|name| !name.starts_with('#')).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The types that a file imports from other packages, each with its package. A glob, which hides what it imports, is `*`.
fn imported<'a>(code: &'a str, dependencies: &[String]) -> Vec<(&'a str, String)> {
    let mut found = Vec::new();
    for statement in code.split("\nuse ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let package = words(statement).next().unwrap_or_default();
        if dependencies.iter().any(|dependency| dependency == package) {
            let types = words(statement).filter(|word| word.starts_with(char::is_uppercase));
            let glob = statement.ends_with('*').then_some("*");
            found.extend(types.chain(glob).map(|name| (name, package.to_owned())));
        }
    }
    found
}

/// The public declarations of a file, without bodies and private fields, each with its line.
fn declarations(code: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix("pub ") else { continue };
        let indentation = &line[..line.len() - line.trim_start().len()];
        let until_end = || lines[start..].iter().take_while(|line| **line != format!("{indentation}}}"));
        let text = match words(rest).find(|word| !matches!(*word, "const" | "async" | "unsafe")) {
            Some("mod" | "use") => continue,
            Some("enum" | "trait") => until_end().copied().collect::<Vec<_>>().join("\n"),
            Some("struct") => rest.split(['(', '{', ';']).next().unwrap_or_default().to_owned(),
            Some("fn") => {
                until_end().copied().collect::<Vec<_>>().join("\n").split(['{', ';']).next().unwrap().to_owned()
            }
            Some("type") => rest.to_owned(),
            // A field, or a constant without its value.
            _ => rest.split(" = ").next().unwrap_or_default().to_owned(),
        };
        found.push((start + 1, text));
    }
    found
}

/// The packages that the public declarations of a file name: line, declaration, package.
fn named(source: &Source, dependencies: &[String]) -> Vec<(usize, String, String)> {
    let code: String = source.code().flat_map(|(_, line)| [line, "\n"]).collect();
    let imported = imported(&code, dependencies);
    let declared = declarations(&code);
    let globs = imported.iter().filter(|(name, _)| *name == "*" && !declared.is_empty());
    let mut found: Vec<_> = globs.map(|(name, package)| (1, (*name).to_owned(), package.clone())).collect();
    for (line, text) in declared {
        let direct = dependencies.iter().filter(|dependency| text.contains(&format!("{dependency}::"))).cloned();
        let by_name = words(&text).filter_map(|word| imported.iter().find(|(name, _)| *name == word));
        let packages: Vec<_> = direct.chain(by_name.map(|(_, package)| package.clone())).collect();
        found.extend(packages.into_iter().map(|package| (line, text.clone(), package)));
    }
    found
}

#[test]
fn no_public_signature_names_a_type_of_another_package() {
    let dependencies = dependencies();
    assert!(dependencies.len() > 20 && dependencies.contains(&"regex_automata".to_owned()), "{dependencies:?}");
    let (mut violations, mut used) = (Vec::new(), [false; NAMED.len()]);
    for source in sources("src").iter().filter(|source| !source.is_test() && !source.is_one_of(&CLOSED)) {
        for (line, text, package) in named(source, &dependencies) {
            match NAMED.iter().position(|(path, name, _)| source.path == *path && *name == package) {
                Some(exception) => used[exception] = true,
                None => violations.push(format!("src/{}:{line} names {package}: {text}", source.path)),
            }
        }
    }
    assert!(violations.is_empty(), "a caller's code would depend on their versions:\n{}", violations.join("\n"));
    assert_eq!(used, [true; NAMED.len()], "an exception of NAMED is no longer one");
}

#[test]
fn few_names_stand_at_the_top_of_the_crate() {
    let lib = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let statements = lib.split("\npub use ").skip(1).map(|rest| rest.split(';').next().unwrap());
    let names: Vec<_> = statements.flat_map(|path| path.rsplit("::").next().unwrap().split(',')).collect();
    let names: Vec<_> =
        names.iter().map(|name| name.trim_matches(['{', '}', ' ', '\n'])).filter(|name| !name.is_empty()).collect();
    assert!(names.contains(&"Engine") && names.contains(&"UndoOptions"), "{names:?}");
    assert!(names.len() <= 40, "{} names: details belong into a module: {names:?}", names.len());
}

#[test]
fn types_of_other_packages_are_found_in_every_kind_of_declaration() {
    let text = "\nuse regex::bytes::{Captures, Regex};\nuse std::fmt;\npub fn a(\n    one: &Regex,\n) -> u8 {\n    Captures\n}\n\
                pub struct B(blake3::Hasher);\npub struct C {\n    pub d: tempfile::TempDir,\n    e: Regex,\n}\n\
                pub enum F {\n    G(Regex),\n}\npub type H = fmt::Result;\npub(crate) fn i(_: Regex) {}\n";
    let source = Source { path: "a.rs".to_owned(), text: text.to_owned() };
    let packages = ["regex", "blake3", "tempfile"].map(str::to_owned);
    let found: Vec<_> = named(&source, &packages).into_iter().map(|(line, _, package)| (line, package)).collect();
    let expected = [(4, "regex"), (11, "tempfile"), (14, "regex")];
    assert_eq!(found, expected.map(|(line, package)| (line, package.to_owned())));
}
