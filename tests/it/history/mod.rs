//! What was committed: its order, how long it is kept, and its undo.

mod clock;
mod pruned;
mod retention;
mod undo;
