//! The calls at which a fault can happen.

/// The calls of [`Fs`](crate::fs::Fs) that can fail, one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named after the call that it stands for")]
pub enum FaultOperation {
    Canonical,
    OpenFolder,
    OpenBeneath,
    OpenFile,
    Stat,
    StatHandle,
    MayWrite,
    List,
    ReadAt,
    ReadLink,
    Attributes,
    Inherited,
    FileSystem,
    Host,
    MakeFolder,
    Create,
    Symlink,
    SetLinkMetadata,
    OpenToWrite,
    Lease,
    WriteAt,
    Reserve,
    SetSize,
    CopyRange,
    FreeRange,
    SetFlags,
    SetMetadata,
    Touch,
    Rename,
    Link,
    Unlink,
    RemoveFolder,
    Sync,
    WriteOut,
    SyncFileSystem,
    TryLock,
}

impl FaultOperation {
    /// Returns whether it changes the disk, or decides what is on it after a power loss.
    #[must_use]
    pub const fn writes(self) -> bool {
        use FaultOperation as Op;
        matches!(
            self,
            Op::MakeFolder
                | Op::Create
                | Op::Symlink
                | Op::SetLinkMetadata
                | Op::WriteAt
                | Op::Reserve
                | Op::SetSize
                | Op::CopyRange
                | Op::FreeRange
                | Op::SetFlags
                | Op::SetMetadata
                | Op::Touch
                | Op::Rename
                | Op::Link
                | Op::Unlink
                | Op::RemoveFolder
                | Op::Sync
                | Op::WriteOut
                | Op::SyncFileSystem
        )
    }
}
