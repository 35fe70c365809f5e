//! Recognises what a crash leaves of a file that was being overwritten: of each piece the old content or the new one.

use crate::cancel::CancelToken;
use crate::engine::store::snapshot;
use crate::engine::store::workspace::Workspace;
use crate::error::Result;
use crate::fs::{FileKind, Handle, Name};
use crate::journal::recover::Seen;
use crate::limits;
use crate::plan::Access;

/// What a disk writes whole or not at all, at least. No write of ours begins or ends within one, but at the end of a file.
const PIECE: usize = 512;

/// The file that is open.
pub(super) fn seen_of(workspace: &Workspace, file: &Handle, cancel: &CancelToken) -> Result<Seen> {
    let stat = workspace.stat_handle(file)?;
    if stat.kind != FileKind::File {
        return Ok(Seen::Other);
    }
    let digest = snapshot::digest(workspace, file, stat.size, cancel)?;
    let attributes = workspace.attributes(file)?.digest();
    let access = Access { user: stat.user, group: stat.group, attributes };
    Ok(Seen::File { digest, mode: stat.mode, access, identity: stat.identity })
}

/// Returns whether each piece of a file is that of one of two others. Where it is longer than the shorter one it may have
/// zeros: a size can reach the disk without the content.
pub(super) fn is_mixture(
    workspace: &Workspace,
    file: &Handle,
    others: [Name<'_>; 2],
    cancel: &CancelToken,
) -> Result<bool> {
    let mut handles = vec![file.clone()];
    for name in others {
        handles.push(workspace.open_file(name)?);
    }
    let mut sizes = Vec::new();
    for handle in &handles {
        sizes.push(workspace.stat_handle(handle)?.size);
    }
    let (size, least, most) = (sizes[0], sizes[1].min(sizes[2]), sizes[1].max(sizes[2]));
    if !(least..=most).contains(&size) {
        return Ok(false);
    }
    let mut at = 0;
    while at < size {
        let mut parts = Vec::new();
        for handle in &handles {
            parts.push(part(workspace, handle, at, cancel)?);
        }
        // From here on there may be zeros.
        let bare = usize::try_from(least.saturating_sub(at)).unwrap_or(usize::MAX);
        if !are_pieces(&parts[0], [&parts[1], &parts[2]], bare) {
            return Ok(false);
        }
        at += parts[0].len() as u64;
        if parts[0].is_empty() {
            // It became shorter meanwhile.
            return Ok(false);
        }
    }
    Ok(true)
}

/// The bytes of a file from a place on, as many as are compared at once.
fn part(workspace: &Workspace, file: &Handle, at: u64, cancel: &CancelToken) -> Result<Vec<u8>> {
    let mut bytes = vec![0; limits::CHUNK_BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        crate::engine::store::lock::check_cancelled(cancel)?;
        match workspace.read_at(file, at + filled as u64, &mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Returns whether each piece is that of one of the others or, from `bare` on, begins so and goes on with zeros: of what was
/// written there a part may have reached the disk, and the size of the whole. There the shorter content ends, and a piece of the
/// longer one may follow it.
fn are_pieces(bytes: &[u8], others: [&[u8]; 2], bare: usize) -> bool {
    let is_piece = |at: usize, piece: &[u8]| {
        let is_of = |other: &[u8]| {
            let other = other.get(at..).unwrap_or_default();
            let same = piece.iter().zip(other).take_while(|(one, other)| one == other).count();
            same == piece.len() || at >= bare && piece[same..].iter().all(|byte| *byte == 0)
        };
        others.into_iter().any(is_of)
    };
    bytes.chunks(PIECE).enumerate().all(|(index, piece)| {
        let at = index * PIECE;
        let (first, rest) = piece.split_at(bare.saturating_sub(at).min(piece.len()));
        is_piece(at, first) && is_piece(at + first.len(), rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_is_old_or_new_or_was_never_written() {
        let (old, new) = ([b'o'; 3 * PIECE], [b'n'; 4 * PIECE + 10]);
        let least = old.len();
        let of = |bytes: &[u8]| are_pieces(bytes, [&old, &new], least);
        let build = |word: &str, rest: &[u8]| {
            let mut bytes: Vec<u8> =
                word.bytes().flat_map(|byte| vec![if byte == b'0' { 0 } else { byte }; PIECE]).collect();
            bytes.extend(rest);
            bytes
        };
        for word in ["ooo", "nnn", "ono", "noon", "oon0", "nnn0", "ooo0"] {
            assert!(of(&build(word, b"")), "{word}");
        }
        assert!(of(&build("nonn", b"nnn")));
        assert!(of(&build("nonn", b"\0\0\0")));
        // The end of the old content, filled up by the system.
        assert!(are_pieces(b"old\0\0", [b"old", b"newer"], 3));
        assert!(are_pieces(b"new\0\0", [b"old", b"newer"], 3));
        assert!(are_pieces(b"newe", [b"old", b"newer"], 3));
        // The shorter one was written, and not cut off yet.
        assert!(are_pieces(b"older", [b"old", b"newer"], 3));
        // It was cut off, and became longer again.
        assert!(are_pieces(b"newe\0", [b"old", b"newer"], 3));
        for word in ["oxo", "0oo", "n0n", "ooox"] {
            assert!(!of(&build(word, b"")), "{word}");
        }
        let mut other = build("ooo", b"");
        other[PIECE + 7] = b'n';
        assert!(!of(&other), "a piece is not written in part");
        assert!(!are_pieces(b"nld\0\0", [b"old", b"newer"], 3));
    }
}
