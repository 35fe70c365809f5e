//! What a commit of one file costs beside what has gathered in a workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use txedit::{Durability, Edit, Engine, Request, Retention, Run, Settings};

use crate::corpus::{self, Chance};
use crate::disk::Disk;
use crate::measure::median;
use crate::{Result, millis};

/// What the median may be beside that in an empty workspace.
const AT_MOST: f64 = 1.2;

/// The transactions that history keeps by default.
const BOUND: usize = 1000;

/// Everything stays in history.
fn settings(durability: Durability) -> Settings {
    let retention = Retention::default().count(usize::MAX).bytes(u64::MAX).age(Duration::MAX);
    Settings::default().durability(durability).retention(retention)
}

/// A workspace with a file `source.rs`, and what has gathered in it.
struct Place {
    name: String,
    root: PathBuf,
    times: Vec<Duration>,
    /// What stands in the file.
    now: usize,
}

impl Place {
    fn new(name: String, root: &Path, gather: impl FnOnce(&mut Self) -> Result<()>) -> Result<Self> {
        let root = root.join(name.replace(' ', "_"));
        fs::create_dir_all(&root)?;
        fs::write(root.join("source.rs"), corpus::source(&mut Chance::new(4), 4000, "word_0", 1))?;
        let mut place = Self { name, root, times: Vec::new(), now: 0 };
        // The state folder is there in each of them.
        place.edit(Durability::Process)?;
        gather(&mut place)?;
        Ok(place)
    }

    /// Edits the file by an engine that was just opened.
    fn edit(&mut self, durability: Durability) -> Result<Duration> {
        let [old, new] = [self.now, self.now + 1].map(|now| format!("word_{now}(word"));
        let request = Request::new().edit("source.rs", Edit::replace(old, new));
        let started = Instant::now();
        Engine::open_with(&self.root, settings(durability))?.apply(&request, Run::default())?;
        self.now += 1;
        Ok(started.elapsed())
    }

    fn commit(&mut self, times: usize) -> Result<()> {
        (0..times).try_for_each(|_| self.edit(Durability::Process).map(drop))
    }

    /// Opens so many transactions, each of which makes a file of its own.
    fn open(&mut self, count: usize) -> Result<()> {
        let engine = Engine::open_with(&self.root, settings(Durability::Process))?;
        for number in 0..count {
            engine.stage(&Request::new().create(format!("new_{number}"), "text\n"), None, Run::default())?;
        }
        Ok(())
    }

    fn fill(&self, count: usize) -> Result<()> {
        (0..count).try_for_each(|number| Ok(fs::write(self.root.join(format!("file_{number}")), "text\n")?))
    }
}

/// Measures commits in turns; answers the goals that were not met.
pub(crate) fn beside(measured: bool, rounds: usize, disk: &mut Disk) -> Result<Vec<String>> {
    disk.renew()?;
    let size = |count: usize| if measured { count } else { count / 500 };
    let root = disk.path();
    let mut places = vec![Place::new("an empty workspace".to_owned(), &root, |_| Ok(()))?];
    for count in [size(BOUND), size(10 * BOUND)] {
        places.push(Place::new(format!("{count} transactions in history"), &root, |place| place.commit(count))?);
    }
    let open = size(1000);
    places.push(Place::new(format!("{open} open transactions"), &root, |place| place.open(open))?);
    let files = size(100_000);
    places.push(Place::new(format!("{files} files in the folder"), &root, |place| place.fill(files))?);
    rustix::fs::sync();
    for _ in 0..rounds {
        for place in &mut places {
            let took = place.edit(Durability::Power)?;
            place.times.push(took);
        }
    }
    println!("\n### one file beside ({rounds} rounds)\n\n| beside | median | ÷ empty | goal |\n|---|---|---|---|");
    let empty = median(&places[0].times);
    let mut unmet = Vec::new();
    for place in &places {
        let (time, ratio) = (median(&place.times), median(&place.times).as_secs_f64() / empty.as_secs_f64());
        let met = ratio <= AT_MOST;
        println!(
            "| {} | {} | {ratio:.2} | ≤ {AT_MOST}: {} |",
            place.name,
            millis(time),
            if met { "met" } else { "not met" }
        );
        if !met {
            unmet.push(format!("one file beside {}: {ratio:.2}, not {AT_MOST}", place.name));
        }
    }
    Ok(unmet)
}
