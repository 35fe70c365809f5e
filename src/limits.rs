//! Every maximum, with its reason.

use std::time::Duration;

/// Bytes of a request: a larger one is a mistake of its sender, and parsing takes several times its size.
pub const REQUEST_BYTES: u64 = 256 << 20;

/// Files in one request. Slots are named with six digits.
pub const FILES: usize = 500_000;

/// Entries of one transaction: a renamed file takes two, a backup and each new folder one more. A longer journal is not
/// read, so none may be written.
pub const ENTRIES: usize = 2 * FILES;

/// Entries that are read of a journal whose header does not verify: it may be anybody's.
pub const UNKNOWN_ENTRIES: usize = 1_000;

/// The files listed of a journal that was not written where it is.
pub const FOREIGN_FILES: usize = 20;

/// Other file systems than that of the workspace in one transaction: their paths are in one line of its journal.
pub const PARTS: usize = 8;

/// Bytes of such a line for each of them without its path, at most.
pub const PART_BYTES: usize = 256;

/// Bytes by which a part of a transaction names the state folder that it belongs to.
pub const OWNER_BYTES: u64 = 64;

/// Lines of one change that a review in the terminal shows: nobody reads more of them there.
pub const REVIEWED_LINES: usize = 500;

/// Characters of such a line: a terminal that breaks a longer one shows nothing else.
pub const REVIEWED_CHARS: usize = 1_000;

/// Edits of one file in one request.
pub const EDITS: usize = 100_000;

/// Connections of an HTTP server at a time: further ones wait.
pub const CONNECTIONS: usize = 512;

/// The time after which an idle session of an HTTP server ends, unless told otherwise.
pub const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);

/// Sessions of an HTTP server at a time.
pub const SESSIONS: usize = 256;

/// The time that an HTTP client may take for the head of a request, before it was asked for a token.
pub const HEADER_TIME: Duration = Duration::from_secs(10);

/// The time that it may take for the body.
pub const BODY_TIME: Duration = Duration::from_secs(30);

/// Bytes of a request's label: a line in a log, and a part of one journal line.
pub const LABEL_BYTES: usize = 1_024;

/// The most bytes of the name of a session, or of a campaign.
pub const SESSION_BYTES: usize = 256;

/// Keys of pruned transactions: the oldest are forgotten beyond it.
pub const PRUNED_KEYS: usize = 10_000;

/// Findings in one answer: nobody fixes more at once, and a large request can be wrong everywhere.
pub const FINDINGS: usize = 1_000;

/// Bytes of an edited file. Larger ones can still be deleted or renamed.
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

/// Old contents kept in memory between planning and staging, for all files of a request together; others are read
/// again.
pub const CACHED_BYTES: u64 = 1 << 20;

/// Bytes up to which a file is read ahead; also the total of several files handed over at once.
pub const AHEAD_BYTES: u64 = 128 << 10;

/// The number of files from which on reading ahead is worth a thread.
pub const AHEAD_FILES: usize = 16;

/// Bytes of other files that are searched for a text that is not in its own.
pub const LOOKED_AT_BYTES: u64 = 16 << 20;

/// Bytes up to which a file is edited in memory. Of a larger one only the parts that its edits can touch are loaded.
pub const WHOLE_BYTES: u64 = 4 << 20;

/// Bytes of an edited file in another encoding than UTF-8: it is decoded as a whole, which takes several times its size.
pub const DECODED_FILE_BYTES: u64 = 64 << 20;

/// The unit in which contents are read, hashed and copied.
pub const CHUNK_BYTES: usize = 256 << 10;

/// The most bytes read, hashed or copied between two checks whether the caller cancelled.
pub const CANCEL_EVERY_BYTES: usize = 16 << 20;

/// A modification time this close to the snapshot proves nothing: the content may change again within the granularity
/// of the file system's clock.
pub const YOUNG: Duration = Duration::from_secs(2);

/// Bytes up to which an original is read again after its swap. For a larger one size and times decide.
pub const READ_AGAIN_BYTES: u64 = 1 << 20;

/// The default time that a command waits for its locks.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Open files that a transaction, its revert and its recovery may need, besides one for each folder that they touch and
/// each folder above those.
pub const SPARE_OPEN_FILES: u64 = 40;

/// Files up to which syncing each is quicker than syncing the file system, on file systems where it can be (ext4).
pub const SYNC_EACH_UP_TO: usize = 8;

/// Attempts of a request while other programs write its files, within the time that it would wait for a lock.
pub const ATTEMPTS: usize = 5_000;

/// Attempts after which the contents of edits are no longer made durable before they are swapped.
pub const CONTENDED_AFTER: usize = 2;

