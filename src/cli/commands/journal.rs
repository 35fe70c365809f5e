//! `txedit journal FILE`.

use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::args::JournalArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, GOOD, NAME, count, kind_column, styled};
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::fs::input;
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::record::{IdentityField, StateField};
use crate::journal::{self, Journal, JournalState, Record, RecordedPart};
use crate::limits;

pub(super) fn run(args: &JournalArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let path = options.absolute(&args.file);
    let bytes = input::read_file(&path, limits::JOURNAL_BYTES)?;
    let journal = journal::scan(&bytes).map_err(|corrupt| {
        let message = format!("{} does not verify: {corrupt}", args.file.display());
        let finding = Finding {
            kind: ErrorKind::ValidationFailed,
            message,
            path: vec!["journal".to_owned()],
            did_you_mean: None,
        };
        Error::findings(vec![finding]).at(&path)
    })?;
    let journal_state = journal_state(&path);
    Ok(Answer::new(&JournalJson::new(&journal, journal_state), for_people(&journal, journal_state))?)
}

/// The state that the file's name stands for, if it is the name of a journal.
fn journal_state(path: &Path) -> Option<JournalState> {
    let name = path.file_name()?;
    JournalState::ALL.into_iter().find(|journal_state| name == journal_state.file_name())
}

fn word(journal_state: JournalState) -> &'static str {
    match journal_state {
        JournalState::New => "new",
        JournalState::Sealed => "sealed",
        JournalState::Contended => "contended",
        JournalState::Check => "check",
        JournalState::Done => "done",
        JournalState::Undo => "undo",
        JournalState::CheckUndo => "check_undo",
    }
}

fn for_people(journal: &Journal, journal_state: Option<JournalState>) -> String {
    let mut text = String::new();
    let header = &journal.header;
    let _ = writeln!(text, "{} and has its seal", styled(GOOD, "the journal verifies"));
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:13}{value}");
    };
    line("transaction", &styled(NAME, &header.id).to_string());
    if let Some(journal_state) = journal_state {
        line("state", word(journal_state));
    }
    line("entries", &journal.entries.len().to_string());
    line("on a crash", if journal.back_on_crash { "all-old" } else { "by the evidence" });
    line("workspace", &header.workspace);
    line("folder", &identity(&header.folder));
    line("boot", &header.boot);
    let owner = &header.owner;
    line("owner", &format!("{}, process {}, user {}, on {}", owner.program, owner.process, owner.user, owner.host));
    let request = header.request.map(|digest| digest.to_hex());
    let reverts = (!header.reverts.is_empty()).then(|| header.reverts.join(", "));
    let optional = [
        ("reverts", &reverts),
        ("opened as", &header.opened),
        ("key", &header.key),
        ("request", &request),
        ("swap", &header.swap.word().map(str::to_owned)),
        ("label", &header.label),
        ("session", &header.session),
        ("campaign", &header.campaign),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            line(name, &value.escape_debug().to_string());
        }
    }
    for part in &header.parts {
        line("part", &format!("{} {}", part.path, identity(&part.folder)));
    }
    for (entry, record) in journal.entries.numbered() {
        push(&mut text, entry, record);
    }
    text
}

fn push(text: &mut String, entry: EntryIndex, record: &Record) {
    let change = &record.change;
    let _ = writeln!(text, "{} {}{}", journal::slot_name(entry), kind_column(change.kind()), record.path);
    for (name, state) in [("before", change.before()), ("after", change.after())] {
        if let Some(state) = state {
            let (digest, mode) = (state.digest, state.mode);
            let _ = writeln!(text, "       {name:9}{digest} {mode:04o} {}", count_bytes(state.size));
        }
    }
    if let Some(staged) = change.staged() {
        let _ = writeln!(text, "       staged   {}", identity(staged));
    }
}

fn count_bytes(size: u64) -> String {
    usize::try_from(size).map_or_else(|_| format!("{size} bytes"), |size| count(size, "byte"))
}

fn identity(identity: &Identity) -> String {
    match identity.born {
        Some(born) => format!("inode {}, born {born}", identity.inode),
        None => format!("inode {}", identity.inode),
    }
}

/// The journal for scripts.
#[derive(Serialize, JsonSchema)]
pub(super) struct JournalJson<'a> {
    success: bool,
    transaction_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    back_on_crash: bool,
    workspace: &'a str,
    folder: IdentityField,
    boot: &'a str,
    owner: OwnerView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverts: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    reverts_also: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    campaign: Option<&'a str>,
    entries: Vec<EntryView>,
}

#[derive(Serialize, JsonSchema)]
struct OwnerView<'a> {
    program: &'a str,
    process: u32,
    user: u32,
    host: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct PartView {
    path: String,
    folder: IdentityField,
    /// The first word of the file `id` of the state folder that it is in.
    state: String,
}

#[derive(Serialize, JsonSchema)]
struct EntryView {
    slot: String,
    kind: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<StateField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<StateField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    staged: Option<IdentityField>,
}

impl<'a> JournalJson<'a> {
    fn new(journal: &'a Journal, journal_state: Option<JournalState>) -> Self {
        let header = &journal.header;
        let owner = &header.owner;
        Self {
            success: true,
            transaction_id: &header.id,
            state: journal_state.map(word),
            back_on_crash: journal.back_on_crash,
            workspace: &header.workspace,
            folder: (&header.folder).into(),
            boot: &header.boot,
            owner: OwnerView { program: &owner.program, process: owner.process, user: owner.user, host: &owner.host },
            reverts: header.reverts.first().map(String::as_str),
            reverts_also: header.reverts.get(1..).unwrap_or_default(),
            opened: header.opened.as_deref(),
            key: header.key.as_deref(),
            request: header.request.map(|digest| digest.to_hex()),
            swap: header.swap.word(),
            parts: header.parts.iter().map(PartView::new).collect(),
            label: header.label.as_deref(),
            session: header.session.as_deref(),
            campaign: header.campaign.as_deref(),
            entries: journal.entries.numbered().map(|(entry, record)| EntryView::new(entry, record)).collect(),
        }
    }
}

impl PartView {
    fn new(part: &RecordedPart) -> Self {
        Self { path: part.path.to_string(), folder: (&part.folder).into(), state: part.state.clone() }
    }
}

impl EntryView {
    fn new(entry: EntryIndex, record: &Record) -> Self {
        let change = &record.change;
        Self {
            slot: journal::slot_name(entry),
            kind: change.kind(),
            path: record.path.to_string(),
            before: change.before().map(StateField::from),
            after: change.after().map(StateField::from),
            staged: change.staged().map(IdentityField::from),
        }
    }
}
