//! An attacker exchanges the state folder, its sections or folders of the workspace with prepared ones, during an act.
//!
//! The answers about such a workspace count for little. What counts: nothing outside of it is changed, nor a folder of
//! another user in it that no request names, and no content is lost that existed before the engine was called.

use std::path::{Path, PathBuf};

use super::data::{
    Ask, Disturbance, Item, Profile, Scenario, ScenarioAct, ScenarioCheck, ScenarioDeed, ScenarioFault, ScenarioStep,
    ScenarioTerms,
};
use super::generate::{ScenarioDice, generate_by};
use super::judge::Judged;
use super::look::{ContentMarks, mark_text, marks_of};
use super::run::ScenarioWorld;
use crate::fs::FileKind;
use crate::fs::sim::{SimEntry, SimFs};
use crate::path::STATE_FOLDER;
use crate::testing::run::lock;
use crate::testing::script::ROOT;

/// A folder beside the workspace.
pub(super) const OUTSIDE: &str = "/outside";

/// A folder in the workspace of another user, which no request names.
const STRANGERS: &str = "strangers";
const STRANGER: u32 = 7;

const SECTIONS: [&str; 5] = [".txedit/txn", ".txedit/history", ".txedit/trash", ".txedit/kept", ".txedit/open"];
const PLANTED: [&str; 5] = ["planted", "planted/txn", "link", "d", "k"];

/// The scenario of a seed with an attacker in it.
#[must_use]
pub fn generate_attack(seed: u64) -> Scenario {
    generate_by(seed, |dice| {
        let machine = Profile { small_history: false, ..dice.machine() };
        let aim = dice.of(&[Aim::State, Aim::Sections, Aim::Targets]);
        let mut items = if aim == Aim::Targets { targets() } else { dice.items() };
        let folders = ["k", "planted", "planted/txn", "planted/history", "planted/trash", "planted/kept"];
        items.extend(folders.map(|path| Item::Folder(path.to_owned())));
        items.push(Item::Symlink("link".to_owned(), OUTSIDE.to_owned()));
        items.push(Item::Folder(STRANGERS.to_owned()));
        items.extend(["e", "f"].map(|name| Item::File(format!("{STRANGERS}/{name}"), "precious\n".to_owned(), 0o644)));
        let mut steps = vec![ScenarioStep::Foreign(ScenarioDeed::Chown(STRANGERS.to_owned(), STRANGER, STRANGER))];
        if dice.one_in(2) {
            steps.push(ScenarioStep::Foreign(ScenarioDeed::Chown("planted".to_owned(), 5, 6)));
        }
        for _ in 0..=dice.below(4) {
            let act = attacked_act(dice, aim);
            let count = dice.below(3);
            let mut disturbances: Vec<_> = (0..count).map(|_| exchange(dice, aim)).collect();
            if dice.one_in(4) {
                disturbances.push(Disturbance { point: dice.point(), what: ScenarioFault::Kill });
            }
            steps.push(ScenarioStep::Act(act, disturbances));
        }
        Scenario { machine, items, steps }
    })
}

/// The attacker's target. Through a state folder that leads outside, the sections there would be exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    State,
    Sections,
    /// Folders of targets, in exchange for a foreign one.
    Targets,
}

fn exchange(dice: &mut ScenarioDice, aim: Aim) -> Disturbance {
    let (one, other) = match aim {
        Aim::Targets => ("d", STRANGERS),
        Aim::Sections => (dice.of(&SECTIONS), dice.of(&PLANTED)),
        Aim::State => (STATE_FOLDER, dice.of(&["planted", "link", "k"])),
    };
    let one = if dice.one_in(4) { "d" } else { one };
    Disturbance {
        point: dice.point(),
        what: ScenarioFault::Deed(ScenarioDeed::Exchange(one.to_owned(), other.to_owned())),
    }
}

const TARGETS: [&str; 3] = ["a", "d/e", "d/f"];

fn targets() -> Vec<Item> {
    TARGETS.iter().zip(1..).map(|(path, at)| Item::File((*path).to_owned(), format!("red O{at}\n"), 0o644)).collect()
}

/// If targets are attacked, requests find their place by a text that only the owner's files contain.
fn attacked_asks(dice: &mut ScenarioDice, aim: Aim) -> Vec<Ask> {
    if aim != Aim::Targets {
        return dice.asks();
    }
    let edit = |path: &&str| Ask::Edit((*path).to_owned(), "red".to_owned(), "blue".to_owned());
    TARGETS[dice.below(3)..].iter().map(edit).collect()
}

/// An act that deletes no content except kept ones.
fn attacked_act(dice: &mut ScenarioDice, aim: Aim) -> ScenarioAct {
    match dice.below(14) {
        0..=6 => {
            let asks = attacked_asks(dice, aim);
            // What a check that fails wrote is kept. Through an exchanged folder the check itself would write
            // elsewhere.
            let written = match asks.first() {
                Some(Ask::Edit(path, ..)) if !path.contains('/') && dice.one_in(2) => {
                    vec![ScenarioDeed::Append(path.clone(), format!(" {}", dice.text('F')))]
                }
                _ => Vec::new(),
            };
            let check = dice.one_in(2).then(|| ScenarioCheck { passes: dice.one_in(2), deeds: written });
            ScenarioAct::Apply(asks, ScenarioTerms { check, ..ScenarioTerms::default() })
        }
        7 => ScenarioAct::Undo(None),
        8 => ScenarioAct::Stage(0, attacked_asks(dice, aim)),
        9 => ScenarioAct::Commit(0, None),
        10 => ScenarioAct::Restore,
        11 | 12 => ScenarioAct::Drop,
        _ => ScenarioAct::Recover,
    }
}

