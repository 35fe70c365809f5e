//! What is measured, and what it should come to.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::corpus::{self, Chance, Job, Tree};
use crate::measure::{Goal, Row};
use crate::peers::{
    BEFORE, Contender, EVERY_CALL, EVERY_CALL_REFUSED, FASTMOD, FS_TRANSACTION, FSTX, FSYNC, GIT, GIT_SYNC, OVERLAY,
    PERL, PROMISED, PROMISED_ASIDE, PYTHON, READ, RENAME, RG, SD, SD_FIND, SEARCH, SED, SYNCFS, SYNCFS_TWICE, TX,
    TX_ASIDE, TX_BEFORE, TX_CHECK_TREE, TX_CHECK_VIEW, TX_FIRST, TX_PROCESS, TX_REPLACE, TX_RUN, TX_RUN_SEARCH,
    UNDERSTOOD, UNDERSTOOD_REFUSED, WRITE,
};

const OLD: &str = "fetch_widget";
const NEW: &str = "load_widget";

const fn goal(beside: &Contender, at_most: f64) -> Goal {
    Goal { beside: beside.name, at_most }
}

/// All rows; small ones unless they are to be measured.
pub(crate) fn all(measured: bool, tools: &Path) -> Result<Vec<Row>> {
    let size = |files: usize| if measured { files } else { files.min(20) };
    let mut rows = by_count(size)?;
    if measured {
        rows.extend(the_long_ones());
    }
    rows.extend(by_kind(size));
    for row in &mut rows {
        tools.clone_into(&mut row.tools);
        if BEFORE.get().is_some() && row.contenders[0].name == TX.name {
            row.contenders.insert(1, TX_BEFORE);
        }
    }
    Ok(rows)
}

fn row(name: &'static str, (tree, job): (Tree, Job), contenders: Vec<Contender>, goals: Vec<Goal>) -> Row {
    let (rounds, tools) = (7, PathBuf::new());
    Row { name, tree, job, contenders, goals, rounds, fails: false, churned: false, memory: None, tools }
}

/// An identifier renamed in so many files.
fn rename(files: usize) -> (Tree, Job) {
    let tree = corpus::sources(files, OLD, 1);
    let files = tree.keys().cloned().collect();
    (tree, Job { files, pairs: vec![(OLD.to_owned(), NEW.to_owned())], once: true })
}

/// A row of the plot.
pub(crate) fn by_number(files: usize, who: Vec<Contender>) -> Row {
    row("by number", rename(files), who, Vec::new())
}

