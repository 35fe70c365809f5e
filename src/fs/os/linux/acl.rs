//! Applies a default ACL to a new file: the rule of POSIX 1003.1e, draft 17, as the kernel implements it.
//!
//! The value of `system.posix_acl_default` is a little-endian `u32`, the version 2, then for each entry its tag, its
//! permissions (both `u16`) and an id (`u32`).

use std::io;

use rustix::io::Errno;

pub(super) const ACCESS: &str = "system.posix_acl_access";
pub(super) const DEFAULT: &str = "system.posix_acl_default";

const VERSION: [u8; 4] = 2_u32.to_le_bytes();
const ENTRY_BYTES: usize = 8;

/// The tags of the entries for the three classes of a mode; there are named users and groups besides.
const OWNER: u16 = 0x01;
const GROUP: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// The access rights of a new file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InheritedAccess {
    /// Its mode.
    pub(super) mode: u32,
    /// Its access ACL; `None` if the mode says everything.
    pub(super) acl: Option<Vec<u8>>,
}

/// The rights of a file made with `mode` in a folder with this default ACL. The umask does not apply.
pub(super) fn access(default: &[u8], mode: u32) -> io::Result<InheritedAccess> {
    let invalid = || io::Error::from(Errno::INVAL);
    let (version, entries) = default.split_first_chunk().ok_or_else(invalid)?;
    if *version != VERSION || !entries.len().is_multiple_of(ENTRY_BYTES) {
        return Err(invalid());
    }
    let tag = |entry: &[u8]| u16::from_le_bytes([entry[0], entry[1]]);
    let has_mask = entries.chunks(ENTRY_BYTES).any(|entry| tag(entry) == MASK);
    let minimal = entries.len() == 3 * ENTRY_BYTES;

    let mut acl = default.to_vec();
    let mut given = mode & !0o777;
    for entry in acl[VERSION.len()..].chunks_mut(ENTRY_BYTES) {
        let shift = match tag(entry) {
            OWNER => 6,
            MASK => 3,
            // With a mask, the group's own entry is limited by it like a named one, and stays as it is.
            GROUP if !has_mask => 3,
            OTHER => 0,
            _ => continue,
        };
        entry[2] &= u8::try_from(mode >> shift & 7).map_err(|_| invalid())?;
        given |= u32::from(entry[2]) << shift;
    }
    Ok(InheritedAccess { mode: given, acl: (!minimal).then_some(acl) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut bytes = VERSION.to_vec();
        for (tag, permissions, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(permissions.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    const NO_ID: u32 = u32::MAX;

    #[test]
    fn three_entries_are_only_a_mode() {
        let default = acl(&[(OWNER, 7, NO_ID), (GROUP, 5, NO_ID), (OTHER, 0, NO_ID)]);
        assert_eq!(access(&default, 0o666).unwrap(), InheritedAccess { mode: 0o640, acl: None });
        assert_eq!(access(&default, 0o777).unwrap(), InheritedAccess { mode: 0o750, acl: None });
    }

    #[test]
    fn the_mask_stands_for_the_group() {
        let default = [(OWNER, 7, NO_ID), (2, 7, 42), (GROUP, 5, NO_ID), (MASK, 7, NO_ID), (OTHER, 4, NO_ID)];
        let wanted = [(OWNER, 6, NO_ID), (2, 7, 42), (GROUP, 5, NO_ID), (MASK, 6, NO_ID), (OTHER, 4, NO_ID)];
        let given = access(&acl(&default), 0o666).unwrap();
        assert_eq!(given, InheritedAccess { mode: 0o664, acl: Some(acl(&wanted)) });
    }

    #[test]
    fn an_invalid_acl_is_refused() {
        for bytes in [&b""[..], b"\x02\0\0", b"\x03\0\0\0", b"\x02\0\0\0\x01\0\x07"] {
            assert!(access(bytes, 0o666).is_err(), "{bytes:?}");
        }
    }
}
