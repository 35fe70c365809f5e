//! `txedit review --web`: serves the page, until a signal ends it.

use std::sync::Arc;

use crate::cli::failure::Failure;
use crate::cli::next_step;
use crate::cli::options::CommonOptions;
use crate::cli::output::{self, Answer};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::web::{self, HoldsEngine, Served};

pub(super) fn run(port: Option<u16>, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine: Arc<Engine> = Arc::new(options.engine()?);
    let served = Served {
        source: Box::new(move || Ok(Arc::clone(&engine) as Arc<dyn HoldsEngine>)),
        port: port.unwrap_or_default(),
        check_limit: options.check_limit,
        words: next_step::words,
    };
    web::run(served, &|address| {
        if !options.quiet {
            output::note("whoever has this address can approve and discard; ^C ends the page");
        }
        output::result(&format!("{address}\n")).map_err(|e| Error::io("print", "the address", e))
    })?;
    // The address was printed at the start.
    Ok(Answer::for_people(""))
}
