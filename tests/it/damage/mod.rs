//! Failing edits as models make them: each is right all the same, or its answer has what to send next.
//!
//! The edits are made of the sources of this repository, and damaged in ways that are known. `TXEDIT_DAMAGE_CASES=40` tries
//! so many of each kind, `TXEDIT_TEST_SEED` others; `TXEDIT_DAMAGE_SHOW` prints those that are neither.

mod case;
mod marks;
mod parts;
mod space;
mod stale;

use std::fmt::Write as _;

use serde_json::{Value, json};
use txedit::wire::{Shape, failure};
use txedit::{NextStep, PathRule};

use crate::support::sources::{Source, sources};
use crate::support::workspace::Workspace;
use case::{Case, Dice};

/// `None` where a damage does not apply.
type Damage = Option<()>;

/// A kind of damage, and its name.
type Kind = (&'static str, fn(&mut Case, &mut Dice) -> Damage);

/// The edits of each kind.
const CASES: usize = 8;

/// The edits that are tried to find one that a damage applies to.
const TRIES: usize = 20_000;

/// The outcome of damaged edits.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    total: usize,
    /// Applied as it was meant.
    right: usize,
    /// Refused, and the answer has an `old_string` that is there once and covers what is changed.
    proved: usize,
    /// The same, as a guess.
    guessed: usize,
    wrong: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.total += other.total;
        self.right += other.right;
        self.proved += other.proved;
        self.guessed += other.guessed;
        self.wrong += other.wrong;
    }

    fn served(&self) -> usize {
        self.right + self.proved + self.guessed
    }
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// An edit of this kind whose old text is not there once.
fn damaged(kind: &Kind, sources: &[Source], dice: &mut Dice) -> Option<Case> {
    (0..TRIES).find_map(|_| {
        let mut case = Case::random(sources, dice)?;
        let before = case.old.clone();
        kind.1(&mut case, dice)?;
        let times = case.file.matches(&case.old).count();
        (case.old != before && times != 1 && !case.old.is_empty() && case.old != case.new).then_some(case)
    })
}

/// Sends the edit, and judges the answer.
fn send(workspace: &Workspace, case: &Case, matching: &str) -> (Tally, Value) {
    let edit = json!({ "old_string": case.old, "new_string": case.new, "match": matching });
    let request = json!({ "files": [{ "file_path": "a.rs", "edits": [edit] }] });
    workspace.write("a.rs", &case.file);
    let mut tally = Tally { total: 1, ..Tally::default() };
    let Err(error) = workspace.apply(&request) else {
        let is_right = workspace.read("a.rs") == case.expected;
        (tally.right, tally.wrong) = (usize::from(is_right), usize::from(!is_right));
        return (tally, Value::Null);
    };
    assert_eq!(workspace.read("a.rs"), case.file, "refused, and changed all the same");
    let parsed = txedit::wire::parse(request.to_string().as_bytes()).unwrap();
    let parsed = parsed.into_request(PathRule::AbsoluteOrRelative).unwrap();
    let answer = failure(&error, Some(&parsed), Shape::Multi, NextStep::to_string);
    let answer = serde_json::to_value(answer).unwrap();
    let context = &answer["context"];
    let serves = |value: &Value| value.as_str().is_some_and(|old| case.is_served_by(old));
    let places = context["match_locations"].as_array().into_iter().flatten();
    if serves(&context["suggestion"]) || places.into_iter().any(|place| serves(&place["unique_old_string"])) {
        tally.proved = 1;
    } else if serves(&context["nearest_old_string"]) {
        tally.guessed = 1;
    }
    (tally, answer)
}

fn kinds() -> Vec<&'static Kind> {
    [space::KINDS, marks::KINDS, stale::KINDS].into_iter().flatten().collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are to be seen")]
fn every_answer_has_what_to_send_next() {
    let (sources, workspace) = (sources("src"), Workspace::new());
    let (cases, seed) = (number("TXEDIT_DAMAGE_CASES", CASES), number("TXEDIT_TEST_SEED", 1));
    let mut table = String::from("| damage | edits | proved | guessed | neither |\n|---|---|---|---|---|\n");
    let (mut exact, mut tolerant) = (Tally::default(), Tally::default());
    for (index, kind) in kinds().into_iter().enumerate() {
        let mut dice = Dice::new(u64::try_from(seed * 1000 + index).unwrap());
        let mut sum = Tally::default();
        for _ in 0..cases {
            let Some(case) = damaged(kind, &sources, &mut dice) else { continue };
            let (tally, answer) = send(&workspace, &case, "exact");
            if tally.served() == 0 && std::env::var_os("TXEDIT_DAMAGE_SHOW").is_some() {
                println!("--- {}: {}\n{:?}\n{:#}", kind.0, case.path, case, answer["context"]);
            }
            sum.add(tally);
            tolerant.add(send(&workspace, &case, "tolerant").0);
        }
        assert!(sum.total > 0, "{}: no edit is damaged so", kind.0);
        let neither = sum.total - sum.served() - sum.wrong;
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {neither} |",
            kind.0,
            sum.total,
            sum.proved + sum.right,
            sum.guessed
        );
        exact.add(sum);
    }
    println!("{table}\n{} kinds, exact: {exact:?}, tolerant: {tolerant:?}", kinds().len());
    assert_eq!((exact.wrong, tolerant.wrong), (0, 0), "applied in another way than was meant");
    assert!(exact.total >= 300 && kinds().len() >= 60);
    assert!(exact.served() * 100 >= exact.total * 95, "{} of {} have what to send next", exact.served(), exact.total);
}
