//! Verifies that a script of one's own is atomic, whatever happens to it: `cargo run --example atomicity`. Nothing of the
//! real disk is touched.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use txedit::testing::{Explorer, ForeignDeed, Script, strategies};
use txedit::{PathRule, Request};

fn request(json: &str) -> txedit::Result<Request> {
    txedit::wire::parse(json.as_bytes())?.into_request(PathRule::AbsoluteOrRelative)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = strategies::setup(&[
        ("src/main.rs", "mod util;\n\nfn main() {\n    util::parse();\n}\n"),
        ("src/util.rs", "pub fn parse() {}\n"),
    ]);
    let script = Script::new("split a module", files)
        .apply(request(
            r#"{"files": [
                {"file_path": "src/main.rs", "edits": [{"old_string": "util", "new_string": "parser", "replace_all": true}]},
                {"file_path": "src/util.rs", "rename_to": "src/parser/mod.rs"}]}"#,
        )?)
        .undo();

    // A kill and a power loss before every call, with subsets of what was not synced; then during the recovery.
    let explorer = Explorer { images: 8, images_in_recovery: 4, depth: 1, ..Explorer::default() };
    println!("crashes: {}", explorer.explore(&script)?);
    // The same while somebody else writes one of the files, at one of every 60 moments.
    let theirs = [("/w/src/main.rs", ForeignDeed::Write(b"somebody else's\n".to_vec()))];
    println!("with a foreign program: {}", explorer.explore_deeds(&script, &theirs, 60)?);
    // Calls that fail, in every way that makes sense, one of 20.
    println!("failures: {}", explorer.inject(&script, None, 20)?);
    Ok(())
}

#[test]
fn it_is_atomic() {
    main().unwrap();
}
