//! The answers that a person can give, each with its key.

use std::fmt::Write as _;

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewKey {
    Take,
    Leave,
    TakeFile,
    LeaveFile,
    TakeAll,
    LeaveAll,
    Edit,
    Split,
    Undo,
    Quit,
    Help,
}

/// Where an answer is given, as far as that decides which there are.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, whatever the others are")]
pub(crate) struct ReviewSpot {
    /// True if other parts of the file follow.
    pub(crate) has_more: bool,
    /// True if other files follow.
    pub(crate) has_files: bool,
    pub(crate) can_edit: bool,
    pub(crate) can_split: bool,
    pub(crate) can_undo: bool,
}

/// All of them, in the order in which they are told.
const ALL: [(ReviewKey, char, &str); 11] = [
    (ReviewKey::Take, 'y', "take this change"),
    (ReviewKey::Leave, 'n', "leave it"),
    (ReviewKey::TakeFile, 'a', "take it and all that follow in this file"),
    (ReviewKey::LeaveFile, 'd', "leave it and all that follow in this file"),
    (ReviewKey::TakeAll, 'A', "take it and all that follow, of all files"),
    (ReviewKey::LeaveAll, 'D', "leave it and all that follow, of all files"),
    (ReviewKey::Split, 's', "split it into smaller changes"),
    (ReviewKey::Edit, 'e', "edit the new lines, and take them"),
    (ReviewKey::Undo, 'u', "undo the last answer, and go back to it"),
    (ReviewKey::Quit, 'q', "leave it and all that follow, and go to the end"),
    (ReviewKey::Help, '?', "explain the keys"),
];

impl ReviewSpot {
    fn has(self, key: ReviewKey) -> bool {
        match key {
            ReviewKey::TakeFile | ReviewKey::LeaveFile => self.has_more,
            ReviewKey::TakeAll | ReviewKey::LeaveAll => self.has_files,
            ReviewKey::Edit => self.can_edit,
            ReviewKey::Split => self.can_split,
            ReviewKey::Undo => self.can_undo,
            ReviewKey::Take | ReviewKey::Leave | ReviewKey::Quit | ReviewKey::Help => true,
        }
    }

    /// The answer that a character stands for here. Where nothing follows, those about what follows are about this alone.
    pub(crate) fn answer(self, typed: char) -> Option<ReviewKey> {
        let (key, ..) = ALL.into_iter().find(|(_, letter, _)| *letter == typed)?;
        match key {
            ReviewKey::Edit | ReviewKey::Split | ReviewKey::Undo => self.has(key).then_some(key),
            key => Some(key),
        }
    }

    /// The question, with the keys that there are.
    pub(crate) fn question(self) -> String {
        let keys = ALL.into_iter().filter(|(key, ..)| self.has(*key)).map(|(_, letter, _)| letter.to_string());
        format!("take this change? [{}] ", keys.collect::<Vec<_>>().join(","))
    }

    /// What each key does, a line each.
    pub(crate) fn help(self) -> String {
        let here = ALL.into_iter().filter(|(key, ..)| self.has(*key));
        explained(here.map(|(_, letter, about)| (letter, about)))
    }
}

/// What each key does, a line each.
fn explained(keys: impl Iterator<Item = (char, &'static str)>) -> String {
    let mut text = String::new();
    for (letter, about) in keys {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {letter}  {about}");
    }
    text
}

/// What is done in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastAnswer {
    /// Commit what is taken; what is left stays open, or is discarded.
    Commit {
        keeps_rest: bool,
    },
    /// Commit nothing.
    Nothing,
    Undo,
    Help,
}

/// The last question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastQuestion {
    /// True if something is left.
    pub(crate) has_rest: bool,
    /// True if the transaction was opened for this review alone, so that nothing of it stays unless that is said.
    pub(crate) is_own: bool,
    pub(crate) can_undo: bool,
}

impl LastQuestion {
    fn keys(self) -> Vec<(char, LastAnswer, &'static str)> {
        let commit = |keeps_rest| LastAnswer::Commit { keeps_rest };
        let mut keys = match (self.has_rest, self.is_own) {
            (false, _) => vec![('y', commit(false), "commit it")],
            (true, false) => vec![
                ('k', commit(true), "commit what is taken, and keep the rest open"),
                ('d', commit(false), "commit what is taken, and discard the rest"),
            ],
            (true, true) => vec![
                ('y', commit(false), "commit what is taken, and discard the rest"),
                ('k', commit(true), "commit what is taken, and keep the rest as an open transaction"),
            ],
        };
        let nothing = if self.is_own { "do nothing: no file is changed" } else { "do nothing: everything stays open" };
        keys.push(('n', LastAnswer::Nothing, nothing));
        if self.can_undo {
            keys.push(('u', LastAnswer::Undo, "undo the last answer, and go back to it"));
        }
        keys.push(('?', LastAnswer::Help, "explain the keys"));
        keys
    }

    /// The answer that a character stands for.
    pub(crate) fn answer(self, typed: char) -> Option<LastAnswer> {
        let found = self.keys().into_iter().find(|(letter, ..)| *letter == typed);
        found.map(|(_, answer, _)| answer)
    }

    /// The question, with the keys that there are.
    pub(crate) fn question(self) -> String {
        let keys: Vec<String> = self.keys().into_iter().map(|(letter, ..)| letter.to_string()).collect();
        format!("commit? [{}] ", keys.join(","))
    }

    /// What each key does, a line each.
    pub(crate) fn help(self) -> String {
        explained(self.keys().into_iter().map(|(letter, _, about)| (letter, about)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keys_that_do_something_are_offered() {
        let plain = ReviewSpot::default();
        assert_eq!(plain.question(), "take this change? [y,n,q,?] ");
        let all = ReviewSpot { has_more: true, has_files: true, can_edit: true, can_split: true, can_undo: true };
        assert_eq!(all.question(), "take this change? [y,n,a,d,A,D,s,e,u,q,?] ");
        assert_eq!(all.help().lines().count(), 11);
        assert_eq!((plain.answer('s'), plain.answer('e'), plain.answer('u')), (None, None, None));
        // Whoever means all that follow means this one as well.
        assert_eq!(plain.answer('a'), Some(ReviewKey::TakeFile));
        assert_eq!((all.answer('x'), all.answer('Y')), (None, None));
    }

    #[test]
    fn the_last_question_is_about_what_there_is() {
        let last = |has_rest, is_own| LastQuestion { has_rest, is_own, can_undo: true };
        assert_eq!(last(true, false).question(), "commit? [k,d,n,u,?] ");
        assert_eq!(last(true, true).question(), "commit? [y,k,n,u,?] ");
        assert_eq!(last(false, false).question(), "commit? [y,n,u,?] ");
        assert_eq!(last(true, false).answer('k'), Some(LastAnswer::Commit { keeps_rest: true }));
        assert_eq!(last(true, true).answer('y'), Some(LastAnswer::Commit { keeps_rest: false }));
        // It would not be clear what becomes of the rest.
        assert_eq!(last(true, false).answer('y'), None);
        assert!(last(true, true).help().contains("  n  do nothing: no file is changed\n"));
    }
}
