//! Runs one call of a tool: the engine blocks a thread of its own, can be cancelled, and reports its progress.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio::sync::mpsc;

use super::answer::ToolAnswer;
use super::roots::ServedRoot;
use super::shared::ServerState;
use super::tools::{Definition, Job, PersonSaid, patience};
use super::{choose, commit_watch, elicit, idle, roots};
use crate::cancel::CancelToken;
use crate::digest::Digest;
use crate::engine::{Observer, Phase, Run};
use crate::error::{Error, ErrorKind, Outcome};
use crate::wire::Shape;
use crate::wire::tools::Arguments;

/// The least time between two reports of progress: a client shows a bar, and nobody reads every number.
const PACE: Duration = Duration::from_millis(100);

/// The most characters kept of a client's name.
const CLIENT_CHARS: usize = 80;

/// The characters of a session's name that is made from its id.
const SESSION_CHARS: usize = 16;

/// Runs `tool`. What waits for a person is decided by the one behind the client, if the client can ask them.
pub(super) async fn run(
    shared: &Arc<ServerState>,
    connection: u64,
    tool: &'static Definition,
    arguments: Arguments,
    context: &RequestContext<RoleServer>,
) -> ToolAnswer {
    let can_ask = elicit::is_possible(context);
    let person = Person { said: None, can_ask };
    let answer = run_once(shared, (connection, person), tool, arguments.clone(), context).await;
    if answer.code != Some(ErrorKind::ApprovalPending.code()) || !can_ask {
        return answer;
    }
    let id = arguments.get("transaction_id").and_then(Value::as_str).unwrap_or_default();
    let patience = patience(arguments.get("wait_seconds").and_then(Value::as_u64));
    let Some(question) = shared.asked.question(id) else { return answer };
    let asked = tokio::select! {
        asked = elicit::ask(context, &question, patience) => asked,
        () = context.ct.cancelled() => return answer,
        () = shared.stop.cancelled() => return answer,
    };
    let person = match asked {
        // In any case once more: somebody may have decided elsewhere meanwhile.
        Ok(said) => Person { said, can_ask },
        Err(error) => {
            tracing::warn!("the client does not ask its person: {error}");
            Person { said: None, can_ask: false }
        }
    };
    run_once(shared, (connection, person), tool, arguments, context).await
}

/// Runs `tool`, after a person said what is to be done, if one was asked. If the caller goes away, the engine call continues:
/// it stops before the first swap or finishes.
async fn run_once(
    shared: &Arc<ServerState>,
    (connection, person): (u64, Person),
    tool: &'static Definition,
    arguments: Arguments,
    context: &RequestContext<RoleServer>,
) -> ToolAnswer {
    if let Err(error) = roots::settle(shared, context).await {
        return ToolAnswer::error(&error, None, Shape::Multi);
    }
    let started = Instant::now();
    let cancel = CancelToken::new();
    // Steps that the client is too slow to receive are dropped.
    let (steps, mut heard) = mpsc::channel(16);
    let token = context.meta.get_progress_token();
    let busy = idle::session_of(context).map(|session| shared.sessions.begin(session));
    let mut working = shared.running.spawn_blocking({
        let (shared, cancel) = (Arc::clone(shared), cancel.clone());
        let client = client_of(context);
        let session = session_name(idle::session_of(context).as_deref(), || shared.session(connection));
        let steps = token.is_some().then_some(steps);
        let observer = ProgressSender { steps, last: Mutex::new(None), client, session };
        move || {
            let run = Run::default().cancelled_by(&cancel).observed_by(&observer);
            let answer = work(&shared, (connection, person), tool, arguments, run);
            log(tool, &answer, started, cancel.is_cancelled());
            drop(busy);
            answer
        }
    });
    let is_over = || async {
        tokio::select! {
            () = context.ct.cancelled() => {}
            () = shared.stop.cancelled() => {}
        }
    };
    let done = loop {
        tokio::select! {
            biased;
            // A report waits until the client takes it, which it may never do again.
            Some(step) = heard.recv(), if !cancel.is_cancelled() => tokio::select! {
                () = tell(context, token.as_ref(), step) => {}
                () = is_over() => cancel.cancel(),
            },
            done = &mut working => break done,
            () = is_over(), if !cancel.is_cancelled() => cancel.cancel(),
        }
    };
    done.unwrap_or_else(|_| {
        let message = "the server failed inside; read the files before sending anything else";
        let error = Error::new(ErrorKind::UnknownError, message).outcome_is(Outcome::RecoveryRequired);
        ToolAnswer::error(&error, None, Shape::Multi)
    })
}

