//! One shift of the indentation of several lines.

/// How the indentation of an anchor becomes that of the place where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::text) enum Indent {
    /// It is the same.
    Same,
    /// This is added before it.
    Add(Vec<u8>),
    /// This is removed from its beginning.
    Remove(Vec<u8>),
    /// This many spaces become a tab.
    Tabs(usize),
    /// A tab becomes this many spaces.
    Spaces(usize),
}

/// The widest tab considered.
const TAB: usize = 16;

/// The number of blanks at the start of a line.
pub(super) fn leading(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

impl Indent {
    /// The one shift that fits all pairs of an anchor's and a file's indentation.
    pub(super) fn between(pairs: &[(&[u8], &[u8])]) -> Option<Self> {
        let Some((anchor, file)) = pairs.iter().find(|(anchor, file)| anchor != file) else {
            return Some(Self::Same);
        };
        let shift = if let Some(more) = file.strip_suffix(*anchor) {
            Self::Add(more.to_vec())
        } else if let Some(more) = anchor.strip_suffix(*file) {
            Self::Remove(more.to_vec())
        } else {
            let all = |text: &[u8], blank: u8| !text.is_empty() && text.iter().all(|byte| *byte == blank);
            let (wide, tabs) = (anchor.len().max(file.len()), anchor.len().min(file.len()));
            let width = wide.checked_div(tabs).filter(|width| width * tabs == wide && *width <= TAB)?;
            match (all(anchor, b' ') && all(file, b'\t'), all(anchor, b'\t') && all(file, b' ')) {
                (true, _) if anchor.len() >= file.len() => Self::Tabs(width),
                (_, true) if file.len() >= anchor.len() => Self::Spaces(width),
                _ => return None,
            }
        };
        let fits = |(anchor, file): &(&[u8], &[u8])| shift.exactly(anchor).as_deref() == Some(*file);
        pairs.iter().all(fits).then_some(shift)
    }

    /// The file's indentation for that of the anchor, with nothing left over.
    fn exactly(&self, indentation: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Tabs(width) if indentation.contains(&b'\t') || !indentation.len().is_multiple_of(*width) => None,
            Self::Spaces(_) if indentation.contains(&b' ') => None,
            _ => self.apply(indentation),
        }
    }

    /// A line, shifted; `None` if it lacks what should be removed.
    pub(in crate::text) fn apply(&self, line: &[u8]) -> Option<Vec<u8>> {
        let (blanks, rest) = line.split_at(leading(line));
        Some(match self {
            Self::Same => line.to_vec(),
            Self::Add(more) => [more, line].concat(),
            Self::Remove(more) => line.strip_prefix(&more[..])?.to_vec(),
            Self::Tabs(width) => {
                let spaces = blanks.iter().take_while(|byte| **byte == b' ').count();
                let tabs = spaces / width;
                [&vec![b'\t'; tabs][..], &blanks[tabs * width..], rest].concat()
            }
            Self::Spaces(width) => {
                let tabs = blanks.iter().take_while(|byte| **byte == b'\t').count();
                [&vec![b' '; tabs * width][..], &blanks[tabs..], rest].concat()
            }
        })
    }
}
