//! The process that is killed: it commits one transaction after the other until then.

use std::path::PathBuf;

use super::work::{self, SplitMix64};
use crate::cli::args::TortureChildArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{self, Answer};
use crate::engine::{Engine, Run};
use crate::error::{Error, Result};
use crate::wire::history::DoneJson;

/// The line that the child prints after each reported commit, and once before the first.
pub(super) const REPORTED: &str = "reported\n";

/// A limit, so that a child whose parent was killed does not stay.
const MOST: usize = 100_000;

pub(in crate::cli::commands) fn run(args: &TortureChildArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let mut files = work::look(options.root()?)?;
    let mut dice = SplitMix64::new(args.seed);
    // Nothing cancels it: it is there to be killed.
    for _ in 0..MOST {
        output::plain_result(REPORTED).map_err(|e| Error::io("write to", PathBuf::from("stdout"), e))?;
        let request = work::next(&mut files, &mut dice);
        // A new engine each time, as in each start of the program. No check of the user's is about these files.
        let engine = Engine::open_with(options.root()?, options.scratch_settings())?;
        engine.apply(&request, Run::default())?;
    }
    Ok(Answer::new(&DoneJson::default(), "")?)
}
