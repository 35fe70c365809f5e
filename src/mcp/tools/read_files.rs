//! `read_files`: contents with the hashes that edits may expect.

use super::{Definition, Job};
use crate::error::{ErrorKind, Result};
use crate::limits;
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::validate::Findings;
use crate::wire::Shape;
use crate::wire::read::{ReadFile, ReadFilesSuccess, SkippedFile, TextFile, text_file};
use crate::wire::tools::{ReadFiles, parse_flat};

pub(super) static READ_FILES: Definition = Definition {
    name: "read_files",
    title: "Read files with their hashes",
    toolset: Toolset::Edit,
    description: "Read several files at once, each with its hash and number of lines. Use it before editing: with \
                  the hash as expected_hash, an edit made for a content that is gone is refused. Not for searching. \
                  A file that is missing, binary or too large is skipped with its reason. Example: {\"paths\": \
                  [\"/p/a.rs\", \"/p/b.rs\"], \"max_bytes\": 20000}",
    writes: false,
    idempotent: true,
    input: schema::input::<ReadFiles>,
    output: || {
        schema::output(&[
            ("files", PropertyKind::Objects, "file_path, hash, lines, bytes and content of each."),
            ("skipped", PropertyKind::Objects, "file_path, error_code, reason and recovery_hint of each."),
        ])
    },
    run: |job, arguments| match parse_flat(arguments).and_then(checked) {
        Ok(asked) => ToolAnswer::done(&read(job, &asked), ToolChanges::default()),
        Err(error) => ToolAnswer::error(&error, None, Shape::Single),
    },
};

/// The arguments, validated.
struct ReadFilesCall {
    paths: Vec<String>,
    max_bytes: u64,
}

fn checked(arguments: ReadFiles) -> Result<ReadFilesCall> {
    let mut findings = Findings::new();
    let place = || vec!["paths".to_owned()];
    let paths = arguments.paths.unwrap_or_default();
    if paths.is_empty() {
        findings.push(ErrorKind::ValidationFailed, place(), "`paths` is missing or empty: name at least one file");
    }
    if paths.len() > limits::FILES {
        findings.push(ErrorKind::RequestTooLarge, place(), "too many files in one call");
    }
    findings.finish()?;
    Ok(ReadFilesCall { paths, max_bytes: arguments.max_bytes.unwrap_or(u64::MAX) })
}

/// Reads one file after the other, as long as they fit into the answer.
fn read(job: &Job<'_>, asked: &ReadFilesCall) -> ReadFilesSuccess {
    let mut answer = ReadFilesSuccess { success: true, ..ReadFilesSuccess::default() };
    let mut room = job.max_answer_bytes.saturating_sub(asked.paths.len().saturating_mul(ENTRY_BYTES));
    for (index, path) in asked.paths.iter().enumerate() {
        match read_one(job, index, path, asked.max_bytes, room) {
            Ok(file) => {
                room -= escaped_len(&file.content).min(room);
                answer.files.push(file);
            }
            Err(skipped) => answer.skipped.push(skipped),
        }
    }
    answer
}

/// The bytes of an entry of the answer besides its content: names, hash, a path of usual length.
const ENTRY_BYTES: usize = 300;

fn read_one(job: &Job<'_>, index: usize, path: &str, max_bytes: u64, room: usize) -> Result<ReadFile, SkippedFile> {
    let place = ["paths".to_owned(), index.to_string()];
    let max_bytes = max_bytes.min(limits::MESSAGE_BYTES as u64);
    let TextFile { digest, text, .. } = text_file(job.engine, path, &place, max_bytes, job.run)?;
    let bytes = text.len();
    let needed = escaped_len(&text);
    if needed > room {
        let most = job.max_answer_bytes;
        let reason = if needed > most.saturating_sub(ENTRY_BYTES) {
            format!("its {bytes} bytes do not fit into an answer ({most} bytes): read it with another tool")
        } else {
            format!(
                "its {bytes} bytes do not fit into what is left of this answer ({most} bytes in all): read it in a call of \
                 its own"
            )
        };
        return Err(SkippedFile::new(path, ErrorKind::FileTooLarge, reason));
    }
    let lines = text.lines().count();
    Ok(ReadFile { file_path: path.to_owned(), hash: digest.to_hex(), lines, bytes, content: text })
}

/// The length of a text as a JSON string.
fn escaped_len(text: &str) -> usize {
    let extra = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + text.bytes().map(extra).sum::<usize>()
}
