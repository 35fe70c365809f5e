//! The digest of a machine with all that a crash may make of it.

use std::os::unix::ffi::OsStrExt;

use super::SimFs;
use super::disk::{Disk, Id, What};
use super::store::Store;
use super::tree;
use crate::digest::{Digest, Digester};

impl SimFs {
    /// The digest of all that can be seen now, and of all that a power loss may leave of it, times left out: the same
    /// machines have the same images.
    #[must_use]
    pub fn crash_digest(&self) -> Digest {
        self.shared.lock().store.crash_digest()
    }
}

impl Store {
    fn crash_digest(&self) -> Digest {
        let mut digester = Digester::new();
        for disk in [&self.live, &self.durable] {
            digester.update(tree::digest(disk, &self.machine, false).to_hex().as_bytes());
        }
        for logged in &self.log {
            digester.update(&[u8::from(logged.flushed)]);
            match &logged.meta.what {
                What::Names { changes, .. } => {
                    for change in changes {
                        update_node(&mut digester, change.folder, &self.durable);
                        digester.update(&change.name.len().to_le_bytes());
                        digester.update(change.name.as_bytes());
                        for id in [change.before, change.after] {
                            update_node(&mut digester, id.unwrap_or_default(), &self.durable);
                        }
                    }
                }
                What::Dress { id, dress, .. } => {
                    update_node(&mut digester, *id, &self.durable);
                    digester.update(format!("{dress:?}").as_bytes());
                }
            }
        }
        for (id, pending) in &self.pending {
            update_node(&mut digester, *id, &self.durable);
            for version in &pending.versions {
                digester.update(&version.bytes.len().to_le_bytes());
                digester.update(&version.bytes);
            }
        }
        digester.finish()
    }
}

/// An inode by all that an image would show of it, were its name there.
fn update_node(digester: &mut Digester, id: Id, durable: &Disk) {
    digester.update(&id.to_le_bytes());
    if let Some(node) = durable.get(id) {
        digester.update(&node.number.to_le_bytes());
        digester.update(format!("{:?} {:?}", node.born, node.dress).as_bytes());
        if let Some(bytes) = node.bytes() {
            digester.update(bytes);
        }
    }
}
