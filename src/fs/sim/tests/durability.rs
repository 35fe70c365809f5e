use super::*;

/// A file system with the durable files `a=old` and `b=old b`.
fn two_files() -> SimFs {
    let sim = SimFs::new();
    sim.create("/a", "old").unwrap();
    sim.create("/b", "old b").unwrap();
    sim.sync_everything();
    sim
}

#[test]
fn a_new_file_that_was_not_synced_is_kept_lost_torn_or_nameless() {
    for policy in [UNORDERED, ORDERED] {
        let sim = SimFs::new();
        let process = sim.process(1);
        write(&process, &root(&process), "f", b"four");
        assert_eq!(all(&sim, policy), set(&["", "f=", "f=four", "f=0000", "f=fo", "f=00"]), "{policy:?}");
    }
}

#[test]
fn a_synced_file_may_still_lose_its_name_but_never_its_content() {
    let sim = SimFs::new();
    let process = sim.process(1);
    let folder = root(&process);
    let file = write(&process, &folder, "f", b"four");
    process.sync(&file).unwrap();
    assert_eq!(all(&sim, UNORDERED), set(&["", "f=four"]));
    assert_eq!(all(&sim, ORDERED), set(&["f=four"]), "ext4 and xfs log the name with the inode");
    process.sync(&folder).unwrap();
    assert_eq!(all(&sim, UNORDERED), set(&["f=four"]));
}

#[test]
fn syncing_the_folder_saves_the_name_but_not_the_content() {
    for policy in [UNORDERED, ORDERED] {
        let sim = SimFs::new();
        let process = sim.process(1);
        let folder = root(&process);
        write(&process, &folder, "f", b"four");
        process.sync(&folder).unwrap();
        assert_eq!(all(&sim, policy), set(&["f=", "f=four", "f=0000", "f=fo", "f=00"]));
    }
}

#[test]
fn after_a_sync_of_the_file_system_only_one_image_is_left() {
    let sim = two_files();
    let process = sim.process(1);
    let folder = root(&process);
    write(&process, &folder, "s", b"new");
    process.rename(Name::new(&folder, "s"), Name::new(&folder, "a"), Rename::Exchange).unwrap();
    process.make_folder(Name::new(&folder, "d"), 0o700).unwrap();
    assert!(all(&sim, UNORDERED).len() > 1);
    process.sync_file_system(&folder).unwrap();
    for policy in [UNORDERED, ORDERED] {
        assert_eq!(all(&sim, policy), set(&["a=new b=old b d/ s=old"]));
    }
}

#[test]
fn an_exchange_survives_as_a_whole_or_not_at_all() {
    let sim = two_files();
    let process = sim.process(1);
    let folder = root(&process);
    process.rename(Name::new(&folder, "a"), Name::new(&folder, "b"), Rename::Exchange).unwrap();
    assert_eq!(all(&sim, UNORDERED), set(&["a=old b=old b", "a=old b b=old"]));
}

#[test]
fn metadata_is_lost_from_the_end_where_it_is_ordered_and_anywhere_where_it_is_not() {
    let sim = two_files();
    let process = sim.process(1);
    let folder = root(&process);
    process.rename(Name::new(&folder, "a"), Name::new(&folder, "c"), Rename::NoReplace).unwrap();
    process.rename(Name::new(&folder, "b"), Name::new(&folder, "d"), Rename::NoReplace).unwrap();
    let ordered = ["a=old b=old b", "b=old b c=old", "c=old d=old b"];
    assert_eq!(all(&sim, ORDERED), set(&ordered));
    let mut unordered = set(&ordered);
    unordered.insert("a=old d=old b".to_owned());
    assert_eq!(all(&sim, UNORDERED), unordered);
}

#[test]
fn operations_on_one_name_are_ordered_under_any_policy() {
    let sim = two_files();
    let process = sim.process(1);
    let folder = root(&process);
    let (a, b, c) = (Name::new(&folder, "a"), Name::new(&folder, "b"), Name::new(&folder, "c"));
    process.rename(a, b, Rename::Exchange).unwrap();
    process.rename(a, c, Rename::NoReplace).unwrap();
    // If only the second survived, both names would be of one file, and the other file would be gone.
    assert_eq!(all(&sim, UNORDERED), set(&["a=old b=old b", "a=old b b=old", "b=old c=old b"]));
}

