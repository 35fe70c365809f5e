//! `file:` addresses.

use std::path::PathBuf;

use crate::dialect::files;

/// The path of a `file:` address; the error says what was expected. Anything without a scheme is a path already.
pub(super) fn path(uri: &str) -> Result<PathBuf, String> {
    let Some(rest) = uri.strip_prefix("file:") else {
        if uri.split_once("://").is_some() || uri.starts_with("untitled:") {
            return Err(format!("addresses of files, not {uri}"));
        }
        return Ok(uri.into());
    };
    let rest = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(rest),
        None => rest,
    };
    if !rest.starts_with('/') {
        return Err(format!("files of this machine, not {uri}"));
    }
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let bytes = decoded(path).ok_or_else(|| format!("two hex digits after each % of {uri}"))?;
    Ok(files::path(&bytes))
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(tail.get(..2)?).ok().filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &tail[2..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_paths() {
        assert_eq!(path("file:///a%20b/%C3%A9.rs").unwrap(), PathBuf::from("/a b/é.rs"));
        assert_eq!(path("file://localhost/a").unwrap(), PathBuf::from("/a"));
        assert_eq!(path("file:/a").unwrap(), PathBuf::from("/a"));
        assert_eq!(path("/a%20b").unwrap(), PathBuf::from("/a%20b"), "no address");
        for wrong in ["http://a/b", "untitled:1", "file://host/a", "file:///a%2", "file:///a%+1"] {
            assert!(path(wrong).is_err(), "{wrong}");
        }
    }
}
