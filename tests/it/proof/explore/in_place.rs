//! Files that are overwritten in place, since they are mount points or since their file system can do nothing else. What a power
//! loss leaves of one is any of its blocks.

use std::time::Duration;

use txedit::fs::sim::{SimFs, Volume};
use txedit::testing::{Explorer, Foreign, ForeignDeed, Script};

use super::scripts::{chmods, creates, deletes, file, files, replaces, request};
use super::{as_on_fuse, file_by_file, scale, seeded, share};

/// Several blocks, each of one letter.
pub(crate) fn blocks(letters: &str, rest: &str) -> String {
    let block = |letter: char| letter.to_string().repeat(4096);
    letters.chars().map(block).collect::<String>() + rest
}

/// The usual files, and one of two blocks and a bit that is a mount point.
fn with_mount(machine: &SimFs) {
    files(machine);
    machine.create("/w/m", blocks("ab", "old\n")).unwrap();
    machine.advance(Duration::from_secs(60));
}

fn script(name: &str) -> Script {
    Script::new(name, with_mount).mounted("m")
}

fn writes(path: &str, content: String) -> txedit::FileRequest {
    file(path, txedit::Change::Write { content: content.into_bytes(), if_exists: txedit::IfExists::Replace })
}

/// It grows by a block, and no block stays.
pub(crate) fn longer() -> Script {
    script("longer").apply(request(vec![writes("m", blocks("xyz", "new\n"))]))
}

/// It shrinks to a block, which stays.
fn shorter() -> Script {
    script("shorter").apply(request(vec![writes("m", blocks("a", "new\n"))]))
}

/// The same number of blocks; one of them stays.
pub(crate) fn as_long() -> Script {
    script("as long").apply(request(vec![writes("m", blocks("xb", "new\n"))]))
}

fn to_nothing() -> Script {
    script("to nothing").apply(request(vec![writes("m", String::new())]))
}

fn with_mode() -> Script {
    script("mode and content").apply(request(vec![writes("m", blocks("xy", "")).mode(txedit::Mode::Bits(0o600))]))
}

fn mode_alone() -> Script {
    script("mode").apply(request(vec![chmods("m")]))
}

/// Numbers are dealt out anew as soon as the system has forgotten a file, and nothing has a birth time, as on sshfs.
fn forgets(volume: &mut Volume) {
    (volume.exchange, volume.no_replace, volume.birth_times) = (false, false, false);
    (volume.numbers_by_name, volume.forgets_numbers) = (true, true);
}

/// No file can have a second name, and no rename refuses to replace.
fn has_no_links(volume: &mut Volume) {
    (volume.exchange, volume.no_replace, volume.links) = (false, false, false);
}

/// A file that grows by a block, one of which a block stays, and one whose mode changes alone; all are overwritten.
fn three_on(kind: fn(&mut Volume), name: &str) -> Script {
    let files = vec![writes("m", blocks("xyz", "new\n")), replaces("a", "one", "two"), chmods("b")];
    let script = Script::new("overwritten", with_mount).on(kind).named(name).apply(request(files));
    script.overwritten("m").overwritten("a").overwritten("b")
}

/// On the two kinds of file systems that can only overwrite.
pub(crate) fn all_overwritten() -> [Script; 2] {
    [three_on(forgets, "numbers that are forgotten"), three_on(has_no_links, "no links")]
}

/// Three files, of which one is a mount point; another is deleted, and one is made.
pub(crate) fn among_others() -> Script {
    let files =
        vec![replaces("a", "one", "two"), writes("m", blocks("xy", "")), deletes("b"), creates("sub/new", "new\n")];
    script("among others").apply(request(files))
}

/// Each block may be lost by itself: a sample, unless in a long run.
fn explore(script: &Script) {
    let whole = Explorer::default();
    let explorer = match scale() {
        1 => Explorer { images: 24, images_in_recovery: 6, depth: 2, worlds: 1_500, ..whole },
        _ => whole,
    };
    let explorer = seeded(explorer);
    match explorer.explore(script) {
        Ok(found) => eprintln!("{script:?}: {found}"),
        Err(violation) => panic!("{script:?}, TXEDIT_EXPLORE_SEED={}:\n{violation}", explorer.seed),
    }
}

#[test]
fn a_file_that_is_a_mount_point_is_old_or_new_after_a_crash() {
    for script in [longer(), shorter(), as_long(), to_nothing(), with_mode(), mode_alone()] {
        explore(&script);
    }
}

#[test]
fn beside_other_files_it_is_old_or_new_with_them() {
    explore(&among_others());
    // Where two names cannot be exchanged, the others change places step by step.
    explore(&among_others().on(|volume| volume.exchange = false).named("aside"));
}

#[test]
fn two_of_them_are_both_old_or_both_new() {
    let setup = |machine: &SimFs| {
        with_mount(machine);
        machine.create("/w/n", blocks("de", "old\n")).unwrap();
        machine.advance(Duration::from_secs(60));
    };
    let both = vec![writes("m", blocks("xy", "")), writes("n", blocks("uvw", "new\n"))];
    explore(&Script::new("two mounts", setup).mounted("m").mounted("n").apply(request(both)));
}

#[test]
fn the_undo_and_the_redo_of_it_are_old_or_new_after_a_crash() {
    explore(&longer().undo().undo());
    explore(&among_others().undo());
}

#[test]
fn where_all_files_are_overwritten_they_are_all_old_or_all_new() {
    for script in all_overwritten() {
        explore(&script);
        explore(&script.clone().undo());
        explore(&as_on_fuse(&script));
        explore(&script.cold());
    }
}

#[test]
fn file_by_file_it_is_old_or_new_after_a_crash() {
    for script in [longer(), among_others()] {
        explore(&file_by_file(&script));
        explore(&as_on_fuse(&script));
    }
}

/// What other programs write is never lost, and never half.
#[test]
fn beside_another_program_nothing_is_lost() {
    let deeds = [
        ForeignDeed::Write(b"theirs\n".to_vec()),
        ForeignDeed::Write(blocks("aq", "theirs\n").into_bytes()),
        ForeignDeed::WriteKeepingTime(blocks("tb", "old\n").into_bytes()),
        ForeignDeed::AppendToOld(b"theirs\n".to_vec()),
        ForeignDeed::Chmod(0o600),
    ];
    let [forgets, has_no_links] = all_overwritten();
    for script in [as_long(), among_others(), forgets, has_no_links] {
        let explorer = seeded(Explorer { images: 6, images_in_recovery: 4, depth: 1, ..Explorer::default() });
        let calls = Explorer::calls(&script).unwrap();
        for (nth, call) in (0..=calls).enumerate() {
            for (number, deed) in deeds.iter().enumerate() {
                if (nth + number) % share(40) != 0 {
                    continue;
                }
                let foreign = Foreign { call, path: "/w/m".into(), deed: deed.clone() };
                let told = foreign.to_string();
                explorer
                    .explore_with(&script, &[foreign])
                    .unwrap_or_else(|violation| panic!("{script:?}, {told}:\n{violation}"));
            }
        }
    }
}
