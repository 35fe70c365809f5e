//! `txedit tour`: shows the promise being kept.
//!
//! Each step verifies the files itself, by their digests; the tour fails if anything is not as it says.

mod child;
mod killed;
mod stage;

use std::env;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

pub(super) use child::run as run_child;

use crate::cli::args::StopAt;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, GOOD, styled};
use crate::error::{Error, ErrorKind, Result};
use crate::wire::Shape;
use stage::{Stage, TourContents};

/// A small program in three files, before and after a rename in all of them.
const OLD: TourContents = &[
    ("shape.rs", "pub fn area(width: u32, height: u32) -> u32 {\n    width * height\n}\n"),
    ("main.rs", "mod shape;\n\nfn main() {\n    assert_eq!(shape::area(3, 4), 12);\n}\n"),
    ("README.md", "# shapes\n\nCall `area` with a width and a height.\n"),
];
const NEW: TourContents = &[
    ("shape.rs", "pub fn surface(width: u32, height: u32) -> u32 {\n    width * height\n}\n"),
    ("main.rs", "mod shape;\n\nfn main() {\n    assert_eq!(shape::surface(3, 4), 12);\n}\n"),
    ("README.md", "# shapes\n\nCall `surface` with a width and a height.\n"),
];

/// Runs the tour.
pub(super) fn run(options: &CommonOptions) -> Result<Answer, Failure> {
    let mut stage = Stage::set(&env::temp_dir(), options)?;
    match walk(&mut stage) {
        // Temporary folders are often in memory, on a file system that may not be able to exchange names.
        Err(error) if error.kind() == ErrorKind::UnsupportedFileSystem => {
            stage = Stage::set(&options.current, options)?;
            walk(&mut stage).map_err(|error| stage.failed(error))?;
        }
        other => other.map_err(|error| stage.failed(error))?,
    }
    let text = format!("\n{}\n", styled(GOOD, "everything was as promised"));
    Ok(Answer::new(&TourJson { success: true, steps: stage.steps }, text)?)
}

/// The answer for scripts.
#[derive(Serialize, JsonSchema)]
pub(super) struct TourJson {
    success: bool,
    steps: Vec<TourStep>,
}

/// A step that went as it should.
#[derive(Serialize, JsonSchema)]
struct TourStep {
    title: &'static str,
    facts: TourFacts,
}

/// What a step found, as far as it applies.
#[derive(Default, Serialize, JsonSchema)]
struct TourFacts {
    /// The transaction that was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// The transaction that it reverted.
    #[serde(skip_serializing_if = "Option::is_none")]
    reverts: Option<String>,
    /// The code of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'static str>,
    /// The number of files that were new when the process was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    killed_with_swapped: Option<usize>,
    /// The number of files of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    /// What the recovery did.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<Vec<String>>,
    /// `all-new` or `all-old`.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
}

fn walk(stage: &mut Stage<'_>) -> Result<()> {
    let first = commit(stage)?;
    fail(stage)?;
    killed::run(stage, StopAt::Swap)?;
    killed::run(stage, StopAt::Stage)?;
    undo(stage, &first)
}

fn commit(stage: &mut Stage<'_>) -> Result<String> {
    stage.heading("a commit: a function gets another name in three files at once");
    stage.write(OLD)?;
    let request = stage::request(&[
        ("shape.rs", "fn area(", "fn surface("),
        ("main.rs", "shape::area(", "shape::surface("),
        ("README.md", "`area`", "`surface`"),
    ]);
    let report = stage.apply(&request)?;
    let id = report.transaction.ok_or_else(|| off("the commit has no transaction"))?;
    stage.say(&format!("committed {id}"));
    stage.expect(NEW, "new")?;
    stage.done(TourFacts { transaction_id: Some(id.clone()), ..TourFacts::default() });
    Ok(id)
}

fn fail(stage: &mut Stage<'_>) -> Result<()> {
    stage.heading("a failing edit: two edits fit and the third does not, so none is done");
    let request = stage::request(&[
        ("shape.rs", "width * height", "width.saturating_mul(height)"),
        ("main.rs", "12", "13"),
        ("README.md", "Call `surface` with\ta width", "Give `surface` a width"),
    ]);
    let Err(error) = stage.apply(&request) else { return Err(off("an edit that cannot fit was applied")) };
    if error.kind() != ErrorKind::MatchNotFound || error.file() != Some(2) {
        return Err(error);
    }
    let code = error.kind().code();
    stage.say_failure(&Failure::of(request, Shape::Multi)(error));
    stage.expect(NEW, "unchanged")?;
    stage.done(TourFacts { error_code: Some(code), ..TourFacts::default() });
    Ok(())
}

fn undo(stage: &mut Stage<'_>, id: &str) -> Result<()> {
    stage.heading("an undo: the first commit is reverted, by a transaction of its own");
    let report = stage.undo(id)?;
    let by = report.transaction.ok_or_else(|| off("the undo has no transaction"))?;
    stage.say(&format!("undone by {by}"));
    stage.expect(OLD, "as at the beginning")?;
    let facts = TourFacts { transaction_id: Some(by), reverts: Some(id.to_owned()), ..TourFacts::default() };
    stage.done(facts);
    Ok(())
}

/// The error if something is not as the tour says.
fn off(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::UnknownError, message.into())
}

/// The error if the file of a step is not as the tour says.
fn off_at(name: &str, message: &str) -> Error {
    off(format!("{name}: {message}")).at(Path::new(name))
}
