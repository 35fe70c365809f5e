//! The digest of a machine together with all that a crash may leave of it.

use std::os::unix::ffi::OsStrExt;

use super::SimFs;
use super::disk::{Id, SimOperation};
use super::store::Store;
use super::tree;
use crate::digest::Digest;

impl SimFs {
    /// The digest of everything visible now and of all that a power loss may leave, times left out: machines with the
    /// same digest have the same images.
    #[must_use]
    pub fn crash_digest(&self) -> Digest {
        self.shared.lock().store.crash_digest()
    }
}

impl Store {
    fn crash_digest(&self) -> Digest {
        let mut bytes = Vec::with_capacity(8192);
        for disk in [&self.live, &self.durable] {
            bytes.extend_from_slice(tree::digest(disk, &self.machine, false).as_bytes());
        }
        for logged in &self.log {
            bytes.push(u8::from(logged.flushed));
            match &logged.meta.what {
                SimOperation::Names { changes, .. } => {
                    for change in changes {
                        self.put_node(&mut bytes, change.folder);
                        bytes.extend_from_slice(&change.name.len().to_le_bytes());
                        bytes.extend_from_slice(change.name.as_bytes());
                        for id in [change.before, change.after] {
                            self.put_node(&mut bytes, id.unwrap_or_default());
                        }
                    }
                }
                SimOperation::SetMetadata { id, metadata, .. } => {
                    self.put_node(&mut bytes, *id);
                    bytes.extend_from_slice(format!("{metadata:?}").as_bytes());
                }
                SimOperation::WriteOut { id, content, .. } => {
                    self.put_node(&mut bytes, *id);
                    bytes.extend_from_slice(&content.bytes.len().to_le_bytes());
                    bytes.extend_from_slice(&content.bytes);
                }
            }
        }
        for (id, pending) in &self.pending {
            self.put_node(&mut bytes, *id);
            for version in &pending.versions {
                bytes.extend_from_slice(&version.bytes.len().to_le_bytes());
                bytes.extend_from_slice(&version.bytes);
            }
        }
        Digest::of(&bytes)
    }

    /// Appends everything that an image would show of an inode if it had its name.
    fn put_node(&self, to: &mut Vec<u8>, id: Id) {
        to.extend_from_slice(&id.to_le_bytes());
        tree::put_node(to, &self.durable, id, &self.machine);
    }
}
