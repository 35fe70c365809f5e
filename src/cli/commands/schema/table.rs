//! Every JSON object that the program reads or writes, each with the type that does it.

use serde_json::{Map, Value};

use super::SchemaJson;
use super::generate::{read, written};
use crate::cli::commands::{campaign, completions, doctor, help, journal, kept, man, recover, torture, tour};
use crate::cli::failure::ForScripts;
use crate::wire::{RequestJson, history, open, replace, response, review};

/// A JSON object that has a schema.
pub(super) struct DescribedJson {
    pub(super) name: &'static str,
    /// What it is.
    pub(super) about: &'static str,
    /// The commands whose answer it is.
    pub(super) commands: &'static [&'static str],
    make: fn() -> Map<String, Value>,
}

/// All of them: first what is not of one command.
pub(super) const TABLE: &[DescribedJson] = &[
    described("request", "the plan that apply and stage read", &[], read::<RequestJson>),
    described("error", "what any command writes that fails", &[], written::<ForScripts<'_>>),
    described(
        "answer",
        "apply, edit, create, mv, rm, run, commit, undo, redo and kept restore: what changed",
        &["apply", "edit", "create", "mv", "rm", "run", "commit", "undo", "redo", "kept restore"],
        written::<response::MultiSuccess>,
    ),
    described("replace", "replace: what changed, and what was searched", &["replace"], written::<replace::Replaced>),
    described("stage", "stage, and run --stage", &["stage", "run --stage"], written::<open::StagedJson>),
    described("preview", "preview: what a commit would change", &["preview"], written::<open::PreviewJson>),
    described(
        "review",
        "review, and --pick: what was taken and committed, and what became of the rest",
        &["review", "apply --pick", "replace --pick", "undo --pick", "run --pick"],
        written::<review::ReviewedJson>,
    ),
    described("rollback", "rollback", &["rollback"], written::<history::DoneJson>),
    described("log", "log: the committed transactions", &["log"], written::<history::Log>),
    described("show", "show: a transaction and its diffs", &["show"], written::<history::Show>),
    described("patch", "show --format git", &["show --format git"], written::<history::PatchJson>),
    described("status", "status: interrupted, open and kept", &["status"], written::<history::StatusJson>),
    described("recover", "recover: what was done, or would be", &["recover"], written::<recover::RecoverJson>),
    described("kept list", "kept list", &["kept list"], written::<history::KeptList>),
    described("kept drop", "kept drop", &["kept drop"], written::<kept::DroppedJson<'_>>),
    described("history prune", "history prune", &["history prune"], written::<history::PrunedJson>),
    described(
        "history move",
        "history move: where the state folder was and is",
        &["history move"],
        written::<history::MovedJson>,
    ),
    described(
        "campaign",
        "campaign status, run, retry, undo, work and shard: planned minus reported",
        &["campaign status", "campaign run", "campaign retry", "campaign undo", "campaign work", "campaign shard"],
        written::<campaign::CampaignStatusJson>,
    ),
    described("campaign new", "campaign new", &["campaign new"], written::<campaign::CampaignPlannedJson>),
    described("campaign report", "campaign report", &["campaign report"], written::<campaign::CampaignReportJson>),
    described("campaign pending", "campaign pending", &["campaign pending"], written::<campaign::CampaignPendingJson>),
    described("journal", "journal: a journal that verifies", &["journal"], written::<journal::JournalJson<'_>>),
    described("doctor", "doctor: what a file system guarantees", &["doctor"], written::<doctor::DoctorJson<'_>>),
    described("torture", "doctor --torture", &["doctor --torture"], written::<torture::Tally>),
    described("tour", "tour", &["tour"], written::<tour::TourJson>),
    #[cfg(feature = "delegate")]
    described(
        "delegate",
        "delegate: the answer of the second model, and its proposal",
        &["delegate analyze", "delegate implement", "delegate refactor", "delegate verify"],
        written::<crate::delegate::DelegateSuccess>,
    ),
    described("completions", "completions", &["completions"], written::<completions::CompletionsJson<'_>>),
    described("man", "man", &["man"], written::<man::ManJson>),
    described("help", "help", &["help"], written::<help::HelpJson>),
    described("schema", "schema: this list, or a schema", &["schema"], written::<SchemaJson>),
];

const fn described(
    name: &'static str,
    about: &'static str,
    commands: &'static [&'static str],
    make: fn() -> Map<String, Value>,
) -> DescribedJson {
    DescribedJson { name, about, commands, make }
}

impl DescribedJson {
    /// The one of this name, or of this command.
    pub(super) fn named(asked: &str) -> Option<&'static Self> {
        let by_command = || TABLE.iter().find(|described| described.commands.contains(&asked));
        TABLE.iter().find(|described| described.name == asked).or_else(by_command)
    }

    /// Its schema.
    pub(super) fn schema(&self) -> Map<String, Value> {
        let mut schema = (self.make)();
        schema.insert("title".to_owned(), format!("txedit {}", self.name).into());
        schema.insert("description".to_owned(), self.about.into());
        schema
    }
}
