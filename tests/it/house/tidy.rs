//! The rules of the house that no compiler holds: which layer may name what, how long things are, and that documents
//! and code say the same.

use crate::support::sources::{root, sources};
use std::fmt::Write as _;
use std::fs;

/// The layers, lowest first. A module names only itself and what stands before it.
///
/// `request` is lower than `text`: it is the data that `text` applies. `testing` is last: nothing rests on it.
const LAYERS: [&str; 29] = [
    "errno", "limits", "index", "cancel", "charset", "digest", "identity", "path", "html", "view", "check", "error",
    "request", "text", "dialect", "plan", "journal", "commit", "fs", "replace", "engine", "wire", "delegate",
    "campaign", "web", "cli", "mcp", "testing", "main",
];

/// Who may name a higher layer all the same, what, and why.
const UPWARD: [(&str, &str, &str); 1] = [("cli/commands/mcp.rs", "mcp", "the command line starts the server")];

/// Layers that know their own business and that of the library, never each other's. `delegate` is none of them: it is
/// what both offer, so that there is one of it.
const FRONT_ENDS: [&str; 2] = ["cli", "mcp"];

/// What only some files name: the word, who may, and why.
const DOORS: [(&str, &[&str], &str); 11] = [
    (
        "std::fs",
        &["fs/", "check/left/found.rs", "view/"],
        "`fs` is the one door to the operating system; `check` asks /proc, and `view` mounts",
    ),
    ("target_os", &["fs/os/", "view/mod.rs", "check/left.rs"], "what differs between operating systems has its places"),
    ("tempfile", &["fs/", "view/probe.rs"], "`fs` is the one door to the operating system"),
    ("fs4", &["fs/os/lock.rs"], "std has a `try_lock` too: one place says which one is meant"),
    (
        "rustix",
        &["fs/", "errno.rs", "check/", "view/"],
        "`fs` is the one door; `errno` holds values; `check` ends processes; `view` holds mounts",
    ),
    (
        "serde",
        &[
            "wire/",
            "dialect/",
            "journal/record.rs",
            "journal/scan.rs",
            "engine/history/stored_report.rs",
            "engine/open/stored.rs",
            "cli/",
            "mcp/",
            "delegate/",
            "campaign/",
            "web/",
            "view/step.rs",
            "view/overlay/control.rs",
        ],
        "core types carry no wire format: serde is for what is written and read as JSON",
    ),
    ("encoding_rs", &["charset/"], "one place decides what is decoded, and nothing is encoded with replacements"),
    ("tokio", &["mcp/", "web/"], "the core is synchronous"),
    ("axum", &["mcp/http.rs", "mcp/cors.rs", "mcp/idle.rs", "web/"], "HTTP has its places"),
    ("clap", &["cli/"], "the library knows nothing of its front-ends"),
    (
        "std::env",
        &["cli/", "mcp/", "delegate/", "view/overlay/held.rs", "fs/os/portable.rs"],
        "the library never reads the environment; who holds a view is told so by its arguments, and tests choose a system",
    ),
];

/// What prints.
const PRINTERS: [&str; 7] = ["println!", "print!", "eprintln!", "eprint!", "stdout()", "stderr()", "dbg!"];

/// Who prints: front-ends, of the command line two files, and the processes of a view, which talk to each other that way; a program may be
/// given what this one prints to.
const PRINTING: [&str; 5] = ["check/group.rs", "cli/output.rs", "cli/progress.rs", "mcp/", "view/overlay/held.rs"];

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 70;

/// What stands at the top of the repository; the last three are of a work tree, not of the project.
const TOP: [&str; 24] = [
    ".ci",
    ".github",
    ".gitignore",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "benches",
    "clippy.toml",
    "deny.toml",
    "docs",
    "examples",
    "journal-format.md",
    "npm",
    "packaging",
    "python",
    "rustfmt.toml",
    "src",
    "tests",
    ".git",
    "target",
];

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Fails with all violations at once.
fn none(rule: &str, violations: &[String]) {
    let mut list = String::new();
    for violation in violations {
        let _ = write!(list, "\n  {violation}");
    }
    assert!(violations.is_empty(), "{rule}:{list}");
}

