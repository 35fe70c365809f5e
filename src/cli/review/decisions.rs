//! What was decided so far, and what comes next: a value that knows neither the terminal nor the files.
//!
//! What was given is kept as it was given, so that the last of it can be undone: the others are then made once more.

use std::ops::Range;

use crate::engine::report::review::{SelectedFile, TakenRuns};

/// What a person decides on at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReviewPart {
    /// A file as a whole.
    Whole,
    /// Neighbouring differences of a text, by their numbers.
    Runs(Range<usize>),
}

/// What is decided of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartChoice {
    Take,
    Leave,
    /// Take this instead: the lines of the part, or the content of the file.
    Instead(Vec<u8>),
}

/// What a person decides, at a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReviewDecision {
    /// On the part.
    This(PartChoice),
    /// To take, or to leave, this part and those after it in the file.
    RestOfFile(bool),
    /// To take, or to leave, this part and all that follow.
    AllThatFollow(bool),
    /// To decide on each difference of the part by itself.
    Split,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewNext {
    /// The parts of this file must be known.
    Load(usize),
    /// This part of this file is decided on.
    Ask { file: usize, part: usize },
    /// Everything is decided.
    End,
}

/// How much of a file is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenShare {
    All,
    Some,
    Nothing,
}

/// The parts of a file, and what is decided of them.
#[derive(Debug, Clone, Default)]
struct DecidedFile {
    /// Its parts, as they were first shown; `None` before that.
    loaded: Option<Vec<ReviewPart>>,
    parts: Vec<ReviewPart>,
    /// What is decided of the first of them, in order.
    chosen: Vec<PartChoice>,
    /// What is decided of all others.
    others: Option<bool>,
}

/// The decisions on all files.
#[derive(Debug, Clone)]
pub(crate) struct ReviewDecisions {
    files: Vec<DecidedFile>,
    given: Vec<ReviewDecision>,
    /// Everything in front of this file is decided.
    at: usize,
}

impl DecidedFile {
    fn is_decided(&self) -> bool {
        self.others.is_some() || self.loaded.is_some() && self.chosen.len() == self.parts.len()
    }

    /// What is decided of each part, in order; of one that is not decided on yet nothing is taken.
    fn choices(&self) -> impl Iterator<Item = (&ReviewPart, &PartChoice)> {
        let rest = if self.others == Some(true) { &PartChoice::Take } else { &PartChoice::Leave };
        let chosen = self.chosen.iter().chain(std::iter::repeat(rest));
        self.parts.iter().zip(chosen)
    }

    /// Returns whether nothing happens to it, so that nothing is decided.
    fn is_still(&self) -> bool {
        self.loaded.as_ref().is_some_and(Vec::is_empty)
    }

    fn share(&self) -> TakenShare {
        if self.loaded.is_none() {
            return if self.others == Some(true) { TakenShare::All } else { TakenShare::Nothing };
        }
        let (taken, all) =
            (self.choices().filter(|(_, choice)| **choice != PartChoice::Leave).count(), self.parts.len());
        match taken {
            0 => TakenShare::Nothing,
            taken if taken == all => TakenShare::All,
            _ => TakenShare::Some,
        }
    }

    fn selected(&self) -> SelectedFile {
        let is_plain = self.choices().all(|(_, choice)| *choice == PartChoice::Take);
        match self.share() {
            // What does not change is no reason to leave something open.
            _ if self.is_still() => SelectedFile::Whole,
            TakenShare::Nothing => SelectedFile::Nothing,
            TakenShare::All if is_plain => SelectedFile::Whole,
            _ => self.selected_parts(),
        }
    }

    fn selected_parts(&self) -> SelectedFile {
        let mut taken = Vec::new();
        for (part, choice) in self.choices() {
            match (part, choice) {
                (_, PartChoice::Leave) => {}
                (ReviewPart::Whole, PartChoice::Take) => return SelectedFile::Whole,
                (ReviewPart::Whole, PartChoice::Instead(content)) => return SelectedFile::Content(content.clone()),
                (ReviewPart::Runs(runs), PartChoice::Take) => {
                    taken.push(TakenRuns { runs: runs.clone(), instead: None });
                }
                (ReviewPart::Runs(runs), PartChoice::Instead(lines)) => {
                    taken.push(TakenRuns { runs: runs.clone(), instead: Some(lines.clone()) });
                }
            }
        }
        SelectedFile::Runs(taken)
    }
}

impl ReviewDecisions {
    /// None yet, on so many files.
    pub(crate) fn new(files: usize) -> Self {
        Self { files: vec![DecidedFile::default(); files], given: Vec::new(), at: 0 }
    }

    /// Makes the parts of a file known: none of one to which nothing happens.
    pub(crate) fn load(&mut self, file: usize, parts: Vec<ReviewPart>) {
        let decided = &mut self.files[file];
        decided.parts.clone_from(&parts);
        decided.loaded = Some(parts);
    }

