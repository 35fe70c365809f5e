//! Defines what is out of bounds although beneath the root: folders of version control, and what an operator denies.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[cfg(any(feature = "cli", feature = "testing"))]
pub use braces::without_braces;
use glob::Glob;
pub(crate) use spelling::Compared;
use spelling::{Spelled, lowered};

use super::{STATE_FOLDER, STATE_IN_GIT};

mod braces;
mod glob;
mod spelling;

/// The folders of version control systems; `.git` is a file in a linked work tree. Their hooks and settings contain
/// commands that the next call of the system runs.
pub const VCS_FOLDERS: [&str; 8] = [".git", ".hg", ".jj", ".svn", ".sl", ".bzr", "_darcs", ".pijul"];

/// Returns whether git takes a folder for a repository because of what it `has`, whatever its name: a bare one, or one
/// that a `.git` file names.
pub fn is_repository<E>(mut has: impl FnMut(&str) -> Result<bool, E>) -> Result<bool, E> {
    Ok(has("HEAD")? && (has("objects")? && has("refs")? || has("commondir")?))
}

/// The names that [`is_repository`] looks for, in lower case.
pub(crate) const REPOSITORY_NAMES: [&str; 4] = ["head", "objects", "refs", "commondir"];

/// The paths that may be neither read nor written, whoever asks. The default bars only version control.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    allows_vcs: bool,
    is_in_vcs: bool,
    denied: Vec<Glob>,
    settings: Vec<PathBuf>,
}

/// Why a path is out of bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Barred {
    /// It is, or is in, a folder of version control.
    #[error(
        "belongs to version control, which runs hooks and settings as commands; only whoever starts txedit can allow it"
    )]
    Vcs,
    /// It is the file of the operator's settings, which say what is denied.
    #[error("holds the settings of whoever started txedit")]
    Settings,
    /// The operator denies it.
    #[error("is denied by whoever started txedit (--deny {0})")]
    Denied(String),
}

/// An invalid glob: it would deny nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{glob:?} denies nothing: {why}")]
pub struct BadGlob {
    /// The glob as given.
    pub glob: String,
    why: String,
}

impl Bounds {
    /// Allows folders of version control.
    #[must_use]
    pub fn allowing_vcs(self) -> Self {
        Self { allows_vcs: true, ..self }
    }

    /// Bars the file of the operator's settings, given by its paths relative to the root: by editing it a caller could
    /// allow what is denied, or name a program to run.
    #[must_use]
    pub fn barring_settings(self, paths: Vec<PathBuf>) -> Self {
        Self { settings: paths, ..self }
    }

    /// Returns whether folders of version control are allowed.
    #[must_use]
    pub fn allows_vcs(&self) -> bool {
        self.allows_vcs
    }

    /// The bounds for a root that may itself be in a folder of version control, or in what git takes for a repository.
    #[must_use]
    pub fn within(self, root: &Path, is_in_repository: bool) -> Self {
        let mut names = root.as_os_str().as_bytes().split(|byte| *byte == b'/');
        Self { is_in_vcs: is_in_repository || names.any(is_vcs), ..self }
    }

    /// Replaces the globs, written as in a `.gitignore` at the root, ignoring case. A denied folder denies everything
    /// in it.
    pub fn denying<'a>(self, globs: impl IntoIterator<Item = &'a str>) -> Result<Self, BadGlob> {
        let read = |glob: &str| {
            let bad = |why: String| BadGlob { glob: glob.to_owned(), why };
            if let Some(why) = why_nothing_fits(glob) {
                return Err(bad(why.to_owned()));
            }
            // As it is, and as a file system that ignores case spells it.
            let mut spellings = vec![glob.to_owned(), lowered(glob)];
            spellings.dedup();
            Glob::new(glob, &spellings).map_err(bad)
        };
        Ok(Self { denied: globs.into_iter().map(read).collect::<Result<_, _>>()?, ..self })
    }

    /// The reason for which a path relative to the root is out of bounds, if it is. Purely lexical: symlinks are
    /// resolved before.
    #[must_use]
    pub fn bars(&self, path: &Path) -> Option<Barred> {
        let mut names = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
        if !self.allows_vcs && (self.is_in_vcs || names.any(is_vcs)) {
            return Some(Barred::Vcs);
        }
        let is_it = |settings: &PathBuf| settings.as_os_str().eq_ignore_ascii_case(path.as_os_str());
        if self.settings.iter().any(is_it) {
            return Some(Barred::Settings);
        }
        if self.denied.is_empty() {
            return None;
        }
        let path = Spelled::of(path.as_os_str().as_bytes());
        self.denied.iter().find(|glob| glob.fits(&path)).map(|glob| Barred::Denied(glob.given.clone()))
    }
}