/// Returns whether an attacker exchanges parts of the state folder, or folders that lead outside.
pub(super) fn is_attacked(scenario: &Scenario) -> bool {
    let is_state = |path: &String| Path::new(path).starts_with(STATE_FOLDER);
    let is_attack =
        |deed: &ScenarioDeed| matches!(deed, ScenarioDeed::Exchange(one, other) if is_state(one) || is_state(other));
    let is_one = |step: &ScenarioStep| match step {
        ScenarioStep::Act(_, disturbances) => {
            disturbances.iter().any(|it| matches!(&it.what, ScenarioFault::Deed(deed) if is_attack(deed)))
        }
        ScenarioStep::Foreign(deed) => is_attack(deed),
        ScenarioStep::Clock(_) | ScenarioStep::Cut(..) => false,
    };
    scenario.items.iter().any(|item| matches!(item, Item::Symlink(_, target) if target == OUTSIDE))
        || scenario.steps.iter().any(is_one)
}

/// Makes the files outside of the workspace to which an attacker may lead the engine, some with names of its own.
pub(super) fn make_outside(machine: &SimFs) -> std::io::Result<()> {
    for folder in ["", "txn", "history", "trash", "kept", "open"] {
        let folder = Path::new(OUTSIDE).join(folder);
        machine.make_folders(&folder)?;
        machine.create(folder.join("a"), "precious\n")?;
        machine.create(folder.join("e"), "precious\n")?;
    }
    Ok(())
}

/// Everything that counts under attack.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScenarioPrecious {
    outside: Vec<(PathBuf, SimEntry)>,
    /// The content of the other user's folder, whatever its name is now; `None` if it does not belong to them yet.
    strangers: Option<Vec<(PathBuf, SimEntry)>>,
    marks: ContentMarks,
    /// Those that an attacker may have put where `kept drop` deletes.
    droppable: ContentMarks,
}

impl ScenarioWorld {
    /// The contents that must exist after the next step. New content may be lost: nobody else wrote it.
    pub(super) fn precious(&self) -> ScenarioPrecious {
        let all = self.machine.entries(ROOT).unwrap_or_default();
        let mut marks = marks_of(all.iter().map(|(_, entry)| entry));
        marks.retain(|(letter, _)| *letter != b'N');
        let is_reached = |(path, _): &&(PathBuf, SimEntry)| {
            path.starts_with(STATE_FOLDER) || PLANTED.iter().any(|planted| path.starts_with(planted))
        };
        let droppable = marks_of(all.iter().filter(is_reached).map(|(_, entry)| entry));
        let is_theirs = |(_, entry): &&(PathBuf, SimEntry)| entry.user == STRANGER && entry.kind == FileKind::Folder;
        let strangers = all.iter().find(is_theirs).map(|(folder, _)| {
            let inside =
                |(path, entry): &(PathBuf, SimEntry)| Some((path.strip_prefix(folder).ok()?.to_owned(), entry.clone()));
            all.iter().filter_map(inside).filter(|(name, _)| !name.as_os_str().is_empty()).collect()
        });
        ScenarioPrecious { outside: self.machine.entries(OUTSIDE).unwrap_or_default(), strangers, marks, droppable }
    }

    /// Does a step, and judges it.
    pub(super) fn attacked(&mut self, step: &mut ScenarioStep) -> Judged {
        let before = self.precious();
        match step {
            ScenarioStep::Act(act, disturbances) => {
                lock(&self.foreigners).begin(act.gate().is_some());
                let base = self.look().files.clone();
                drop(self.clean(act, disturbances, &base));
                let disturbers = self.disturb(disturbances);
                // The answer is ignored.
                drop(self.call(act));
                self.machine.clear_hook();
                drop(disturbers);
            }
            ScenarioStep::Foreign(deed) => lock(&self.foreigners).act(&self.machine, deed, false),
            ScenarioStep::Clock(_) | ScenarioStep::Cut(..) => {}
        }
        let after = self.precious();
        if before.outside != after.outside {
            return Err(format!("outside the workspace was {:?}, and is {:?}", before.outside, after.outside));
        }
        if before.strangers.is_some() && before.strangers != after.strangers {
            return Err(format!("of somebody else's was {:?}, and is {:?}", before.strangers, after.strangers));
        }
        let mut lost = &before.marks - &after.marks;
        if let ScenarioStep::Act(ScenarioAct::Drop, _) = step {
            lost = &lost - &before.droppable;
        }
        let lost: Vec<_> = lost.iter().map(|mark| mark_text(*mark)).collect();
        if lost.is_empty() { Ok(()) } else { Err(format!("gone: {}", lost.join(", "))) }
    }
}
