//! The addresses of the page, and what is called at each.

use std::sync::Arc;

use axum::Router;
use axum::body;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::{answered, refused};
use super::decide::{self, AskedUndo};
use super::review::{self, AskedPiece};
use super::{ReviewPage, files, guard, news, state};
use crate::engine::Engine;
use crate::error::Result;
use crate::limits;

/// The most bytes of what is decided: a number for every second change of a very long file fits.
const BODY_BYTES: usize = 16 << 20;

/// All of the page.
pub(crate) fn router(page: Arc<ReviewPage>) -> Router {
    let path = page.options.path;
    let at = |name: &str| format!("{path}/{name}");
    let api = Router::new()
        .route(&at("api/state"), get(read_state))
        .route(&at("api/events"), get(listen))
        .route(&at("api/review/{id}"), get(list_files))
        .route(&at("api/review/{id}/file"), get(read_piece))
        .route(&at("api/undo/{id}"), get(preview_undo))
        .route(&at("api/approve"), post(approve))
        .route(&at("api/discard"), post(discard))
        .route(&at("api/undo"), post(undo))
        .route(&at("api/recover"), post(recover))
        .route(&at("api/kept/restore"), post(restore_kept))
        .route(&at("api/kept/drop"), post(drop_kept))
        .layer(middleware::from_fn_with_state(Arc::clone(&page), guard::authorised));
    let files = files::ALL.iter().fold(Router::new(), |router, file| {
        router.route(&at(file.name), get(move || std::future::ready(file.answer())))
    });
    api.merge(files).layer(middleware::from_fn_with_state(Arc::clone(&page), guard::known)).with_state(page)
}

async fn read_state(State(page): State<Arc<ReviewPage>>) -> Response {
    let words = page.options.words;
    answered(page.call(state::read).await, words)
}

async fn listen(State(page): State<Arc<ReviewPage>>) -> Response {
    news::stream(&page)
}

async fn list_files(State(page): State<Arc<ReviewPage>>, Path(id): Path<String>) -> Response {
    let words = page.options.words;
    answered(page.call(move |page, engine| review::list(page, engine, &id)).await, words)
}

async fn read_piece(State(page): State<Arc<ReviewPage>>, Path(id): Path<String>, request: Request) -> Response {
    let words = page.options.words;
    match AskedPiece::parse(request.uri()) {
        Some(asked) => answered(page.call(move |page, engine| review::piece(page, engine, &id, &asked)).await, words),
        None => refused(StatusCode::BAD_REQUEST, "name the file, the plan, the view and the rows"),
    }
}

async fn preview_undo(State(page): State<Arc<ReviewPage>>, Path(id): Path<String>, request: Request) -> Response {
    let words = page.options.words;
    let undone = AskedUndo::new(id, request.uri().query() == Some("rebase"));
    answered(page.call(move |page, engine| decide::preview_undo(page, engine, &undone)).await, words)
}

async fn approve(State(page): State<Arc<ReviewPage>>, request: Request) -> Response {
    decided(page, request, decide::approve).await
}

async fn discard(State(page): State<Arc<ReviewPage>>, request: Request) -> Response {
    decided(page, request, decide::discard).await
}

async fn undo(State(page): State<Arc<ReviewPage>>, request: Request) -> Response {
    decided(page, request, decide::undo).await
}

async fn recover(State(page): State<Arc<ReviewPage>>, request: Request) -> Response {
    decided(page, request, decide::recover).await
}

async fn restore_kept(State(page): State<Arc<ReviewPage>>, request: Request) -> Response {
    decided(page, request, decide::restore_kept).await
}

async fn drop_kept(State(page): State<Arc<ReviewPage>>, request: Request) -> Response {
    decided(page, request, decide::drop_kept).await
}

/// Reads what was decided, and does it.
async fn decided<D, T>(
    page: Arc<ReviewPage>,
    request: Request,
    work: fn(&ReviewPage, &Engine, &D) -> Result<T>,
) -> Response
where
    D: DeserializeOwned + Send + 'static,
    T: Serialize + Send + 'static,
{
    let words = page.options.words;
    let body = match tokio::time::timeout(limits::BODY_TIME, body::to_bytes(request.into_body(), BODY_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return refused(StatusCode::PAYLOAD_TOO_LARGE, "the decision is too long"),
        Err(_) => return refused(StatusCode::REQUEST_TIMEOUT, "the body did not come in time: send it at once"),
    };
    match serde_json::from_slice::<D>(&body) {
        Ok(decision) => answered(page.call_to_write(move |page, engine| work(page, engine, &decision)).await, words),
        Err(error) => refused(StatusCode::BAD_REQUEST, &format!("this is no decision: {error}")),
    }
}