/// The reason for which no path can match a glob, if none can.
fn why_nothing_fits(glob: &str) -> Option<&'static str> {
    let mut names = glob.strip_prefix('/').unwrap_or(glob).split('/');
    if glob.trim().is_empty() || glob.starts_with(['!', '#']) {
        Some("a glob is not empty and starts neither with ! nor with #")
    } else if glob.starts_with('~') {
        Some("`~` is not the home folder here: write the whole path, or one from the root that begins with /")
    } else if names.any(|name| matches!(name, "." | "..")) {
        Some("it has a `.` or `..` between its slashes: write a path from the root that begins with /")
    } else if glob == "/" || glob.contains("//") {
        Some("it has no name where one should be: write a path from the root that begins with / and a name")
    } else if glob.starts_with(char::is_whitespace) || glob.contains(char::is_control) {
        Some("it begins with a blank, or has a control character: leave that out")
    } else {
        why_not_one(glob)
    }
}

const VARIABLE: &str = "variables are not read here: write the path itself, or a \\ before the sign";

/// The reason for which a text is a list of globs instead of one, or would be to a shell.
fn why_not_one(glob: &str) -> Option<&'static str> {
    let is_quote = |quote: char| glob.len() > 1 && glob.starts_with(quote) && glob.ends_with(quote);
    let is_name = |c: char| c.is_ascii_alphabetic() || c == '{' || c == '_';
    if ['"', '\'', '`'].into_iter().any(is_quote) {
        return Some("it has quotes around it: leave them out");
    }
    if glob.strip_prefix('$').is_some_and(|rest| rest.starts_with(is_name)) {
        return Some(VARIABLE);
    }
    if glob.chars().all(|c| c == ':') {
        return Some("it is nothing but colons, which stand between the globs of TXEDIT_DENY");
    }
    let is_variable = |rest: &str| {
        let name = rest.split_once('%').map_or("", |(name, _)| name);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let (mut depth, mut chars) = (0_usize, glob.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '\\' => _ = chars.next(),
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '%' if is_variable(&chars.clone().collect::<String>()) => return Some(VARIABLE),
            ',' | ';' | ':' if depth == 0 => {
                return Some("it is a list: give each glob by itself, or a \\ before the sign");
            }
            ' ' if chars.peek().is_none_or(|next| "./*~! ".contains(*next)) => {
                return Some("it is a list, or ends with a blank: give each glob by itself, or a \\ before the blank");
            }
            _ => {}
        }
    }
    None
}

fn is_vcs(name: &[u8]) -> bool {
    let name = Compared::of(name);
    VCS_FOLDERS.iter().any(|folder| name.leads_to(folder))
}

/// Returns whether a name means `folder`, an ASCII name that starts with a dot or the like, on any file system: one
/// that ignores case or zero-width characters, or that knows short names, streams, and no trailing dots or blanks.
#[must_use]
pub fn leads_to(name: &[u8], folder: &str) -> bool {
    Compared::of(name).leads_to(folder)
}

