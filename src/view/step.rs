//! The steps of making a view, and the failure of one.

use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A step of making a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MakeStep {
    /// Starting the process that holds it.
    Start,
    /// The name spaces.
    NameSpace,
    /// The ids in the user name space.
    Users,
    /// Taking the mounts apart from those outside.
    Apart,
    /// Finding its layers again among its own mounts.
    Layers,
    /// Hiding the state folder.
    State,
    /// The overlay.
    Overlay,
    /// A folder that is mounted in it.
    Mount(PathBuf),
}

impl MakeStep {
    /// The failure of this step.
    pub(in crate::view) fn failed(self, error: impl Into<io::Error>) -> MakeFailure {
        let error = error.into();
        MakeFailure { step: self, why: error.to_string() }
    }
}

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MakeFailure {
    /// The step.
    pub(crate) step: MakeStep,
    /// The error in words.
    pub(crate) why: String,
}

impl fmt::Display for MakeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            MakeStep::Start => write!(f, "the process that holds it cannot be started: {}", self.why),
            MakeStep::NameSpace => write!(f, "no name spaces of its own: {}", self.why),
            MakeStep::Users => write!(f, "no ids in a user name space: {}", self.why),
            MakeStep::Apart => write!(f, "its mounts cannot be kept from those outside: {}", self.why),
            MakeStep::Layers => write!(f, "its layers are no longer where they were: {}", self.why),
            MakeStep::State => write!(f, "the state folder cannot be hidden: {}", self.why),
            MakeStep::Overlay => write!(f, "overlayfs cannot be mounted over this folder: {}", self.why),
            MakeStep::Mount(path) => write!(f, "{} cannot be mounted in it: {}", path.display(), self.why),
        }
    }
}
