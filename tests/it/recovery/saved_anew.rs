//! Another program saves a new file anew, or touches an original in its slot, before the recovery: nothing proves the swap
//! any more, and still no answer says that nothing was changed.

use txedit::fs::sim::SimFs;
use txedit::report::{Recovered, RecoveryAction};
use txedit::{Decision, Edit, Request};

use super::lost::{edits, engine, killed_before, recover};

fn created() -> Request {
    Request::new().create("n", "new n").edit("b", Edit::replace("old", "new"))
}

/// As editors do: a copy takes the place of the file.
fn save(sim: &SimFs, path: &str) {
    sim.replace(path, sim.read(path).unwrap()).unwrap();
}

/// The answer names the file as one that is not as it was, and no other.
#[track_caller]
fn is_named(done: &Recovered, path: &str) {
    assert_eq!(done.action, RecoveryAction::PartlyRolledBack, "{done:?}");
    let named = done.remarks.iter().filter(|remark| remark.contains("is not as it was"));
    let named: Vec<_> = named.map(|remark| remark.split(' ').next().unwrap()).collect();
    assert_eq!(named, [path], "{done:?}");
}

#[test]
fn a_new_file_that_was_saved_anew_is_named() {
    for decision in [Decision::Table, Decision::Back] {
        for text in ["new n", "new n and more"] {
            let (sim, _) = killed_before("w/b", &created());
            sim.write_in_place("/w/n", text).unwrap();
            save(&sim, "/w/n");
            let done = recover(&sim, decision);
            is_named(&done, "n");
            assert_eq!((sim.read("/w/n").unwrap(), sim.read("/w/b").unwrap()), (text.into(), b"old b".to_vec()));
            assert!(engine(&sim, 4).status().unwrap().interrupted.is_empty());
        }
    }
}

#[test]
fn new_files_that_were_all_saved_anew_are_no_reason_to_undo_another_transaction() {
    let request = Request::new().create("n", "1").create("m", "2");
    let (sim, _) = killed_before("journal.done", &request);
    save(&sim, "/w/n");
    save(&sim, "/w/m");
    let done = recover(&sim, Decision::Table);
    assert_eq!(done.action, RecoveryAction::PartlyRolledBack, "{done:?}");
    for path in ["n", "m"] {
        assert!(done.remarks.iter().any(|remark| remark.starts_with(&format!("{path} is not as it was"))), "{done:?}");
    }
}

#[test]
fn an_original_that_was_touched_in_its_slot_proves_a_swap() {
    // Its other name leads to it, wherever it is.
    let (sim, folder) = killed_before("w/b", &edits());
    let slot = format!("{folder}/000000");
    assert_eq!(sim.read(&slot).unwrap(), b"old a");
    sim.append(&slot, " and more").unwrap();
    sim.delete("/w/a").unwrap();
    let done = recover(&sim, Decision::Table);
    is_named(&done, "a");
    assert_eq!(sim.read("/w/b").unwrap(), b"old b");
    let kept = engine(&sim, 4).kept().unwrap();
    let kept =
        kept.iter().flat_map(|kept| &kept.contents).any(|kept| sim.read(&kept.kept_path).unwrap() == b"old a and more");
    assert!(kept, "{done:?}");

    let (sim, folder) = killed_before("w/b", &Request::new().delete("a").edit("b", Edit::replace("old", "new")));
    sim.append(format!("{folder}/000000"), " and more").unwrap();
    sim.create("/w/a", "theirs").unwrap();
    is_named(&recover(&sim, Decision::Table), "a");
    assert_eq!((sim.read("/w/a").unwrap(), sim.read("/w/b").unwrap()), (b"theirs".to_vec(), b"old b".to_vec()));
}
