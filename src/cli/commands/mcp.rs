//! `txedit mcp`: makes the options of the server from what was typed.

use std::env;
use std::path::Path;
use std::time::Duration;

use crate::check::group::TOKEN;
use crate::cli::args::McpArgs;
use crate::cli::failure::Failure;
use crate::cli::next_step;
use crate::cli::options::{self, CommonOptions};
use crate::cli::output::{self, Answer};
use crate::error::Result;
use crate::fs::input;
use crate::mcp::{self, BearerToken, Http, ServedWorkspace, Toolsets, Verbosity};
use crate::path::shown;
use crate::wire::hints::StepWords;

/// The largest size of a token file, in bytes.
const TOKEN_BYTES: u64 = 4_096;

pub(super) fn run(args: &McpArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let workspace = workspace(args, options)?;
    let http = match args.http {
        Some(address) => {
            let token = token(args.token_file.as_deref())?;
            let session_idle = Duration::from_secs(args.session_idle);
            let review = args.review_page.then_some(next_step::words as StepWords);
            Some(Http {
                address,
                token,
                hosts: args.hosts.clone(),
                session_idle,
                origins: args.origins.clone(),
                review,
            })
        }
        None => None,
    };
    let server = mcp::ServerOptions {
        toolsets: toolsets(args)?,
        read_only: args.read_only,
        approve: args.approve,
        allow_checks: options.allow_checks,
        check_limit: options.check_limit,
        max_answer_bytes: args.max_answer_bytes,
        #[cfg(feature = "delegate")]
        delegate: crate::delegate::Flags {
            model: args.delegate.model.clone(),
            timeout: args.delegate.timeout,
            file_bytes: args.delegate.max_file_bytes,
            prompt_bytes: args.delegate.max_prompt_bytes,
        },
        verbosity: if options.verbose { Verbosity::Calls } else { Verbosity::Quiet },
        http,
    };
    mcp::run(workspace, server)?;
    // Stdout was used for the protocol.
    Ok(Answer::for_people(""))
}

/// The workspace that is served. If none is named, a client on stdin may know better than the current folder, and is
/// asked; over HTTP the caller may be anybody.
fn workspace(args: &McpArgs, options: &CommonOptions) -> Result<ServedWorkspace> {
    let again = options.clone();
    let reopen = Box::new(move |root: &Path| again.engine_again(root));
    if args.http.is_some() || options.is_named() {
        return Ok(ServedWorkspace::known(options.engine()?, reopen));
    }
    let options = options.clone();
    let open = Box::new(move |root: Option<&Path>| match root {
        Some(root) => options.engine_of_client(root),
        None => options.engine(),
    });
    Ok(ServedWorkspace::of_client(open, reopen))
}

fn toolsets(args: &McpArgs) -> Result<Toolsets> {
    let named = args.toolsets.as_deref().map(str::parse).transpose();
    let named: Toolsets = named.map_err(|why: String| options::usage("--toolsets", why))?.unwrap_or_default();
    Ok(if args.allow_run { named.allowing_run() } else { named })
}

/// The token, if one was given. An empty or short one is an error, not a missing one.
fn token(file: Option<&Path>) -> Result<Option<BearerToken>> {
    let (name, text) = match file {
        Some(file) => {
            if input::is_open_to_others(file)? {
                let file = shown(file);
                output::note(format!("warning: {file} holds the token, and others can read it: chmod 600 {file}"));
            }
            ("--token-file", String::from_utf8_lossy(&input::read_file(file, TOKEN_BYTES)?).into_owned())
        }
        None => match env::var(TOKEN) {
            Ok(text) => (TOKEN, text),
            Err(env::VarError::NotPresent) => return Ok(None),
            Err(env::VarError::NotUnicode(_)) => return Err(options::usage(TOKEN, "the token is not UTF-8")),
        },
    };
    match BearerToken::new(&text) {
        Some(token) => Ok(Some(token)),
        None => Err(options::usage(name, format!("a token must have at least {} characters", BearerToken::MIN_CHARS))),
    }
}
