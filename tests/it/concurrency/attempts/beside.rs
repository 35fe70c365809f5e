//! Commits beside a program that keeps rewriting the same files, on a disk that is idle and on one that is busy.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use txedit::{Durability, Engine, ErrorKind, Outcome};

use super::apply;
use crate::support::mounts::{self, Kind};
use crate::support::workspace::settings;

/// Both are edited by each commit, and rewritten in turn by the other program.
const FILES: [&str; 2] = ["a", "b"];

/// Lines that the other program writes over and over, each in its place: what is lost is seen, and no file grows.
const LINES: u64 = 256;

/// The pauses of the other program.
#[derive(Debug, Clone, Copy)]
enum Gap {
    Fixed(u64),
    /// 0 to 6 ms, in no order.
    Mixed,
}

impl Gap {
    fn before(self, line: u64) -> Duration {
        match self {
            Self::Fixed(ms) => Duration::from_millis(ms),
            Self::Mixed => Duration::from_micros(line.wrapping_mul(2_654_435_761) % 6_000),
        }
    }
}

fn written(line: u64) -> String {
    format!("{line:9}\n")
}

/// Where a line is: its file, and the place in it.
fn place(line: u64) -> (&'static str, u64) {
    (FILES[usize::try_from(line % 2).unwrap()], line / 2 % LINES * 10)
}

/// Writes lines until it is told to stop; how many.
fn write_lines(root: &Path, gap: Gap, stop: &AtomicBool) -> u64 {
    let mut line = 0;
    while !stop.load(Ordering::Relaxed) {
        let (file, offset) = place(line);
        let file = fs::OpenOptions::new().write(true).open(root.join(file)).unwrap();
        file.write_all_at(written(line).as_bytes(), offset).unwrap();
        line += 1;
        std::thread::sleep(gap.before(line));
    }
    line
}

fn keep_busy(noise: &Path, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let mut noise = fs::File::create(noise).unwrap();
        noise.write_all(&vec![7; 4 << 20]).unwrap();
        noise.sync_all().unwrap();
    }
}

/// What came of the commits of a race.
#[derive(Debug, Default)]
struct Came {
    through: usize,
    /// Of the others those that left one file new: the other program had written to it after its swap.
    partly: usize,
    attempts: usize,
    /// What the files count.
    counts: [usize; 2],
}

impl Came {
    /// Counts one up in both files.
    fn commit(&mut self, engine: &Engine) {
        let edit = |count| json!([{ "old_string": format!("count: {count};"), "new_string": format!("count: {};", count + 1) }]);
        let files = [0, 1].map(|at| json!({ "file_path": FILES[at], "edits": edit(self.counts[at]) }));
        match apply(engine, &json!({ "files": files })) {
            Ok(report) => {
                self.through += 1;
                self.attempts += report.attempts;
                self.counts = self.counts.map(|count| count + 1);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConcurrentModification, "{error}");
                self.attempts += error.attempts();
                self.partly += usize::from(error.outcome() == Outcome::PartlyRolledBack);
                for new in error.not_old().iter().filter(|file| file.on_top) {
                    self.counts[new.file.unwrap()] += 1;
                }
            }
        }
    }
}

/// Stops the others, where the race ends in a panic, too.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn race(root: &Path, commits: usize, gap: Gap, is_disk_busy: bool) -> Came {
    let engine = Engine::open_with(root, settings().durability(Durability::Power)).unwrap();
    let stop = AtomicBool::new(false);
    for file in FILES {
        let lines = "         \n".repeat(usize::try_from(LINES).unwrap());
        fs::write(root.join(file), lines + "count: 0;\n").unwrap();
    }
    let mut came = Came::default();
    let lines = std::thread::scope(|scope| {
        if is_disk_busy {
            for name in ["noise 1", "noise 2"] {
                let (noise, stop) = (root.join(name), &stop);
                scope.spawn(move || keep_busy(&noise, stop));
            }
        }
        let writer = scope.spawn(|| write_lines(root, gap, &stop));
        let stopping = Stopping(&stop);
        for _ in 0..commits {
            came.commit(&engine);
        }
        drop(stopping);
        writer.join().unwrap()
    });
    for (file, count) in FILES.iter().zip(came.counts) {
        let content = fs::read_to_string(root.join(file)).unwrap();
        assert!(content.ends_with(&format!("count: {count};\n")), "every commit is in {file}, and {came:?}");
    }
    let late = engine.status().unwrap().warnings.len();
    let is_missing = |line: &u64| {
        let (file, offset) = place(*line);
        let mut found = [0; 10];
        fs::File::open(root.join(file)).unwrap().read_exact_at(&mut found, offset).unwrap();
        found != written(*line).as_bytes()
    };
    let missing = (lines.saturating_sub(2 * LINES)..lines).filter(is_missing).count();
    assert!(missing <= late, "{missing} lines are missing, of {late} it is told where they are");
    came
}

/// `TXEDIT_TEST_BUSY=N` makes N commits in each condition and prints what came of them.
#[test]
fn commits_come_through_beside_a_busy_writer() {
    let full = std::env::var("TXEDIT_TEST_BUSY").ok().map(|commits| commits.parse::<usize>().unwrap());
    let gaps: &[Gap] =
        if full.is_some() { &[Gap::Mixed, Gap::Fixed(6), Gap::Fixed(2), Gap::Fixed(0)] } else { &[Gap::Mixed] };
    let all = |root: &Path| {
        for (is_disk_busy, gap) in [false, true].into_iter().flat_map(|busy| gaps.iter().map(move |gap| (busy, *gap))) {
            let root = tempfile::tempdir_in(root).unwrap();
            let (commits, started) = (full.unwrap_or(3), Instant::now());
            // How many come through beside other tests says nothing; that none is lost is looked at.
            let Came { through, partly, attempts, .. } = race(root.path(), commits, gap, is_disk_busy);
            let disk = if is_disk_busy { "a busy disk" } else { "an idle disk" };
            let seconds = started.elapsed().as_secs_f32();
            eprintln!(
                "{gap:?} on {disk}: {through} of {commits} commits, {partly} rolled back in part, {attempts} attempts, \
                 {seconds:.1} s"
            );
        }
    };
    if full.is_none() || mounts::with(Kind::Ext4, all).is_none() {
        all(Path::new(env!("CARGO_TARGET_TMPDIR")));
    }
}
