//! Finds what looks like a file name in a text.

/// Extensions of text files: a word with one of them in a sentence most likely names a file, unlike one such as
/// `os.path`.
const EXTENSIONS: &str = " bash bat bzl c cc cfg cjs clj cmake conf cpp cs css csv cu cxx dart diff ejs el env erb erl ex \
    exs fish fs fsx go gradle graphql groovy h hbs hcl hh hpp hrl hs htm html hxx ini ipynb java jl js json json5 jsonc \
    jsx kt kts less lhs lisp lock lua m md mdx mjs mk ml mli mm nim nix patch php pl pm po properties proto ps1 pxd py \
    pyi pyx r rake rb rs rst sass sbt scala scm scss sh sol sql styl svelte svg swift tcl tex tf toml ts tsv tsx txt v vb \
    vim vue wat xml yaml yml zig zsh ";

/// Folders of many projects: they distinguish a path without an extension from two words with a slash between them.
const FOLDERS: [&str; 22] = [
    ".github", "app", "apps", "bin", "build", "cmd", "config", "crates", "docker", "docs", "etc", "examples",
    "include", "lib", "packages", "pkg", "scripts", "src", "test", "tests", "tools", "utils",
];

/// File names without an extension.
const NAMES: [&str; 16] = [
    "makefile",
    "gnumakefile",
    "dockerfile",
    "containerfile",
    "jenkinsfile",
    "vagrantfile",
    "rakefile",
    "gemfile",
    "procfile",
    "justfile",
    "license",
    "readme",
    "changelog",
    "codeowners",
    "build",
    "workspace",
];

/// Phrases after "In" at the start of a sentence that name no file.
const PHRASES: [&str; 19] = [
    "short",
    "brief",
    "detail",
    "addition",
    "particular",
    "general",
    "summary",
    "fact",
    "contrast",
    "total",
    "turn",
    "conclusion",
    "practice",
    "essence",
    "effect",
    "there",
    "here",
    "it",
    "full",
];

/// Words before "file" that do not identify one.
const POINTERS: [&str; 24] = [
    "a", "the", "this", "that", "same", "each", "every", "whole", "entire", "original", "existing", "current", "given",
    "previous", "above", "your", "my", "its", "one", "single", "source", "any", "per", "in",
];

/// Returns whether a text that stands alone looks like a file name.
pub(super) fn is_path(text: &str) -> bool {
    text.contains('/') || has_letters_behind_dot(text) || is_known(text)
}

/// The same, but without signs that are rare in names and common in other text.
pub(super) fn is_plain_path(text: &str) -> bool {
    is_path(text) && !text.contains([' ', '"', '\'', '`', '=', ',', '#', '?', '<', '>', '|', '(', '{', '}', ':', ';'])
}

/// Returns whether a name ends like that of a file: a dot and a few letters or digits.
pub(super) fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && (1..=8).contains(&extension.len()) && extension.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

fn has_letters_behind_dot(name: &str) -> bool {
    let is_hidden = name.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    let has_letters = name.rsplit('.').next().is_some_and(|end| end.bytes().any(|byte| byte.is_ascii_alphabetic()));
    is_hidden || (has_extension(name) && has_letters)
}

/// Returns whether it is a known file name.
pub(super) fn is_known(name: &str) -> bool {
    NAMES.contains(&name.to_ascii_lowercase().as_str())
        || [".gitignore", ".gitattributes", ".dockerignore", ".editorconfig", ".env"].contains(&name)
}

/// Returns whether `mention`, perhaps without its first folders, is `name`.
pub(super) fn is_of(mention: &str, name: &str) -> bool {
    let [mention, name] = [mention, name].map(|text| text.strip_prefix("./").unwrap_or(text));
    name.strip_suffix(mention).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// The parts of a sentence that look like file names.
pub(super) fn all(sentence: &str) -> Vec<String> {
    let quoted = sentence.split('`').skip(1).step_by(2).filter(|part| {
        let is_word = !part.contains([' ', '(', '=', '<']) && !part.contains("://");
        is_word && (is_known(part) || part.trim_matches('/').contains('/'))
    });
    let words = sentence.split_whitespace().filter(|word| !word.contains("://"));
    let parts = words.flat_map(|word| word.split(|c| "`\"'()[]{}<>,;=*|#:".contains(c)));
    let plain = parts.map(|part| part.trim_end_matches(['.', '!', '?'])).filter(|part| is_named_in_prose(part));
    let mut names: Vec<String> = quoted.map(|part| part.trim_end_matches([':', ',', '.']).to_owned()).collect();
    names.extend(plain.map(str::to_owned));
    names.extend(called_a_file(sentence));
    names
}

/// A name without an extension that a sentence calls a file: "In config:", "the config file", "the file `config`".
fn called_a_file(sentence: &str) -> Option<String> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(['`', '"', '\'', ':', ',', '.', '*']).to_owned();
    if let [first, word] = words[..]
        && first.eq_ignore_ascii_case("in")
        && word.ends_with(':')
        && !PHRASES.contains(&&*bare(word).to_ascii_lowercase())
    {
        return Some(bare(word));
    }
    words.windows(2).find_map(|pair| match [pair[0], pair[1]].map(bare) {
        [file, name] if file == "file" && pair[1].starts_with('`') => Some(name),
        [name, file] if file == "file" && sentence.trim_end().ends_with(':') => {
            let is_other = name.starts_with(char::is_lowercase) && !POINTERS.contains(&&*name);
            (is_other || pair[0].starts_with('`')).then_some(name)
        }
        _ => None,
    })
}

/// Returns whether a word of a sentence is a file name, not two words with a slash or a dot between them.
fn is_named_in_prose(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    let is_text = extension.is_some_and(|extension| {
        !extension.is_empty() && EXTENSIONS.contains(&format!(" {} ", extension.to_ascii_lowercase()))
    });
    let has_start = ["./", "../", "~/", "/"].iter().any(|start| word.len() > start.len() && word.starts_with(start));
    let is_file = is_known(name) && name.starts_with(|c: char| c.is_ascii_uppercase() || c == '.');
    // Beneath a folder any extension counts.
    let is_beneath = word.contains('/') && has_letters_behind_dot(name);
    let in_known_folder = word
        .split_once('/')
        .is_some_and(|(folder, rest)| FOLDERS.contains(&folder) && !rest.is_empty() && !FOLDERS.contains(&rest));
    is_text
        || is_file
        || has_start
        || is_beneath
        || in_known_folder
        || word.matches('/').count() > 1 && !word.contains("//")
}
