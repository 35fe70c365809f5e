//! Foreign acts on the simulated machine.

use std::io;
use std::path::PathBuf;

use super::data::{ScenarioDeed, ScenarioHandles};
use crate::errno::Errno;
use crate::fs::FileKind;
use crate::fs::sim::{self, SimFs};
use crate::testing::script::ROOT;

pub(super) fn at(path: &str) -> PathBuf {
    PathBuf::from(format!("{ROOT}/{path}"))
}

/// Performs a deed. One that fails has no effect, as with any program.
pub(super) fn perform(
    machine: &SimFs,
    deed: &ScenarioDeed,
    held: &mut ScenarioHandles<(PathBuf, sim::SimHeldFile)>,
) -> io::Result<()> {
    match deed {
        ScenarioDeed::Write(path, text) => machine.write_in_place(at(path), text),
        ScenarioDeed::Append(path, text) => machine.append(at(path), text),
        ScenarioDeed::Forge(path, text) => forge(machine, path, text),
        ScenarioDeed::Replace(path, text) => {
            machine.read(at(path))?;
            machine.replace(at(path), text)
        }
        // What it reads through a symlink depends on the moment, not on its place in the order of all acts.
        ScenarioDeed::Save(path) if machine.stat(at(path))?.kind == FileKind::Symlink => Err(Errno::INVAL.into()),
        ScenarioDeed::Save(path) => machine.replace(at(path), machine.read(at(path))?),
        ScenarioDeed::Create(path, text) => machine.create(at(path), text),
        ScenarioDeed::Delete(path) => machine.delete(at(path)),
        ScenarioDeed::Chmod(path, mode) => machine.set_mode(at(path), *mode),
        ScenarioDeed::Chown(path, user, group) => machine.set_owner(at(path), *user, *group),
        ScenarioDeed::SetAttribute(path, name, value) => machine.set_attribute(at(path), name, value.as_bytes()),
        ScenarioDeed::RemoveAttribute(path, name) => machine.remove_attribute(at(path), name),
        ScenarioDeed::Mkdir(path) => machine.make_folder(at(path)),
        ScenarioDeed::Move(_, to) if machine.exists(at(to)) => Err(Errno::EXIST.into()),
        ScenarioDeed::Move(from, to) => machine.rename(at(from), at(to)),
        ScenarioDeed::Exchange(one, other) => machine.exchange(at(one), at(other)),
        ScenarioDeed::Rmdir(path) => machine.delete_folder(at(path)),
        ScenarioDeed::Symlink(target, path) => machine.symlink(target, at(path)),
        ScenarioDeed::Link(path, new) => machine.link(at(path), at(new)),
        ScenarioDeed::Pipe(path) => machine.pipe(at(path)),
        ScenarioDeed::Hold(number, path) => {
            held.insert(*number, (path.into(), machine.open(at(path))?));
            Ok(())
        }
        ScenarioDeed::Late(number, text) => held.get(number).map_or(Ok(()), |(_, held)| held.append(text.as_bytes())),
    }
}

/// Overwrites as many of the last bytes as there are, and restores the time of the file.
fn forge(machine: &SimFs, path: &str, text: &str) -> io::Result<()> {
    let path = at(path);
    let (size, modified) = (machine.read(&path)?.len(), machine.stat(&path)?.modified);
    let text = &text.as_bytes()[..text.len().min(size)];
    machine.open(&path)?.write_at((size - text.len()) as u64, text)?;
    machine.set_modified(&path, modified)
}
