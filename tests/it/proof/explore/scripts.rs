//! What is explored.

use std::time::Duration;

use txedit::fs::sim::SimFs;
use txedit::testing::Script;
use txedit::testing::internals::request::HeldFile;
use txedit::{Anchor, Change, Count, Edit, FileRequest, IfExists, Matching, Mode, RenameTo, Request};

pub(crate) fn file(path: &str, change: Change) -> FileRequest {
    FileRequest::new(path, change)
}

pub(crate) fn request(files: Vec<FileRequest>) -> Request {
    Request::of_files(files)
}

pub(crate) fn replaces(path: &str, old: &str, new: &str) -> FileRequest {
    edits(path, &[(old, new)])
}

pub(crate) fn edits(path: &str, texts: &[(&str, &str)]) -> FileRequest {
    let anchor = |old: &str| Anchor::Text { text: old.into(), count: Count::Once, matching: Matching::Exact };
    let edits = texts.iter().map(|(old, new)| Edit { anchor: anchor(old), replacement: (*new).into() }).collect();
    file(path, Change::Edit { edits, rename: None })
}

pub(crate) fn creates(path: &str, content: &str) -> FileRequest {
    file(path, Change::Write { content: content.into(), if_exists: IfExists::Fail })
}

pub(crate) fn deletes(path: &str) -> FileRequest {
    file(path, Change::Delete)
}

pub(crate) fn renames(path: &str, to: &str) -> FileRequest {
    file(path, Change::Rename(RenameTo { path: to.into(), if_exists: IfExists::Fail }))
}

pub(crate) fn chmods(path: &str) -> FileRequest {
    file(path, Change::Mode).mode(Mode::Bits(0o755))
}

/// Four files that are old enough for their times to prove something, and one that no transaction touches.
pub(crate) fn files(machine: &SimFs) {
    machine.make_folders("/w/sub").unwrap();
    for (path, content) in
        [("a", "a one\n"), ("b", "b one\n"), ("c", "c one\n"), ("sub/d", "d one\n"), ("z", "z one\n")]
    {
        machine.create(format!("/w/{path}"), content).unwrap();
    }
    machine.advance(Duration::from_secs(60));
}

/// An attribute that the files of [`attributed`] have.
pub(crate) const ATTRIBUTE: &str = "user.old";

/// The same files with an attribute each.
pub(crate) fn attributed() -> Script {
    let setup = |machine: &SimFs| {
        files(machine);
        for path in ["a", "b", "c", "sub/d"] {
            machine.set_attribute(format!("/w/{path}"), ATTRIBUTE, b"old").unwrap();
        }
    };
    Script::new("attributed", setup)
}

/// Three of them, one edited, one made, one deleted.
pub(crate) fn three_attributed() -> Script {
    let files = vec![replaces("a", "one", "two"), creates("sub/new", "new two\n"), deletes("b")];
    attributed().apply(request(files))
}

pub(crate) fn script(name: &str) -> Script {
    Script::new(name, files)
}

pub(crate) fn edit() -> Script {
    script("edit").apply(request(vec![replaces("a", "one", "two")]))
}

/// An edit of a file whose mode no file can be made with: it is given when the content is there.
pub(crate) fn with_metadata() -> Script {
    let setup = |machine: &SimFs| {
        files(machine);
        machine.set_mode("/w/a", 0o2755).unwrap();
    };
    Script::new("metadata", setup).apply(request(vec![replaces("a", "one", "two"), deletes("b")]))
}

pub(crate) fn pair() -> Script {
    script("pair").apply(request(vec![replaces("a", "one", "two"), replaces("b", "one", "two")]))
}

/// An edit of a file that was empty: what a power loss leaves of the new content can be the old one.
pub(crate) fn an_empty_one() -> Script {
    let setup = |machine: &SimFs| {
        files(machine);
        machine.create("/w/empty", "").unwrap();
        machine.advance(Duration::from_secs(60));
    };
    let fills = Change::Write { content: "full\n".into(), if_exists: IfExists::Replace };
    Script::new("an empty one", setup).apply(request(vec![file("empty", fills), replaces("a", "one", "two")]))
}