/// Returns whether the names of a path, in their order, lead into a state folder, on any file system.
pub fn lead_into_state<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> bool {
    let mut is_in_git = false;
    names.into_iter().map(Compared::of).any(|name| {
        let is_state = name.leads_to(STATE_FOLDER) || is_in_git && name.is(STATE_IN_GIT);
        is_in_git = name.leads_to(".git");
        is_state
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_folder_in_a_git_folder_is_known_by_every_name() {
        let leads = |path: &str| lead_into_state(path.as_bytes().split(|byte| *byte == b'/'));
        for path in [
            ".txedit",
            "a/.TXEDIT/x",
            "txedit~1/x",
            ".git/txedit",
            "a/.GIT/TxEdit/x",
            "git~1/tx\u{200b}edit/x",
            ".git./txedit.",
            ".git/txedit::$DATA",
        ] {
            assert!(leads(path), "{path}");
        }
        for path in [".git/x/txedit", "txedit/x", ".gitignore/txedit", ".git/txedits", ".git"] {
            assert!(!leads(path), "{path}");
        }
    }

    fn bounds(globs: &[&str]) -> Bounds {
        Bounds::default().denying(globs.iter().copied()).unwrap()
    }

    #[test]
    fn folders_of_version_control_are_barred_by_every_name() {
        let barred = [".git", "a/.GIT/x", ".hg", ".jj/x", ".svn/x", ".g\u{feff}it/x", "x/.\u{17f}vn", "git~1/x"];
        for path in barred.into_iter().chain([".git.../x", ".git ", ".git:stream", "GIT~12", "a/SVN~1/x"]) {
            assert_eq!(bounds(&[]).bars(path.as_ref()), Some(Barred::Vcs), "{path:?}");
            assert_eq!(bounds(&[]).allowing_vcs().bars(path.as_ref()), None, "{path:?}");
        }
        for path in [".gitignore", ".github/x", "a.git/x", "git/x", "git~/x", "git~x", ".gi", "...", "ſ"] {
            assert_eq!(bounds(&[]).bars(path.as_ref()), None, "{path:?}");
        }
    }

    #[test]
    fn a_glob_bars_what_it_names_and_all_beneath() {
        let bounds = bounds(&[".env", "/build/", "*.pem", "deep/**/x"]);
        let plain = [".env", "a/.ENV", ".env/x", "build/a/b", "a/k.PEM", "deep/a/b/x"];
        let folded =
            [".e\u{200b}nv", ".env.", ".env ", ".env::$DATA", "build./x", "de\u{200b}ep/x", "\u{212a}.pem", "x.pem. "];
        for path in plain.into_iter().chain(folded) {
            assert!(matches!(bounds.bars(path.as_ref()), Some(Barred::Denied(_))), "{path:?}");
        }
        for path in [".environment", "a/build/x", "build", "pem", "deep/y", ".environ.", "... ", "é"] {
            assert_eq!(bounds.bars(path.as_ref()), None, "{path:?}");
        }
        for glob in ["", " ", "!a", "#a", "{a", "./a", "~/a", "a/../b", "/", "a//b", " a", "a\nb", "a/."] {
            assert!(Bounds::default().denying([glob]).is_err(), "{glob:?}");
        }
    }

    #[test]
    fn a_letter_beyond_ascii_is_one_letter() {
        let bounds = bounds(&["caf?.txt", "x[éü]", "/Σ/*", "[!a]µ", "*.ключ"]);
        for path in
            ["café.txt", "a/CAFÉ.TXT", "caf語.txt", "xé", "XÜ", "σ/a", "ς/語", "éμ", "語µ", "a.КЛЮЧ", "cafe.txt"]
        {
            assert!(bounds.bars(path.as_ref()).is_some(), "{path:?}");
        }
        for path in ["caféé.txt", "caf.txt", "xà", "ρ/a", "aµ", "éν", "ключ"] {
            assert_eq!(bounds.bars(path.as_ref()), None, "{path:?}");
        }
    }

    #[test]
    fn letters_beyond_ascii_are_in_ranges_and_have_more_than_one_capital() {
        for (glob, path) in [
            ("[а-я]x", "Жx"),
            ("[à-ü]x", "Éx"),
            ("stra?e.txt", "straße.txt"),
            ("stra[ß]e.txt", "straße.txt"),
            ("stra[^x]e.txt", "straße.txt"),
            ("straße", "STRASSE"),
            ("STRASSE", "straße"),
            ("?x", "ﬁx"),
            ("[İ]x", "İx"),
            ("a\\:b?", "a:bé"),
        ] {
            assert!(bounds(&[glob]).bars(path.as_ref()).is_some(), "{glob:?} {path:?}");
        }
        assert!(bounds(&["É*"]).bars(Path::new(std::ffi::OsStr::from_bytes(b"\xc3\xa9\xff"))).is_some());
        assert_eq!(bounds(&["[а-я]x"]).bars("zx".as_ref()), None);
    }

    #[test]
    fn an_invalid_glob_is_refused() {
        for glob in
            ["[a", "a[]", "[[:letter:]]", "[z-a]", "a\\", "{a", "{a,{b}", "[!]", "{1,2}{1,2}{1,2}".repeat(4).as_str()]
        {
            assert!(Bounds::default().denying([glob]).is_err(), "{glob:?}");
        }
        for (glob, path) in
            [("[{]a", "{a"), ("a}", "a}"), ("[]]a", "]a"), ("[!]]a", "xa"), ("[a-]b", "-b"), ("[<>&~]a", "<a")]
        {
            assert!(bounds(&[glob]).bars(path.as_ref()).is_some(), "{glob:?} {path:?}");
        }
    }

    #[test]
    fn a_list_in_one_glob_and_quotes_around_it_are_refused() {
        let several = ["*.pem,.env", "*.pem, .env", ".env;*.pem", ".env:*.pem", ".env *.pem", "/keys .env", ".env "];
        for glob in several.into_iter().chain(["\"*.pem\"", "'*.pem'", "`.env`", "$HOME/x", "${HOME}/x", "%HOME%/x"]) {
            let bad = Bounds::default().denying([glob]).unwrap_err();
            assert!(bad.to_string().contains("denies nothing"), "{glob:?}: {bad}");
        }
        // A name can have such characters: the glob escapes them, or they are where no list has them.
        for (glob, path) in [
            ("{*.pem,.env}", "x.pem"),
            ("a\\,b", "a,b"),
            ("my file.txt", "my file.txt"),
            ("it's", "it's"),
            ("My Documents/*", "My Documents/x"),
            ("a[,]b", "a,b"),
            ("$x", "$x"),
            ("a\\;b", "a;b"),
            ("a\\ .env", "a .env"),
            ("a\\:b", "a:b"),
            ("*\\,v", "x,v"),
            ("100% of 50%", "100% of 50%"),
            ("\\%HOME%", "%HOME%"),
        ] {
            let glob = if glob == "$x" { "\\$x" } else { glob };
            let bounds = Bounds::default().denying([glob]).unwrap();
            assert!(bounds.bars(path.as_ref()).is_some(), "{glob:?}");
        }
    }

    /// Returns whether a glob, by itself, bars a path.
    fn fits(glob: &str, path: &str) -> bool {
        bounds(&[glob]).bars(path.as_ref()).is_some()
    }

    #[test]
    fn braces_are_letters_and_alternatives() {
        for (glob, path) in [
            ("{a}", "{a}"),
            ("{a}", "a"),
            ("{a,b}", "{a,b}"),
            ("{a, b;c:d}", "{a, b;c:d}"),
            ("{{cookiecutter.slug}}/.env", "{{cookiecutter.slug}}/.env"),
            ("{a/b,c}/d", "{a/b,c}/d"),
            ("{*.pem,.env}", "{x.pem,.env}"),
            ("a}{b,c}", "a}b"),
            ("\\{a}", "{a}"),
        ] {
            assert!(fits(glob, path), "{glob:?} {path:?}");
        }
        assert!(!fits("\\{a\\}", "a") && !fits("{a,b}", "{a}") && !fits("[{]a,b}", "a"));
        let (many, deep) = ("{a}".repeat(10_000), format!("{}a{}", "{".repeat(5_000), "}".repeat(5_000)));
        for glob in [many, deep] {
            let bad = Bounds::default().denying([glob.as_str()]).unwrap_err();
            assert!(bad.to_string().contains("braces"), "{bad}");
        }
    }

    #[test]
    fn a_class_has_no_operations() {
        for (glob, path) in [
            ("[a-c--e]x", "ex"),
            ("[a-c--e]x", "cx"),
            ("[+--a]x", "ax"),
            ("[a&&b]x", "ax"),
            ("[a~~a]x", "ax"),
            ("[[a]x", "[x"),
            ("[a-c-e]x", "-x"),
            ("[[:digit:]-a]x", "-x"),
            ("[\\--9]x", "5x"),
            ("[!--9]x", "ax"),
        ] {
            assert!(fits(glob, path), "{glob:?} {path:?}");
        }
        assert!(!fits("[a-c-e]x", "dx") && !fits("[[:digit:]-a]x", "Zx"));
        assert!(Bounds::default().denying(["[a--b]x"]).is_err(), "a range that ends before it begins");
    }

    /// By git with either setting of case: where case is ignored, a class matches other letters, not fewer.
    #[test]
    fn a_negated_class_fits_by_either_reading_of_case() {
        for (glob, path) in [
            ("[!a]pple.pem", "Apple.pem"),
            ("[![:lower:]]*", "Makefile"),
            ("[^-a-z]x", "Ax"),
            ("[!A]pple", "apple"),
            ("[!A]pple", "Apple"),
            ("[!A]pple", "APPLE"),
        ] {
            assert!(fits(glob, path), "{glob:?} {path:?}");
        }
        assert!(!fits("[!a]pple", "apple") && !fits("[!a]*", "abc") && !fits("x[!/]y", "x/y"));
    }

    #[test]
    fn stars_behind_a_text_stand_for_no_folder_too() {
        for (glob, path) in [
            ("conf**/secret", "confsecret"),
            ("conf**/secret", "conf/secret"),
            ("conf**/secret", "confx/y/secret"),
            ("conf**/*.pem", "confx.pem"),
            ("a/conf**/x", "a/confx"),
            ("a\\/b", "a/b"),
            ("a\\/", "a/x"),
        ] {
            assert!(fits(glob, path), "{glob:?} {path:?}");
        }
    }

    #[test]
    fn a_sign_is_a_letter_or_a_byte() {
        for (glob, path) in [("caf??", "café"), ("x??y", "xéy"), ("x[!a][!a]y", "xéy"), ("caf?", "café")] {
            assert!(fits(glob, path), "{glob:?} {path:?}");
        }
        assert!(!fits("caf???", "café") && !fits("x?y", "xÿzy"));
        assert!(bounds(&["a??"]).bars(Path::new(std::ffi::OsStr::from_bytes(b"a\xe3\x81"))).is_some());
    }
}