    /// What comes next.
    pub(crate) fn next(&mut self) -> ReviewNext {
        while self.files.get(self.at).is_some_and(DecidedFile::is_decided) {
            self.at += 1;
        }
        match self.files.get(self.at) {
            None => ReviewNext::End,
            Some(decided) if decided.loaded.is_none() => ReviewNext::Load(self.at),
            Some(decided) => ReviewNext::Ask { file: self.at, part: decided.chosen.len() },
        }
    }

    /// The parts of a file that was shown.
    pub(crate) fn parts(&self, file: usize) -> &[ReviewPart] {
        &self.files[file].parts
    }

    /// Returns whether there is something to be undone.
    pub(crate) fn is_begun(&self) -> bool {
        !self.given.is_empty()
    }

    /// Decides at the part that comes next.
    ///
    /// # Panics
    ///
    /// If none does, or one is split that has but one difference.
    pub(crate) fn decide(&mut self, decided: ReviewDecision) {
        self.make(&decided);
        self.given.push(decided);
    }

    fn make(&mut self, decided: &ReviewDecision) {
        let ReviewNext::Ask { file, part } = self.next() else { panic!("a part is decided on") };
        let at = &mut self.files[file];
        match decided {
            ReviewDecision::This(choice) => at.chosen.push(choice.clone()),
            ReviewDecision::RestOfFile(take) => at.others = Some(*take),
            ReviewDecision::AllThatFollow(take) => {
                let not_still = self.files[file..].iter_mut().filter(|file| !file.is_still());
                not_still.for_each(|file| file.others = Some(*take));
            }
            ReviewDecision::Split => {
                let ReviewPart::Runs(runs) = at.parts[part].clone() else { panic!("a text is split") };
                assert!(runs.len() > 1, "there are several differences");
                at.parts.splice(part..=part, runs.map(|run| ReviewPart::Runs(run..run + 1)));
            }
        }
    }

    /// Undoes what was decided last, which comes next again; returns whether there was something.
    pub(crate) fn undo(&mut self) -> bool {
        let is_undone = self.given.pop().is_some();
        self.at = 0;
        for file in &mut self.files {
            file.parts = file.loaded.clone().unwrap_or_default();
            (file.chosen, file.others) = (Vec::new(), None);
        }
        let given = std::mem::take(&mut self.given);
        for decided in &given {
            self.make(decided);
        }
        self.given = given;
        is_undone
    }

    /// What is selected of each file.
    pub(crate) fn selected(&self) -> Vec<SelectedFile> {
        self.files.iter().map(DecidedFile::selected).collect()
    }

    /// How much of a file is taken; `None` of one to which nothing happens.
    pub(crate) fn share(&self, file: usize) -> Option<TakenShare> {
        Some(&self.files[file]).filter(|file| !file.is_still()).map(DecidedFile::share)
    }

    /// How much of everything is taken.
    pub(crate) fn whole_share(&self) -> TakenShare {
        let mut shares = (0..self.files.len()).filter_map(|file| self.share(file));
        let Some(first) = shares.next() else { return TakenShare::Nothing };
        if shares.all(|share| share == first) { first } else { TakenShare::Some }
    }

    /// The number of parts of a file that are taken, and of all; `None` if they were not decided on one by one.
    pub(crate) fn counts(&self, file: usize) -> Option<(usize, usize)> {
        let decided = &self.files[file];
        decided.loaded.as_ref()?;
        let taken = decided.choices().filter(|(_, choice)| **choice != PartChoice::Leave).count();
        Some((taken, decided.parts.len()))
    }

