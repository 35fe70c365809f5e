//! What a campaign is to do: `campaign.json`.

use serde::{Deserialize, Serialize};

/// The version of the format.
const FORMAT: u32 = 1;

/// What was planned.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    format: u32,
    /// Its name, and random digits: it is in the journals of all its transactions, and the start of their keys.
    pub(crate) id: String,
    /// When it was made, RFC 3339.
    created: String,
    /// The number of workspaces.
    pub(crate) workspaces: usize,
    pub(crate) action: CampaignAction,
    /// Common options of each command, such as a check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) options: Vec<String>,
}

/// What is done in each workspace. Texts of a plan and of a search may have `{{NAME}}` in them, for a variable of the
/// workspace; commands have the variables in their environment, where no shell reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum CampaignAction {
    /// The plan, or the patch, in the campaign's folder is applied.
    Apply {
        /// True if it is a plan, whose texts may have variables; a patch is applied as it is.
        template: bool,
    },
    /// A command of the shell prints the plan; one that prints nothing has nothing to do.
    PlanCommand {
        /// The command, run in the root of the workspace.
        command: String,
    },
    /// A text or pattern is replaced.
    Replace {
        pattern: String,
        replacement: String,
        /// The options of the search.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<String>,
    },
    /// A command of the shell is run in a view.
    Run {
        /// The command, run in the root of the workspace.
        command: String,
    },
}

impl Manifest {
    /// One that is made now.
    pub(crate) fn new(id: String, workspaces: usize, action: CampaignAction, options: Vec<String>) -> Self {
        let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Self { format: FORMAT, id, created, workspaces, action, options }
    }

    /// Says why it cannot be followed.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.format == FORMAT { Ok(()) } else { Err(format!("its format is {}, not {FORMAT}", self.format)) }
    }
}
