//! Real power loss: the block writes of ext4, xfs and btrfs are recorded while transactions are committed, and disks
//! are made of them as they would be after a power cut at many moments.
//!
//! At each moment everything up to the last flush is on the disk, and any part of what was written since, down to
//! single blocks. Each disk is mounted, so that the file system recovers by itself; then `txedit recover` runs. After
//! that every transaction is all-old or all-new, all-new if it was reported before the cut, nothing is left in
//! `txn/`, and a second recovery changes nothing. After every third cut the power fails once more, during the recovery.
//!
//! `TXEDIT_TEST_POWER_IMAGES` says how many disks of each file system are looked at, and `TXEDIT_TEST_POWER_SEED` which
//! ones; a disk that shows a violation is kept in the folder `TXEDIT_TEST_POWER_KEEP`.

#![expect(clippy::cast_possible_truncation, reason = "file systems of these tests run on 64 bits, and disks are small")]

mod check;
mod cut;
pub(crate) mod dice;
mod disk;
mod fuse;
mod stage;
mod system;
mod tree;
mod work;

use std::fmt::Debug;
use std::time::Instant;

use check::{Broken, Tally, check};
use dice::Dice;
use disk::Shelf;
use system::System;
use work::{Variant, record};

use crate::support::mounts::is_root;
use crate::support::{is_full, is_without};

/// Disks of each file system with `TXEDIT_TEST_FULL`; by default it is a third of them.
const IMAGES: usize = 60;

/// Disks from one recording, at most: the next one has other transactions.
const IMAGES_A_RECORDING: usize = 120;

/// Disks for one transaction of a recording.
const IMAGES_A_TRANSACTION: usize = 8;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// Disks of each file system: `TXEDIT_TEST_POWER_IMAGES`, or the usual number.
fn images() -> usize {
    let usual = if is_full() { IMAGES } else { IMAGES / 3 };
    number("TXEDIT_TEST_POWER_IMAGES", usual as u64) as usize
}

/// What `record` makes, with the disks that it is played on; `None` where it cannot be tried here, which is said.
fn recorded<T>(on: impl Debug, record: impl FnOnce(&mut Shelf) -> Result<T, String>) -> Option<(T, Shelf)> {
    if !is_root() {
        eprintln!("skipped on {on:?}: mounting needs root");
        return None;
    }
    let recorded = Shelf::new().and_then(|mut shelf| Ok((record(&mut shelf)?, shelf)));
    recorded.inspect_err(|reason| eprintln!("skipped on {on:?}: {reason}")).ok()
}

/// Records, cuts and checks; `None` where it cannot be tried here, which is said.
fn explore(system: System, variant: Variant, images: usize, enough: fn(&Tally) -> bool) -> Option<Tally> {
    if !is_root() {
        eprintln!("skipped on {system:?}: mounting needs root");
        return None;
    }
    let begun = Instant::now();
    let seed = number("TXEDIT_TEST_POWER_SEED", 1);
    let mut dice = Dice::new(seed);
    let mut total = Tally::default();
    let result = (|| {
        let mut shelf = Shelf::new()?;
        while total.images < images && !enough(&total) {
            let now = (images - total.images).min(IMAGES_A_RECORDING);
            let recording = record(&mut shelf, system, variant, now.div_ceil(IMAGES_A_TRANSACTION), &mut dice)?;
            let tally = check(&mut shelf, system, &recording, now, &mut dice, enough);
            total.images += tally.images;
            total.second += tally.second;
            total.old += tally.old;
            total.new += tally.new;
            total.violations.extend(tally.violations);
        }
        Ok::<_, String>(())
    })();
    if let Err(reason) = result {
        eprintln!("skipped on {system:?}: {reason}");
        return None;
    }
    eprintln!("power cuts on {system:?}, {variant:?}, seed {seed}: {total}, {:.1} s", begun.elapsed().as_secs_f64());
    Some(total)
}

fn survives(system: System) {
    let images = images();
    let Some(tally) = explore(system, Variant::Safe, images, |tally| tally.violations.len() > 10) else { return };
    assert!(tally.violations.is_empty(), "{:#?}", tally.violations);
    assert_eq!(tally.images, images);
    assert!(tally.old > 0 && tally.new > 0, "the cuts were before and after the commits: {tally}");
}

/// The test sees what it should: without its barriers the same transactions break their promise.
fn is_caught(system: System, variant: Variant, caught: fn(&Tally) -> bool) {
    let Some(tally) = explore(system, variant, IMAGES, caught) else { return };
    assert!(caught(&tally), "{variant:?} on {system:?} is not caught: {tally}: {:#?}", tally.violations);
}

#[test]
fn transactions_survive_power_loss_on_ext4() {
    survives(System::Ext4);
}

#[test]
fn transactions_survive_power_loss_on_xfs() {
    survives(System::Xfs);
}

#[test]
fn transactions_survive_power_loss_on_btrfs() {
    survives(System::Btrfs);
}

#[test]
fn without_barriers_reported_transactions_are_lost_or_cannot_be_read() {
    for system in [System::Ext4, System::Xfs, System::Btrfs] {
        is_caught(system, Variant::Process, |tally| {
            tally.violations.iter().any(|v| matches!(v.kind, Broken::Lost | Broken::Unfinished))
        });
    }
}

#[test]
fn without_the_first_barrier_transactions_are_torn_or_lost() {
    // Step by step another barrier comes before the done state, and ext4 makes all before it durable at once.
    if is_without("exchange") {
        return;
    }
    for system in [System::Ext4, System::Xfs, System::Btrfs] {
        is_caught(system, Variant::NoFirstBarrier, |tally| {
            tally.violations.iter().any(|v| v.kind != Broken::FileSystem)
        });
    }
}
