//! Power cuts while a transaction is staged in several calls: all that was acknowledged is there, and can be committed.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::cut::{Player, cuts};
use super::dice::Dice;
use super::disk::{Blocks, Event, Shelf};
use super::system::{Mounted, System};
use super::tree::NOISE;
use super::work::{Noise, report};
use super::{number, recorded};
use crate::support::mounts::run;

/// Calls, each of which stages an edit of a file of its own.
const CALLS: usize = 8;

/// Disks of each file system where nothing else is asked for.
const IMAGES: usize = 24;

fn name(call: usize) -> String {
    format!("file{call}")
}

/// What a disk was told while edits were staged.
struct Recorded {
    base: Blocks,
    log: Vec<Event>,
    start: usize,
    id: String,
}

fn record(shelf: &mut Shelf, system: System, dice: &mut Dice) -> Result<Recorded, String> {
    let base = system.make()?;
    let disk = shelf.serve(base.clone(), system.size());
    let mounted = Mounted::new(&disk)?;
    let root = mounted.root();
    for call in 0..CALLS {
        fs::write(root.join(name(call)), "one\n").unwrap();
    }
    // The first use tries out what the file system can do.
    let first = root.join("first");
    fs::write(&first, "one\n").unwrap();
    report(root, &disk, &["edit", first.to_str().unwrap(), "--old", "one", "--new", "two"]).unwrap();
    fs::create_dir(root.join(NOISE)).unwrap();
    run("sync", [Path::new("-f"), root])?;
    let start = disk.position();
    let noise = Noise::start(root, dice.roll());
    let mut id: Option<String> = None;
    for call in 0..CALLS {
        let edits = [json!({"old_string": "one", "new_string": "two"})];
        let request = json!({"files": [{"file_path": root.join(name(call)), "edits": edits}]});
        let plan = tempfile::NamedTempFile::new().unwrap();
        fs::write(plan.path(), request.to_string()).unwrap();
        let line = ["stage", plan.path().to_str().unwrap()];
        let more = id.iter().flat_map(|id| ["--transaction", id]);
        let answer = report(root, &disk, &line.into_iter().chain(more).collect::<Vec<_>>()).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        id = answer["transaction_id"].as_str().map(str::to_owned);
    }
    drop(noise);
    let log = disk.log();
    drop(mounted);
    shelf.forget(&disk);
    Ok(Recorded { base, log, start, id: id.unwrap() })
}

/// Looks at what is left of so many calls that were acknowledged; the next one may be there, too.
fn look(shelf: &mut Shelf, system: System, blocks: Blocks, id: &str, acknowledged: usize) -> Result<(), String> {
    let disk = shelf.serve(blocks, system.size());
    let mounted = Mounted::new(&disk)?;
    let root = mounted.root();
    report(root, &disk, &["recover"])?;
    let staged = match report(root, &disk, &["preview", id]) {
        Ok(answer) => {
            let answer: Value = serde_json::from_str(&answer).unwrap();
            answer["file_results"].as_array().map_or(0, Vec::len)
        }
        Err(_) if acknowledged == 0 => 0,
        Err(answer) => return Err(answer),
    };
    if staged != acknowledged && staged != acknowledged + 1 {
        return Err(format!("{acknowledged} calls were acknowledged, and {staged} are there"));
    }
    if staged > 0 {
        report(root, &disk, &["commit", id])?;
    }
    for call in 0..CALLS {
        let expected = if call < staged { "two\n" } else { "one\n" };
        let found = fs::read_to_string(root.join(name(call))).map_err(|e| e.to_string())?;
        if found != expected {
            return Err(format!("{} holds {found:?} after a commit of {staged}", name(call)));
        }
    }
    drop(mounted);
    shelf.forget(&disk);
    Ok(())
}

fn survives(system: System) {
    let seed = number("TXEDIT_TEST_POWER_SEED", 1);
    let mut dice = Dice::new(seed);
    let Some((recorded, mut shelf)) = recorded(system, |shelf| record(shelf, system, &mut dice)) else { return };
    let Recorded { base, log, start, id } = recorded;
    let images = number("TXEDIT_TEST_POWER_IMAGES", IMAGES as u64) as usize;
    let mut player = Player::new(base, &log);
    for cut in cuts(&log, start, images, &mut dice) {
        let acknowledged = log[start..cut.at].iter().filter(|event| matches!(event, Event::Mark)).count();
        let blocks = player.after(cut, &mut dice);
        look(&mut shelf, system, blocks, &id, acknowledged).unwrap_or_else(|wrong| {
            panic!("{system:?}, seed {seed}, event {} of {}, {:?}: {wrong}", cut.at, log.len(), cut.left)
        });
    }
    eprintln!(
        "power cuts while staging on {system:?}, seed {seed}: {images} images, all that was acknowledged is there"
    );
}

#[test]
fn what_is_staged_survives_power_loss_while_staging_on_ext4() {
    survives(System::Ext4);
}

#[test]
fn what_is_staged_survives_power_loss_while_staging_on_xfs() {
    survives(System::Xfs);
}