pub(crate) fn create() -> Script {
    script("create").apply(request(vec![creates("new", "new two\n")]))
}

pub(crate) fn delete() -> Script {
    script("delete").apply(request(vec![deletes("a")]))
}

pub(crate) fn mode() -> Script {
    script("mode").apply(request(vec![chmods("a")]))
}

pub(crate) fn folder() -> Script {
    script("folder").apply(request(vec![creates("deep/er/new", "new two\n")]))
}

pub(crate) fn rename() -> Script {
    script("rename").apply(request(vec![renames("a", "moved")]))
}

pub(crate) fn change_places() -> Script {
    script("change places").apply(request(vec![renames("a", "b"), renames("b", "a")]))
}

pub(crate) fn three() -> Script {
    let files = vec![replaces("a", "one", "two"), creates("sub/new", "new two\n"), deletes("b")];
    script("three").apply(request(files))
}

/// The same with a check, which decides.
pub(crate) fn three_checked(passes: impl Fn(&SimFs) -> bool + Send + Sync + 'static) -> Script {
    let files = vec![replaces("a", "one", "two"), creates("sub/new", "new two\n"), deletes("b")];
    script("three").apply_checked(request(files), passes)
}

pub(crate) fn edit_and_undo() -> Script {
    edit().undo()
}

pub(crate) fn everything_and_undo() -> Script {
    let files =
        vec![replaces("a", "one", "two"), creates("deep/new", "new two\n"), deletes("b"), renames("c", "sub/c")];
    script("everything").apply(request(files)).undo()
}

pub(crate) fn twice() -> Script {
    edit().apply(request(vec![replaces("a", "two", "three")]))
}

/// A file becomes a folder.
pub(crate) fn file_to_folder() -> Script {
    script("file to folder").apply(request(vec![deletes("a"), creates("a/deep/in", "in two\n")]))
}

/// A folder becomes a file, with a folder in it in which nothing is.
pub(crate) fn folder_to_file() -> Script {
    let setup = |machine: &SimFs| {
        files(machine);
        machine.make_folders("/w/sub/empty").unwrap();
        machine.advance(Duration::from_secs(60));
    };
    Script::new("folder to file", setup).apply(request(vec![deletes("sub/d"), creates("sub", "sub two\n")]))
}

pub(crate) fn makes(path: &str) -> FileRequest {
    file(path, Change::MakeFolder)
}

pub(crate) fn removes(path: &str) -> FileRequest {
    file(path, Change::RemoveFolder)
}

/// Makes a symlink, or puts one in the place of what is there.
pub(crate) fn links(path: &str, target: &str) -> FileRequest {
    file(path, Change::Symlink { target: target.into(), if_exists: IfExists::Replace })
}

fn linked(machine: &SimFs) {
    files(machine);
    for (target, path) in [("a", "/w/to-a"), ("nowhere", "/w/dangling"), ("sub", "/w/to-sub"), ("/", "/w/outside")] {
        machine.symlink(target, path).unwrap();
    }
    machine.advance(Duration::from_secs(60));
}

/// A symlink is retargeted.
pub(crate) fn retarget() -> Script {
    Script::new("retarget", linked).apply(request(vec![links("to-a", "b")]))
}

/// One of each kind: more would take too long. A retarget is explored by itself.
pub(crate) fn all_links() -> Vec<FileRequest> {
    vec![links("new", "b"), renames("dangling", "moved"), links("b", "c")]
}

/// A symlink becomes a file, another becomes a folder.
pub(crate) fn links_replaced() -> Script {
    let files = vec![deletes("to-sub"), creates("to-sub", "file two\n"), deletes("outside"), makes("outside")];
    Script::new("symlinks replaced", linked).apply(request(files))
}

