//! The JSON of delegations: arguments and answers.

use serde::{Deserialize, Serialize};

use super::delegation::{Delegated, Failed, ProposalOutcome};
use crate::request::Request;
use crate::wire::failure::FailureJson;
use crate::wire::file_result::FileResult;
use crate::wire::hints::StepWords;
use crate::wire::open;
use crate::wire::read::SkippedFile;
use crate::wire::response::{MultiSuccess, success_multi};
use crate::wire::{Shape, failure};

/// The arguments of `kimi_analyze`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Analyze {
    /// The question, with all that the delegate must know.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub prompt: Option<String>,
    /// Files to show to it, absolute paths.
    pub files: Option<Vec<String>>,
    /// What else it should know.
    pub context: Option<String>,
    /// `general`, `security`, `performance`, `refactor`, or one of the configuration.
    pub role: Option<String>,
}

/// The arguments of `kimi_implement`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Implement {
    /// What is to be implemented.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub prompt: Option<String>,
    /// Files to show to it, absolute paths.
    pub files: Option<Vec<String>>,
    /// What the changes must keep to.
    pub constraints: Option<String>,
    /// Commit the proposal at once.
    pub apply: Option<bool>,
    /// With `apply`: a program and its arguments; its failure puts all files back.
    pub check: Option<Vec<String>>,
}

/// The arguments of `kimi_refactor`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Refactor {
    /// What is to be restructured, and how.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub prompt: Option<String>,
    /// Files to show to it, absolute paths.
    pub files: Option<Vec<String>>,
    /// Ask it to keep the behaviour; true unless told otherwise.
    pub safety_checks: Option<bool>,
    /// Commit the proposal at once.
    pub apply: Option<bool>,
    /// With `apply`: a program and its arguments; its failure puts all files back.
    pub check: Option<Vec<String>>,
}

/// The arguments of `kimi_verify`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// What is to be checked.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub prompt: Option<String>,
    /// Files to show to it, absolute paths.
    pub files: Option<Vec<String>>,
    /// What is required.
    pub requirements: Option<String>,
    /// Judge the diff of this transaction, open or committed.
    pub transaction_id: Option<String>,
}

/// The answer of all four.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "testing",
    expect(missing_docs, reason = "the names are the wire's, explained in docs/delegation.md")
)]
pub struct DelegateSuccess {
    pub success: bool,
    /// The last answer of the delegate.
    pub answer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The time it took.
    pub seconds: f64,
    /// True if the prompt was too long for an argument, and went to a file.
    pub prompt_in_file: bool,
    /// The files that it was shown.
    pub files: Vec<GivenFile>,
    /// Files that it was not shown; they are no error for the rest.
    pub skipped: Vec<SkippedFile>,
    /// `patch`: in its answer; `scratch`: in its scratch folder; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<&'static str>,
    /// True if the proposal was committed; otherwise it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_edited: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_results: Vec<FileResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A file that a delegate was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GivenFile {
    pub file_path: String,
    pub hash: String,
    pub bytes: usize,
}

impl From<&Delegated> for DelegateSuccess {
    fn from(done: &Delegated) -> Self {
        let given = done.context.files.iter().map(|file| GivenFile {
            file_path: file.named.clone(),
            hash: file.digest.to_hex(),
            bytes: file.text.len(),
        });
        let mut success = Self {
            success: true,
            answer: done.answer.clone(),
            role: done.role.clone(),
            model: done.model.clone(),
            seconds: (done.took.as_secs_f64() * 10.0).round() / 10.0,
            prompt_in_file: done.prompt_in_file,
            files: given.collect(),
            skipped: done.context.skipped.clone(),
            proposal: None,
            committed: None,
            transaction_id: None,
            expires_at: None,
            plan_hash: None,
            diff: None,
            files_edited: None,
            file_results: Vec::new(),
            warnings: done.warnings.clone(),
        };
        if let Some(outcome) = &done.outcome {
            success.tell(outcome);
        }
        success
    }
}

impl DelegateSuccess {
    fn tell(&mut self, outcome: &ProposalOutcome) {
        let open::PreviewJson { transaction_id, expires_at, plan_hash, diff, file_results, warnings, .. } =
            (&outcome.preview).into();
        self.proposal = Some(outcome.origin.as_str());
        self.committed = Some(outcome.report.is_some());
        self.diff = Some(diff);
        let Some(report) = &outcome.report else {
            self.transaction_id = Some(transaction_id);
            self.expires_at = Some(expires_at);
            self.plan_hash = Some(plan_hash);
            self.file_results = file_results;
            self.warnings.extend(warnings);
            return;
        };
        let MultiSuccess { transaction_id, files_edited, mut file_results, warnings, .. } =
            success_multi(report, &Request::default());
        for file in &mut file_results {
            file.diff = None;
        }
        self.transaction_id = transaction_id;
        self.files_edited = Some(files_edited);
        self.file_results = file_results;
        self.warnings.extend(warnings);
    }
}

/// The answer of a delegation that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelegateFailure {
    /// The fields common to all tools.
    #[serde(flatten)]
    pub failure: FailureJson,
    /// The delegate's answer, if its proposal failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl DelegateFailure {
    /// The answer for `failed`, with the next steps in the `words` of the front-end.
    #[must_use]
    pub fn new(failed: &Failed, words: StepWords) -> Self {
        let failure = failure(&failed.error, failed.request.as_deref(), Shape::Multi, words);
        Self { failure, answer: failed.answer.clone() }
    }
}
