//! Open transactions: what is acknowledged before it is durable.

use txedit::fs::fault::{FaultCall, FaultOperation};
use txedit::testing::Role;

use super::{is_caught, unsynced};
use crate::proof::explore::open;

#[test]
fn a_stage_acknowledged_before_its_name_is_durable_is_noticed() {
    let of_folder = |call: &FaultCall| call.path.parent().is_some_and(|parent| parent.ends_with("open"));
    let of_names = move |call: &FaultCall| call.operation == FaultOperation::Sync && of_folder(call);
    is_caught(&open::in_three_acts().disturb(unsynced(Role::Act, of_names)));
}

#[test]
fn a_stage_that_takes_its_place_before_it_is_durable_is_noticed() {
    let in_open = |call: &FaultCall| {
        call.operation == FaultOperation::SyncFileSystem && call.path.to_string_lossy().contains("open")
    };
    is_caught(&open::in_three_acts().disturb(unsynced(Role::Act, in_open)));
}

#[test]
fn a_rest_told_before_its_name_is_durable_is_noticed() {
    let of_names = |call: &FaultCall| call.path.ends_with("open") && call.operation == FaultOperation::SyncFileSystem;
    is_caught(&open::in_parts().disturb(unsynced(Role::Act, of_names)));
}

#[test]
fn a_part_committed_before_its_rest_is_durable_is_noticed() {
    let in_open = |call: &FaultCall| {
        call.operation == FaultOperation::SyncFileSystem && call.path.to_string_lossy().contains("open/")
    };
    is_caught(&open::in_parts().disturb(unsynced(Role::Act, in_open)));
}
