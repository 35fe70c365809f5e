//! JSON whose parts know their places, for errors that name them.

use std::fmt::Display;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::malformed;
use crate::error::{Error, Result};

/// A whole JSON text.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonSource<'a>(pub(super) &'a [u8]);

impl<'a> JsonSource<'a> {
    /// Parses all of it as a `what`.
    pub(super) fn parse<T: Deserialize<'a>>(self, what: &str) -> Result<T> {
        serde_json::from_slice(self.0).map_err(|error| self.fault(self.0, &error, what))
    }

    /// Its values, each a `what`: the elements of an array, or one value after the other.
    pub(super) fn parse_list(self, what: &str) -> Result<Vec<&'a RawValue>> {
        if self.0.trim_ascii_start().starts_with(b"[") {
            return self.parse(what);
        }
        let list = serde_json::Deserializer::from_slice(self.0).into_iter().collect::<Result<_, _>>();
        list.map_err(|error| self.fault(self.0, &error, what))
    }

    /// The objects of a program that prints one on each line, and other lines for people between them.
    pub(super) fn parse_lines(self, what: &str) -> Result<Vec<&'a RawValue>> {
        let lines = self.0.split(|byte| *byte == b'\n').filter(|line| line.trim_ascii_start().starts_with(b"{"));
        let value = |line| serde_json::from_slice(line).map_err(|error| self.fault(line, &error, what));
        lines.map(value).collect()
    }

    /// Parses a part of it as a `what`.
    pub(super) fn parse_part<T: Deserialize<'a>>(self, part: &'a RawValue, what: &str) -> Result<T> {
        serde_json::from_str(part.get()).map_err(|error| self.fault(part.get().as_bytes(), &error, what))
    }

    /// The error for the start of a part.
    pub(super) fn refuse(self, part: &RawValue, expected: impl Display) -> Error {
        let (line, column) = self.place(part.get().as_bytes());
        malformed(line, column, expected)
    }

    /// The error of serde about a part, with its place in the whole.
    pub(super) fn fault(self, part: &[u8], error: &serde_json::Error, what: &str) -> Error {
        let (line, column) = self.place(part);
        let text = error.to_string();
        let text = text.strip_suffix(&format!(" at line {} column {}", error.line(), error.column())).unwrap_or(&text);
        let (line, column) = match error.line() {
            0 => (line, column),
            1 => (line, column + error.column().saturating_sub(1)),
            lines => (line + lines - 1, error.column()),
        };
        malformed(line, column, format!("{what}: {text}"))
    }

    /// The start of a part: its line and column, from 1.
    fn place(self, part: &[u8]) -> (usize, usize) {
        let before = &self.0[..part.as_ptr().addr() - self.0.as_ptr().addr()];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |feed| feed + 1);
        (1 + memchr::memchr_iter(b'\n', before).count(), 1 + before.len() - line_start)
    }
}
