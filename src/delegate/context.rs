//! The files of a delegation, read as `read_files` reads them.

use std::path::PathBuf;

use super::config::DelegateSettings;
use crate::charset::Charset;
use crate::digest::Digest;
use crate::engine::{Engine, Run};
use crate::error::ErrorKind;
use crate::limits;
use crate::wire::read::{self, SkippedFile, TextFile};

/// The files that a delegate is shown.
#[derive(Debug, Clone, Default)]
pub struct DelegateContext {
    /// The files, in the order in which they were named.
    pub files: Vec<ContextFile>,
    /// Files that could not be shown, and the reasons.
    pub skipped: Vec<SkippedFile>,
}

/// A file that a delegate is shown.
#[derive(Debug, Clone)]
pub struct ContextFile {
    /// The name given by the caller.
    pub named: String,
    /// Relative to the root, without symlinks.
    pub path: PathBuf,
    /// The content.
    pub text: String,
    /// The digest of the content.
    pub digest: Digest,
    /// The encoding of the file, if that is another than UTF-8.
    pub encoding: Option<Charset>,
}

impl DelegateContext {
    /// Reads the files; one that cannot be shown is no error for the rest.
    pub(super) fn read(engine: &Engine, files: &[String], settings: &DelegateSettings, run: Run<'_>) -> Self {
        let mut context = Self::default();
        let mut room = limits::DELEGATE_CONTEXT_BYTES;
        for (index, named) in files.iter().enumerate() {
            let place = ["files".to_owned(), index.to_string()];
            match read::text_file(engine, named, &place, (settings.file_bytes, None), run) {
                Ok(TextFile { path, .. }) if context.files.iter().any(|file| file.path == path) => {
                    let reason = "it is named twice, and shown once".to_owned();
                    context.skipped.push(SkippedFile::new(named, ErrorKind::DuplicateFilePath, reason));
                }
                Ok(TextFile { text, .. }) if text.len() as u64 > room => {
                    let reason = format!(
                        "its {} bytes do not fit into what is left for all files of a call ({} bytes)",
                        text.len(),
                        limits::DELEGATE_CONTEXT_BYTES
                    );
                    context.skipped.push(SkippedFile::new(named, ErrorKind::FileTooLarge, reason));
                }
                // It comes back as a whole, in which these bytes would be lost.
                Ok(TextFile { malformed: 1.., .. }) => {
                    let reason = "it has malformed bytes".to_owned();
                    let skipped = SkippedFile::new(named, ErrorKind::InvalidEncoding, reason);
                    context.skipped.push(skipped.hinting("Leave it out, or have its bytes mended first."));
                }
                Ok(TextFile { path, digest, text, encoding, .. }) => {
                    room -= text.len() as u64;
                    context.files.push(ContextFile { named: named.clone(), path, text, digest, encoding });
                }
                Err(skipped) if skipped.error_code == ErrorKind::InvalidEncoding.code() => {
                    context
                        .skipped
                        .push(skipped.hinting("Leave it out: a delegate sees UTF-8, and UTF-16 with its mark."));
                }
                Err(skipped) => context.skipped.push(skipped),
            }
        }
        context
    }
}