fn by_count(size: impl Fn(usize) -> usize) -> Result<Vec<Row>> {
    let who =
        vec![TX, TX_FIRST, TX_PROCESS, PROMISED, EVERY_CALL, UNDERSTOOD, FSYNC, RENAME, WRITE, PYTHON, GIT_SYNC, SED];
    let goals = vec![goal(&FSYNC, 1.4), goal(&PYTHON, 1.0 / 15.0)];
    let one = Row { rounds: 31, memory: Some(10), ..row("one file", rename(1), who, goals) };

    let who = vec![TX, GIT_SYNC, GIT, PROMISED, EVERY_CALL, UNDERSTOOD, SYNCFS, SYNCFS_TWICE];
    let hundred = Row { rounds: 15, ..row("100 files", rename(size(100)), who, vec![goal(&SYNCFS, 1.4)]) };

    let who = vec![TX, GIT_SYNC, GIT, PROMISED, EVERY_CALL, SYNCFS, SYNCFS_TWICE, RENAME, FSYNC, PYTHON, SED, SD];
    let goals = vec![goal(&GIT_SYNC, 1.0), goal(&SYNCFS, 1.15), goal(&PYTHON, 0.25)];
    let tree = real_tree(size(300))?;
    let hundreds = Row { rounds: 15, memory: Some(10), ..row("300 files of a real tree", tree, who, goals) };

    let who = vec![
        TX,
        TX_PROCESS,
        GIT_SYNC,
        GIT,
        FSTX,
        FS_TRANSACTION,
        PYTHON,
        READ,
        WRITE,
        RENAME,
        PROMISED,
        EVERY_CALL,
        SYNCFS,
        SYNCFS_TWICE,
        FSYNC,
        SED,
    ];
    let goals = vec![
        goal(&GIT_SYNC, 1.2),
        goal(&GIT, 0.9),
        goal(&SYNCFS, 1.0),
        goal(&PYTHON, 0.1),
        goal(&FS_TRANSACTION, 1.0 / 3.0),
        goal(&FSTX, 0.5),
    ];
    let thousand = row("1,000 files", rename(size(1000)), who, goals);

    let who = vec![TX_ASIDE, TX, PROMISED_ASIDE, PROMISED];
    let aside = Row { rounds: 15, ..row("1,000 files, step by step", rename(size(1000)), who, vec![goal(&TX, 1.3)]) };

    let who = vec![TX, TX_PROCESS, GIT_SYNC, GIT, READ, RENAME, PROMISED, SYNCFS, SYNCFS_TWICE];
    let goals = vec![goal(&GIT_SYNC, 1.3), goal(&GIT, 0.9), goal(&SYNCFS, 1.0)];
    let many = Row { rounds: 5, memory: Some(30), ..row("10,000 files", rename(size(10_000)), who, goals) };
    Ok(vec![one, hundred, hundreds, thousand, aside, many])
}

/// Those that take minutes.
fn the_long_ones() -> Vec<Row> {
    let who = vec![TX, GIT_SYNC, RENAME, SYNCFS];
    let churned = row("10,000 files after churn", rename(10_000), who, Vec::new());
    let tree = corpus::sources(100_000, OLD, 100);
    let files = tree.keys().filter(|path| corpus::has(&tree[*path], OLD)).cloned().collect();
    let job = Job { files, pairs: vec![(OLD.to_owned(), NEW.to_owned())], once: true };
    let (given, found) = ((tree.clone(), job.clone()), (tree.clone(), job));
    let program =
        row("1,000 of 100,000 files, by a program", given, vec![TX_RUN, OVERLAY, SED], vec![goal(&OVERLAY, 1.5)]);
    let who = vec![TX_RUN_SEARCH, SEARCH];
    let searching = row("1,000 of 100,000 files, by a program that finds them", found, who, vec![goal(&SEARCH, 1.5)]);
    let first = tree.keys().find(|path| corpus::has(&tree[*path], OLD)).cloned().into_iter().collect();
    let one = Job { files: first, pairs: vec![(OLD.to_owned(), NEW.to_owned())], once: true };
    let checks =
        row("one of 100,000 files, with a check", (tree, one), vec![TX_CHECK_VIEW, TX_CHECK_TREE, TX], Vec::new());
    let most = row("100,000 files", rename(100_000), vec![TX, GIT_SYNC], Vec::new());
    let huge = row("100 edits in 1 GB", large(1 << 30, 100), vec![TX, FSYNC], Vec::new());
    vec![
        Row { rounds: 5, ..program },
        Row { rounds: 5, ..searching },
        Row { rounds: 5, ..checks },
        Row { rounds: 3, churned: true, ..churned },
        nowhere("a text that is nowhere in 200,000 files", 200_000, 5),
        Row { rounds: 1, memory: Some(150), ..most },
        Row { rounds: 1, memory: Some(64), ..huge },
    ]
}

