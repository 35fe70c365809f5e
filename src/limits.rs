//! Every maximum, with its reason.

use std::time::Duration;

/// Bytes of a request: one that is larger is a mistake of its sender, and parsing takes several times its size.
pub const REQUEST_BYTES: u64 = 256 << 20;

/// Files in one request. Slots are named with six digits.
pub const FILES: usize = 500_000;

/// Entries of one transaction: a file that is renamed takes two, a backup and each new folder one more. A journal with more
/// is not read, so that none may be written.
pub const ENTRIES: usize = 2 * FILES;

/// Files of a journal that was not written where it is, as far as they are listed.
pub const FOREIGN_FILES: usize = 20;

/// Edits of one file in one request.
pub const EDITS: usize = 100_000;

/// Connections of an HTTP server at a time: what comes beyond them waits.
pub const CONNECTIONS: usize = 512;

/// Sessions of an HTTP server at a time; one that is idle for five minutes ends.
pub const SESSIONS: usize = 256;

/// How long an HTTP client may take for the head of a request, before anybody has asked it for a token.
pub const HEADER_TIME: Duration = Duration::from_secs(10);

/// How long it may take for the body that comes with it.
pub const BODY_TIME: Duration = Duration::from_secs(30);

/// Bytes of a request's label: a line in a log, and a part of one journal line.
pub const LABEL_BYTES: usize = 1_024;

/// Findings in one answer: nobody mends more at once, and a large request can be wrong everywhere.
pub const FINDINGS: usize = 1_000;

/// Bytes of a file that is edited. Larger ones can still be deleted or renamed.
pub const EDITED_FILE_BYTES: u64 = 4 << 30;

/// Bytes of a journal: far above what [`FILES`] entries with the longest paths need in practice.
pub const JOURNAL_BYTES: u64 = 4 << 30;

/// Bytes of one journal line: a path of 4,096 bytes, escaped sixfold, and the fixed fields.
pub const JOURNAL_LINE_BYTES: usize = 64 << 10;

/// Symlinks followed for one path, as in the kernel.
pub const SYMLINKS: usize = 40;

/// Bytes of one path, as in the kernel.
pub const PATH_BYTES: usize = 4_095;

/// Bytes of one name in a path, as in the kernel.
pub const NAME_BYTES: usize = 255;

/// Old contents kept in memory between planning and staging, for all files of a request together;
/// what is beyond is read again.
pub const CACHED_BYTES: u64 = 1 << 20;

/// Bytes up to which a file is read ahead, and that several files have together that are handed over at once.
pub const AHEAD_BYTES: u64 = 128 << 10;

/// Files from which on reading ahead is worth a thread.
pub const AHEAD_FILES: usize = 16;

/// Bytes of other files in which a text that is not in its own is looked for.
pub const LOOKED_AT_BYTES: u64 = 16 << 20;

/// Bytes up to which a file is edited in memory. Of a larger one only what its edits can touch is.
pub const WHOLE_BYTES: u64 = 4 << 20;

/// The piece in which contents are read, hashed and copied.
pub const CHUNK_BYTES: usize = 256 << 10;

/// Bytes that are read, hashed or copied at most before it is asked again whether the caller wants to stop.
pub const CANCEL_EVERY_BYTES: usize = 16 << 20;

/// A modification time this close to the snapshot proves nothing: the content may change again
/// within the granularity of the file system's clock.
pub const YOUNG: Duration = Duration::from_secs(2);

/// Bytes up to which an original is read once more when it came out of its swap. Of a larger one size and times tell.
pub const READ_AGAIN_BYTES: u64 = 1 << 20;

/// How long a command waits for its locks unless told otherwise.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Open files that a transaction, its undo and its recovery may need besides one for each folder that they touch.
pub const SPARE_OPEN_FILES: u64 = 24;

