//! What was committed: its order, how long it is kept, and its undo.

mod changed_by;
mod chosen;
mod clock;
mod folders;
mod found_keys;
mod keys;
mod pruned;
mod retention;
mod since;
mod undo;