fn by_kind(size: impl Fn(usize) -> usize) -> Vec<Row> {
    let who = vec![TX, TX_PROCESS, FSYNC, READ, PERL, PYTHON];
    let goals = vec![goal(&FSYNC, 1.5), goal(&PERL, 0.2)];
    let edits =
        Row { rounds: 5, memory: Some(64), ..row("100 edits in 100 MB", large(size(100) << 20, 100), who, goals) };

    let dense = |name, bytes, edits| Row {
        rounds: 5,
        ..row(name, large(bytes, edits), vec![TX, EVERY_CALL, UNDERSTOOD, FSYNC], vec![goal(&FSYNC, 1.2)])
    };
    let many = dense("10,000 edits in one file", size(5) << 20, size(10_000));
    let most = dense("100,000 edits in one file", size(10) << 20, size(100_000));

    let (mut tree, job) = rename(size(1000));
    if let Some(last) = job.files.last() {
        tree.insert(last.clone(), corpus::source(&mut Chance::new(2), 4000, "nothing", 1));
    }
    let goals = vec![goal(&GIT, 0.5)];
    let who = vec![TX, GIT, READ, EVERY_CALL_REFUSED, UNDERSTOOD_REFUSED];
    let failing = Row { fails: true, rounds: 15, ..row("a last edit that fails", (tree, job), who, goals) };

    let tree = corpus::sources(size(20_000), OLD, 10);
    let files = tree.keys().filter(|path| corpus::has(&tree[*path], OLD)).cloned().collect();
    let job = Job { files, pairs: vec![(OLD.to_owned(), NEW.to_owned())], once: true };
    let who = vec![TX_REPLACE, FASTMOD, SD_FIND];
    let searched = Row { rounds: 5, ..row("a text in a tree of 20,000 files", (tree, job), who, Vec::new()) };
    vec![edits, many, most, failing, searched, nowhere("a text that is nowhere in 20,000 files", size(20_000), 9)]
}

/// Only the search: the text is in none of so many files.
fn nowhere(name: &'static str, files: usize, rounds: usize) -> Row {
    let tree = corpus::sources(files, "nothing", 1);
    let job = Job { files: Vec::new(), pairs: vec![(OLD.to_owned(), NEW.to_owned())], once: false };
    Row { fails: true, rounds, ..row(name, (tree, job), vec![TX_REPLACE, RG], vec![goal(&RG, 1.2)]) }
}

/// The sources of this package's dependencies, as cargo keeps them, and a word that is in `files` of them.
fn real_tree(files: usize) -> Result<(Tree, Job)> {
    let old = "Default".to_owned();
    let mut tree = Tree::new();
    let mut chosen = Vec::new();
    let mut folders = vec![registry()?];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
        entries.sort();
        for path in entries {
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && chosen.len() < files {
                let content = std::fs::read(&path)?;
                let name = path.strip_prefix(registry()?)?.to_owned();
                if memchr::memmem::find(&content, old.as_bytes()).is_some() && std::str::from_utf8(&content).is_ok() {
                    chosen.push(name.clone());
                }
                tree.insert(name, content);
            }
        }
    }
    Ok((tree, Job { files: chosen, pairs: vec![(old, "Standard".to_owned())], once: false }))
}

/// Where cargo unpacked the dependencies.
fn registry() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"), PathBuf::from);
    let sources = std::fs::read_dir(home.join("registry/src"))?.next().ok_or("cargo has unpacked nothing")??;
    Ok(sources.path())
}

/// One file of `bytes`, with `edits` texts that are each there once.
fn large(bytes: usize, edits: usize) -> (Tree, Job) {
    let block = corpus::source(&mut Chance::new(3), 1 << 20, "nothing", 0);
    let mut content = Vec::with_capacity(bytes + block.len());
    let mut pairs = Vec::new();
    while content.len() < bytes {
        content.extend_from_slice(&block);
        let due = edits * content.len() / bytes.max(1);
        while pairs.len() < due.min(edits) {
            let old = format!("mark_{:05}", pairs.len());
            content.extend_from_slice(format!("    {old}();\n").as_bytes());
            pairs.push((old, format!("note_{:07}", pairs.len())));
        }
    }
    let path = PathBuf::from("large.rs");
    let job = Job { files: vec![path.clone()], pairs, once: true };
    (Tree::from([(path, content)]), job)
}
