//! The files of the page. They are in the program, have no data in them, and need no token.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// A file: its name, which is empty for the page itself, its type and its text.
pub(super) struct PageFile {
    pub(super) name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All of them.
pub(super) const ALL: &[PageFile] = &[
    file("", HTML, include_str!("page/page.html")),
    file("page.css", STYLE, include_str!("page/page.css")),
    file("diff.css", STYLE, include_str!("page/diff.css")),
    file("main.js", SCRIPT, include_str!("page/main.js")),
    file("server.js", SCRIPT, include_str!("page/server.js")),
    file("dom.js", SCRIPT, include_str!("page/dom.js")),
    file("lists.js", SCRIPT, include_str!("page/lists.js")),
    file("review.js", SCRIPT, include_str!("page/review.js")),
    file("diff.js", SCRIPT, include_str!("page/diff.js")),
    file("syntax.js", SCRIPT, include_str!("page/syntax.js")),
    file("selection.js", SCRIPT, include_str!("page/selection.js")),
    file("dialogs.js", SCRIPT, include_str!("page/dialogs.js")),
    file("keys.js", SCRIPT, include_str!("page/keys.js")),
];

const fn file(name: &'static str, kind: &'static str, text: &'static str) -> PageFile {
    PageFile { name, kind, text }
}

impl PageFile {
    pub(super) fn answer(&self) -> Response {
        ([(header::CONTENT_TYPE, self.kind)], self.text).into_response()
    }
}
