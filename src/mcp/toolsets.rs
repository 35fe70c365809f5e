//! The tools that a server offers, in groups.

use std::str::FromStr;

/// A group of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// Editing and reading.
    Edit,
    /// Transactions over several calls.
    Transactions,
    /// The history, and undo.
    History,
    /// Running programs; only whoever starts the server can allow it.
    Run,
    /// The help of another agent; off by default.
    Delegate,
}

/// All toolsets with their names.
const ALL: &[(&str, Toolset)] = &[
    ("edit", Toolset::Edit),
    ("transactions", Toolset::Transactions),
    ("history", Toolset::History),
    #[cfg(feature = "delegate")]
    ("delegate", Toolset::Delegate),
];

/// A selection of toolsets: `edit,history` names them; `+delegate` and `-history` add to the default and remove from
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolsets(Vec<Toolset>);

impl Default for Toolsets {
    fn default() -> Self {
        Self(vec![Toolset::Edit, Toolset::Transactions, Toolset::History])
    }
}

impl Toolsets {
    /// True if `toolset` is one of them.
    #[must_use]
    pub fn contains(&self, toolset: Toolset) -> bool {
        self.0.contains(&toolset)
    }
}

impl Toolsets {
    /// The same with the tool that runs programs, which no list of names adds.
    #[must_use]
    pub fn allowing_run(mut self) -> Self {
        self.0.push(Toolset::Run);
        self
    }
}

impl FromStr for Toolsets {
    type Err = String;

    fn from_str(list: &str) -> Result<Self, String> {
        let words: Vec<&str> = list.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let signed = words.iter().filter(|word| word.starts_with(['+', '-'])).count();
        if words.is_empty() || (signed != 0 && signed != words.len()) {
            return Err("name toolsets (edit,history), or change the default (+delegate,-history), not both".to_owned());
        }
        let mut chosen = if signed == 0 { Vec::new() } else { Self::default().0 };
        for word in words {
            let name = word.trim_start_matches(['+', '-']);
            if name == "run" {
                return Err("the toolset `run` comes with --allow-run, and goes without it".to_owned());
            }
            let Some((_, toolset)) = ALL.iter().find(|(known, _)| *known == name) else {
                let known: Vec<_> = ALL.iter().map(|(known, _)| *known).collect();
                return Err(format!("there is no toolset `{name}`; there are {}", known.join(", ")));
            };
            chosen.retain(|chosen| chosen != toolset);
            if !word.starts_with('-') {
                chosen.push(*toolset);
            }
        }
        Ok(Self(chosen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_toolsets_or_changes_the_default() {
        let every = [Toolset::Edit, Toolset::Transactions, Toolset::History, Toolset::Delegate];
        let sets = |list: &str| list.parse::<Toolsets>().map(|sets| every.map(|set| sets.contains(set)));
        assert_eq!(sets("edit, history"), Ok([true, false, true, false]));
        assert_eq!(sets("-history"), Ok([true, true, false, false]));
        assert_eq!(sets("+delegate,-history").is_ok(), cfg!(feature = "delegate"));
        #[cfg(feature = "delegate")]
        assert_eq!(sets("+delegate,-history"), Ok([true, true, false, true]));
        assert!(sets("edit,+history").is_err());
        assert!(sets("").is_err());
        assert!(sets("edits").unwrap_err().contains("edit, transactions, history"));
    }
}
