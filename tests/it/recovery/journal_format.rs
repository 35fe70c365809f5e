//! `journal-format.md` holds: its example is read, written again byte for byte, and verified without txedit's help.

use std::collections::BTreeSet;
use std::path::Path;
use txedit::journal::EntryIndex;

use txedit::fs::Attributes;
use txedit::journal::{Corrupt, Journal, scan, slot_name};
use txedit::testing::internals::journal::record::encode;
use txedit::testing::internals::plan::{Access, FileState};

const DOCUMENT: &str = include_str!("../../../journal-format.md");
const INVARIANTS: &str = include_str!("../../../src/journal/mod.rs");

/// The example, as the document has it.
fn example() -> &'static [u8] {
    let (_, from) = DOCUMENT.split_once("```journal\n").expect("the document has an example");
    let (example, _) = from.split_once("```\n").expect("the example ends");
    example.as_bytes()
}

fn example_journal() -> Journal {
    scan(example()).unwrap()
}

/// Digest and JSON of each line, split by hand.
fn lines(journal: &[u8]) -> Vec<(&str, &str)> {
    let text = std::str::from_utf8(journal).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| line.split_once(' ').unwrap()).collect()
}

/// A journal of these records: the chain of the document, built without txedit.
fn chained<'a>(records: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut journal = String::new();
    let mut last = String::new();
    for json in records {
        last = blake3::hash(format!("{last}{json}").as_bytes()).to_hex().to_string();
        journal.extend([&last, " ", json, "\n"]);
    }
    journal.into_bytes()
}

#[test]
fn the_example_is_what_txedit_writes() {
    assert_eq!(lines(example()).len(), 6);
    assert_eq!(String::from_utf8(encode(&example_journal())), String::from_utf8(example().to_vec()));
}

#[test]
fn the_example_has_the_chain_that_the_document_describes() {
    assert_eq!(chained(lines(example()).into_iter().map(|(_, json)| json)), example());
}

