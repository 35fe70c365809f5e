//! docs/architecture.md names every module, by the first sentence of its own text, and no other; and the rooms of the
//! engine are a tower.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::support::sources::{Source, root, sources};

const PAGE: &str = "docs/architecture.md";
const MAP: &str = "<!-- map -->\n";

/// The first sentence of a module's text, up to its full stop or its blank line.
fn first_sentence(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//! ").or((line == "//!").then_some("")));
    let text = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    text.split_once(". ").map_or_else(|| text.trim_end_matches('.').to_owned(), |(first, _)| first.to_owned())
}

/// The folder of a module, and its name in it; that of a folder's own text is empty.
fn place(path: &str) -> (String, String) {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let name = file.trim_end_matches(".rs");
    (folder.to_owned(), if name == "mod" { String::new() } else { name.to_owned() })
}

fn map(sources: &[Source]) -> String {
    let mut rooms: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let (folder, name) = place(&source.path);
        rooms.entry(folder).or_default().insert(name, first_sentence(&source.text));
    }
    let mut map = String::new();
    for (folder, mut modules) in rooms {
        let own = modules.remove("").map(|text| format!("{text}.\n\n")).unwrap_or_default();
        let title = if folder.is_empty() { "src".to_owned() } else { format!("src/{folder}") };
        let _ = write!(map, "\n### {title}\n\n{own}");
        for (name, text) in modules {
            assert!(!text.is_empty(), "{folder}/{name} does not say what it is");
            let _ = writeln!(map, "- `{name}`: {text}");
        }
    }
    map
}

#[test]
fn the_page_names_every_module() {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let (head, found) = page.split_once(MAP).unwrap();
    let map = map(&sources("src"));
    if std::env::var_os("TXEDIT_WRITE_MAP").is_some() {
        fs::write(root().join(PAGE), format!("{head}{MAP}{map}")).unwrap();
        return;
    }
    assert!(found == map, "{PAGE} is not as the modules are: TXEDIT_WRITE_MAP=1 cargo test --test it architecture");
}

#[test]
fn every_path_that_the_page_names_is_there() {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let named =
        page.split('`').skip(1).step_by(2).filter(|code| code.starts_with("src/") || code.starts_with("tests/"));
    let named: Vec<&str> = named.collect();
    assert!(named.len() > 15, "{named:?}");
    for path in named {
        assert!(root().join(path).exists(), "{path}");
    }
}

/// Each names only those in front of it, and itself; the last two stand beside each other.
const TOWER: [&str; 8] = ["store", "report", "history", "rollback", "recovery", "transaction", "revert", "open"];

/// The rooms of the engine that a source in `room` names.
fn rooms_named(source: &Source, depth: usize) -> Vec<&'static str> {
    let code: Vec<&str> = source.code().map(|(_, line)| line).collect();
    let code = code.join("\n");
    let up = "super::".repeat(depth);
    let is_named = |room: &&str| {
        let absolute = format!("engine::{room}::");
        let relative = format!("{up}{room}::");
        let is_relative = |at: usize| !code[..at].ends_with("::");
        code.contains(&absolute) || code.match_indices(&relative).any(|(at, _)| is_relative(at))
    };
    TOWER.into_iter().filter(is_named).collect()
}

#[test]
fn the_rooms_of_the_engine_are_a_tower() {
    let mut looked_at = 0;
    for source in sources("src/engine").iter().filter(|source| !source.is_test()) {
        let room = source.path.split(['/', '.']).next().unwrap();
        let Some(own) = TOWER.iter().position(|it| *it == room) else { continue };
        let is_mod = Path::new(&source.path).file_name().is_some_and(|name| name == "mod.rs");
        let depth = source.path.matches('/').count() + usize::from(!is_mod);
        for named in rooms_named(source, depth) {
            let at = TOWER.iter().position(|it| *it == named).unwrap();
            let is_beside = (room, named) == ("open", "revert");
            assert!(at <= own && !is_beside, "{} names {named}, which stands above it", source.path);
            looked_at += 1;
        }
    }
    assert!(looked_at > 50, "{looked_at}");
}