/// The most files that are swapped before their contents are durable: each is written again if another program was
/// faster, and stays open.
pub const CONTENDED_FILES: usize = 256;

/// Bytes of a file whose content may be made again between two verifications.
pub const CONTENDED_BYTES: u64 = 4 << 20;

/// The times that it is made again before the attempt is given up.
pub const CONTENDED_TRIES: usize = 200;

/// Bytes of a diff in an answer.
pub const DIFF_BYTES: usize = 64 << 10;

/// The default time limit of a check.
pub const CHECK_TIME: Duration = Duration::from_secs(10 * 60);

/// Bytes kept of the end of what a check prints.
pub const CHECK_TAIL_BYTES: usize = 8 << 10;

/// Bytes of everything staged in an open transaction, as stored: several requests of the largest kind.
pub const OPEN_BYTES: u64 = 1 << 30;

/// The time that an open transaction stays open after the last stage.
pub const OPEN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of replacements that are recorded with a transaction, so that it can be reverted in files that were changed
/// since.
pub const SPLICES_BYTES: usize = 1 << 20;

/// Bytes of the stored report of a transaction that `log` reads: far above what [`FILES`] files need in practice.
pub const REPORT_BYTES: u64 = 1 << 30;

/// Transactions that one undo reverts together: the folder of each is open meanwhile.
pub const UNDONE_TOGETHER: usize = 256;

/// Transactions kept in history.
pub const HISTORY_COUNT: usize = 1_000;

/// Bytes kept in history.
pub const HISTORY_BYTES: u64 = 1 << 30;

/// The retention time of a transaction in history.
pub const HISTORY_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Transactions kept whatever their age; the age of the others is counted from the oldest of them. So a clock that is
/// wrong for fewer commits than these deletes nothing.
pub const HISTORY_AGED_BY: usize = 32;

/// Folders that commits without barriers leave in the trash before one of them syncs to empty it.
pub const TRASH: usize = 64;

/// The time that content of a transaction that was rolled back stays in the trash, for a program that still has it open
/// and writes to it.
pub const GRACE: Duration = Duration::from_secs(60);

/// Nested folders that `kept drop` deletes: each is open while those in it are deleted.
pub const RAZED_LEVELS: usize = 200;

/// Bytes of one MCP message, a line or a body: a request of 32 MB in which every second byte is escaped fits.
pub const MESSAGE_BYTES: usize = 64 << 20;

/// Values of one MCP message: texts, numbers, lists, objects. Each takes up to 700 bytes of memory once it is parsed,
/// whatever its text takes.
pub const MESSAGE_VALUES: usize = 1_000_000;

/// Requests of an MCP client on stdio that are handled at a time, those included whose answers it has not read. Together
/// they have no more bytes than one message may have.
pub const REQUESTS: usize = 64;

/// Requests that wait until others are answered, again with the bytes of one message. Then nothing more is read.
pub const QUEUED_REQUESTS: usize = 1_024;

/// Subscriptions of an MCP client on stdio at a time, by `subscriptions/listen`: each lasts until it is cancelled.
pub const SUBSCRIPTIONS: usize = 64;

/// Default bytes of an MCP answer's text: clients cut longer answers or move them out of the way.
pub const ANSWER_BYTES: usize = 40_000;

/// The default time limit of a delegate.
pub const DELEGATE_TIME: Duration = Duration::from_secs(5 * 60);

/// Default bytes of a file that is shown to a delegate.
pub const DELEGATE_FILE_BYTES: u64 = 1 << 20;

/// Default bytes of a prompt: a longer one goes to a file. The kernel accepts 131,071 as one argument.
pub const DELEGATE_PROMPT_BYTES: usize = 120_000;

/// Bytes of all files shown to a delegate in one call, and of those that it may leave in its scratch folder.
pub const DELEGATE_CONTEXT_BYTES: u64 = 32 << 20;

/// Files that a delegate may leave in its scratch folder.
pub const DELEGATE_FILES: usize = 10_000;

/// Bytes that a delegate may print before it is stopped. What its tools read is printed as well.
pub const DELEGATE_OUTPUT_BYTES: usize = 64 << 20;

/// Bytes kept of the end of what a delegate prints as errors.
pub const DELEGATE_TAIL_BYTES: usize = 4 << 10;

/// The most times that a check runs in a view for one request, while other programs change its files.
pub const VIEW_CHECKS: usize = 3;

/// The most files that an answer names of those that a check wrote in a view and that were dropped.
pub const DROPPED_NAMES: usize = 20;

/// The most files of a copy that takes the place of a view.
pub const VIEW_FILES: usize = 200_000;

/// The most bytes of such a copy that the file system cannot share with the files.
pub const VIEW_BYTES: u64 = 2 << 30;