/// Whether `word` stands in `line` as a word of its own.
fn names(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// The modules of this crate that a line names: `crate::a`, and `crate::{a, b::c}` as far as it is on the line.
fn modules_named(line: &str) -> Vec<&str> {
    let first_word = |path: &'_ str| path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    let mut modules = Vec::new();
    for marker in ["crate::", "txedit::"] {
        for (at, _) in line.match_indices(marker) {
            let rest = &line[at + marker.len()..];
            let paths = rest.strip_prefix('{').map_or(vec![rest], |group| group.split([',', '}']).collect());
            let words = paths.into_iter().map(str::trim).map(|path| &path[..first_word(path)]);
            modules.extend(words.filter(|module| !module.is_empty()));
        }
    }
    modules
}

#[test]
fn no_layer_names_a_higher_one() {
    let rank = |module: &str| LAYERS.iter().position(|layer| *layer == module);
    let mut violations = Vec::new();
    for source in sources("src").iter().filter(|source| !source.is_test() && source.path != "lib.rs") {
        let Some(own) = rank(source.layer()) else {
            violations.push(format!("src/{} is in no layer", source.path));
            continue;
        };
        for (number, line) in source.code() {
            for module in modules_named(line) {
                let allowed = UPWARD.iter().any(|(who, what, _)| source.path == *who && module == *what);
                let between_front_ends = FRONT_ENDS.contains(&source.layer())
                    && FRONT_ENDS.contains(&module)
                    && source.layer() != module
                    && !allowed;
                let upward = rank(module).is_some_and(|layer| layer > own);
                if (upward && !allowed) || between_front_ends {
                    violations.push(format!("src/{}:{number} names {module}", source.path));
                }
            }
        }
    }
    none("a layer names only lower ones, and no front-end another", &violations);
}

#[test]
fn every_exception_is_used() {
    let sources = sources("src");
    for (who, what, why) in UPWARD {
        let used =
            sources.iter().any(|s| s.path == who && s.code().any(|(_, line)| modules_named(line).contains(&what)));
        assert!(used, "{who} no longer names {what} ({why}): take the exception out");
    }
}

#[test]
fn each_door_has_its_keepers() {
    let mut violations = Vec::new();
    for source in sources("src").iter().filter(|source| !source.is_test()) {
        for (number, line) in source.code() {
            for (word, keepers, why) in DOORS {
                if names(line, word) && !source.is_one_of(keepers) {
                    violations.push(format!("src/{}:{number} names {word}: {why}", source.path));
                }
            }
        }
    }
    none("some crates are named in few places", &violations);
}

#[test]
fn the_library_prints_nothing() {
    let mut violations = Vec::new();
    for source in sources("src").iter().filter(|source| !source.is_test() && !source.is_one_of(&PRINTING)) {
        for (number, line) in source.code() {
            if let Some(printer) =
                PRINTERS.iter().find(|printer| names(line, printer.trim_end_matches("()")) && line.contains(**printer))
            {
                violations.push(format!("src/{}:{number} has {printer}", source.path));
            }
        }
    }
    none("only front-ends print, and of the command line two files", &violations);
}

#[test]
fn only_front_ends_name_a_command_line() {
    // An agent and a Rust caller have none: the library answers a `NextStep`, which each front-end words.
    let commands = [
        "`txedit",
        "--forward",
        "--back ",
        "--back`",
        "--discard",
        "--trust-journal",
        "--other-host",
        "--allow-vcs",
        "--allow-set-id",
    ];
    let mut violations = Vec::new();
    for source in sources("src").iter().filter(|source| !source.is_test()) {
        if source.is_one_of(&["cli/", "mcp/next_step.rs"]) {
            continue;
        }
        for (number, line) in source.code() {
            if let Some(command) = commands.iter().find(|command| line.contains(**command)) {
                violations.push(format!("src/{}:{number} has {command}", source.path));
            }
        }
    }
    none("hints that name a command line are worded by the front-ends", &violations);
}

#[test]
fn nothing_is_left_to_be_done() {
    // Spelled so that this file does not find itself.
    let marks = [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("FIX", "ME"), concat!("X", "XX")];
    let mut violations = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for source in sources(folder) {
            for (index, line) in source.text.lines().enumerate() {
                if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                    violations.push(format!("{folder}/{}:{} has {mark}", source.path, index + 1));
                }
            }
        }
    }
    none("what is begun is finished", &violations);
}

/// The functions of a file: the line of each, its name, its length. Formatted code ends a function with a brace at the
/// indentation of its first line.
fn functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let Some(at) = trimmed.find("fn ") else { continue };
        let modifiers = ["pub", "const", "async", "extern"];
        let is_function = trimmed[..at]
            .split_whitespace()
            .all(|word| modifiers.iter().any(|modifier| word.starts_with(modifier)) || word == "crate)");
        if !is_function {
            continue;
        }
        let indentation = &line[..line.len() - trimmed.len()];
        let name = trimmed[at + 3..].split(['(', '<']).next().unwrap_or_default().to_owned();
        let end = lines[start..].iter().position(|line| {
            line.strip_prefix(indentation).is_some_and(|rest| {
                rest.starts_with('}') || (!rest.starts_with(' ') && (rest.ends_with(';') || rest.ends_with('}')))
            })
        });
        if let Some(end) = end {
            found.push((start + 1, name, end + 1));
        }
    }
    found
}

