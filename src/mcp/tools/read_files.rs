//! `read_files`: contents with the hashes that edits may expect.

use super::{Definition, Job};
use crate::charset::Charset;
use crate::error::{ErrorKind, Result};
use crate::limits;
use crate::mcp::answer::ToolAnswer;
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::validate::Findings;
use crate::wire::read::{ReadFile, ReadFilesSuccess, SkippedFile, TextFile, text_file};
use crate::wire::tools::{ReadFiles, parse_flat};

pub(super) static READ_FILES: Definition = Definition {
    name: "read_files",
    title: "Read files with their hashes",
    toolset: Toolset::Edit,
    description: "Read several files, each with its hash and number of lines. Use it before editing, with the hash as \
                  expected_hash; not for searching. A file that is missing, binary or too large is skipped, with its \
                  reason; read a long one by start_line and end_line. Example: {\"paths\": [\"/p/a.rs\"]}",
    writes: false,
    idempotent: true,
    input: schema::input::<ReadFiles>,
    output: || {
        schema::output(&[
            (
                "files",
                PropertyKind::Objects,
                "file_path, hash, lines, bytes and content of each; start_line and end_line of a piece. In the text, content_block is the number of the block that has the content.",
            ),
            ("skipped", PropertyKind::Objects, "file_path, error_code, reason and recovery_hint of each."),
        ])
    },
    run: |job, arguments| match parse_flat(arguments).and_then(checked) {
        Ok(asked) => ToolAnswer::contents(&read(job, &asked)),
        Err(error) => job.failed_file(&error, None),
    },
};

/// The arguments, validated.
struct ReadFilesCall {
    paths: Vec<String>,
    max_bytes: u64,
    /// The lines to answer, if not all of them.
    lines: Option<LineRange>,
    hash_only: bool,
    /// The encoding of all of them, if it was named.
    encoding: Option<Charset>,
}

/// Lines of a file, from 1, both included.
#[derive(Clone, Copy)]
struct LineRange {
    first: usize,
    last: usize,
}

fn checked(arguments: ReadFiles) -> Result<ReadFilesCall> {
    let mut findings = Findings::new();
    let mut refuse = |field: &str, kind, message: &str| findings.push(kind, vec![field.to_owned()], message);
    let ReadFiles { paths, max_bytes, start_line, end_line, hash_only, encoding } = arguments;
    let paths = paths.unwrap_or_default();
    if paths.is_empty() {
        refuse("paths", ErrorKind::ValidationFailed, "`paths` is missing or empty: name at least one file");
    }
    if paths.len() > limits::FILES {
        refuse("paths", ErrorKind::RequestTooLarge, "too many files in one call");
    }
    let first = start_line.unwrap_or(1);
    if first == 0 {
        refuse("start_line", ErrorKind::ValidationFailed, "lines are counted from 1");
    }
    if end_line.is_some_and(|last| last < first) {
        refuse("end_line", ErrorKind::ValidationFailed, "the last line is before the first");
    }
    let encoding = encoding.map(|label| label.parse::<Charset>());
    if let Some(Err(error)) = &encoding {
        refuse("encoding", ErrorKind::ValidationFailed, &error.to_string());
    }
    findings.finish()?;
    let encoding = encoding.and_then(Result::ok);
    let lines = (start_line.is_some() || end_line.is_some())
        .then_some(LineRange { first, last: end_line.unwrap_or(usize::MAX) });
    let max_bytes = max_bytes.unwrap_or(u64::MAX);
    Ok(ReadFilesCall { paths, max_bytes, lines, hash_only: hash_only.unwrap_or(false), encoding })
}

/// Reads one file after the other, as long as they fit into the answer.
fn read(job: &Job<'_>, asked: &ReadFilesCall) -> ReadFilesSuccess {
    let mut answer = ReadFilesSuccess { success: true, ..ReadFilesSuccess::default() };
    let mut room = job.max_answer_bytes.saturating_sub(asked.paths.len().saturating_mul(ENTRY_BYTES));
    for (index, path) in asked.paths.iter().enumerate() {
        match read_one(job, index, path, asked, room) {
            Ok(mut file) => {
                file.file_path = job.absolute(path);
                room -= file.content.as_deref().map_or(0, escaped_len).min(room);
                answer.files.push(file);
            }
            Err(skipped) => answer.skipped.push(SkippedFile { file_path: job.absolute(path), ..skipped }),
        }
    }
    answer
}

/// The bytes of an entry of the answer besides its content: names, hash, a path of usual length.
const ENTRY_BYTES: usize = 500;

fn read_one(
    job: &Job<'_>,
    index: usize,
    path: &str,
    asked: &ReadFilesCall,
    room: usize,
) -> Result<ReadFile, SkippedFile> {
    let place = ["paths".to_owned(), index.to_string()];
    let max_bytes = asked.max_bytes.min(limits::MESSAGE_BYTES as u64);
    let TextFile { digest, text, bytes, encoding, malformed, .. } =
        text_file(job.engine, path, &place, (max_bytes, asked.encoding), job.run)?;
    let lines = text.lines().count();
    let mut file = ReadFile {
        file_path: path.to_owned(),
        hash: digest.to_hex(),
        lines,
        bytes,
        encoding: encoding.map(Charset::name),
        malformed: Some(malformed).filter(|malformed| *malformed > 0),
        start_line: None,
        end_line: None,
        content: None,
    };
    if asked.hash_only {
        return Ok(file);
    }
    let content = match asked.lines {
        Some(LineRange { first, .. }) if first > lines.max(1) => {
            let reason = format!("it has {lines} lines: there is no line {first}");
            return Err(SkippedFile::new(path, ErrorKind::ValidationFailed, reason));
        }
        Some(LineRange { first, last }) => {
            let last = last.min(lines);
            (file.start_line, file.end_line) = (Some(first), Some(last));
            text.split_inclusive('\n').skip(first - 1).take((last + 1).saturating_sub(first)).collect()
        }
        None => text,
    };
    if escaped_len(&content) > room {
        let reason = does_not_fit(&file, &content, job.max_answer_bytes);
        return Err(SkippedFile::new(path, ErrorKind::FileTooLarge, reason));
    }
    file.content = Some(content);
    Ok(file)
}

/// The reason for leaving out a content, with what the next call can ask for.
fn does_not_fit(file: &ReadFile, content: &str, most: usize) -> String {
    let what = match (file.start_line, file.end_line) {
        (Some(first), Some(last)) => format!("the {} bytes of its lines {first} to {last}", content.len()),
        _ => format!("its {} bytes", content.len()),
    };
    let alone = most.saturating_sub(ENTRY_BYTES);
    if escaped_len(content) <= alone {
        return format!(
            "{what} do not fit into what is left of this answer ({most} bytes in all): read it in a call of its own"
        );
    }
    // As many lines as fit, for the caller to begin with.
    let first = file.start_line.unwrap_or(1);
    let mut room = alone;
    let fits = content.split_inclusive('\n').take_while(|line| {
        let needed = escaped_len(line);
        let is_room = needed <= room;
        room = room.saturating_sub(needed);
        is_room
    });
    match fits.count() {
        0 => format!("{what} do not fit into an answer ({most} bytes), and line {first} alone neither"),
        count => {
            let last = first + count - 1;
            format!(
                "{what} do not fit into an answer ({most} bytes): read it in pieces, the first with start_line {first} and \
                 end_line {last}, of {} lines",
                file.lines
            )
        }
    }
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
