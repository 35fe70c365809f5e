//! The requests of a client that are not answered yet, and how many there may be.
//!
//! A request holds its place from its start until its answer was written, so a client that does not read its answers is
//! not read any more either. Requests for which there is no place wait in a queue; notifications and answers pass them,
//! since what they say may be what a running request waits for: that it is cancelled, or which root the client has. Only
//! when the queue is full as well, nothing more is read.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rmcp::model::{ErrorData, RequestId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::limits;

/// The place of a request among those that are handled; it is free again once every clone is dropped.
pub(super) type RequestPlace = Arc<OwnedSemaphorePermit>;

/// What a request holds while its handler runs: its place, and the bytes of its text.
#[derive(Clone)]
pub(super) struct HandlerShare {
    _place: RequestPlace,
    _bytes: Option<Arc<OwnedSemaphorePermit>>,
}

/// The requests of a connection.
pub(super) struct Requests {
    places: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    subscriptions: Arc<Semaphore>,
    /// Those received and not answered, with their places; `None` for those in the queue.
    open: HashMap<RequestId, Option<RequestPlace>>,
    queue: VecDeque<(RequestId, Vec<u8>)>,
    queue_bytes: usize,
    max_bytes: usize,
    /// When a request was last begun or answered.
    last_step: Instant,
}

impl Requests {
    /// For messages of at most so many bytes; the requests that are handled have no more together.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(limits::REQUESTS)),
            bytes: Arc::new(Semaphore::new(max_bytes)),
            subscriptions: Arc::new(Semaphore::new(limits::SUBSCRIPTIONS)),
            open: HashMap::new(),
            queue: VecDeque::new(),
            queue_bytes: 0,
            max_bytes,
            last_step: Instant::now(),
        }
    }

    /// Adds a request to the queue, or begins it at once if it is a subscription: that lasts, and must not hold the
    /// place of one that ends.
    pub(super) fn add(
        &mut self,
        id: RequestId,
        method: &str,
        line: &mut Vec<u8>,
    ) -> Result<Option<HandlerShare>, ErrorData> {
        if self.open.contains_key(&id) {
            let message = "another request with this id is not answered yet: give each request an id of its own";
            return Err(ErrorData::invalid_request(message, None));
        }
        if method != "subscriptions/listen" {
            self.queue_bytes += line.len();
            self.queue.push_back((id.clone(), std::mem::take(line)));
            self.open.insert(id, None);
            return Ok(None);
        }
        if line.len() > limits::CHUNK_BYTES {
            let most = limits::CHUNK_BYTES;
            let message = format!("a subscription has {most} bytes at most: name fewer resources");
            return Err(ErrorData::invalid_request(message, None));
        }
        let Ok(place) = Arc::clone(&self.subscriptions).try_acquire_owned() else {
            let most = limits::SUBSCRIPTIONS;
            let message = format!("{most} subscriptions are open, the most that there may be: cancel one of them");
            return Err(ErrorData::invalid_request(message, None));
        };
        let place = Arc::new(place);
        self.open.insert(id, Some(Arc::clone(&place)));
        Ok(Some(HandlerShare { _place: place, _bytes: None }))
    }

    /// The next line of the queue, if there is room for it among those that are handled.
    pub(super) fn begin(&mut self) -> Option<(RequestId, Vec<u8>, HandlerShare)> {
        let bytes = self.permits();
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let bytes = Arc::clone(&self.bytes).try_acquire_many_owned(bytes?).ok()?;
        let (id, line) = self.queue.pop_front()?;
        self.queue_bytes -= line.len();
        self.last_step = Instant::now();
        let place = Arc::new(place);
        self.open.insert(id.clone(), Some(Arc::clone(&place)));
        Some((id, line, HandlerShare { _place: place, _bytes: Some(Arc::new(bytes)) }))
    }

    /// Waits until there is room for the next line of the queue; for ever if that is empty. Cancel-safe.
    pub(super) async fn room(&self) {
        let Some(bytes) = self.permits() else { return std::future::pending().await };
        // Neither is ever closed.
        let _ = self.places.acquire().await;
        let _ = self.bytes.acquire_many(bytes).await;
    }

    /// The bytes of the next line of the queue.
    fn permits(&self) -> Option<u32> {
        let (_, line) = self.queue.front()?;
        Some(u32::try_from(line.len().min(self.max_bytes)).unwrap_or(u32::MAX))
    }

    /// True if no other line may be read before a request of the queue was begun.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() >= limits::QUEUED_REQUESTS || self.queue_bytes >= self.max_bytes
    }

    /// Forgets a request that is answered. Its place is free once that was written.
    pub(super) fn answered(&mut self, id: &RequestId) -> Option<RequestPlace> {
        self.last_step = Instant::now();
        self.open.remove(id).flatten()
    }

    /// Forgets a request that its client cancelled, which gets no answer. One that has begun keeps its place until its
    /// handler has ended.
    pub(super) fn cancelled(&mut self, id: &RequestId) {
        if let Some(None) = self.open.remove(id)
            && let Some(at) = self.queue.iter().position(|(queued, _)| queued == id)
            && let Some((_, line)) = self.queue.remove(at)
        {
            self.queue_bytes -= line.len();
        }
    }

    /// Takes the requests that were never begun.
    pub(super) fn take_queue(&mut self) -> impl Iterator<Item = RequestId> + use<> {
        self.queue_bytes = 0;
        std::mem::take(&mut self.queue).into_iter().map(|(id, _)| id)
    }

    /// Waits until every request but a subscription is answered. Cancel-safe.
    pub(super) async fn all_answered(&self) {
        if !self.queue.is_empty() {
            return std::future::pending().await;
        }
        let all = u32::try_from(limits::REQUESTS).unwrap_or(u32::MAX);
        let _ = self.places.acquire_many(all).await;
    }

    /// When a request was last begun or answered.
    pub(super) fn last_step(&self) -> Instant {
        self.last_step
    }
}
