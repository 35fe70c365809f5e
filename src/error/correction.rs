//! What to change in a call before it is sent again.

use std::fmt;

/// A correction of the call that failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Correction {
    /// Send the edit again with the text that the diagnosis has proved.
    SendSuggestion,
    /// Send the edit again with the text of the nearest place, if that is the one meant.
    SendNearest,
    /// Send the edit again with the text that makes one of several places unique, or for all of them.
    SendUnique,
    /// Search other files: nothing matches the globs, or everything is ignored or hidden.
    SearchOther,
    /// Search fewer files, or allow more of them to change.
    NarrowSearch,
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
    /// Undo what the transaction changed, and keep what has changed since in other lines.
    Rebase,
    /// Undo what others have committed since, too.
    AllCallers,
}

impl fmt::Display for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SendSuggestion => f.write_str("search for Diagnosis::suggestion"),
            Self::SendNearest => f.write_str("search for Diagnosis::nearest, if it is the place that is meant"),
            Self::SendUnique => f.write_str("search for MatchPlace::unique, or replace all"),
            Self::SearchOther => f.write_str("other paths or globs of SearchTree, or SearchTree::hidden"),
            Self::NarrowSearch => f.write_str("fewer paths of SearchTree, or a higher ReplaceGuard::max_files"),
            Self::LeaveOut => f.write_str("leave the edit out, if the new text there is what is wanted"),
            Self::AfterEdit { edit } => write!(f, "search for the text that edit {} leaves", edit + 1),
            Self::AfterStaged => f.write_str("search for the text that is staged: Engine::preview(…)"),
            Self::InFile { file } => write!(f, "move the edit to file {} of the request", file + 1),
            Self::NameEncoding => f.write_str("FileRequest::encoding, if the file is text"),
            Self::EncodingOfMark => f.write_str("a FileRequest without encoding, or with that of the mark"),
            Self::WithoutCharacter { character } => {
                write!(f, "write it without U+{:04X}, or convert the file to UTF-8", u32::from(*character))
            }
            Self::Rebase => f.write_str("UndoOptions::rebase"),
            Self::AllCallers => f.write_str("Engine::undo_since(…) that wants those of others, too"),
        }
    }
}