pub(crate) fn symlinks() -> Script {
    Script::new("symlinks", linked).apply(request(all_links()))
}

/// The same with a check, which decides.
pub(crate) fn symlinks_checked(passes: impl Fn(&SimFs) -> bool + Send + Sync + 'static) -> Script {
    Script::new("symlinks", linked).apply_checked(request(all_links()), passes)
}

/// Files are given away, beside an edit: one is new, one takes the place of another.
pub(crate) fn taken() -> Script {
    let setup = |machine: &SimFs| {
        files(machine);
        machine.make_folders("/held").unwrap();
        machine.create("/held/new", "new two\n").unwrap();
        machine.create("/held/b", "b two\n").unwrap();
        machine.set_attribute("/held/b", "user.overlay.origin", b"x").unwrap();
        machine.advance(Duration::from_secs(60));
    };
    let take = |path: &str| {
        let held = HeldFile::new("/held", path).unwrap();
        file(path, Change::Take { held, if_exists: IfExists::Replace })
    };
    Script::new("files given away", setup).apply(request(vec![take("new"), take("b"), replaces("a", "one", "two")]))
}

/// Folders of which the inner one is empty, in one that is not.
fn nested(machine: &SimFs) {
    files(machine);
    machine.make_folders("/w/sub/in/empty").unwrap();
    machine.set_mode("/w/sub/in", 0o750).unwrap();
    machine.advance(Duration::from_secs(60));
}

/// Folders are made, of which no file needs any.
pub(crate) fn folders_made() -> Script {
    let private = makes("private").mode(Mode::Bits(0o700));
    script("folders made").apply(request(vec![makes("deep/er"), private, replaces("a", "one", "two")]))
}

/// A folder is removed with what is in it.
pub(crate) fn folders_removed() -> Script {
    let all = vec![removes("sub/in/empty"), removes("sub/in"), deletes("sub/d"), removes("sub")];
    Script::new("folders removed", nested).apply(request(all))
}

/// The same with a check, which decides.
pub(crate) fn folders_checked(passes: impl Fn(&SimFs) -> bool + Send + Sync + 'static) -> Script {
    let all = vec![removes("sub/in/empty"), removes("sub/in"), deletes("sub/d"), removes("sub"), makes("deep/er")];
    Script::new("folders", nested).apply_checked(request(all), passes)
}

/// A folder makes way for a symlink that leads to where its content went.
pub(crate) fn folder_to_link() -> Script {
    let all = vec![renames("sub/d", "real/d"), removes("sub/in/empty"), removes("sub/in"), links("sub", "real")];
    Script::new("folder to symlink", nested).apply(request(all))
}

/// A folder is removed and made again, and all of that is undone as one.
pub(crate) fn folder_made_again() -> Script {
    let all = vec![removes("sub/in/empty"), removes("sub/in"), deletes("sub/d"), removes("sub")];
    let setup = |machine: &SimFs| {
        nested(machine);
        machine.set_mode("/w/sub", 0o2770).unwrap();
        machine.set_owner("/w/sub", 5, 6).unwrap();
        machine.set_attribute("/w/sub", ATTRIBUTE, b"old").unwrap();
    };
    let script = Script::new("folder made again", setup).apply(request(all));
    script.apply(request(vec![creates("sub/in/new", "new two\n")])).undo_all()
}

/// Both at a time.
pub(crate) fn file_and_folder() -> Script {
    script("file and folder").apply(request(vec![renames("a", "a/d"), renames("sub/d", "sub")]))
}

/// The same with a check, which decides.
pub(crate) fn file_and_folder_checked(passes: impl Fn(&SimFs) -> bool + Send + Sync + 'static) -> Script {
    script("file and folder").apply_checked(request(vec![renames("a", "a/d"), renames("sub/d", "sub")]), passes)
}
