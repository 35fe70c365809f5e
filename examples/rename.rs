//! Renames an identifier in the files that are named, in all of them or in none:
//! `cargo run --example rename -- old_name new_name src/a.rs src/b.rs`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::atomic::AtomicBool;

use txedit::engine::{Durability, Engine, Retention, Run, Settings, Unobserved};
use txedit::request::edit::{Anchor, Count, Edit, Matching};
use txedit::request::validate::{self, PathRule};
use txedit::request::{Change, FileRequest, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(old), Some(new)) = (arguments.next(), arguments.next()) else {
        return Err("give the old name, the new name, and the files".into());
    };
    let files = arguments.map(|path| {
        let anchor = Anchor::Text { text: old.clone().into_bytes(), count: Count::All, matching: Matching::Exact };
        let edits = vec![Edit { anchor, replacement: new.clone().into_bytes() }];
        let change = Change::Edit { edits, rename: None };
        FileRequest { path: path.into(), expected_hash: None, change, mode: None }
    });
    let label = Some(format!("rename {old} to {new}"));
    let request = Request { files: files.collect(), label, ..Request::default() };
    validate::check(&request, PathRule::AbsoluteOrRelative)?;

    let settings = Settings {
        durability: Durability::Power,
        lock_timeout: txedit::limits::LOCK_TIMEOUT,
        retention: Retention::default(),
        program: "rename example".to_owned(),
    };
    let engine = Engine::open(&std::env::current_dir()?, settings)?;
    let never = AtomicBool::new(false);
    let report = engine.apply(&request, Run { cancel: &never, observer: &Unobserved })?;
    for file in &report.files {
        let replaced: usize = file.edits.iter().map(|edit| edit.replaced).sum();
        println!("{}: {replaced} replaced", file.path.display());
    }
    if let Some(id) = report.transaction {
        println!("`txedit undo {id}` takes it back");
    }
    Ok(())
}
