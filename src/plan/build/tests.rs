//! Tests of the normal form of a plan.

use super::*;
use crate::index::{FileIndex, IndexVec, TargetIndex};
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::request::{Change as Asked, IfExists, RenameTo};

const CONTENTS: [&[u8]; 3] = [b"alpha", b"beta", b"gamma"];

fn path(name: &str) -> RelPath {
    RelPath::new(name).unwrap()
}

fn state(content: &[u8]) -> FileState {
    FileState { digest: Digest::of(content), size: content.len() as u64, mode: 0o644, access: None }
}

/// Files `a`, `b` and `c` exist; `d` and `new/e` do not.
fn targets() -> IndexVec<TargetIndex, Target> {
    let target = |name: &str, missing: &[&str]| Target {
        path: path(name),
        missing: missing.iter().map(|folder| path(folder)).collect(),
        within: None,
        new_mode: 0o640,
        new_access: None,
    };
    vec![target("a", &[]), target("b", &[]), target("c", &[]), target("d", &[]), target("new/x/e", &["new", "new/x"])]
        .into()
}

fn request(change: Asked) -> FileRequest {
    FileRequest::new("unused", change)
}

fn rename_to(index: usize) -> (Asked, TargetIds, usize) {
    let to = RenameTo { path: "unused".into(), if_exists: IfExists::Replace };
    (
        Asked::Rename(to),
        TargetIds { subject: TargetIndex(0), destination: Some(TargetIndex(index)), backup: None, origin: None },
        0,
    )
}

fn renamed(from: usize, to: usize) -> (Asked, TargetIds) {
    let (asked, target_ids, _) = rename_to(to);
    (asked, TargetIds { subject: TargetIndex(from), ..target_ids })
}

fn at(subject: usize, asked: Asked) -> (Asked, TargetIds) {
    (asked, TargetIds { subject: TargetIndex(subject), destination: None, backup: None, origin: None })
}

fn write(content: &[u8]) -> Asked {
    Asked::Write { content: content.to_vec(), if_exists: IfExists::Replace }
}

/// Builds the plan, and spells it: `edit a=beta`, `create d=alpha*` (`*`: keeps its time), `delete a`, `folder new`.
fn plan(files: Vec<(Asked, TargetIds)>) -> Vec<String> {
    plan_for(targets(), files)
}

fn plan_for(targets: IndexVec<TargetIndex, Target>, files: Vec<(Asked, TargetIds)>) -> Vec<String> {
    let mut builder = Builder::new(targets);
    for (index, content) in CONTENTS.iter().enumerate() {
        builder.saw(TargetIndex(index), state(content));
    }
    for (file, (asked, target_ids)) in files.iter().enumerate() {
        if matches!(asked, Asked::Delete | Asked::Rename(_)) {
            builder.vacate(target_ids.subject, FileIndex(file));
        }
    }
    for (file, (asked, target_ids)) in files.into_iter().enumerate() {
        let bytes = CONTENTS.get(target_ids.subject.0).copied().unwrap_or_default();
        builder.add(FileIndex(file), &request(asked), target_ids, &bytes.to_vec()).unwrap();
    }
    builder.finish().unwrap().entries.iter().map(spell).collect()
}

fn spell(entry: &Entry) -> String {
    let new = |new: &New| {
        let known = [b"alpha", b"beta" as &[u8], b"gamma", b"ALPHA", b"text"];
        let content = known.iter().find(|content| Digest::of(content) == new.state.digest).unwrap();
        let star = if new.keeps_time { "*" } else { "" };
        format!("={}{star} {:o}", String::from_utf8_lossy(content), new.state.mode)
    };
    match &entry.change {
        PlannedChange::Edit(_, after) => format!("edit {}{}", entry.path, new(after)),
        PlannedChange::Create(after) => format!("create {}{}", entry.path, new(after)),
        PlannedChange::Delete(_) => format!("delete {}", entry.path),
        PlannedChange::Folder => format!("folder {}", entry.path),
        PlannedChange::FileToFolder(_) => format!("file to folder {}", entry.path),
        PlannedChange::FolderToFile(after) => format!("folder to file {}{}", entry.path, new(after)),
        PlannedChange::RemoveFolder => format!("remove folder {}", entry.path),
    }
}

#[test]
fn a_rename_is_a_create_and_a_delete() {
    assert_eq!(plan(vec![renamed(0, 3)]), ["delete a", "create d=alpha* 644"]);
}

#[test]
fn a_vacated_path_is_free_wherever_in_the_request_it_is_vacated() {
    let expected = ["edit a=text 640", "create d=alpha* 644"];
    assert_eq!(plan(vec![renamed(0, 3), at(0, write(b"text"))]), expected);
    assert_eq!(plan(vec![at(0, write(b"text")), renamed(0, 3)]), expected);
}

#[test]
fn two_names_swapped_are_two_edits() {
    assert_eq!(plan(vec![renamed(0, 1), renamed(1, 0)]), ["edit a=beta* 644", "edit b=alpha* 644"]);
}