#[test]
fn a_folder_is_not_removed_before_what_was_in_it_has_gone() {
    let sim = SimFs::new();
    sim.make_folders("/d").unwrap();
    sim.create("/d/f", "x").unwrap();
    sim.sync_everything();
    sim.rename("/d/f", "/f").unwrap();
    sim.delete_folder("/d").unwrap();
    assert_eq!(all(&sim, UNORDERED), set(&["d/ d/f=x", "d/ f=x", "f=x"]));
}

#[test]
fn two_folders_never_end_up_in_each_other() {
    let sim = SimFs::new();
    sim.make_folders("/a").unwrap();
    sim.make_folders("/b").unwrap();
    sim.sync_everything();
    sim.rename("/a", "/b/a").unwrap();
    sim.rename("/b/a", "/c").unwrap();
    sim.rename("/b", "/c/b").unwrap();
    for image in all(&sim, UNORDERED) {
        assert_eq!(image.split(' ').count(), 2, "{image}: a folder is lost");
    }
}

#[test]
fn blocks_are_torn_one_by_one() {
    let sim = SimFs::new();
    sim.create("/f", [b'a'; 3 * 4096]).unwrap();
    sim.sync_everything();
    let held = sim.open("/f").unwrap();
    held.write_at(0, &[b'b'; 3 * 4096]).unwrap();
    let images = sim.images(UNORDERED, 1_000, 0);
    let blocks =
        |tree: SimTree| tree.values().next().unwrap().content.iter().step_by(4096).map(|b| char::from(*b)).collect();
    let found: BTreeSet<String> = images.into_iter().map(|image| blocks(image.tree())).collect();
    assert_eq!(found, set(&["aaa", "aab", "aba", "abb", "baa", "bab", "bba", "bbb"]));
}

#[test]
fn a_file_that_grows_is_cut_at_any_block() {
    let sim = SimFs::new();
    sim.create("/f", "").unwrap();
    sim.sync_everything();
    sim.append("/f", [b'x'; 2 * 4096 + 10]).unwrap();
    let images = sim.images(ORDERED, 1_000, 0);
    let sizes: BTreeSet<usize> =
        images.images.iter().map(|image| image.tree().values().next().unwrap().content.len()).collect();
    assert_eq!(sizes, BTreeSet::from([0, 4096, 4096 + 5, 2 * 4096, 2 * 4096 + 10]));
}

#[test]
fn a_content_in_between_may_be_what_survives() {
    let sim = two_files();
    sim.write_in_place("/a", "one").unwrap();
    sim.write_in_place("/a", "two").unwrap();
    let contents = all(&sim, ORDERED);
    for content in ["a=old b=old b", "a= b=old b", "a=one b=old b", "a=two b=old b"] {
        assert!(contents.contains(content), "{content}: {contents:?}");
    }
}

#[test]
fn a_failed_sync_loses_its_pages_for_good_unless_they_are_written_again() {
    let sim = two_files();
    let process = sim.process(1);
    let folder = root(&process);
    let file = write(&process, &folder, "f", b"new");
    process.sync(&folder).unwrap();
    sim.set_hook(|call| if call.verb == "sync" { Action::Fail(Errno::IO) } else { Action::Continue });
    assert_eq!(process.sync(&file).unwrap_err().raw_os_error(), Some(Errno::IO.raw_os_error()));
    sim.clear_hook();
    process.sync(&file).unwrap();
    process.sync_file_system(&folder).unwrap();
    assert_eq!(sim.read("/f").unwrap(), b"new", "it is in memory all the same");
    assert_eq!(all(&sim, ORDERED), set(&["a=old b=old b f=000", "a=old b=old b f=new"]));
    process.write_at(&file, 0, b"new").unwrap();
    process.sync(&file).unwrap();
    assert_eq!(all(&sim, ORDERED), set(&["a=old b=old b f=new"]));
}

#[test]
fn without_that_option_a_second_sync_saves_them() {
    let sim = two_files();
    sim.settings(|settings| settings.failed_sync_loses_pages = false);
    let process = sim.process(1);
    let folder = root(&process);
    write(&process, &folder, "f", b"new");
    sim.set_hook(|call| if call.number == 3 { Action::Fail(Errno::IO) } else { Action::Continue });
    assert!(process.sync_file_system(&folder).is_err());
    assert!(all(&sim, ORDERED).len() > 1);
    process.sync_file_system(&folder).unwrap();
    assert_eq!(all(&sim, ORDERED), set(&["a=old b=old b f=new"]));
}

