//! Sets up the machine of a scenario.

use std::path::Path;

use super::attack::{OUTSIDE, make_outside};
use super::data::{Ask, Item, Profile, ScenarioAct, ScenarioTerms};
use super::deed::at;
use super::run::ScenarioWorld;
use crate::fs::sim::SimFs;
use crate::journal::SwapMethod;
use crate::testing::script::ROOT;

/// A machine with a workspace and, unless it is cold, a state folder. Made once for each profile and thread.
pub(super) fn ground(profile: Profile) -> SimFs {
    thread_local! {
        static GROUNDS: std::cell::RefCell<Vec<(Profile, SimFs)>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    GROUNDS.with_borrow_mut(|grounds| {
        if let Some((_, machine)) = grounds.iter().find(|(known, _)| *known == profile) {
            return machine.fork();
        }
        let machine = new_ground(profile);
        // No process lives on in a fork.
        let fork = machine.fork();
        grounds.push((profile, machine));
        fork
    })
}

fn new_ground(profile: Profile) -> SimFs {
    let machine = SimFs::new();
    let made = machine.make_folders(ROOT).and_then(|()| {
        machine.volume(ROOT, |volume| {
            volume.sync_each = profile.sync_each;
            volume.orders = profile.orders;
            volume.birth_times = !profile.no_births;
            volume.reuse_inodes = profile.reuse;
            volume.syncs_whole = !profile.fuse;
            volume.is_layered = profile.lower;
            volume.counts_folders = !profile.uncounted && !profile.lower;
            volume.exchange = profile.swap == SwapMethod::Exchange;
            volume.no_replace = profile.swap != SwapMethod::Link;
        })
    });
    assert!(made.is_ok(), "{made:?}");
    if !profile.cold {
        let mut world = ScenarioWorld::on(machine.clone(), profile);
        let warm =
            ScenarioAct::Apply(vec![Ask::Create("warm".to_owned(), "warm\n".to_owned())], ScenarioTerms::default());
        let done = world.call(&warm).and_then(|_| world.call(&ScenarioAct::Prune(0)));
        assert!(done.is_ok(), "{done:?}");
        let gone = machine.delete(at("warm"));
        assert!(gone.is_ok(), "{gone:?}");
    }
    machine.sync_everything();
    machine
}

/// Makes an initial item.
pub(super) fn make(machine: &SimFs, item: &Item) -> std::io::Result<()> {
    match item {
        Item::Folder(path) => machine.make_folders(at(path)),
        Item::File(path, content, mode) => {
            let path = at(path);
            machine.make_folders(path.parent().unwrap_or(Path::new(ROOT)))?;
            machine.create(&path, content)?;
            machine.set_mode(&path, *mode)
        }
        Item::Symlink(path, target) => {
            if target == OUTSIDE {
                make_outside(machine)?;
            }
            machine.symlink(target, at(path))
        }
        Item::Link(path, new) => machine.link(at(path), at(new)),
        Item::Attribute(path, name, value) => machine.set_attribute(at(path), name, value.as_bytes()),
        Item::Mode(path, mode) => machine.set_mode(at(path), *mode),
    }
}
