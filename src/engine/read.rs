//! Reads a file of the workspace for a caller who wants to edit it.

use std::path::Path;

use super::Engine;
use super::report::FileContent;
use super::store::snapshot::{self, ReadMode};
use crate::cancel::NEVER;
use crate::errno::Errno;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Name};

impl Engine {
    /// Reads a file of at most `max_bytes`. Nothing is locked or changed; it is an error if the file changes meanwhile.
    pub fn read(&self, path: &Path, max_bytes: u64) -> Result<FileContent> {
        let mut resolver = self.resolver();
        let place = resolver.place(&path.into())?;
        let Some(stat) = &place.stat else { return Err(Error::io("read", path, Errno::NOENT.into())) };
        if stat.kind != FileKind::File {
            let message = format!("{} is not a regular file", path.display());
            return Err(Error::new(ErrorKind::NotARegularFile, message).at(path));
        }
        if stat.size > max_bytes {
            let message = format!("{} has {} bytes, more than {max_bytes}", path.display(), stat.size);
            return Err(Error::new(ErrorKind::FileTooLarge, message).at(path));
        }
        let (folder, _) = resolver.folder(&place);
        let name = Name::new(folder, place.path.name());
        let (snapshot, bytes) = snapshot::read(&self.workspace, name, stat, ReadMode::Whole, &NEVER)?;
        Ok(FileContent { path: place.path.as_path().to_owned(), bytes, digest: snapshot.digest })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::digest::Digest;
    use crate::engine::{Durability, Retention, Settings};

    #[test]
    fn what_is_in_the_root_is_read_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let root = base.join("root");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a"), "content").unwrap();
        fs::write(base.join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(base.join("secret"), root.join("link")).unwrap();
        let settings = Settings {
            durability: Durability::Process,
            lock_timeout: std::time::Duration::from_secs(1),
            retention: Retention::default(),
            program: "test".into(),
            ..Settings::default()
        };
        let engine = Engine::open_with(&root, settings).unwrap();
        let content = engine.read(&root.join("a"), 7).unwrap();
        assert_eq!((content.bytes.as_slice(), content.digest), (&b"content"[..], Digest::of(b"content")));
        std::os::unix::fs::symlink("a", root.join("inner")).unwrap();
        assert_eq!(engine.read(&root.join("inner"), 7).unwrap().path, Path::new("a"));
        let refused = |path: &Path| engine.read(path, 6).unwrap_err().kind();
        assert_eq!(refused(&root.join("a")), ErrorKind::FileTooLarge);
        assert_eq!(refused(&root.join("b")), ErrorKind::FileNotFound);
        assert_eq!(refused(&root.join("link")), ErrorKind::OutsideRoot);
        assert_eq!(refused(&base.join("secret")), ErrorKind::OutsideRoot);
        fs::create_dir(root.join("folder")).unwrap();
        assert_eq!(refused(&root.join("folder")), ErrorKind::NotARegularFile);
    }
}
