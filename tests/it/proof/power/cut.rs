//! Disks as they are after a power cut: everything up to the last flush, and any part of what was written since.

use super::dice::Dice;
use super::disk::{BLOCK, Blocks, Event};

/// What of the writes since the last flush reached the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    None,
    All,
    /// All but one of the writes.
    AllButOne,
    /// The last write alone.
    Last,
    /// Each block of each write by itself, so many times in eight: torn.
    Torn(usize),
}

const LEFT: [Left; 8] =
    [Left::None, Left::All, Left::AllButOne, Left::Last, Left::Torn(1), Left::Torn(4), Left::Torn(4), Left::Torn(7)];

/// A moment, and what was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// The events before this one had happened.
    pub(super) at: usize,
    pub(super) left: Left,
}

/// `count` cuts at moments from `start` on, in their order: just before and after flushes, just after reports, a
/// little before them, and at any moment.
pub(super) fn cuts(log: &[Event], start: usize, count: usize, dice: &mut Dice) -> Vec<Cut> {
    let places =
        |wanted: fn(&Event) -> bool| -> Vec<usize> { (start..log.len()).filter(|at| wanted(&log[*at])).collect() };
    let flushes = places(|event| matches!(event, Event::Flush));
    let marks = places(|event| matches!(event, Event::Mark));
    assert!(!marks.is_empty(), "nothing was reported");
    let mut cuts: Vec<Cut> = (0..count)
        .map(|number| match number % 10 {
            0 | 5 if !flushes.is_empty() => Cut { at: dice.pick(&flushes), left: dice.pick(&LEFT) },
            1 | 6 if !flushes.is_empty() => Cut { at: dice.pick(&flushes) + 1, left: Left::None },
            2 | 7 => Cut { at: dice.pick(&marks) + 1, left: dice.pick(&LEFT) },
            // Where the second barrier is; and when it is over, and nothing was reported yet.
            3 => Cut { at: dice.pick(&marks).saturating_sub(dice.below(12)).max(start), left: dice.pick(&LEFT) },
            8 => Cut { at: dice.pick(&marks), left: dice.pick(&LEFT) },
            _ => Cut { at: start + dice.below(log.len() - start + 1), left: dice.pick(&LEFT) },
        })
        .collect();
    cuts.sort_by_key(|cut| cut.at);
    cuts
}

/// A disk that goes through its log, up to one flush after the other.
pub(super) struct Player<'a> {
    log: &'a [Event],
    durable: Blocks,
    /// All events before this one are in `durable`.
    flushed: usize,
}

impl<'a> Player<'a> {
    pub(super) fn new(base: Blocks, log: &'a [Event]) -> Self {
        Self { log, durable: base, flushed: 0 }
    }

    /// The disk after a cut, which is not before the one asked for last.
    pub(super) fn after(&mut self, cut: Cut, dice: &mut Dice) -> Blocks {
        let flush = self.log[..cut.at].iter().rposition(|event| matches!(event, Event::Flush)).map_or(0, |at| at + 1);
        for event in &self.log[self.flushed..flush.max(self.flushed)] {
            if let Event::Write { at, bytes } = event {
                self.durable.write(*at, bytes);
            }
        }
        self.flushed = self.flushed.max(flush);
        let mut blocks = self.durable.clone();
        let since: Vec<_> = self.log[self.flushed..cut.at]
            .iter()
            .filter_map(|event| match event {
                Event::Write { at, bytes } => Some((*at, bytes)),
                Event::Flush | Event::Mark => None,
            })
            .collect();
        let missing = if since.is_empty() { 0 } else { dice.below(since.len()) };
        for (number, (at, bytes)) in since.iter().enumerate() {
            match cut.left {
                Left::All => blocks.write(*at, bytes),
                Left::AllButOne if number != missing => blocks.write(*at, bytes),
                Left::Last if number + 1 == since.len() => blocks.write(*at, bytes),
                Left::None | Left::AllButOne | Left::Last => {}
                Left::Torn(eighths) => torn(&mut blocks, *at, bytes, eighths, dice),
            }
        }
        blocks
    }
}

fn torn(blocks: &mut Blocks, at: u64, bytes: &[u8], eighths: usize, dice: &mut Dice) {
    let first = (BLOCK - (at % BLOCK as u64) as usize).min(bytes.len());
    let (head, rest) = bytes.split_at(first);
    let mut place = at;
    for piece in std::iter::once(head).chain(rest.chunks(BLOCK)) {
        if dice.one_of(eighths, 8) {
            blocks.write(place, piece);
        }
        place += piece.len() as u64;
    }
}
