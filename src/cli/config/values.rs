//! Values of the settings file that are valid once they are read, so that an error names their line.

use std::time::Duration;

use serde::Deserialize;

use super::super::options::{EMPTY_CHECK, TIME};
use crate::path::bounds::{BadGlob, Bounds};

/// A time, in seconds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(in crate::cli) struct Seconds(pub Duration);

impl TryFrom<f64> for Seconds {
    type Error = &'static str;

    fn try_from(seconds: f64) -> Result<Self, Self::Error> {
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|_| TIME)
    }
}

/// The command of a check.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(in crate::cli) struct CheckCommand(pub String);

impl TryFrom<String> for CheckCommand {
    type Error = String;

    fn try_from(command: String) -> Result<Self, Self::Error> {
        if command.trim_ascii().is_empty() { Err(format!("the check {EMPTY_CHECK}")) } else { Ok(Self(command)) }
    }
}

/// A glob that can deny something.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(in crate::cli) struct DeniedGlob(pub String);

impl TryFrom<String> for DeniedGlob {
    type Error = BadGlob;

    fn try_from(glob: String) -> Result<Self, Self::Error> {
        Bounds::default().denying([glob.as_str()])?;
        Ok(Self(glob))
    }
}
