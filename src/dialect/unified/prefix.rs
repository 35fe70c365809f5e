//! The prefixes of the names in a plain diff. A single name, of a new or a deleted file, does not show whether it has
//! one: the others do.

use super::names;

/// The prefixes as seen in names that occur twice.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    /// True if there are names without one.
    none: bool,
    /// First folders in which the names of one file differ, old and new.
    pairs: Vec<[Vec<u8>; 2]>,
}

/// The side of a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    Old,
    New,
}

impl Prefixes {
    /// The prefixes of the sections among these lines.
    pub(super) fn of(lines: &[&[u8]]) -> Self {
        let mut prefixes = Self::default();
        for section in lines.windows(3) {
            let [old, new, hunk] = section else { continue };
            let (Some(old), Some(new)) = (old.strip_prefix(b"--- "), new.strip_prefix(b"+++ ")) else { continue };
            let [old, new] = [old, new].map(|name| names::of_line(super::without_break(name)));
            if !hunk.starts_with(b"@@") || old == b"/dev/null" || new == b"/dev/null" {
                continue;
            }
            if old == new {
                prefixes.none = true;
            } else if let (Some((one, rest)), Some((other, same))) = (first(&old), first(&new))
                && rest == same
            {
                prefixes.pairs.push([one.to_vec(), other.to_vec()]);
            }
        }
        prefixes
    }

    /// A single name without its prefix; `None` if it is unknown whether it has one.
    pub(super) fn bare(&self, name: &[u8], of: Of) -> Option<Vec<u8>> {
        let Some((folder, rest)) = first(name) else { return Some(name.to_vec()) };
        let is_usual = matches!(folder, b"a" | b"b");
        let is_told = self.pairs.iter().any(|pair| pair[of as usize] == folder);
        match (self.none, self.pairs.is_empty()) {
            (true, true) => (!is_usual).then(|| name.to_vec()),
            (false, true) => Some(if is_usual { rest } else { name }.to_vec()),
            (false, false) if is_told => Some(rest.to_vec()),
            _ => None,
        }
    }
}

/// A name's first folder, and the rest of it.
fn first(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = name.iter().position(|byte| *byte == b'/')?;
    let (folder, rest) = (&name[..slash], &name[slash + 1..]);
    (!folder.is_empty() && !rest.is_empty()).then_some((folder, rest))
}
