//! What to change in a call before it is sent again.

use std::fmt;

/// A correction of the call that failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Correction {
    /// Send the edit again with the text that the diagnosis has proved.
    SendSuggestion,
    /// The same, where the new text needs the correction as well: it has the same markers, or leaves out the same lines.
    SendCorrected,
    /// Send the edit again with the text of the nearest place, if that is the one meant, and the new text fitted to it.
    SendNearest,
    /// Send the edit again with the text that makes one of several places unique, or for all of them. What was added to the
    /// text must be added to the new text, too, or it is lost.
    SendUnique,
    /// Search other files: nothing matches the globs, or everything is ignored or hidden.
    SearchOther,
    /// Search fewer files, or allow more of them to change.
    NarrowSearch,
    /// Have the program write fewer files, or let folders be real that need not be committed.
    WriteFewer,
    /// Leave the edit out, if its new text, which is in the file already, is all that is wanted.
    LeaveOut,
    /// Write the edit for the text that an earlier edit of the request leaves.
    AfterEdit {
        /// The earlier edit, from 0.
        edit: usize,
    },
    /// Write the edit for the text that the edits staged before leave, which a preview shows.
    AfterStaged,
    /// Move the edit to the file of the request that has its text.
    InFile {
        /// The file, from 0.
        file: usize,
    },
    /// Name the encoding of the file with the edits, if it is text.
    NameEncoding,
    /// Leave the encoding out of the request, or name the one that the byte-order mark of the file says.
    EncodingOfMark,
    /// Write the new text without a character that the encoding of the file does not have, or convert the file first.
    WithoutCharacter {
        /// The character.
        character: char,
    },
    /// Write the new text without U+0000.
    WithoutNul,
    /// Leave the file out, or write its whole content: it is not text.
    WholeContent,
    /// Keep the edit away from bytes that are no character of the encoding, and from the byte-order mark.
    AwayFromBytes,
    /// Start the content with other characters, or name the encoding whose mark they are.
    WithoutMark,
    /// Send the new text in UTF-8, from which it is encoded.
    InUtf8,
    /// Leave the file out, or edit it in a way that can name its encoding.
    NoEncodingHere,
    /// Undo what the transaction changed, and keep what has changed since in other lines.
    Rebase,
    /// Change by hand what is to be undone in the files that have changed since.
    ByHand,
    /// Send one call for each workspace: a transaction has files of one.
    OneCallEach,
    /// Put the root folder back, or start where it is now.
    RestoreRoot,
    /// Undo what others have committed since, too.
    AllCallers,
    /// Replace the file that is there.
    Force,
}

impl fmt::Display for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SendSuggestion => f.write_str("search for Diagnosis::suggestion"),
            Self::SendCorrected => {
                f.write_str("search for Diagnosis::suggestion, and correct the new text in the same way")
            }
            Self::SendNearest => f.write_str(
                "search for Diagnosis::nearest, if it is the place that is meant, and fit the new text to it",
            ),
            Self::SendUnique => {
                f.write_str("search for MatchPlace::unique, with what it adds in the new text as well; or replace all")
            }
            Self::SearchOther => f.write_str("other paths or globs of SearchTree, or SearchTree::hidden"),
            Self::NarrowSearch => f.write_str("fewer paths of SearchTree, or a higher ReplaceGuard::max_files"),
            Self::WriteFewer => f.write_str("fewer files, or folders that are real: Settings::through"),
            Self::LeaveOut => f.write_str("leave the edit out, if the new text there is what is wanted"),
            Self::AfterEdit { edit } => write!(f, "search for the text that edit {} leaves", edit + 1),
            Self::AfterStaged => f.write_str("search for the text that is staged: Engine::preview(…)"),
            Self::InFile { file } => write!(f, "move the edit to file {} of the request", file + 1),
            Self::NameEncoding => f.write_str("FileRequest::encoding, if the file is text"),
            Self::EncodingOfMark => f.write_str("a FileRequest without encoding, or with that of the mark"),
            Self::WithoutCharacter { character } => {
                write!(f, "write it without U+{:04X}, or convert the file to UTF-8", u32::from(*character))
            }
            Self::WithoutNul => f.write_str("write it without U+0000"),
            Self::WholeContent => f.write_str("Request::create(…) with the whole content, or leave the file out"),
            Self::AwayFromBytes => f.write_str("an edit that does not touch these bytes, or the whole content"),
            Self::WithoutMark => f.write_str("other first characters, or the encoding that they are the mark of"),
            Self::InUtf8 => f.write_str("the new text in UTF-8"),
            Self::NoEncodingHere => f.write_str("leave the file out, or edit it with FileRequest::encoding"),
            Self::Rebase => f.write_str("UndoOptions::rebase"),
            Self::ByHand => f.write_str("change the files in Detail::Conflicts by hand"),
            Self::OneCallEach => f.write_str("a request for each workspace"),
            Self::RestoreRoot => f.write_str("put the root back, or open an engine where it is now"),
            Self::Force => f.write_str("IfExists::Replace"),
            Self::AllCallers => f.write_str("Engine::undo_since(…) that wants those of others, too"),
        }
    }
}
