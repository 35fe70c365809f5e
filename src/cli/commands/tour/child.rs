//! The process that the tour kills: it applies a plan and stops on the way.

use std::io;

use crate::cli::args::{StopAt, TourChildArgs};
use crate::cli::commands::{apply, transact};
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{self, Answer};
use crate::engine::{Observer, Phase, Run};
use crate::error::Result;

/// The line that the child prints at its stop.
pub(super) const READY: &str = "ready\n";

/// The number of files that are complete at the stop: some, not all.
const THROUGH: usize = 2;

/// Applies the plan.
pub(in crate::cli::commands) fn run(args: &TourChildArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let request = apply::read_plan(&args.plan, options)?;
    let stop = Stop(args.stop);
    let cancel = crate::cli::signals::cancel_token()?;
    let report = options.engine()?.apply(&request, Run::default().cancelled_by(&cancel).observed_by(&stop))?;
    Ok(transact::answer(&report, &request, "committed", options)?)
}

/// Stops before one step and waits to be killed.
struct Stop(StopAt);

impl Observer for Stop {
    fn progress(&self, phase: Phase, done: usize, _total: usize) {
        let wanted = match self.0 {
            StopAt::Stage => Phase::Stage,
            StopAt::Swap => Phase::Swap,
        };
        if phase == wanted && done == THROUGH && output::plain_result(READY).is_ok() {
            // Nothing ever arrives; but if the parent dies first, its end of the pipe closes and this goes on.
            let _ = io::stdin().read_line(&mut String::new());
        }
    }
}
