//! Generates random scenarios.

mod folders;

use std::collections::BTreeMap;

use super::data::{
    Ask, Disturbance, Item, Profile, Scenario, ScenarioAct, ScenarioCheck, ScenarioDeed, ScenarioFault, ScenarioPoint,
    ScenarioStep, ScenarioTerms,
};
use crate::errno::Errno;
use crate::fs::sim::{Policy, Random};
use crate::journal::SwapMethod;

/// The files used in scripts.
const PATHS: [&str; 7] = ["a", "b", "c", "d/e", "d/f", "n", "g/h"];
const FOLDERS: [&str; 3] = ["d", "g", "k"];
const WORDS: [&str; 3] = ["red", "green", "blue"];
const MODES: [u32; 5] = [0o644, 0o600, 0o755, 0o640, 0o664];
const ERRNOS: [Errno; 8] =
    [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::FBIG, Errno::NOMEM, Errno::MFILE, Errno::ACCESS, Errno::INTR];

/// The scenario of a seed.
#[must_use]
pub fn generate(seed: u64) -> Scenario {
    generate_by(seed, |dice| {
        let (contended, lower) = (seed % 8 == 5, seed % 16 == 10);
        let [warm, uncounted, few] = [3, 5, 7].map(|every| seed.is_multiple_of(every));
        let machine = Profile { warm, uncounted, few, ..dice.machine() };
        if seed % 8 == 3 {
            return dice.among_folders(machine);
        }
        // No overlay counts as ext4, the one file system on which files are synced one by one.
        let sync_each = machine.sync_each && !lower;
        let orders = sync_each && seed.is_multiple_of(2);
        let machine = Profile { sync_each, orders, contended, lower, ..machine };
        let items = dice.items();
        let count = 1 + dice.below(5);
        let trouble = dice.trouble();
        let mut steps = Vec::new();
        for _ in 0..count {
            dice.step(trouble, &mut steps);
        }
        Scenario { machine, items, steps }
    })
}

/// A scenario from the random numbers of a seed.
pub(super) fn generate_by(seed: u64, throw: impl FnOnce(&mut ScenarioDice) -> Scenario) -> Scenario {
    throw(&mut ScenarioDice { random: Random::new(seed), marks: 0, held: 0, files: BTreeMap::new() })
}

/// The disturbances of a scenario: with one kind at a time the promise is clear.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each kind of trouble goes with each other")]
struct Trouble {
    foreign: bool,
    crash: bool,
    fault: bool,
    check: bool,
}

/// Chooses the parts of a scenario at random.
pub(super) struct ScenarioDice {
    random: Random,
    marks: u32,
    held: usize,
    /// The approximate files, each with a word that it contains: most requests should fit.
    files: BTreeMap<String, &'static str>,
}

impl ScenarioDice {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    pub(super) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn seed(&mut self) -> u64 {
        self.below(1_000_000) as u64
    }

    fn path(&mut self) -> String {
        self.of(&PATHS).to_owned()
    }

    /// A path that may have a file.
    fn there(&mut self) -> String {
        if self.files.is_empty() || self.one_in(12) {
            return self.path();
        }
        let at = self.below(self.files.len());
        self.files.keys().nth(at).cloned().unwrap_or_default()
    }

    /// A path that may be free.
    fn free(&mut self) -> String {
        let free: Vec<&str> = PATHS.into_iter().filter(|path| !self.files.contains_key(*path)).collect();
        if free.is_empty() || self.one_in(12) { self.path() } else { self.of(&free).to_owned() }
    }

    fn trouble(&mut self) -> Trouble {
        Trouble { foreign: self.one_in(2), crash: self.one_in(2), fault: self.one_in(4), check: self.one_in(3) }
    }

    pub(super) fn machine(&mut self) -> Profile {
        Profile {
            process: self.one_in(8),
            sync_each: self.one_in(3),
            orders: false,
            no_births: self.one_in(8),
            reuse: self.one_in(6),
            cold: self.one_in(8),
            fuse: self.one_in(4),
            small_history: self.one_in(16),
            contended: false,
            lower: false,
            warm: false,
            uncounted: false,
            few: false,
            swap: SwapMethod::Exchange,
        }
    }

