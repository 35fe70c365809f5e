//! Writes the text form of a scenario: see `parse`.

use std::fmt;

use super::data::{
    Ask, Disturbance, Item, Profile, Scenario, ScenarioAct, ScenarioCheck, ScenarioDeed, ScenarioFault, ScenarioPoint,
    ScenarioStep,
};
use super::parse::ERRNOS;
use crate::fs::sim::Policy;
use crate::journal::SwapMethod;

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.machine)?;
        for item in &self.items {
            match item {
                Item::Folder(path) => writeln!(f, "folder {path}")?,
                Item::File(path, text, mode) => writeln!(f, "file {path} {text:?} {mode:o}")?,
                Item::Symlink(path, target) => writeln!(f, "symlink {path} {target}")?,
                Item::Link(path, new) => writeln!(f, "link {path} {new}")?,
                Item::Attribute(path, name, value) => writeln!(f, "attribute {path} {name} {value:?}")?,
                Item::Mode(path, mode) => writeln!(f, "mode {path} {mode:o}")?,
            }
        }
        self.steps.iter().try_for_each(|step| write!(f, "{step}"))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return Ok(());
        }
        f.write_str("machine")?;
        let all = [
            (self.process, "process"),
            (self.sync_each, "sync_each"),
            (self.orders, "orders"),
            (self.no_births, "no_births"),
            (self.reuse, "reuse"),
            (self.cold, "cold"),
            (self.fuse, "fuse"),
            (self.small_history, "small_history"),
            (self.contended, "contended"),
            (self.lower, "lower"),
            (self.warm, "warm"),
            (self.uncounted, "uncounted"),
            (self.few, "few"),
            (self.swap == SwapMethod::Rename, "renames"),
            (self.swap == SwapMethod::Link, "links"),
        ];
        all.iter().filter(|(on, _)| *on).try_for_each(|(_, word)| write!(f, " {word}"))?;
        writeln!(f)
    }
}

impl fmt::Display for ScenarioStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Act(act, disturbances) => {
                write!(f, "{act}")?;
                disturbances.iter().try_for_each(|disturbance| writeln!(f, "  {disturbance}"))
            }
            Self::Foreign(deed) => writeln!(f, "foreign {deed}"),
            Self::Clock(seconds) => writeln!(f, "clock {seconds}"),
            Self::Cut(policy, seed) => writeln!(f, "cut {} {seed}", policy_word(*policy)),
        }
    }
}

const fn policy_word(policy: Policy) -> &'static str {
    match policy {
        Policy::Unordered => "unordered",
        Policy::OrderedMetadata => "ordered",
    }
}

impl fmt::Display for ScenarioAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gated = |f: &mut fmt::Formatter<'_>, gate: &Option<ScenarioCheck>| -> fmt::Result {
            let Some(gate) = gate else { return Ok(()) };
            writeln!(f, "  check {}", if gate.passes { "passes" } else { "fails" })?;
            gate.deeds.iter().try_for_each(|deed| writeln!(f, "  check does {deed}"))
        };
        let asked = |f: &mut fmt::Formatter<'_>, asks: &[Ask]| asks.iter().try_for_each(|ask| writeln!(f, "  {ask}"));
        let counted = |f: &mut fmt::Formatter<'_>, word: &str, number: &Option<usize>| match number {
            Some(number) => writeln!(f, "{word} {number}"),
            None => writeln!(f, "{word}"),
        };
        match self {
            Self::Apply(asks, terms) => {
                writeln!(f, "apply")?;
                asked(f, asks)?;
                terms.key.iter().try_for_each(|key| writeln!(f, "  key {key}"))?;
                if terms.idempotent {
                    writeln!(f, "  idempotent")?;
                }
                gated(f, &terms.check)
            }
            Self::Undo(number) => counted(f, "undo", number),
            Self::UndoSince(number) => writeln!(f, "undo_since {number}"),
            Self::Redo(number) => counted(f, "redo", number),
            Self::Stage(open, asks) => writeln!(f, "stage {open}").and_then(|()| asked(f, asks)),
            Self::Preview(open) => writeln!(f, "preview {open}"),
            Self::Commit(open, gate) => writeln!(f, "commit {open}").and_then(|()| gated(f, gate)),
            Self::RollBack(open) => writeln!(f, "rollback {open}"),
            Self::Prune(keep) => writeln!(f, "prune {keep}"),
            Self::Status => writeln!(f, "status"),
            Self::Restore => writeln!(f, "restore"),
            Self::Drop => writeln!(f, "drop"),
            Self::Recover => writeln!(f, "recover"),
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edit(path, old, new) => write!(f, "edit {path} {old:?} {new:?}"),
            Self::Create(path, text) => write!(f, "create {path} {text:?}"),
            Self::Write(path, text) => write!(f, "write {path} {text:?}"),
            Self::Delete(path) => write!(f, "delete {path}"),
            Self::Rename(path, to) => write!(f, "rename {path} {to}"),
            Self::Mode(path, mode) => write!(f, "mode {path} {mode:o}"),
            Self::MakeFolder(path) => write!(f, "make_folder {path}"),
            Self::RemoveFolder(path) => write!(f, "remove_folder {path}"),
            Self::Symlink(path, target) => write!(f, "symlink {path} {target}"),
        }
    }
}

