//! Answers as JSON, and the status of a failure.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::wire::hints::StepWords;
use crate::wire::{Shape, failure};

/// The answer to a call.
pub(super) fn answered<T: Serialize>(result: Result<T>, words: StepWords) -> Response {
    match result {
        Ok(answer) => json(StatusCode::OK, &answer),
        Err(error) => json(status(&error), &failure(&error, None, Shape::Multi, words)),
    }
}

/// The refusal of a request before anything was called.
pub(super) fn refused(status: StatusCode, message: &str) -> Response {
    json(status, &Refused { success: false, error_code: ErrorKind::ValidationFailed.code(), error: message })
}

#[derive(Serialize)]
struct Refused<'a> {
    success: bool,
    error_code: &'static str,
    error: &'a str,
}

fn json(status: StatusCode, answer: &impl Serialize) -> Response {
    match serde_json::to_vec(answer) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn status(error: &Error) -> StatusCode {
    use ErrorKind as K;
    match error.kind() {
        K::ValidationFailed => StatusCode::BAD_REQUEST,
        K::UnknownTransaction | K::TransactionExpired => StatusCode::NOT_FOUND,
        K::HashMismatch | K::ConcurrentModification | K::UndoConflict | K::LockTimeout => StatusCode::CONFLICT,
        K::ChecksNotAllowed | K::ReadOnlyMode => StatusCode::FORBIDDEN,
        K::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        K::UnknownError => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
