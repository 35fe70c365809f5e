//! Ids of transactions.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use crate::identity::Timestamp;

/// A new id: the UTC time to the microsecond, so that ids sort by time, and 16 random hex digits. If that time is not
/// later than `newest`, it is a microsecond after it instead.
#[must_use]
pub(crate) fn after(now: Timestamp, newest: Option<&str>) -> String {
    let microsecond = jiff::SignedDuration::from_micros(1);
    let earliest = newest.and_then(instant_of).and_then(|newest| newest.checked_add(microsecond).ok());
    let time = earliest.map_or(instant(now), |earliest| earliest.max(instant(now)));
    format!("{}-{}", time_part(time), random_hex(16))
}

/// A time of the file system's clock.
#[must_use]
pub(crate) fn instant(time: Timestamp) -> jiff::Timestamp {
    let nanoseconds = i32::try_from(time.nanos()).unwrap_or_default();
    jiff::Timestamp::new(time.seconds, nanoseconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// The beginning of all ids of that time: earlier ids sort before it, later ones after it.
#[must_use]
pub(crate) fn time_part(time: jiff::Timestamp) -> String {
    time.strftime("%Y%m%dT%H%M%S.%6fZ").to_string()
}

/// The time in an id, as RFC 3339.
#[must_use]
pub(crate) fn time_of(id: &str) -> String {
    instant_of(id).map_or_else(|| "an unknown time".to_owned(), |t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The time in an id.
#[must_use]
pub(crate) fn instant_of(id: &str) -> Option<jiff::Timestamp> {
    let civil = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S%.fZ", id.split('-').next()?).ok()?;
    civil.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// Random hex digits, an even number of them.
#[must_use]
pub(crate) fn random_hex(digits: usize) -> String {
    use std::fmt::Write as _;
    let mut bytes = vec![0; digits / 2];
    // It fails where it can only read a device that is not there: in a static program, which cannot look the call up, in a
    // root without /dev.
    if getrandom::fill(&mut bytes).is_err() {
        fill_by_keys(&mut bytes);
    }
    bytes.iter().fold(String::with_capacity(digits), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing into a String does not fail");
        hex
    })
}

/// Fills it from the random keys of the standard library's hash tables, which come from the system by its own call.
fn fill_by_keys(bytes: &mut [u8]) {
    for piece in bytes.chunks_mut(8) {
        let number = RandomState::new().build_hasher().finish().to_ne_bytes();
        piece.copy_from_slice(&number[..piece.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ids_and_hold_their_time() {
        let now = Timestamp::new(1_795_302_899, 1_999);
        let id = after(now, None);
        assert!(crate::journal::is_id(id.as_ref()), "{id}");
        assert!(id.starts_with("20261121T231459.000001Z-"), "{id}");
        assert!(after(now, Some("20200101T000000.000000Z-ffffffffffffffff")).starts_with("20261121T231459.000001Z-"));
        assert!(after(now, Some("20261231T235959.999999Z-ffffffffffffffff")).starts_with("20270101T000000.000000Z-"));
        assert_eq!(time_of("20261121T231459.000001Z-0123456789abcdef"), "2026-11-21T23:14:59Z");
    }

    #[test]
    fn keys_fill_any_length_and_never_the_same_twice() {
        for length in [1, 8, 16, 21] {
            let filled = || {
                let mut bytes = vec![0; length];
                fill_by_keys(&mut bytes);
                bytes
            };
            let all: std::collections::HashSet<_> = (0..100).map(|_| filled()).collect();
            assert!(all.len() >= if length == 1 { 50 } else { 100 }, "{length}: {}", all.len());
            assert!(length < 16 || all.iter().all(|bytes| bytes[..8] != bytes[8..16]));
        }
    }
}