#[test]
fn the_example_has_the_contents_that_the_document_lists() {
    let journal = example_journal();
    let mut seen = 0;
    for row in DOCUMENT.lines().filter(|line| line.starts_with("| `0000")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(|cell| cell.trim_matches([' ', '`'])).collect();
        let [slot, field, content] = cells[..] else { panic!("{row}") };
        let content = content.replace("\\n", "\n");
        let entry = journal.entries.indices().find(|&entry| slot_name(entry) == slot).unwrap();
        let change = &journal.entries[entry].change;
        let state: &FileState = if field == "before" { change.before() } else { change.after() }.unwrap();
        assert_eq!(state.digest.to_hex(), blake3::hash(content.as_bytes()).to_hex().as_str(), "{row}");
        assert_eq!(state.size, content.len() as u64, "{row}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn the_example_says_what_the_prose_says() {
    use std::os::unix::ffi::OsStrExt;
    let journal = example_journal();
    let told: Vec<_> = journal.entries.iter().map(|r| (r.change.kind(), r.path.as_path())).collect();
    let latin = Path::new(std::ffi::OsStr::from_bytes(b"docs/caf\xe9.txt"));
    let expected = [
        ("folder", Path::new("src/new")),
        ("edit", Path::new("src/main.rs")),
        ("create", Path::new("src/new/run.sh")),
        ("delete", latin),
    ];
    assert_eq!(told, expected);
    assert_eq!(journal.entries[EntryIndex(2)].change.after().unwrap().mode, 0o755);
    // Beyond what a double can tell from its neighbour.
    assert!(String::from_utf8_lossy(example()).contains(&((1_u64 << 53) + 1).to_string()));
}

/// Replaces text in one record of the example and chains it anew: it verifies, and must be refused all the same.
fn refusal(line: usize, from: &str, to: &str) -> Corrupt {
    let records: Vec<_> = lines(example()).into_iter().map(|(_, json)| json).collect();
    assert!(records[line - 1].contains(from), "line {line} has {from}");
    let altered = records[line - 1].replacen(from, to, 1);
    let records = records.iter().enumerate().map(|(at, json)| if at + 1 == line { altered.as_str() } else { json });
    match scan(&chained(records)) {
        Err(why) => why,
        Ok(_) => panic!("line {line} is accepted with {to} for {from}"),
    }
}

#[test]
fn every_other_spelling_is_refused() {
    let spellings = [
        (6, "{\"sealed\":4,", "{ \"sealed\":4,"),
        (6, "\"sealed\":4,", "\"sealed\":4.0,"),
        (6, "\"sealed\":4,", "\"sealed\":04,"),
        (6, "\"sealed\":4,", "\"sealed\":4,\"sealed\":4,"),
        (6, "\"sealed\":4,", "\"sealed\":4,\"more\":1,"),
        (6, "\"sealed\":4,\"back_on_crash\":false", "\"back_on_crash\":false,\"sealed\":4"),
        (6, "{\"sealed\":4,\"back_on_crash\":false}", "[4,false]"),
        (1, "\"label\":", "\"reverts\":null,\"label\":"),
        (1, "laptop", "lap\\u0074op"),
        (1, "131074", "18446744073709551616"),
        (1, "000001250", "00001250"),
        (2, "src/new", "src\\/new"),
        (2, "\"path\":\"src/new\"", "\"path_hex\":\"7372632f6e6577\""),
        (3, "0644", "644"),
        (3, "86d7", "86D7"),
        (5, "e92e", "E92E"),
    ];
    for (line, from, to) in spellings {
        let why = refusal(line, from, to);
        let expected = line;
        assert!(
            matches!(why, Corrupt::Unexpected { line, .. } | Corrupt::Torn { line } if line == expected),
            "{to}: {why}"
        );
    }
}

#[test]
fn what_breaks_a_rule_is_refused_though_it_verifies() {
    let rules = [
        (1, "20261121T", "20261121 "),
        (2, "\"000000\"", "\"000001\""),
        (3, "src/main.rs", "/etc/passwd"),
        (3, "src/main.rs", "src/../../x"),
        (3, "src/main.rs", ".txedit/id"),
        (3, "src/main.rs", "sub/.TXEDIT/id"),
        (3, "src/main.rs", ".git/txedit/id"),
        (3, "src/main.rs", "sub/.GIT/TxEdit/id"),
        (3, "src/main.rs", "src/new"),
        (3, "\"kind\":\"edit\"", "\"kind\":\"delete\""),
        (3, ",\"user\":1000", ""),
        (3, ",\"user\":1000,\"group\":1000", ""),
        (3, "\"user\":1000", "\"user\":4294967296"),
        (4, "\"kind\":\"create\"", "\"kind\":\"link\""),
        (6, "\"sealed\":4", "\"sealed\":3"),
    ];
    for (line, from, to) in rules {
        let why = refusal(line, from, to);
        assert!(matches!(why, Corrupt::Unexpected { line: at, .. } if at == line), "{to}: {why}");
    }
    assert_eq!(refusal(1, "\"txedit\":3", "\"txedit\":7"), Corrupt::Version(7));
    let parts = "other file systems, by their paths, in a journal that has some";
    assert_eq!(refusal(1, "\"txedit\":3", "\"txedit\":6"), Corrupt::Unexpected { line: 1, expected: parts.to_owned() });
    // The version and what it is for say the same.
    let swap = "a way in which slots and targets change places";
    assert_eq!(refusal(1, "\"txedit\":3", "\"txedit\":4"), Corrupt::Unexpected { line: 1, expected: swap.to_owned() });
    let mut longer = example().to_vec();
    longer.extend_from_slice(&chained(["{}"]));
    assert!(scan(&longer).is_err(), "something follows the seal");
    let overwrites = "the version, and the seal, of a journal that overwrites files";
    let refused = Corrupt::Unexpected { line: 6, expected: overwrites.to_owned() };
    assert_eq!(refusal(1, "\"txedit\":3", "\"txedit\":5"), refused);
}

/// The example as version 1 has it: without owners and attributes.
fn example_of_version_1() -> Vec<u8> {
    let attributes = format!(",\"attributes\":\"{ATTRIBUTES}\"");
    let records = lines(example()).into_iter().map(|(_, json)| {
        let json = json.replace("\"txedit\":3", "\"txedit\":1").replace(&attributes, "");
        json.replace(",\"user\":1000,\"group\":1000", "")
    });
    let records: Vec<String> = records.collect();
    chained(records.iter().map(String::as_str))
}

/// The attributes of the example's edit: `user.colour` is `green`, and no flags.
const ATTRIBUTES: &str = "df6f7dc7afa83bc6dac3aa15d5f4bb6959b5af641b7aadc8391fb9feecb5d2d0";

#[test]
fn the_attributes_of_the_example_are_those_that_the_document_describes() {
    let mut bytes = Vec::new();
    for part in [&b"user.colour"[..], b"green"] {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend(part);
    }
    bytes.extend(0_u32.to_le_bytes());
    assert_eq!(blake3::hash(&bytes).to_hex().as_str(), ATTRIBUTES);
    let attributes = Attributes { extended: vec![("user.colour".into(), b"green".to_vec())], ..Attributes::default() };
    assert_eq!(attributes.digest().unwrap().to_hex(), ATTRIBUTES);
    let journal = example_journal();
    let access = journal.entries[EntryIndex(1)].change.before().unwrap().access.unwrap();
    assert_eq!(access, Access { user: 1000, group: 1000, attributes: attributes.digest() });
}

#[test]
fn version_1_is_read() {
    let old = example_of_version_1();
    let journal = scan(&old).unwrap();
    assert_eq!(journal.header.version, 1);
    let states = journal.entries.iter().flat_map(|record| [record.change.before(), record.change.after()]).flatten();
    assert!(states.into_iter().all(|state| state.access.is_none()));
    assert_eq!(encode(&journal), old);
    let mixed = String::from_utf8(old).unwrap();
    let (line, json) = lines(mixed.as_bytes())[2];
    let with_owner = json.replacen("\"mode\":\"0644\"", "\"mode\":\"0644\",\"user\":1000,\"group\":1000", 1);
    let records =
        lines(mixed.as_bytes()).into_iter().map(|(digest, json)| if digest == line { &*with_owner } else { json });
    assert!(matches!(scan(&chained(records)), Err(Corrupt::Unexpected { line: 3, .. })));
}

#[test]
fn version_2_is_read() {
    let records = lines(example()).into_iter().map(|(_, json)| json.replace("\"txedit\":3", "\"txedit\":2"));
    let records: Vec<String> = records.collect();
    let old = chained(records.iter().map(String::as_str));
    let journal = scan(&old).unwrap();
    assert_eq!((journal.header.version, &journal.entries), (2, &example_journal().entries));
    assert_eq!(encode(&journal), old);
}

#[test]
fn code_and_document_number_the_same_invariants() {
    let numbers = |text: &str| -> BTreeSet<u32> {
        let marks = text.split("**J").skip(1);
        marks.filter_map(|rest| rest.split_once("**")?.0.parse().ok()).collect()
    };
    let documented = numbers(DOCUMENT);
    assert_eq!(documented, (1..=12).collect());
    assert_eq!(numbers(INVARIANTS), documented);
}
