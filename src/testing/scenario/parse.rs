//! Parses the text form of a scenario: one item per line, details of an act indented beneath it, texts in quotes.
//!
//! ```text
//! # A permission that is taken away between the last look and the swap stays away.
//! file a "one O1\n" 644
//! apply
//!   edit a "one" "two"
//!   before rename /w/a #1: chmod a 600
//! undo
//! ```

use super::data::{
    Ask, Disturbance, Item, Profile, Scenario, ScenarioAct, ScenarioDeed, ScenarioFault, ScenarioPoint, ScenarioStep,
    ScenarioTerms,
};
use crate::errno::Errno;
use crate::fs::sim::Policy;
use crate::journal::SwapMethod;

/// The system errors that a script can name.
pub(super) const ERRNOS: [(&str, Errno); 14] = [
    ("EIO", Errno::IO),
    ("ENOSPC", Errno::NOSPC),
    ("EDQUOT", Errno::DQUOT),
    ("EFBIG", Errno::FBIG),
    ("ENOMEM", Errno::NOMEM),
    ("EMFILE", Errno::MFILE),
    ("ENFILE", Errno::NFILE),
    ("EACCES", Errno::ACCESS),
    ("EPERM", Errno::PERM),
    ("EROFS", Errno::ROFS),
    ("EINTR", Errno::INTR),
    ("ENOENT", Errno::NOENT),
    ("EBUSY", Errno::BUSY),
    ("EXDEV", Errno::XDEV),
];

/// Splits a line into words and texts in quotes.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut text = String::new();
            let mut chars = quoted.char_indices();
            let end = loop {
                match chars.next() {
                    Some((at, '"')) => break at + 1,
                    Some((_, '\\')) => match chars.next() {
                        Some((_, 'n')) => text.push('\n'),
                        Some((_, c @ ('"' | '\\'))) => text.push(c),
                        other => return Err(format!("an unknown escape {other:?} in {line}")),
                    },
                    Some((_, c)) => text.push(c),
                    None => return Err(format!("a text without an end in {line}")),
                }
            };
            words.push(text);
            rest = quoted[end..].trim_start();
        } else {
            let end = rest.find(' ').unwrap_or(rest.len());
            words.push(rest[..end].to_owned());
            rest = rest[end..].trim_start();
        }
    }
    Ok(words)
}

/// The words of a line, taken one after the other.
struct Words<'a> {
    line: &'a str,
    words: std::vec::IntoIter<String>,
}

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Result<Self, String> {
        Ok(Self { line, words: words(line)?.into_iter() })
    }

    fn maybe(&mut self) -> Option<String> {
        self.words.next()
    }

    fn next(&mut self) -> Result<String, String> {
        self.maybe().ok_or_else(|| format!("something is missing in: {}", self.line))
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let word = self.next()?;
        word.parse().map_err(|_| format!("{word} is no number in: {}", self.line))
    }

    fn maybe_number(&mut self) -> Result<Option<usize>, String> {
        self.maybe().map(|word| word.parse().map_err(|_| format!("{word} is no number"))).transpose()
    }

    fn octal(&mut self) -> Result<u32, String> {
        let word = self.next()?;
        u32::from_str_radix(&word, 8).map_err(|_| format!("{word} is no mode in: {}", self.line))
    }

    fn policy(&mut self) -> Result<Policy, String> {
        match self.next()?.as_str() {
            "ordered" => Ok(Policy::OrderedMetadata),
            "unordered" => Ok(Policy::Unordered),
            other => Err(format!("{other} is no policy in: {}", self.line)),
        }
    }

    fn unknown<T>(&self, word: &str) -> Result<T, String> {
        Err(format!("{word} means nothing in: {}", self.line))
    }
}

impl std::str::FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut scenario = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#')) {
            let mut words = Words::of(line)?;
            let word = words.next()?;
            if line.starts_with(' ') {
                match scenario.steps.last_mut() {
                    Some(ScenarioStep::Act(act, disturbances)) => detail(act, disturbances, &word, &mut words)?,
                    _ => return Err(format!("this belongs to nothing: {line}")),
                }
            } else if let Some(item) = item(&word, &mut words)? {
                scenario.items.push(item);
            } else if word == "machine" {
                scenario.machine = profile(&mut words)?;
            } else {
                scenario.steps.push(step(&word, &mut words)?);
            }
            if let Some(word) = words.maybe() {
                return words.unknown(&word);
            }
        }
        Ok(scenario)
    }
}

