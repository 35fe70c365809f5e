//! Paths in addresses.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The bytes of a part of an address whose escapes are `%` and two hexadecimal digits; `None` if one is not.
pub(super) fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(part[2..].bytes());
    }
    Some(bytes)
}

/// Such a part: everything but unreserved characters and slashes is escaped.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

/// The path of a `file:` address of this machine.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = path.starts_with('/').then(|| unescaped(path))??;
    Some(OsString::from_vec(path).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_paths() {
        assert_eq!(path("file:///a/b%20c%C3%A4"), Some("/a/b cä".into()));
        assert_eq!(path("file://localhost/a"), Some("/a".into()));
        for uri in ["/a", "file://elsewhere/a", "file:///a%2", "file:///a%zz", "https://a/b", "file://"] {
            assert_eq!(path(uri), None, "{uri}");
        }
        assert_eq!(unescaped(&escaped("/ä %?".as_bytes())).unwrap(), "/ä %?".as_bytes());
    }
}