#[test]
fn files_and_functions_are_short() {
    let mut violations = Vec::new();
    let mut counted = 0;
    for folder in ["src", "tests", "examples", "benches"] {
        for source in sources(folder) {
            let lines = source.text.lines().count();
            if lines > FILE_LINES {
                violations.push(format!("{folder}/{} has {lines} lines", source.path));
            }
            for (line, name, length) in functions(&source.text) {
                counted += 1;
                if length > FUNCTION_LINES {
                    violations.push(format!("{folder}/{}:{line} {name} has {length} lines", source.path));
                }
            }
        }
    }
    assert!(counted > 500, "only {counted} functions were found: the counter is broken");
    none(&format!("files have up to {FILE_LINES} lines, functions up to {FUNCTION_LINES}"), &violations);
}

#[test]
fn functions_are_counted() {
    let text = "impl A {\n    pub(crate) fn a(\n        b: B,\n    ) -> C\n    where\n        B: D,\n    {\n        e()\n    }\n\n    \
                fn f(&self);\n\n    const fn g() {}\n}\n";
    assert_eq!(functions(text), [(2, "a".to_owned(), 8), (11, "f".to_owned(), 1), (13, "g".to_owned(), 1)]);
}

#[test]
fn the_top_of_the_repository_is_tidy() {
    let entries = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let strangers: Vec<_> = entries.filter(|name| !TOP.contains(&name.as_str()) && name != ".txedit").collect();
    none("a new entry at the top is a decision: name it in TOP", &strangers);
}

#[test]
fn the_answers_name_every_code() {
    let answers = read("docs/answers.md");
    let error = read("src/error/kind.rs");
    let codes: Vec<&str> = error
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Self::")?.split_once(" => \"")?.1.strip_suffix("\","))
        .filter(|code| code.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
        .collect();
    assert!(codes.len() >= 43, "only {} codes were found", codes.len());
    let missing: Vec<_> = codes
        .into_iter()
        .filter(|code| !answers.lines().any(|line| line.starts_with(&format!("| `{code}` |"))))
        .map(str::to_owned)
        .collect();
    none("every code has its row in docs/answers.md", &missing);
}

/// A meaning without the marks of its language: no link, no capital at its start, no full stop.
fn plain_meaning(text: &str) -> String {
    let text = text.split(": see [").next().unwrap_or_default().trim_end_matches('.').replace('[', "");
    let parts: Vec<&str> = text.split("](").collect();
    let unlinked = parts[1..].iter().map(|part| part.split_once(')').map_or("", |(_, behind)| behind));
    let text: String = std::iter::once(parts[0]).chain(unlinked).collect();
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

#[test]
fn code_and_answers_say_the_same_of_every_code() {
    let (kinds, answers) = (read("src/error/kind.rs"), read("docs/answers.md"));
    let variants = kinds.split_once("pub enum ErrorKind {").unwrap().1.split_once("\n}").unwrap().0;
    let (mut violations, mut compared, mut said) = (Vec::new(), 0, String::new());
    for line in variants.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(text) = line.strip_prefix("///") {
            said += text;
            continue;
        }
        let code = kinds.split_once(&format!("Self::{} => \"", line.trim_end_matches(','))).unwrap().1;
        let code = code.split('"').next().unwrap();
        let row = answers.lines().find_map(|row| row.strip_prefix(&format!("| `{code}` | "))).unwrap();
        let (told, said) =
            (plain_meaning(row.split(" | ").next().unwrap()), plain_meaning(std::mem::take(&mut said).trim()));
        compared += 1;
        if told != said {
            violations.push(format!("{code}: \"{told}\" in docs/answers.md, \"{said}\" in the code"));
        }
    }
    assert!(compared >= 43, "only {compared} codes were compared");
    none("docs/answers.md and src/error/kind.rs say the same of a code", &violations);
}

#[test]
fn the_answers_name_every_exit_status() {
    let answers = read("docs/answers.md");
    let exit = read("src/cli/exit.rs");
    let statuses: Vec<&str> = exit
        .lines()
        .filter_map(|line| line.strip_prefix("pub(crate) const ")?.split_once(": u8 = ")?.1.strip_suffix(';'))
        .collect();
    assert!(statuses.len() >= 9, "only {} statuses were found", statuses.len());
    let missing: Vec<_> = statuses
        .into_iter()
        .filter(|status| !answers.lines().any(|line| line.starts_with(&format!("| {status} |"))))
        .map(str::to_owned)
        .collect();
    none("every exit status has its row in docs/answers.md", &missing);
}