#[test]
fn a_chain_is_an_edit_in_the_middle() {
    assert_eq!(plan(vec![renamed(0, 1), renamed(1, 3)]), ["delete a", "edit b=alpha* 644", "create d=beta* 644"]);
}

#[test]
fn new_folders_come_first_parents_before_children() {
    let expected = ["folder new", "folder new/x", "delete a", "create new/x/e=alpha* 644"];
    assert_eq!(plan(vec![renamed(0, 4)]), expected);
}

#[test]
fn a_file_that_goes_makes_room_for_a_folder() {
    let mut targets = targets();
    (targets[TargetIndex(4)].path, targets[TargetIndex(4)].missing) = (path("b/x/e"), vec![path("b"), path("b/x")]);
    let expected = ["file to folder b", "folder b/x", "create b/x/e=beta* 644"];
    assert_eq!(plan_for(targets, vec![renamed(1, 4)]), expected);
}

#[test]
fn a_folder_that_makes_way_for_a_file_goes_last_children_before_parents() {
    let mut targets = targets();
    targets[TargetIndex(0)].path = path("d/x/a");
    targets[TargetIndex(3)].within = Some(["d/x", "d/x/y", "d/z"].map(path).to_vec());
    let expected = [
        "delete d/x/a",
        "remove folder d/z",
        "remove folder d/x/y",
        "remove folder d/x",
        "folder to file d=alpha* 644",
    ];
    assert_eq!(plan_for(targets, vec![renamed(0, 3)]), expected);
}

#[test]
fn folders_by_themselves_come_first_and_go_last() {
    let mut targets = targets();
    targets[TargetIndex(0)].path = path("k/a");
    targets[TargetIndex(3)].path = path("k");
    targets[TargetIndex(3)].within = Some(Vec::new());
    let files = vec![at(3, Asked::RemoveFolder), at(0, Asked::Delete), at(4, Asked::MakeFolder)];
    let mut builder = Builder::new(targets);
    builder.saw(TargetIndex(0), state(b"alpha"));
    builder.vacate(TargetIndex(3), FileIndex(0));
    builder.vacate(TargetIndex(0), FileIndex(1));
    for (file, (asked, target_ids)) in files.into_iter().enumerate() {
        builder.add(FileIndex(file), &request(asked), target_ids, &Vec::new()).unwrap();
    }
    let plan: Vec<_> = builder.finish().unwrap().entries.iter().map(spell).collect();
    assert_eq!(plan, ["folder new", "folder new/x", "folder new/x/e", "delete k/a", "remove folder k"]);
}

#[test]
fn a_symlink_is_told_by_its_mode_and_has_no_attributes() {
    let mut builder = Builder::new(targets());
    let access = |attributes| Some(Access { user: 1, group: 2, attributes });
    builder.saw(TargetIndex(0), FileState { access: access(Some(Digest::of(b"x"))), ..state(b"alpha") });
    let target = b"anywhere".to_vec();
    let (asked, target_ids) = at(0, Asked::Symlink { target: target.clone(), if_exists: IfExists::Replace });
    builder.add(FileIndex(0), &request(asked), target_ids, &Vec::new()).unwrap();
    let plan = builder.finish().unwrap();
    let PlannedChange::Edit(_, new) = &plan.entries.iter().next().unwrap().change else { panic!("{plan:?}") };
    let expected = FileState { digest: Digest::of(&target), size: 8, mode: LINK_MODE, access: access(None) };
    assert_eq!(new.state, expected);
    // The same target, and the bytes of it as a content, are different plans.
    assert_ne!(FileState { mode: 0o644, ..new.state }, new.state);
}

#[test]
fn edits_and_whole_contents_keep_the_mode_and_not_the_time() {
    let edit = Edit {
        anchor: Anchor::Text { text: b"alpha".to_vec(), count: Count::Once, matching: Matching::Exact },
        replacement: b"ALPHA".to_vec(),
    };
    assert_eq!(plan(vec![at(0, Asked::Edit { edits: vec![edit], rename: None })]), ["edit a=ALPHA 644"]);
    assert_eq!(plan(vec![at(1, write(b"text"))]), ["edit b=text 644"]);
    assert_eq!(plan(vec![at(3, write(b"text"))]), ["create d=text 640"]);
}

#[test]
fn entries_without_an_effect_are_dropped() {
    assert_eq!(plan(vec![at(0, write(b"alpha")), at(1, Asked::Mode)]), [""; 0]);
}

#[test]
fn a_path_cannot_be_a_file_and_a_folder() {
    let mut targets = targets();
    targets[TargetIndex(3)].path = path("new");
    let mut builder = Builder::new(targets);
    for (file, subject) in [3, 4].into_iter().enumerate() {
        let (asked, target_ids) = at(subject, write(b"text"));
        builder.add(FileIndex(file), &request(asked), target_ids, &Vec::new()).unwrap();
    }
    let error = builder.finish().unwrap_err();
    assert_eq!((error.kind(), error.file()), (ErrorKind::NotARegularFile, Some(0)));
}