#[test]
fn a_deleted_file_may_come_back() {
    let sim = two_files();
    sim.delete("/a").unwrap();
    assert_eq!(all(&sim, ORDERED), set(&["a=old b=old b", "b=old b"]));
    sim.sync_everything();
    assert_eq!(all(&sim, ORDERED), set(&["b=old b"]));
}

#[test]
fn metadata_of_a_file_is_lost_like_names() {
    let sim = two_files();
    sim.set_mode("/a", 0o600).unwrap();
    sim.set_mode("/a", 0o400).unwrap();
    let modes = |policy| -> BTreeSet<u32> {
        sim.images(policy, 100, 0).into_iter().map(|image| image.tree()[Path::new("/a")].mode).collect()
    };
    assert_eq!(modes(UNORDERED), BTreeSet::from([0o644, 0o600, 0o400]));
    let process = sim.process(1);
    process.sync(&process.open_file(Name::new(&root(&process), "a")).unwrap()).unwrap();
    assert_eq!(modes(UNORDERED), BTreeSet::from([0o400]));
}

#[test]
fn a_number_given_anew_never_stands_for_two_files() {
    let sim = two_files();
    sim.volume("/", |volume| (volume.reuse_inodes, volume.birth_times) = (true, false)).unwrap();
    let old = sim.stat("/a").unwrap().identity;
    sim.delete("/a").unwrap();
    sim.create("/c", "").unwrap();
    assert_eq!(sim.stat("/c").unwrap().identity, old);
    assert_eq!(all(&sim, UNORDERED), set(&["a=old b=old b", "b=old b", "b=old b c="]));
}

#[test]
fn too_many_images_are_sampled_by_seed_with_the_corners_in() {
    let sim = SimFs::new();
    let process = sim.process(1);
    let folder = root(&process);
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        write(&process, &folder, name, name.repeat(5_000).as_bytes());
    }
    let sample = |seed| -> Vec<String> {
        let images = sim.images(UNORDERED, 200, seed);
        assert!(!images.exhaustive);
        images.into_iter().map(|image| show(&image.tree())).collect()
    };
    let first = sample(1);
    assert_eq!(first.len(), 200);
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 200, "all differ");
    assert!(first.contains(&String::new()), "everything lost");
    assert!(first.contains(&show(&sim.tree())), "everything kept");
    assert_eq!(first, sample(1), "the same seed gives the same sample");
    assert_ne!(first, sample(2));
}

#[test]
fn a_boot_from_an_image_is_a_fresh_machine_with_the_same_inodes() {
    let sim = two_files();
    let process = sim.process(1);
    let folder = root(&process);
    assert!(process.try_lock(&folder).unwrap());
    let images = sim.images(ORDERED, 10, 0);
    let again = SimFs::from_image(&images.images[0]);
    let other = again.process(1);
    assert!(other.try_lock(&root(&other)).unwrap(), "locks do not survive");
    assert_ne!(other.host().unwrap().boot, process.host().unwrap().boot);
    assert_eq!(again.stat("/a").unwrap().identity, sim.stat("/a").unwrap().identity);
    assert_eq!(again.digest(), sim.digest());
    again.create("/new", "").unwrap();
    assert_ne!(again.digest(), sim.digest());
    assert!(!sim.exists("/new"), "an image is a copy");
}

#[test]
fn a_kill_loses_nothing_but_makes_nothing_durable() {
    let sim = SimFs::new();
    let process = sim.process(1);
    write(&process, &root(&process), "f", b"x");
    sim.kill(1);
    let after = sim.fork();
    assert_eq!(after.read("/f").unwrap(), b"x");
    assert!(all(&after, ORDERED).contains(""));
    let later = after.process(2);
    later.sync_file_system(&root(&later)).unwrap();
    assert_eq!(all(&after, ORDERED), set(&["f=x"]), "a later process can make it durable");
    assert!(all(&sim, ORDERED).contains(""), "the fork is another machine");
}

#[test]
fn names_are_counted_anew_after_a_crash() {
    let sim = two_files();
    sim.make_folders("/d").unwrap();
    sim.link("/a", "/d/a").unwrap();
    let process = sim.process(1);
    process.sync(&process.open_folder(Path::new("/d")).unwrap()).unwrap();
    let links =
        |image: &Image| (SimFs::from_image(image).exists("/d"), SimFs::from_image(image).stat("/a").unwrap().links);
    let found: BTreeSet<_> = sim.images(UNORDERED, 100, 0).images.iter().map(links).collect();
    assert_eq!(found, BTreeSet::from([(false, 1), (true, 2)]), "a name in a lost folder is none");
}
