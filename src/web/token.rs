//! The secret that a caller over HTTP must know.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// A bearer token. It never appears in a log or a message.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(blake3::Hash);

impl BearerToken {
    /// The least number of characters: a shorter token is guessed too easily.
    pub const MIN_CHARS: usize = 16;

    /// The token in a file or a variable, without surrounding white space. `None` if it is too short.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() >= Self::MIN_CHARS).then(|| Self(blake3::hash(text.as_bytes())))
    }

    /// A new token of 256 bits, and the text that a caller sends.
    pub(crate) fn random() -> Result<(Self, String)> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|_| Error::new(ErrorKind::UnknownError, "the system has no random bytes for a token"))?;
        let text = blake3::Hash::from_bytes(bytes).to_hex().to_string();
        Ok((Self(blake3::hash(text.as_bytes())), text))
    }

    /// True if an `Authorization` header carries this token. The time of comparing digests reveals nothing about the
    /// token, and `blake3::Hash` compares in constant time anyway.
    pub(crate) fn is_in(&self, header: &str) -> bool {
        let Some((scheme, token)) = header.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer") && blake3::hash(token.trim().as_bytes()) == self.0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_taken() {
        let token = BearerToken::new("0123456789abcdef\n").unwrap();
        assert!(token.is_in("Bearer 0123456789abcdef"));
        assert!(token.is_in("bearer  0123456789abcdef"));
        assert!(!token.is_in("Bearer 0123456789abcdeF"));
        assert!(!token.is_in("Basic 0123456789abcdef"));
        assert!(!token.is_in("0123456789abcdef"));
        assert_eq!(BearerToken::new("short"), None);
        assert_eq!(format!("{token:?}"), "Token(..)");
    }
}
