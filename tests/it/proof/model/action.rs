//! What can happen, and how it is made up.

use proptest::prelude::*;

use super::reference::Ask;

/// One step of a sequence.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Apply(Vec<Ask>),
    /// Undo one of the committed transactions, counted from the newest.
    Undo(usize),
    /// Undo the newest that is not undone.
    UndoNewest,
    Foreign(Foreign),
    /// Apply, and kill the process before its n-th call, or cut the power there.
    Crash {
        asks: Vec<Ask>,
        call: u64,
        power: Option<u64>,
    },
    /// Apply, and do something foreign before the n-th call.
    Race {
        asks: Vec<Ask>,
        call: u64,
        foreign: Foreign,
    },
    /// Apply, and fail the n-th call.
    Fault {
        asks: Vec<Ask>,
        call: u64,
    },
    /// Stage in the open transaction of one of two clients.
    Stage {
        client: usize,
        asks: Vec<Ask>,
    },
    /// Commit it.
    CommitOpen(usize),
    /// Drop it.
    RollBack(usize),
    Recover,
    /// Let enough time pass for every file to be old.
    Wait,
    /// Set the clock back by an hour.
    TurnBack,
}

/// What another program does.
#[derive(Debug, Clone)]
pub(super) enum Foreign {
    WriteInPlace(&'static str, String),
    Replace(&'static str, String),
    Delete(&'static str),
}

impl Foreign {
    pub(super) fn path(&self) -> &'static str {
        match self {
            Self::WriteInPlace(path, _) | Self::Replace(path, _) | Self::Delete(path) => path,
        }
    }
}

const PATHS: [&str; 6] = ["a", "b", "c", "d/e", "d/f", "g/h/i"];
const WORDS: [&str; 4] = ["red", "green", "blue", "red red"];

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&PATHS[..])
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&WORDS[..])
}

fn content() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 1..4).prop_map(|words| words.join("\n"))
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        3 => (path(), word(), word(), any::<bool>()).prop_map(|(path, old, new, all)| Ask::Edit { path, old, new, all }),
        3 => (path(), content(), any::<bool>()).prop_map(|(path, content, replace)| Ask::Write { path, content, replace }),
        1 => path().prop_map(|path| Ask::Delete { path }),
        2 => (path(), path(), any::<bool>()).prop_map(|(from, to, replace)| Ask::Rename { from, to, replace }),
        1 => (path(), prop::sample::select(&[0o600, 0o755][..])).prop_map(|(path, mode)| Ask::Mode { path, mode }),
    ]
}

/// What makes a file read-only is not staged: edits may come on top of that.
fn asks_at_once() -> impl Strategy<Value = Vec<Ask>> {
    let ask = prop_oneof![9 => ask(), 1 => path().prop_map(|path| Ask::Mode { path, mode: 0o444 })];
    prop::collection::vec(ask, 1..5)
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    prop::collection::vec(ask(), 1..5)
}

/// Contents of a foreign program are told by a marker that nobody else writes.
fn foreign() -> impl Strategy<Value = Foreign> {
    let marked = || (0..1_000_000u32, content()).prop_map(|(n, text)| format!("foreign {n}\n{text}"));
    prop_oneof![
        (path(), marked()).prop_map(|(path, text)| Foreign::WriteInPlace(path, text)),
        (path(), marked()).prop_map(|(path, text)| Foreign::Replace(path, text)),
        path().prop_map(Foreign::Delete),
    ]
}

pub(super) fn arbitrary() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => asks_at_once().prop_map(Action::Apply),
        2 => (0..4usize).prop_map(Action::Undo),
        1 => Just(Action::UndoNewest),
        2 => foreign().prop_map(Action::Foreign),
        3 => (asks(), 0..400u64, prop::option::of(any::<u64>()))
            .prop_map(|(asks, call, power)| Action::Crash { asks, call, power }),
        3 => (asks(), 0..300u64, foreign()).prop_map(|(asks, call, foreign)| Action::Race { asks, call, foreign }),
        2 => (asks(), 0..300u64).prop_map(|(asks, call)| Action::Fault { asks, call }),
        4 => (0..2usize, asks()).prop_map(|(client, asks)| Action::Stage { client, asks }),
        2 => (0..2usize).prop_map(Action::CommitOpen),
        1 => (0..2usize).prop_map(Action::RollBack),
        1 => Just(Action::Recover),
        2 => Just(Action::Wait),
        1 => Just(Action::TurnBack),
    ]
}