impl fmt::Display for ScenarioDeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(path, text) => write!(f, "write {path} {text:?}"),
            Self::Append(path, text) => write!(f, "append {path} {text:?}"),
            Self::Forge(path, text) => write!(f, "forge {path} {text:?}"),
            Self::Replace(path, text) => write!(f, "replace {path} {text:?}"),
            Self::Save(path) => write!(f, "save {path}"),
            Self::Create(path, text) => write!(f, "create {path} {text:?}"),
            Self::Delete(path) => write!(f, "delete {path}"),
            Self::Chmod(path, mode) => write!(f, "chmod {path} {mode:o}"),
            Self::Chown(path, user, group) => write!(f, "chown {path} {user} {group}"),
            Self::SetAttribute(path, name, value) => write!(f, "setfattr {path} {name} {value:?}"),
            Self::RemoveAttribute(path, name) => write!(f, "rmfattr {path} {name}"),
            Self::Mkdir(path) => write!(f, "mkdir {path}"),
            Self::Move(from, to) => write!(f, "move {from} {to}"),
            Self::Exchange(one, other) => write!(f, "exchange {one} {other}"),
            Self::Rmdir(path) => write!(f, "rmdir {path}"),
            Self::Symlink(target, path) => write!(f, "symlink {target} {path}"),
            Self::Link(path, new) => write!(f, "link {path} {new}"),
            Self::Pipe(path) => write!(f, "pipe {path}"),
            Self::Hold(number, path) => write!(f, "hold {number} {path}"),
            Self::Late(number, text) => write!(f, "late {number} {text:?}"),
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point = &self.point;
        let errno = |raw: i32| {
            let known = ERRNOS.iter().find(|(_, errno)| errno.raw_os_error() == raw);
            known.map_or("EIO", |(name, _)| *name)
        };
        match &self.what {
            ScenarioFault::Deed(deed) => write!(f, "before {point}: {deed}"),
            ScenarioFault::Fail(raw, false) => write!(f, "fail {} at {point}:", errno(*raw)),
            ScenarioFault::Fail(raw, true) => write!(f, "fail_on {} at {point}:", errno(*raw)),
            ScenarioFault::FailAfter(raw) => write!(f, "fail_after {} at {point}:", errno(*raw)),
            ScenarioFault::Short => write!(f, "short at {point}:"),
            ScenarioFault::Cancel => write!(f, "cancel at {point}:"),
            ScenarioFault::Kill => write!(f, "kill at {point}:"),
            ScenarioFault::Cut(policy, seed) => write!(f, "cut {} {seed} at {point}:", policy_word(*policy)),
        }
    }
}

impl fmt::Display for ScenarioPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(call) => write!(f, "{call}"),
            Self::Share(share) => write!(f, "{}.{}%", share / 10, share % 10),
            Self::Verb(verb, Some(path), nth) => write!(f, "{verb} {path} #{nth}"),
            Self::Verb(verb, None, nth) => write!(f, "{verb} #{nth}"),
        }
    }
}