    /// A word or two, and a mark that nobody else writes.
    pub(super) fn text(&mut self, letter: char) -> String {
        let word = self.of(&WORDS);
        self.text_with(word, letter)
    }

    fn text_with(&mut self, word: &str, letter: char) -> String {
        self.marks += 1;
        let marks = self.marks;
        if self.one_in(3) { format!("{word}\n{letter}{marks}") } else { format!("{word} {letter}{marks}\n") }
    }

    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        for path in ["a", "b", "c", "d/e", "d/f"] {
            if self.one_in(5) {
                continue;
            }
            let (word, mode) = (self.of(&WORDS), self.of(&MODES));
            let text = self.text_with(word, 'O');
            self.files.insert(path.to_owned(), word);
            items.push(Item::File(path.to_owned(), text, mode));
            if self.one_in(5) {
                items.push(Item::Attribute(path.to_owned(), "user.k".to_owned(), "v".to_owned()));
            }
        }
        if self.one_in(5) {
            items.push(Item::Folder("k".to_owned()));
        }
        if self.one_in(8) {
            items.push(Item::Symlink("n".to_owned(), self.of(&["a", "d"]).to_owned()));
        }
        if self.one_in(8) {
            items.push(Item::Link("a".to_owned(), "m".to_owned()));
        }
        items
    }

    fn step(&mut self, trouble: Trouble, steps: &mut Vec<ScenarioStep>) {
        if trouble.foreign && self.one_in(4) {
            let deed = self.deed();
            return steps.push(ScenarioStep::Foreign(deed));
        }
        if trouble.crash && self.one_in(8) {
            let (policy, seed) = (self.policy(), self.seed());
            return steps.push(ScenarioStep::Cut(policy, seed));
        }
        if self.one_in(12) {
            let seconds = self.of(&[10, 4000, -4000]);
            return steps.push(ScenarioStep::Clock(seconds));
        }
        let act = self.act(trouble);
        let mut disturbances = Vec::new();
        if trouble.foreign && self.one_in(2) {
            for _ in 0..=self.below(2) {
                let (point, deed) = (self.point(), self.deed());
                disturbances.push(Disturbance { point, what: ScenarioFault::Deed(deed) });
            }
        }
        if trouble.fault && self.one_in(2) {
            let (point, what) = (self.point(), self.fault());
            disturbances.push(Disturbance { point, what });
        }
        if trouble.crash && self.one_in(2) {
            let (point, policy, seed) = (self.point(), self.policy(), self.seed());
            let what = if self.one_in(2) { ScenarioFault::Kill } else { ScenarioFault::Cut(policy, seed) };
            disturbances.push(Disturbance { point, what });
        }
        steps.push(ScenarioStep::Act(act, disturbances));
    }

    fn policy(&mut self) -> Policy {
        self.of(&[Policy::Unordered, Policy::OrderedMetadata])
    }

    pub(super) fn point(&mut self) -> ScenarioPoint {
        ScenarioPoint::Share(u16::try_from(self.below(1000)).unwrap_or(0))
    }

    fn fault(&mut self) -> ScenarioFault {
        let errno = self.of(&ERRNOS).raw_os_error();
        match self.below(9) {
            8 => ScenarioFault::Cancel,
            0 => ScenarioFault::Short,
            1 => ScenarioFault::FailAfter(Errno::IO.raw_os_error()),
            2 | 3 => ScenarioFault::Fail(errno, true),
            _ => ScenarioFault::Fail(errno, false),
        }
    }

    fn act(&mut self, trouble: Trouble) -> ScenarioAct {
        match self.below(24) {
            0..=10 => {
                let asks = self.asks();
                let terms = self.terms(trouble);
                ScenarioAct::Apply(asks, terms)
            }
            11..=13 => ScenarioAct::Undo(None),
            14 if self.one_in(2) => ScenarioAct::UndoSince(self.below(4)),
            14 => ScenarioAct::Undo(Some(self.below(3))),
            15 => ScenarioAct::Redo(None),
            16..=17 => {
                let (number, asks) = (self.below(2), self.asks());
                ScenarioAct::Stage(number, asks)
            }
            18 => {
                let gate = self.gate(trouble);
                ScenarioAct::Commit(self.below(2), gate)
            }
            19 => ScenarioAct::Preview(self.below(2)),
            20 if self.one_in(2) => ScenarioAct::RollBack(self.below(2)),
            20 => ScenarioAct::Status,
            21 => ScenarioAct::Prune(self.below(2)),
            22 => {
                if self.one_in(2) {
                    ScenarioAct::Restore
                } else {
                    ScenarioAct::Drop
                }
            }
            _ => ScenarioAct::Recover,
        }
    }

    fn terms(&mut self, trouble: Trouble) -> ScenarioTerms {
        let key = self.one_in(8).then(|| format!("k{}", self.below(2)));
        let check = self.gate(trouble);
        ScenarioTerms { key, idempotent: self.one_in(8), check }
    }

    fn gate(&mut self, trouble: Trouble) -> Option<ScenarioCheck> {
        if !trouble.check || self.one_in(3) {
            return None;
        }
        let count = if trouble.foreign { self.below(3) } else { 0 };
        Some(ScenarioCheck { passes: self.one_in(2), deeds: (0..count).map(|_| self.deed()).collect() })
    }

    /// Turns a file into a folder, or a folder into a file.
    fn turn(&mut self) -> Vec<Ask> {
        let word = self.of(&WORDS);
        let text = self.text_with(word, 'N');
        if self.one_in(2) {
            let file = self.of(&["a", "b", "c"]);
            let inner = format!("{file}/in");
            self.files.remove(file);
            self.files.insert(inner.clone(), word);
            let moves = self.one_in(2);
            if moves {
                return vec![Ask::Rename(file.to_owned(), inner)];
            }
            return vec![Ask::Delete(file.to_owned()), Ask::Create(inner, text)];
        }
        let gone: Vec<String> = self.files.keys().filter(|path| path.starts_with("d/")).cloned().collect();
        self.files.retain(|path, _| !path.starts_with("d/"));
        self.files.insert("d".to_owned(), word);
        gone.into_iter().map(Ask::Delete).chain([Ask::Create("d".to_owned(), text)]).collect()
    }

    /// Takes the symlink away that may be at `n`, and does something beneath it.
    fn beneath_symlink(&mut self) -> Vec<Ask> {
        let mut asks = match self.below(3) {
            0 => vec![Ask::Symlink("n".to_owned(), self.of(&["b", "k"]).to_owned())],
            1 => vec![Ask::Rename("n".to_owned(), self.free())],
            _ => vec![Ask::Delete("n".to_owned())],
        };
        if self.one_in(2) {
            asks.push(Ask::MakeFolder("n".to_owned()));
        }
        let (beneath, text) = (self.of(&["n/x", "n/e", "n/in/x"]).to_owned(), self.text('N'));
        asks.push(match self.below(4) {
            0 => Ask::Delete(beneath),
            1 => Ask::Rename(self.there(), beneath),
            _ => Ask::Create(beneath, text),
        });
        asks
    }

    /// Makes or removes a folder or a symlink, beside something else.
    fn without_content(&mut self) -> Vec<Ask> {
        let mut asks = match self.below(7) {
            0 => vec![Ask::MakeFolder(self.of(&["g", "k", "k/l", "a"]).to_owned())],
            1 => vec![Ask::RemoveFolder("k".to_owned())],
            2 => {
                let gone: Vec<String> = self.files.keys().filter(|path| path.starts_with("d/")).cloned().collect();
                self.files.retain(|path, _| !path.starts_with("d/"));
                gone.into_iter().map(Ask::Delete).chain([Ask::RemoveFolder("d".to_owned())]).collect()
            }
            3 | 4 => return self.beneath_symlink(),
            _ => {
                let path = if self.one_in(2) { self.free() } else { self.there() };
                self.files.remove(&path);
                vec![Ask::Symlink(path, self.of(&["a", "b", "nowhere", "d"]).to_owned())]
            }
        };
        if self.one_in(2) {
            asks.push(self.ask());
        }
        asks
    }

    pub(super) fn asks(&mut self) -> Vec<Ask> {
        if self.one_in(16) {
            return self.turn();
        }
        if self.one_in(12) {
            return self.without_content();
        }
        (0..=self.below(3)).map(|_| self.ask()).collect()
    }

    fn ask(&mut self) -> Ask {
        match self.below(12) {
            0..=5 => {
                let path = self.there();
                let new = self.of(&WORDS);
                let known = self.files.insert(path.clone(), new).filter(|_| !self.one_in(12));
                let old = known.unwrap_or_else(|| self.of(&WORDS));
                Ask::Edit(path, old.to_owned(), new.to_owned())
            }
            6..=7 => {
                let (path, word, is_new) = (self.free(), self.of(&WORDS), self.one_in(2));
                let path = if is_new { path } else { self.there() };
                let text = self.text_with(word, 'N');
                self.files.insert(path.clone(), word);
                if is_new { Ask::Create(path, text) } else { Ask::Write(path, text) }
            }
            8 => {
                let path = self.there();
                self.files.remove(&path);
                Ask::Delete(path)
            }
            9..=10 => {
                let (from, to) = (self.there(), self.free());
                if let Some(word) = self.files.remove(&from) {
                    self.files.insert(to.clone(), word);
                }
                Ask::Rename(from, to)
            }
            _ => Ask::Mode(self.there(), self.of(&MODES)),
        }
    }

    /// Something in a section of the state folder that is not a transaction.
    fn stranger(&mut self) -> ScenarioDeed {
        let section = self.of(&["txn", "open", "history", "kept", "trash"]);
        let id = self.of(&["20200101T000000.000000Z-0123456789abcdef", "20990101T000000.000000Z-0123456789abcdef"]);
        let path = format!(".txedit/{section}/{id}");
        if self.one_in(2) {
            ScenarioDeed::Pipe(path)
        } else {
            ScenarioDeed::Create(path, "no transaction\n".to_owned())
        }
    }

    fn deed(&mut self) -> ScenarioDeed {
        if self.one_in(40) {
            return self.stranger();
        }
        if self.one_in(40) {
            let (one, other) = (self.of(&["d", "a", "b"]), self.of(&["g", "k", "c", "n"]));
            return ScenarioDeed::Exchange(one.to_owned(), other.to_owned());
        }
        let path = self.there();
        match self.below(22) {
            0..=1 => ScenarioDeed::Write(path, self.text('F')),
            2..=4 => ScenarioDeed::Append(path, format!(" {}", self.text('F'))),
            5 => ScenarioDeed::Forge(path, self.text('F')),
            6..=7 if self.one_in(3) => ScenarioDeed::Save(path),
            6..=7 => ScenarioDeed::Replace(path, self.text('F')),
            8 => ScenarioDeed::Create(self.free(), self.text('F')),
            9 => ScenarioDeed::Delete(path),
            10..=11 => ScenarioDeed::Chmod(path, self.of(&MODES)),
            12 => ScenarioDeed::Chown(path, 5, 6),
            13 => ScenarioDeed::SetAttribute(path, "user.k".to_owned(), "w".to_owned()),
            14 => ScenarioDeed::RemoveAttribute(path, "user.k".to_owned()),
            15 => ScenarioDeed::Mkdir(self.of(&FOLDERS).to_owned()),
            16 => {
                ScenarioDeed::Move(self.of(&["d", "a", "b", "g"]).to_owned(), self.of(&["away", "n", "d"]).to_owned())
            }
            17 => ScenarioDeed::Link("a".to_owned(), "m".to_owned()),
            18..=19 => {
                self.held += 1;
                ScenarioDeed::Hold(self.held % 3, path)
            }
            _ => ScenarioDeed::Late(self.below(3), format!(" {}", self.text('F'))),
        }
    }
}
