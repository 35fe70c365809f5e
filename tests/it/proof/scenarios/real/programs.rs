//! What foreign programs do, as lines of a shell.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use txedit::testing::scenario::{Item, ScenarioDeed};

/// The lines that do a deed in the current folder; what cannot be done is not done. None for what only a program that
/// lives on can do.
pub(super) fn lines(deed: &ScenarioDeed) -> Option<String> {
    let text = |text: &str| format!("printf '%s' '{text}'");
    Some(match deed {
        ScenarioDeed::Write(path, content) => format!("[ -f {path} ] && {} > {path}", text(content)),
        ScenarioDeed::Append(path, content) => format!("[ -f {path} ] && {} >> {path}", text(content)),
        ScenarioDeed::Forge(path, content) => {
            let (size, length) = (format!("$(stat -c %s {path})"), content.len());
            let write = format!("dd of={path} bs=1 seek=$(({size} - {length})) conv=notrunc status=none");
            let time = format!("t=$(stat -c %y {path})");
            let set = format!("touch -d \"$t\" {path}");
            format!("[ -f {path} ] && [ {size} -ge {length} ] && {time} && {} | {write} && {set}", text(content))
        }
        ScenarioDeed::Replace(path, content) => {
            format!("[ -f {path} ] && {} > {path}.foreign && mv {path}.foreign {path}", text(content))
        }
        ScenarioDeed::Save(path) => {
            format!("[ -f {path} ] && [ ! -L {path} ] && cp {path} {path}.foreign && mv {path}.foreign {path}")
        }
        ScenarioDeed::Create(path, content) => format!("[ -e {path} ] || [ -L {path} ] || {} > {path}", text(content)),
        ScenarioDeed::Delete(path) => format!("rm {path}"),
        ScenarioDeed::Chmod(path, mode) => format!("chmod {mode:o} {path}"),
        ScenarioDeed::Chown(path, user, group) => format!("chown {user}:{group} {path}"),
        ScenarioDeed::Mkdir(path) => format!("mkdir {path}"),
        ScenarioDeed::Move(from, to) => format!("[ -e {to} ] || mv {from} {to}"),
        ScenarioDeed::Exchange(one, other) => {
            format!("[ -e {other} ] && mv {one} exchanged && mv {other} {one} && mv exchanged {other}")
        }
        ScenarioDeed::Rmdir(path) => format!("rmdir {path}"),
        ScenarioDeed::Symlink(target, path) => format!("ln -s {target} {path}"),
        ScenarioDeed::Link(path, new) => format!("ln {path} {new}"),
        ScenarioDeed::Pipe(path) => format!("mkfifo {path}"),
        ScenarioDeed::SetAttribute(..)
        | ScenarioDeed::RemoveAttribute(..)
        | ScenarioDeed::Hold(..)
        | ScenarioDeed::Late(..) => return None,
    })
}

/// Runs lines in a folder, without a word.
pub(super) fn run(folder: &Path, lines: &str) {
    let shell = Command::new("sh").arg("-c").arg(lines).current_dir(folder).output().unwrap();
    drop(shell);
}

/// Makes what is there at first, without a program: that would take most of the time. What cannot be made is not there.
pub(super) fn set_up(root: &Path, item: &Item) {
    let made = match item {
        Item::Folder(path) => fs::create_dir_all(root.join(path)),
        Item::File(path, content, mode) => {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap())
                .and_then(|()| fs::write(&path, content))
                .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(*mode)))
        }
        Item::Symlink(path, target) => symlink(target, root.join(path)),
        Item::Link(path, new) => fs::hard_link(root.join(path), root.join(new)),
        Item::Attribute(..) => Ok(()),
        Item::Mode(path, mode) => fs::set_permissions(root.join(path), Permissions::from_mode(*mode)),
    };
    made.ok();
}
