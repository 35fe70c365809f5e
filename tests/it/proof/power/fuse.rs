//! Power cuts on FUSE file systems over ext4: no server is told of a sync of the whole file system, so that every file
//! must have been synced by itself. What was reported is on the disk from the moment of the report on.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use txedit::testing::internals::fs::probe;

use super::cut::{Cut, Left, Player};
use super::dice::Dice;
use super::disk::{Blocks, Event, Served, Shelf};
use super::recorded;
use super::system::{Mounted, System};
use super::work::report;
use crate::support::mounts::run;

/// More files than are ever synced one by one where there is a choice.
const FILES: usize = 100;

/// What is between the workspace and ext4.
#[derive(Debug, Clone, Copy)]
enum Layer {
    FuseOverlayfs,
    Gocryptfs,
}

/// A layer over a disk.
struct Stacked {
    over: TempDir,
    // After the layer: unmounted last.
    below: Mounted,
}

impl Layer {
    /// What must be there before it can be mounted.
    fn prepare(self, below: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        for name in ["lower", "upper", "work", "cipher"] {
            fs::create_dir(below.join(name)).map_err(failed)?;
        }
        fs::write(below.join("password"), "txedit\n").map_err(failed)?;
        if let Self::Gocryptfs = self {
            let password = below.join("password");
            let cipher = below.join("cipher");
            let line = ["-q", "-init", "-scryptn", "10", "-passfile"].map(OsStr::new);
            run("gocryptfs", line.into_iter().chain([password.as_os_str(), cipher.as_os_str()]))?;
        }
        Ok(())
    }

    fn mount(self, below: &Path, over: &Path) -> Result<(), String> {
        let at = |name: &str| below.join(name).display().to_string();
        let over = over.display().to_string();
        let told = match self {
            Self::FuseOverlayfs => {
                let layers = format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
                run("fuse-overlayfs", ["-o", &layers, &over])
            }
            Self::Gocryptfs => run("gocryptfs", ["-q", "-passfile", &at("password"), &at("cipher"), &over]),
        };
        told.map(drop)
    }
}

impl Stacked {
    fn new(layer: Layer, disk: &Served, prepare: bool) -> Result<Self, String> {
        let below = Mounted::new(disk)?;
        if prepare {
            layer.prepare(below.root())?;
        }
        let over = tempfile::Builder::new().prefix("txedit-fuse-").tempdir().map_err(|e| e.to_string())?;
        layer.mount(below.root(), over.path())?;
        Ok(Self { over, below })
    }

    fn root(&self) -> PathBuf {
        self.over.path().join("w")
    }
}

impl Drop for Stacked {
    fn drop(&mut self) {
        if let Err(reason) = run("umount", [self.over.path()]) {
            eprintln!("{} stays mounted: {reason}", self.over.path().display());
        }
    }
}

fn name(number: usize) -> String {
    format!("file{number}")
}

fn content(number: usize, version: usize) -> String {
    format!("version {version} of {number}\n")
}

/// Seconds after the report at which the power fails: at once, or, where all is asked for, also after the file system's
/// own log was written and before the contents would be.
fn seconds() -> &'static [u64] {
    if crate::support::is_full() { &[0, 3, 9] } else { &[0] }
}

/// What a disk was told from the first of the files on, and how much of it at each moment after the report.
struct Recorded {
    base: Blocks,
    log: Vec<Event>,
    moments: Vec<usize>,
}

/// Commits an edit of all files.
fn record(shelf: &mut Shelf, layer: Layer) -> Result<Recorded, String> {
    let disk = shelf.serve(System::Ext4.make()?, System::Ext4.size());
    let stacked = Stacked::new(layer, &disk, true)?;
    let root = stacked.root();
    fs::create_dir(&root).unwrap();
    let found = probe::guarantees(&root).unwrap();
    assert!(!found.syncs_whole, "{found:?}");
    for number in 0..FILES {
        fs::write(root.join(name(number)), content(number, 1)).unwrap();
    }
    // The first use tries out what the file system can do.
    let first = root.join(name(0));
    report(&root, &disk, &["edit", first.to_str().unwrap(), "--old", "of 0", "--new", "of none"]).unwrap();
    report(&root, &disk, &["undo"]).unwrap();
    run("sync", [OsStr::new("-f"), stacked.below.root().as_os_str()])?;
    let (base, start) = (disk.blocks(), disk.position());
    let edit = |number: usize| {
        let edits = [json!({"old_string": content(number, 1), "new_string": content(number, 2)})];
        json!({"file_path": root.join(name(number)), "edits": edits})
    };
    let request = json!({"files": (0..FILES).map(edit).collect::<Vec<_>>()});
    let plan = stacked.over.path().join("plan.json");
    fs::write(&plan, request.to_string()).unwrap();
    report(&root, &disk, &["apply", plan.to_str().unwrap()]).unwrap();
    let reported = Instant::now();
    let seconds = seconds().iter().map(|seconds| Duration::from_secs(*seconds));
    let moments = seconds.map(|moment| {
        std::thread::sleep(moment.saturating_sub(reported.elapsed()));
        disk.position() - start
    });
    let moments = moments.collect();
    let log = disk.log().split_off(start);
    drop(stacked);
    shelf.forget(&disk);
    Ok(Recorded { base, log, moments })
}

/// Mounts what is left after a cut. Every file is new without any recovery, and every one is old after an undo.
fn look(shelf: &mut Shelf, layer: Layer, blocks: Blocks) -> Result<(), String> {
    let disk = shelf.serve(blocks, System::Ext4.size());
    let stacked = Stacked::new(layer, &disk, false)?;
    let root = stacked.root();
    let are = |version: usize| {
        let wrong = (0..FILES).filter_map(|number| {
            let found = fs::read_to_string(root.join(name(number)));
            let is_right = matches!(&found, Ok(text) if *text == content(number, version));
            (!is_right).then(|| format!("{}: {found:?}", name(number)))
        });
        let wrong: Vec<_> = wrong.collect();
        let told = || format!("{} of {FILES} are not version {version}: {:?}", wrong.len(), wrong.first());
        if wrong.is_empty() { Ok(()) } else { Err(told()) }
    };
    are(2)?;
    report(&root, &disk, &["undo"])?;
    are(1)?;
    drop(stacked);
    shelf.forget(&disk);
    Ok(())
}

fn survives(layer: Layer) {
    let Some((recorded, mut shelf)) = recorded(layer, |shelf| record(shelf, layer)) else { return };
    let mut dice = Dice::new(1);
    let mut images = 0;
    for (at, second) in recorded.moments.iter().zip(seconds()) {
        for left in [Left::All, Left::None, Left::AllButOne, Left::Torn(4)] {
            let mut player = Player::new(recorded.base.clone(), &recorded.log);
            let blocks = player.after(Cut { at: *at, left }, &mut dice);
            images += 1;
            look(&mut shelf, layer, blocks)
                .unwrap_or_else(|wrong| panic!("{layer:?}, {second} s after the report, {left:?}: {wrong}"));
        }
    }
    eprintln!("power cuts on {layer:?} over ext4: {images} images of {FILES} files, all new");
}

#[test]
fn a_reported_commit_survives_power_loss_on_fuse_overlayfs() {
    survives(Layer::FuseOverlayfs);
}

#[test]
fn a_reported_commit_survives_power_loss_on_gocryptfs() {
    survives(Layer::Gocryptfs);
}