/// Files up to which syncing each by itself is quicker than syncing the file system, where that is so at all (ext4).
pub const SYNC_EACH_UP_TO: usize = 8;

/// How often a request is tried while other programs write its files, within the time that it would wait for a lock.
pub const ATTEMPTS: usize = 5_000;

/// After so many attempts the contents of edits are no longer made durable before they are swapped.
pub const CONTENDED_AFTER: usize = 2;

/// So many files at most are swapped before their contents are durable: each is written anew where another program was
/// quicker, and stays open.
pub const CONTENDED_FILES: usize = 256;

/// Bytes of a file whose content may be made anew between two looks.
pub const CONTENDED_BYTES: u64 = 4 << 20;

/// How often it is made anew before the attempt is given up.
pub const CONTENDED_TRIES: usize = 200;

/// Bytes of a diff in an answer.
pub const DIFF_BYTES: usize = 64 << 10;

/// How long a check may take unless told otherwise.
pub const CHECK_TIME: Duration = Duration::from_secs(10 * 60);

/// Bytes kept of the end of what a check prints.
pub const CHECK_TAIL_BYTES: usize = 8 << 10;

/// Bytes of all that is staged in an open transaction, as it is written down: several requests of the largest kind.
pub const OPEN_BYTES: u64 = 1 << 30;

/// How long an open transaction stays open after something was last staged in it.
pub const OPEN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of replacements that are kept on record with a transaction, so that it can be taken out of files that others
/// changed since.
pub const SPLICES_BYTES: usize = 1 << 20;

/// Bytes of the account of a transaction that `log` reads: far above what one of [`FILES`] files needs in practice.
pub const REPORT_BYTES: u64 = 1 << 30;

/// Transactions kept in history.
pub const HISTORY_COUNT: usize = 1_000;

/// Bytes kept in history.
pub const HISTORY_BYTES: u64 = 1 << 30;

/// How long a transaction stays in history.
pub const HISTORY_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Transactions that stay whatever their age, and from whose oldest the age of the others is counted: a clock that is
/// wrong for fewer commits than these takes nothing away.
pub const HISTORY_AGED_BY: usize = 32;

/// Folders that commits without barriers leave in the trash before one of them syncs to empty it.
pub const TRASH: usize = 64;

/// How long content that stood at its target and was taken back stays in the trash, for a program that still has it open
/// and writes to it.
pub const GRACE: Duration = Duration::from_secs(60);

/// Folders in one another that `kept drop` deletes: each is open while those in it go.
pub const RAZED_LEVELS: usize = 200;

/// Bytes of one MCP message, a line or a body: a request of 32 MB whose every second byte is escaped fits.
pub const MESSAGE_BYTES: usize = 64 << 20;

/// Bytes of an MCP answer's text unless told otherwise: beyond that, clients cut answers or put them aside.
pub const ANSWER_BYTES: usize = 40_000;

/// How long a delegate may take unless told otherwise.
pub const DELEGATE_TIME: Duration = Duration::from_secs(5 * 60);

/// Bytes of a file that is shown to a delegate unless told otherwise.
pub const DELEGATE_FILE_BYTES: u64 = 1 << 20;

/// Bytes of a prompt unless told otherwise: beyond that it goes to a file. The kernel takes 131,071 as one argument.
pub const DELEGATE_PROMPT_BYTES: usize = 120_000;

/// Bytes of all files that are shown to a delegate in one call, and of those that it may leave in its scratch folder.
pub const DELEGATE_CONTEXT_BYTES: u64 = 32 << 20;

/// Files that a delegate may leave in its scratch folder.
pub const DELEGATE_FILES: usize = 10_000;

/// Bytes that a delegate may print before it is stopped. What its tools read is printed, too.
pub const DELEGATE_OUTPUT_BYTES: usize = 64 << 20;

/// Bytes kept of the end of what a delegate prints as errors.
pub const DELEGATE_TAIL_BYTES: usize = 4 << 10;