fn profile(words: &mut Words<'_>) -> Result<Profile, String> {
    let mut profile = Profile::default();
    while let Some(word) = words.maybe() {
        match word.as_str() {
            "process" => profile.process = true,
            "sync_each" => profile.sync_each = true,
            "orders" => profile.orders = true,
            "no_births" => profile.no_births = true,
            "reuse" => profile.reuse = true,
            "cold" => profile.cold = true,
            "fuse" => profile.fuse = true,
            "small_history" => profile.small_history = true,
            "contended" => profile.contended = true,
            "lower" => profile.lower = true,
            "warm" => profile.warm = true,
            "uncounted" => profile.uncounted = true,
            "few" => profile.few = true,
            "renames" => profile.swap = SwapMethod::Rename,
            "links" => profile.swap = SwapMethod::Link,
            other => return words.unknown(other),
        }
    }
    Ok(profile)
}

fn item(word: &str, words: &mut Words<'_>) -> Result<Option<Item>, String> {
    Ok(Some(match word {
        "folder" => Item::Folder(words.next()?),
        "file" => Item::File(words.next()?, words.next()?, words.octal()?),
        "symlink" => Item::Symlink(words.next()?, words.next()?),
        "link" => Item::Link(words.next()?, words.next()?),
        "attribute" => Item::Attribute(words.next()?, words.next()?, words.next()?),
        "mode" => Item::Mode(words.next()?, words.octal()?),
        _ => return Ok(None),
    }))
}

fn step(word: &str, words: &mut Words<'_>) -> Result<ScenarioStep, String> {
    let act = match word {
        "foreign" => return Ok(ScenarioStep::Foreign(deed(words)?)),
        "clock" => return Ok(ScenarioStep::Clock(words.number()?)),
        "cut" => return Ok(ScenarioStep::Cut(words.policy()?, words.number()?)),
        "apply" => ScenarioAct::Apply(Vec::new(), ScenarioTerms::default()),
        "undo" => ScenarioAct::Undo(words.maybe_number()?),
        "undo_since" => ScenarioAct::UndoSince(words.number()?),
        "redo" => ScenarioAct::Redo(words.maybe_number()?),
        "stage" => ScenarioAct::Stage(words.number()?, Vec::new()),
        "preview" => ScenarioAct::Preview(words.number()?),
        "commit" => ScenarioAct::Commit(words.number()?, None),
        "rollback" => ScenarioAct::RollBack(words.number()?),
        "prune" => ScenarioAct::Prune(words.number()?),
        "status" => ScenarioAct::Status,
        "restore" => ScenarioAct::Restore,
        "drop" => ScenarioAct::Drop,
        "recover" => ScenarioAct::Recover,
        other => return words.unknown(other),
    };
    Ok(ScenarioStep::Act(act, Vec::new()))
}

/// A line beneath an act.
fn detail(
    act: &mut ScenarioAct,
    disturbances: &mut Vec<Disturbance>,
    word: &str,
    words: &mut Words<'_>,
) -> Result<(), String> {
    if let Some(disturbance) = disturbance(word, words)? {
        disturbances.push(disturbance);
        return Ok(());
    }
    match (act, word) {
        (ScenarioAct::Apply(_, terms), "key") => terms.key = Some(words.next()?),
        (ScenarioAct::Apply(_, terms), "idempotent") => terms.idempotent = true,
        (ScenarioAct::Apply(_, ScenarioTerms { check: gate, .. }) | ScenarioAct::Commit(_, gate), "check") => {
            let gate = gate.get_or_insert_default();
            match words.next()?.as_str() {
                "passes" => gate.passes = true,
                "fails" => gate.passes = false,
                "does" => gate.deeds.push(deed(words)?),
                other => return words.unknown(other),
            }
        }
        (ScenarioAct::Apply(asks, _) | ScenarioAct::Stage(_, asks), word) => asks.push(ask(word, words)?),
        (_, word) => return words.unknown(word),
    }
    Ok(())
}

fn ask(word: &str, words: &mut Words<'_>) -> Result<Ask, String> {
    Ok(match word {
        "edit" => Ask::Edit(words.next()?, words.next()?, words.next()?),
        "create" => Ask::Create(words.next()?, words.next()?),
        "write" => Ask::Write(words.next()?, words.next()?),
        "delete" => Ask::Delete(words.next()?),
        "rename" => Ask::Rename(words.next()?, words.next()?),
        "mode" => Ask::Mode(words.next()?, words.octal()?),
        "make_folder" => Ask::MakeFolder(words.next()?),
        "remove_folder" => Ask::RemoveFolder(words.next()?),
        "symlink" => Ask::Symlink(words.next()?, words.next()?),
        other => return words.unknown(other),
    })
}

