//! A mark of the state folder, by which those who show it find out that it has changed.

use super::Engine;
use super::open;
use super::store::state::Section;
use crate::digest::{Digest, Digester};
use crate::error::Result;

impl Engine {
    /// A value that changes when a transaction is opened, added to, begun, committed, interrupted or ended, by whichever
    /// process, or when something is kept or dropped. Folders are listed, and no content is read.
    pub(crate) fn state_mark(&self) -> Result<Digest> {
        let mut mark = Digester::new();
        let Some(state) = self.state()? else { return Ok(mark.finish()) };
        for section in [Section::Transactions, Section::Open, Section::History, Section::Kept] {
            mark.update(section.name().as_bytes());
            for id in state.ids(section)? {
                mark.update(id.as_bytes());
            }
        }
        for saved in open::saves(&state)? {
            mark.update(saved.as_bytes());
        }
        Ok(mark.finish())
    }
}