/// The person behind a client.
#[derive(Debug, Clone, Copy)]
struct Person {
    /// What they said.
    said: Option<PersonSaid>,
    /// True if the client can ask them.
    can_ask: bool,
}

/// Runs a tool and tells the subscribers of what it committed. Blocks.
fn work(
    shared: &ServerState,
    (connection, Person { said, can_ask }): (u64, Person),
    tool: &Definition,
    mut arguments: Arguments,
    run: Run<'_>,
) -> ToolAnswer {
    let (roots, are_present) = shared.workspace.at_call(shared);
    let check = |root: &ServedRoot| if are_present { Ok(()) } else { root.check_place() };
    let chosen = choose::workspace(&roots, &mut arguments).and_then(|root| check(root).map(|()| root));
    let root = match chosen {
        Ok(root) => root,
        Err(error) => return ToolAnswer::error(&error, None, Shape::Multi),
    };
    let job = Job {
        engine: &root.engine,
        root,
        roots: &roots,
        connection,
        commits: &shared.commits,
        run: run.diffs_up_to(shared.options.max_answer_bytes),
        may_write: shared.may_write(),
        asked: &shared.asked,
        page: shared.page.get().map(String::as_str),
        can_ask,
        said,
        allow_checks: shared.options.allow_checks,
        check_limit: shared.options.check_limit,
        max_answer_bytes: shared.options.max_answer_bytes,
        #[cfg(feature = "delegate")]
        delegate: &shared.options.delegate,
    };
    commit_watch::begin(shared);
    let answer = (tool.run)(&job, arguments);
    if let Some(transaction) = &answer.changes.committed {
        shared.commits.add(transaction, connection);
    }
    commit_watch::tell(shared);
    answer
}

fn log(tool: &Definition, answer: &ToolAnswer, started: Instant, is_cancelled: bool) {
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    let transaction = answer.transaction.as_deref().unwrap_or("-");
    let result = answer.code.unwrap_or("done");
    // A client that cancelled gets no answer, so this is the only record of a commit that was too late to stop.
    let note = if is_cancelled && answer.code.is_none() { ", finished although cancelled" } else { "" };
    tracing::info!("{}: {result}{note}, transaction {transaction}, {milliseconds:.1} ms", tool.name);
}

/// The progress of a call.
#[derive(Debug, Clone, Copy)]
struct ProgressStep {
    phase: Phase,
    done: usize,
    total: usize,
}

/// Passes on the progress of the engine, not too often.
struct ProgressSender {
    steps: Option<mpsc::Sender<ProgressStep>>,
    last: Mutex<Option<Instant>>,
    client: Option<String>,
    session: String,
}

/// The client's own name, reduced to a few plain characters: it goes into the log.
fn client_of(context: &RequestContext<RoleServer>) -> Option<String> {
    let client = context.client_info()?;
    let name = format!("{} {}", client.name, client.version);
    let plain: String = name.chars().filter(|c| !c.is_control()).take(CLIENT_CHARS).collect();
    Some(plain.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The name of a session in the log, where every client reads it: the id of a session over HTTP is a secret of its client.
fn session_name(id: Option<&str>, of_connection: impl FnOnce() -> String) -> String {
    match id {
        Some(id) => format!("mcp-{}", &Digest::of(id.as_bytes()).to_hex()[..SESSION_CHARS]),
        None => of_connection(),
    }
}

impl Observer for ProgressSender {
    fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    fn session(&self) -> Option<&str> {
        Some(&self.session)
    }

    fn progress(&self, phase: Phase, done: usize, total: usize) {
        let Some(steps) = &self.steps else { return };
        let Ok(mut last) = self.last.lock() else { return };
        if last.is_none_or(|last| last.elapsed() >= PACE) {
            *last = Some(Instant::now());
            let _ = steps.try_send(ProgressStep { phase, done, total });
        }
    }
}

/// Reports progress to the client as a number that only grows: each phase goes through all files once.
#[expect(clippy::cast_precision_loss, reason = "files are counted in thousands")]
async fn tell(context: &RequestContext<RoleServer>, token: Option<&ProgressToken>, step: ProgressStep) {
    let Some(token) = token else { return };
    let ProgressStep { phase, done, total } = step;
    let (before, word) = match phase {
        Phase::Read => (0, "read"),
        Phase::Stage => (1, "staged"),
        Phase::Swap => (2, "swapped"),
        Phase::Check => (2, "checked"),
        Phase::Rollback => (3, "put back"),
    };
    let phases = before.max(2) + 1;
    let progress = ProgressNotificationParam::new(token.clone(), (before * total + done) as f64)
        .with_total((phases * total) as f64)
        .with_message(format!("{word} {done} of {total} files"));
    let _ = context.peer.notify_progress(progress).await;
}