fn deed(words: &mut Words<'_>) -> Result<ScenarioDeed, String> {
    Ok(match words.next()?.as_str() {
        "write" => ScenarioDeed::Write(words.next()?, words.next()?),
        "append" => ScenarioDeed::Append(words.next()?, words.next()?),
        "forge" => ScenarioDeed::Forge(words.next()?, words.next()?),
        "replace" => ScenarioDeed::Replace(words.next()?, words.next()?),
        "save" => ScenarioDeed::Save(words.next()?),
        "create" => ScenarioDeed::Create(words.next()?, words.next()?),
        "delete" => ScenarioDeed::Delete(words.next()?),
        "chmod" => ScenarioDeed::Chmod(words.next()?, words.octal()?),
        "chown" => ScenarioDeed::Chown(words.next()?, words.number()?, words.number()?),
        "setfattr" => ScenarioDeed::SetAttribute(words.next()?, words.next()?, words.next()?),
        "rmfattr" => ScenarioDeed::RemoveAttribute(words.next()?, words.next()?),
        "mkdir" => ScenarioDeed::Mkdir(words.next()?),
        "move" => ScenarioDeed::Move(words.next()?, words.next()?),
        "exchange" => ScenarioDeed::Exchange(words.next()?, words.next()?),
        "rmdir" => ScenarioDeed::Rmdir(words.next()?),
        "symlink" => ScenarioDeed::Symlink(words.next()?, words.next()?),
        "link" => ScenarioDeed::Link(words.next()?, words.next()?),
        "pipe" => ScenarioDeed::Pipe(words.next()?),
        "hold" => ScenarioDeed::Hold(words.number()?, words.next()?),
        "late" => ScenarioDeed::Late(words.number()?, words.next()?),
        other => return words.unknown(other),
    })
}

fn disturbance(word: &str, words: &mut Words<'_>) -> Result<Option<Disturbance>, String> {
    if !["before", "fail", "fail_on", "fail_after", "short", "cancel", "kill", "cut"].contains(&word) {
        return Ok(None);
    }
    let errno = match word {
        "fail" | "fail_on" | "fail_after" => {
            let name = words.next()?;
            let known = ERRNOS.iter().find(|(known, _)| *known == name);
            known.ok_or_else(|| format!("{name} is no error that is known"))?.1.raw_os_error()
        }
        _ => 0,
    };
    let cut = if word == "cut" { Some((words.policy()?, words.number()?)) } else { None };
    if word != "before" && words.next()? != "at" {
        return words.unknown(word);
    }
    let point = point(words)?;
    let what = match word {
        "before" => ScenarioFault::Deed(deed(words)?),
        "fail" => ScenarioFault::Fail(errno, false),
        "fail_on" => ScenarioFault::Fail(errno, true),
        "fail_after" => ScenarioFault::FailAfter(errno),
        "short" => ScenarioFault::Short,
        "cancel" => ScenarioFault::Cancel,
        "kill" => ScenarioFault::Kill,
        _ => {
            let (policy, seed) = cut.unwrap_or((Policy::Unordered, 0));
            ScenarioFault::Cut(policy, seed)
        }
    };
    Ok(Some(Disturbance { point, what }))
}

/// `41:`, `37.5%:`, or `rename a #2:`.
fn point(words: &mut Words<'_>) -> Result<ScenarioPoint, String> {
    let mut parts = Vec::new();
    loop {
        let word = words.next()?;
        let last = word.ends_with(':');
        parts.push(word.trim_end_matches(':').to_owned());
        if last {
            break;
        }
    }
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
    match &parts[..] {
        [share] if share.ends_with('%') => {
            let share: f64 = share.trim_end_matches('%').parse().map_err(|_| format!("{share} is no share"))?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is small")]
            Ok(ScenarioPoint::Share((share * 10.0) as u16))
        }
        [call] if call.starts_with(|c: char| c.is_ascii_digit()) => Ok(ScenarioPoint::Call(number(call)?)),
        [verb] => Ok(ScenarioPoint::Verb(verb.clone(), None, 1)),
        [verb, nth] if nth.starts_with('#') => Ok(ScenarioPoint::Verb(verb.clone(), None, number(&nth[1..])?)),
        [verb, path] => Ok(ScenarioPoint::Verb(verb.clone(), Some(path.clone()), 1)),
        [verb, path, nth] if nth.starts_with('#') => {
            Ok(ScenarioPoint::Verb(verb.clone(), Some(path.clone()), number(&nth[1..])?))
        }
        _ => Err(format!("{parts:?} is no point")),
    }
}