    /// Returns whether something is to be as a person wrote it, and not as it was proposed.
    pub(crate) fn has_edited(&self) -> bool {
        let mut chosen = self.files.iter().flat_map(|file| &file.chosen);
        chosen.any(|choice| matches!(choice, PartChoice::Instead(_)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TAKE: ReviewDecision = ReviewDecision::This(PartChoice::Take);
    const LEAVE: ReviewDecision = ReviewDecision::This(PartChoice::Leave);

    fn runs(runs: Range<usize>) -> ReviewPart {
        ReviewPart::Runs(runs)
    }

    fn taken(runs: Range<usize>) -> TakenRuns {
        TakenRuns { runs, instead: None }
    }

    /// Decisions on files with these parts.
    fn on(files: &[&[ReviewPart]]) -> ReviewDecisions {
        let mut decisions = ReviewDecisions::new(files.len());
        for (file, parts) in files.iter().enumerate() {
            decisions.load(file, parts.to_vec());
        }
        decisions
    }

    #[test]
    fn each_part_is_asked_for_in_turn() {
        let mut decisions = ReviewDecisions::new(3);
        assert_eq!(decisions.next(), ReviewNext::Load(0));
        decisions.load(0, vec![runs(0..1), runs(1..3), runs(3..4)]);
        for (part, decided) in
            [TAKE, LEAVE, ReviewDecision::This(PartChoice::Instead(b"x\n".to_vec()))].iter().enumerate()
        {
            assert_eq!(decisions.next(), ReviewNext::Ask { file: 0, part });
            decisions.decide(decided.clone());
        }
        assert_eq!(decisions.next(), ReviewNext::Load(1));
        decisions.load(1, Vec::new());
        decisions.load(2, vec![ReviewPart::Whole]);
        assert_eq!(decisions.next(), ReviewNext::Ask { file: 2, part: 0 }, "nothing happens to the second");
        decisions.decide(TAKE);
        assert_eq!(decisions.next(), ReviewNext::End);
        let edited = TakenRuns { runs: 3..4, instead: Some(b"x\n".to_vec()) };
        let first = SelectedFile::Runs(vec![taken(0..1), edited]);
        assert_eq!(decisions.selected(), [first, SelectedFile::Whole, SelectedFile::Whole]);
        assert_eq!(decisions.counts(0), Some((2, 3)));
        let shares = [0, 1, 2].map(|file| decisions.share(file));
        assert_eq!(shares, [Some(TakenShare::Some), None, Some(TakenShare::All)]);
        assert!(decisions.has_edited());
    }

    #[test]
    fn the_rest_of_a_file_and_all_that_follow_are_decided_at_once() {
        let two = [runs(0..1), runs(1..2)];
        let mut decisions = on(&[&two, &two]);
        decisions.decide(LEAVE);
        decisions.decide(ReviewDecision::RestOfFile(true));
        decisions.decide(ReviewDecision::RestOfFile(false));
        assert_eq!(decisions.next(), ReviewNext::End);
        assert_eq!(decisions.selected(), [SelectedFile::Runs(vec![taken(1..2)]), SelectedFile::Nothing]);

        // Files that were never shown are decided on with the others.
        let mut decisions = ReviewDecisions::new(3);
        decisions.load(0, two.to_vec());
        decisions.load(1, Vec::new());
        decisions.decide(TAKE);
        decisions.decide(ReviewDecision::AllThatFollow(true));
        assert_eq!(decisions.next(), ReviewNext::End);
        assert_eq!(decisions.selected(), [SelectedFile::Whole, SelectedFile::Whole, SelectedFile::Whole]);
        assert_eq!(decisions.whole_share(), TakenShare::All);
        decisions.undo();
        decisions.decide(ReviewDecision::AllThatFollow(false));
        let first = SelectedFile::Runs(vec![taken(0..1)]);
        assert_eq!(decisions.selected(), [first, SelectedFile::Whole, SelectedFile::Nothing]);
        assert_eq!((decisions.whole_share(), decisions.counts(2)), (TakenShare::Some, None));
    }

    #[test]
    fn a_part_is_split_into_its_differences() {
        let mut decisions = on(&[&[runs(0..3), runs(3..4)]]);
        decisions.decide(ReviewDecision::Split);
        assert_eq!(decisions.parts(0), [runs(0..1), runs(1..2), runs(2..3), runs(3..4)]);
        for decided in [LEAVE, TAKE, LEAVE, TAKE] {
            decisions.decide(decided);
        }
        assert_eq!(decisions.selected(), [SelectedFile::Runs(vec![taken(1..2), taken(3..4)])]);
        (0..5).for_each(|_| assert!(decisions.undo()));
        assert_eq!(decisions.parts(0), [runs(0..3), runs(3..4)]);
        assert!(!decisions.undo() && !decisions.is_begun());
    }

    #[test]
    fn nothing_is_taken_of_what_is_not_decided() {
        let mut decisions = on(&[&[ReviewPart::Whole], &[runs(0..1)]]);
        assert_eq!(decisions.selected(), [SelectedFile::Nothing, SelectedFile::Nothing]);
        decisions.decide(ReviewDecision::This(PartChoice::Instead(b"new\n".to_vec())));
        assert_eq!(decisions.selected(), [SelectedFile::Content(b"new\n".to_vec()), SelectedFile::Nothing]);
        assert_eq!(on(&[&[]]).whole_share(), TakenShare::Nothing);
    }

    proptest! {
        #[test]
        fn an_undo_leads_back_to_where_it_was(
            sizes in prop::collection::vec(prop::collection::vec(1..4usize, 0..4), 1..4),
            given in prop::collection::vec(0..7usize, 0..20),
        ) {
            let of = |sizes: &Vec<usize>| {
                let ends = sizes.iter().scan(0, |end, size| { *end += size; Some(*end - size..*end) });
                ends.map(runs).collect::<Vec<_>>()
            };
            let files: Vec<Vec<ReviewPart>> = sizes.iter().map(of).collect();
            let mut decisions = on(&files.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let mut seen = Vec::new();
            for one in given {
                let ReviewNext::Ask { file, part } = decisions.next() else { break };
                let is_one = matches!(&decisions.parts(file)[part], ReviewPart::Runs(runs) if runs.len() == 1);
                seen.push((decisions.next(), decisions.selected()));
                decisions.decide(match one {
                    0 => LEAVE,
                    1 if !is_one => ReviewDecision::Split,
                    2 => ReviewDecision::RestOfFile(true),
                    3 => ReviewDecision::RestOfFile(false),
                    4 => ReviewDecision::AllThatFollow(true),
                    5 => ReviewDecision::AllThatFollow(false),
                    _ => TAKE,
                });
            }
            while let Some((next, selected)) = seen.pop() {
                prop_assert!(decisions.undo());
                prop_assert_eq!(decisions.next(), next);
                prop_assert_eq!(decisions.selected(), selected);
            }
        }
    }
}
