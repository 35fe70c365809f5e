//! Scenarios of what becomes of folders, and of undos of that, with nobody else at work.

use super::ScenarioDice;
use crate::testing::scenario::data::{Ask, Item, Profile, Scenario, ScenarioAct, ScenarioStep, ScenarioTerms};

/// The folders, those within others after them.
const FOLDERS: [&str; 4] = ["d", "d/s", "k", "k/l"];
const MODES: [u32; 3] = [0o700, 0o750, 0o2775];

impl ScenarioDice {
    /// A scenario in which folders are made, removed and replaced, and all that is undone in every way.
    pub(super) fn among_folders(&mut self, machine: Profile) -> Scenario {
        let mut items = self.items();
        for folder in FOLDERS {
            if self.one_in(2) {
                items.extend([Item::Folder(folder.to_owned()), Item::Mode(folder.to_owned(), self.of(&MODES))]);
            }
        }
        let count = 3 + self.below(7);
        let steps = (0..count).map(|_| ScenarioStep::Act(self.act_on_folders(), Vec::new())).collect();
        Scenario { machine: Profile { small_history: false, ..machine }, items, steps }
    }

    fn act_on_folders(&mut self) -> ScenarioAct {
        match self.below(16) {
            0..=8 => ScenarioAct::Apply(self.asks_of_folders(), ScenarioTerms::default()),
            9..=10 => ScenarioAct::Undo(None),
            11 => ScenarioAct::Undo(Some(self.below(3))),
            12..=14 => ScenarioAct::UndoSince(self.below(5)),
            _ => ScenarioAct::Redo(None),
        }
    }

    fn asks_of_folders(&mut self) -> Vec<Ask> {
        let folder = self.of(&FOLDERS);
        let word = self.of(&super::WORDS);
        let text = self.text_with(word, 'N');
        match self.below(10) {
            0 => vec![Ask::MakeFolder(folder.to_owned())],
            1..=2 => {
                let mut asks = self.emptied(folder);
                asks.push(Ask::RemoveFolder(folder.to_owned()));
                asks
            }
            3 => {
                let mut asks = self.emptied(folder);
                asks.push(Ask::Symlink(folder.to_owned(), self.of(&["a", "d", "nowhere"]).to_owned()));
                self.files.insert(folder.to_owned(), word);
                asks
            }
            4 => {
                let mut asks = self.emptied(folder);
                asks.push(Ask::Create(folder.to_owned(), text));
                self.files.insert(folder.to_owned(), word);
                asks
            }
            5 => {
                let mut asks = self.emptied(folder);
                if let Some(Ask::Delete(file)) = asks.pop() {
                    asks.push(Ask::Rename(file, folder.to_owned()));
                    self.files.insert(folder.to_owned(), word);
                }
                asks
            }
            6 => {
                self.files.remove(folder);
                let inner = self.inner(folder, word);
                vec![Ask::Delete(folder.to_owned()), Ask::Create(inner, text)]
            }
            7..=8 => vec![Ask::Create(self.inner(folder, word), text)],
            _ => self.asks(),
        }
    }

    /// A free path in a folder, which is filled.
    fn inner(&mut self, folder: &str, word: &'static str) -> String {
        let name = self.of(&["x", "y", "s/z"]);
        let path = format!("{folder}/{name}");
        self.files.insert(path.clone(), word);
        path
    }

    /// Deletes the files in a folder, and may remove the folders in it.
    fn emptied(&mut self, folder: &str) -> Vec<Ask> {
        let within = format!("{folder}/");
        let gone: Vec<String> = self.files.keys().filter(|path| path.starts_with(&within)).cloned().collect();
        self.files.retain(|path, _| !path.starts_with(&within));
        let mut asks = Vec::new();
        for inner in FOLDERS.iter().filter(|inner| inner.starts_with(&within)) {
            if self.one_in(2) {
                asks.push(Ask::RemoveFolder((*inner).to_owned()));
            }
        }
        asks.extend(gone.into_iter().map(Ask::Delete));
        asks
    }
}
