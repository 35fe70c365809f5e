//! Reports the files that a recovery does not make new although it goes forward.

use crate::engine::report::Recovered;
use crate::engine::store::folder::TransactionFolder;
use crate::journal::JournalState;
use crate::journal::recover::Class;

/// Names the files that are not, or will not be, as the transaction makes them. `classes` are those of the decision, at
/// `state`, and those of `now`, after the swaps: another program may have changed a file in between. Returns true if one
/// of them never gets its new content, which the table never decides; or if any is named and a person `insisted`: who
/// asks for all files new must learn of each that is not.
pub(super) fn tell(
    transaction: &TransactionFolder<'_>,
    state: JournalState,
    [classes, now]: [&[Class]; 2],
    insisted: bool,
    report: &mut Recovered,
) -> bool {
    assert_eq!(classes.len(), now.len(), "each entry has a class at both times");
    let mut is_partly = false;
    for ((record, before), now) in transaction.journal.entries.iter().zip(classes).zip(now) {
        let is_swapped = !matches!(before, Class::Before | Class::Torn | Class::Unknown);
        let (class, is_done) = if is_swapped { (now, true) } else { (before, state == JournalState::Done) };
        let why = match class {
            Class::Before => "another program changed it before it was swapped",
            Class::Torn => "its new content did not reach the disk completely",
            Class::OnTop => "another program changed it after it was swapped",
            Class::PutBack => "another program put its old content back after it was swapped",
            Class::Partly => "it was overwritten in part",
            Class::Theirs => "another program changed it after it was overwritten",
            Class::Unknown if is_done => "another program replaced or removed it after it was swapped",
            Class::Unknown => "neither its old nor its new content is there",
            Class::OriginalLost => {
                let told = format!("{} is new, but its original is gone: no undo can bring that back", record.path);
                report.remarks.push(told);
                continue;
            }
            Class::Captured => {
                let told = format!(
                    "{} is new: what another program had put there before the swap is in history, as the content before",
                    record.path
                );
                report.remarks.push(told);
                continue;
            }
            Class::Ready | Class::Done | Class::Same => continue,
        };
        is_partly |= insisted || matches!(class, Class::Before | Class::Torn) || *class == Class::Unknown && !is_done;
        report.remarks.push(format!("{} is not new: {why}", record.path));
    }
    is_partly
}