#[test]
fn every_limit_is_used_and_told() {
    let page = read("docs/limits.md");
    let limits = read("src/limits.rs");
    let sources = sources("src");
    let mut violations = Vec::new();
    let names_of = limits.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    for name in names_of {
        let used = sources.iter().any(|s| s.path != "limits.rs" && s.code().any(|(_, line)| names(line, name)));
        if !used {
            violations.push(format!("{name} limits nothing"));
        }
        if told(&page, name).is_none() {
            violations.push(format!("{name} has no row in docs/limits.md"));
        }
    }
    none("a limit limits something, and users are told of it", &violations);
}

/// What docs/limits.md says of a limit, in its second column.
fn told(page: &str, name: &str) -> Option<String> {
    let row = page.lines().find_map(|line| line.strip_prefix(&format!("| `{name}` | ")))?;
    Some(row.split(" |").next()?.to_owned())
}

#[test]
fn the_page_of_limits_tells_them_as_they_are() {
    use txedit::limits as l;
    let counts = [
        ("FILES", l::FILES),
        ("ENTRIES", l::ENTRIES),
        ("EDITS", l::EDITS),
        ("LABEL_BYTES", l::LABEL_BYTES),
        ("FINDINGS", l::FINDINGS),
        ("JOURNAL_LINE_BYTES", l::JOURNAL_LINE_BYTES),
        ("SYMLINKS", l::SYMLINKS),
        ("PATH_BYTES", l::PATH_BYTES),
        ("NAME_BYTES", l::NAME_BYTES),
        ("CHUNK_BYTES", l::CHUNK_BYTES),
        ("ATTEMPTS", l::ATTEMPTS),
        ("CONTENDED_AFTER", l::CONTENDED_AFTER),
        ("CONTENDED_FILES", l::CONTENDED_FILES),
        ("CONTENDED_BYTES", usize::try_from(l::CONTENDED_BYTES).unwrap()),
        ("CONTENDED_TRIES", l::CONTENDED_TRIES),
        ("AHEAD_FILES", l::AHEAD_FILES),
        ("SYNC_EACH_UP_TO", l::SYNC_EACH_UP_TO),
        ("DIFF_BYTES", l::DIFF_BYTES),
        ("HISTORY_COUNT", l::HISTORY_COUNT),
        ("TRASH", l::TRASH),
        ("CONNECTIONS", l::CONNECTIONS),
        ("SESSIONS", l::SESSIONS),
        ("MESSAGE_BYTES", l::MESSAGE_BYTES),
        ("ANSWER_BYTES", l::ANSWER_BYTES),
        ("DELEGATE_PROMPT_BYTES", l::DELEGATE_PROMPT_BYTES),
        ("DELEGATE_FILES", l::DELEGATE_FILES),
        ("DELEGATE_OUTPUT_BYTES", l::DELEGATE_OUTPUT_BYTES),
        ("DELEGATE_TAIL_BYTES", l::DELEGATE_TAIL_BYTES),
    ];
    let sizes = [
        ("REQUEST_BYTES", l::REQUEST_BYTES),
        ("EDITED_FILE_BYTES", l::EDITED_FILE_BYTES),
        ("JOURNAL_BYTES", l::JOURNAL_BYTES),
        ("CACHED_BYTES", l::CACHED_BYTES),
        ("READ_AGAIN_BYTES", l::READ_AGAIN_BYTES),
        ("WHOLE_BYTES", l::WHOLE_BYTES),
        ("LOOKED_AT_BYTES", l::LOOKED_AT_BYTES),
        ("AHEAD_BYTES", l::AHEAD_BYTES),
        ("HISTORY_BYTES", l::HISTORY_BYTES),
        ("YOUNG", l::YOUNG.as_secs()),
        ("HEADER_TIME", l::HEADER_TIME.as_secs()),
        ("LOCK_TIMEOUT", l::LOCK_TIMEOUT.as_secs()),
        ("HISTORY_AGE", l::HISTORY_AGE.as_secs()),
        ("DELEGATE_TIME", l::DELEGATE_TIME.as_secs()),
        ("DELEGATE_FILE_BYTES", l::DELEGATE_FILE_BYTES),
        ("DELEGATE_CONTEXT_BYTES", l::DELEGATE_CONTEXT_BYTES),
    ];
    let page = read("docs/limits.md");
    let all = counts.into_iter().map(|(name, count)| (name, count as u64)).chain(sizes);
    for (name, value) in all {
        let told = told(&page, name).unwrap_or_else(|| panic!("docs/limits.md says nothing of {name}"));
        assert_eq!(told.replace(',', ""), value.to_string(), "{name}");
    }
}
