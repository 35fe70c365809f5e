//! Reads the files of a request, each once.

use std::sync::Arc;
use std::thread::Scope;

use super::lock_targets::Parents;
use super::prefetch::Ahead;
use super::prepared::{SourceFile, Sources};
use super::resolve::ResolvedPath;
use super::streaming::{self, Large};
use crate::cancel::CancelToken;
use crate::charset::Charset;
use crate::engine::Engine;
use crate::engine::store::snapshot::{self, ReadMode, Snapshot};
use crate::engine::store::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Name, Stat};
use crate::index::{FileIndex, IndexVec, TargetIndex};
use crate::limits;
use crate::plan::SourceId;
use crate::plan::build::Builder;
use crate::request::edit::Edit;

/// Reads targets, and keeps what is known about them.
pub(crate) struct TargetReader<'a> {
    engine: &'a Engine,
    places: &'a IndexVec<TargetIndex, ResolvedPath>,
    parents: &'a Parents,
    cancel: &'a CancelToken,
    sources: Sources,
    /// The bytes that may still be kept in memory.
    room: u64,
    ahead: Option<Ahead<'a>>,
}

impl<'a> TargetReader<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        places: &'a IndexVec<TargetIndex, ResolvedPath>,
        parents: &'a Parents,
        cancel: &'a CancelToken,
    ) -> Self {
        Self {
            engine,
            places,
            parents,
            cancel,
            sources: Sources::with_room_for(places.len()),
            room: limits::CACHED_BYTES,
            ahead: None,
        }
    }

    /// Lets another thread read the contents of these targets, which will be needed in this order.
    pub(crate) fn read_ahead<'s>(&mut self, scope: &'s Scope<'s, '_>, targets: impl Iterator<Item = TargetIndex>)
    where
        'a: 's,
    {
        let targets = targets.map(|target| (target, self.size(target)));
        let targets: Vec<_> = targets.filter(|(_, size)| matches!(size, 1..=limits::AHEAD_BYTES)).collect();
        if targets.len() >= limits::AHEAD_FILES && self.engine.workspace.is_parallel() {
            let (engine, places, parents, cancel) = (self.engine, self.places, self.parents, self.cancel);
            let read = move |target: TargetIndex| {
                let place: &ResolvedPath = &places[target];
                let Some(stat) = &place.stat else { unreachable!("it has a size") };
                snapshot_of(engine, place, &parents[place.folder()].1, stat, ReadMode::Whole, cancel)
            };
            self.ahead = Ahead::start(scope, self.places.len(), &targets, read);
        }
    }

    /// Ends the other thread.
    pub(crate) fn read_no_further(&mut self) {
        self.ahead = None;
    }

    pub(crate) fn into_sources(self) -> Sources {
        self.sources
    }

    pub(super) fn workspace(&self) -> &'a Workspace {
        &self.engine.workspace
    }

    pub(super) const fn cancel(&self) -> &'a CancelToken {
        self.cancel
    }

    pub(super) const fn allows_set_id(&self) -> bool {
        self.engine.allows_set_id
    }

    /// The number of the source that a file of the request brings along.
    pub(super) fn behind_targets(&self, FileIndex(file): FileIndex) -> SourceId {
        SourceId(self.places.len() + file)
    }

    pub(super) fn insert(&mut self, id: SourceId, source: SourceFile) {
        self.sources.insert(id, source);
    }

    pub(crate) fn source(&self, target: TargetIndex) -> Option<&SourceFile> {
        self.sources.get(SourceId::from(target))
    }

    /// The size of a target; 0 if it is missing.
    pub(crate) fn size(&self, target: TargetIndex) -> u64 {
        self.places[target].stat.as_ref().map_or(0, |stat| stat.size)
    }

    /// Reads a target without keeping its content.
    pub(crate) fn look(&mut self, target: TargetIndex) -> Result<()> {
        self.read(target, false).map(drop)
    }

    /// The content of a target, if it is wanted, the target exists, and it was not read before.
    fn read(&mut self, target: TargetIndex, wanted: bool) -> Result<Vec<u8>> {
        let place = &self.places[target];
        let Some(stat) = &place.stat else { return Ok(Vec::new()) };
        if self.source(target).is_some() {
            return Ok(Vec::new());
        }
        let ahead = self.ahead.as_mut().filter(|_| wanted).and_then(|ahead| ahead.take(target));
        let (snapshot, bytes) = ahead.unwrap_or_else(|| {
            let wanted = if wanted { ReadMode::Whole } else { ReadMode::Nothing };
            snapshot_of(self.engine, place, &self.parents[place.folder()].1, stat, wanted, self.cancel)
        })?;
        self.remember(target, snapshot);
        Ok(bytes)
    }

    /// A target that is too large to be edited in memory, as far as its edits, in the encoding named with them, need it;
    /// `None` for any other.
    pub(crate) fn read_large(
        &mut self,
        target: TargetIndex,
        edits: (&[Edit], Option<Charset>),
    ) -> Result<Option<Large<'a>>> {
        let place = &self.places[target];
        let Some(stat) = place.stat.as_ref().filter(|stat| stat.size > limits::WHOLE_BYTES) else { return Ok(None) };
        if self.source(target).is_some() {
            return Ok(None);
        }
        let (_, folder) = &self.parents[place.folder()];
        let name = Name::new(folder, place.path.name());
        let read = streaming::read(&self.engine.workspace, name, stat, edits, self.cancel)?;
        let Some((snapshot, large)) = read else { return Ok(None) };
        self.remember(target, snapshot);
        Ok(large)
    }

    fn remember(&mut self, target: TargetIndex, mut snapshot: Snapshot) {
        if self.places.len() > self.engine.workspace.protocol.sync_each_up_to {
            // Only syncing each file needs it open; many open files would be too many.
            snapshot.file = None;
        }
        let place = &self.places[target];
        let folder = self.parents[place.folder()].1.clone();
        let source = SourceFile {
            folder,
            path: place.path.clone(),
            snapshot: Arc::new(snapshot),
            bytes: None,
            is_used_up: false,
        };
        self.sources.insert(SourceId::from(target), source);
    }

    /// Reads every target that was not read yet, including those that no entry has as its own.
    pub(crate) fn look_at_all(&mut self, builder: &mut Builder) -> Result<()> {
        for target in self.places.indices() {
            self.look(target)?;
            if let Some(source) = self.source(target) {
                builder.saw(target, source.snapshot.state());
            }
        }
        Ok(())
    }

    /// The content of a target that may have been read before; it must not have changed.
    pub(crate) fn read_again(&mut self, target: TargetIndex) -> Result<Vec<u8>> {
        let Some(before) = self.sources.remove(SourceId::from(target)) else { return self.read(target, true) };
        if let Some(bytes) = before.bytes.clone() {
            self.sources.insert(SourceId::from(target), before);
            return Ok(bytes.into());
        }
        let bytes = self.read(target, true)?;
        let now = self.sources.insert(SourceId::from(target), before);
        if now.is_some_and(|now| Some(now.snapshot.digest) != self.source(target).map(|it| it.snapshot.digest)) {
            let path = &self.places[target].path;
            let message = format!("{path} changed while it was read");
            return Err(Error::new(ErrorKind::ConcurrentModification, message).at(path.as_path()));
        }
        Ok(bytes)
    }

    /// Keeps a content for staging, as long as there is room.
    pub(crate) fn keep(&mut self, target: TargetIndex, bytes: Vec<u8>) {
        let size = bytes.len() as u64;
        if size == 0 || size > self.room {
            return;
        }
        if let Some(source) = self.sources.get_mut(SourceId::from(target)) {
            self.room -= size;
            source.bytes = Some(bytes.into());
        }
    }
}

fn snapshot_of(
    engine: &Engine,
    place: &ResolvedPath,
    folder: &Handle,
    stat: &Arc<Stat>,
    wanted: ReadMode<'_>,
    cancel: &CancelToken,
) -> Result<(Snapshot, Vec<u8>)> {
    snapshot::read(&engine.workspace, Name::new(folder, place.path.name()), stat, wanted, cancel)
}
