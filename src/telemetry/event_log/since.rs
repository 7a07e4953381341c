//! Where to begin in a long log when only what is newer than a moment is wanted.
//!
//! A log without codec is searched by halves: its lines are in the order of their times, nearly.
//! A rolling one is entered at the first file that was written after the moment. Both begin
//! [`LOOKBACK`] earlier, so that the plan and the job of the microbatch that ran at the moment
//! are read. Must not know files: it asks for bytes at a place.

use memchr::memmem;

use super::lines::{self, Head, Kind};
use crate::units::UnixMillis;

/// How long before the moment reading begins. A microbatch that had run for longer at the moment
/// is told without what its tasks did.
const LOOKBACK: i64 = 10 * 60 * 1000;

/// Stretches that are not halved further: they take milliseconds to read.
const SHORT: u64 = 4 << 20;

/// How far from a place a line with a time is looked for.
const REACH: u64 = 8 << 20;

/// The moment from which on a log is read when events since `moment` are wanted.
pub(super) fn with_lookback(moment: UnixMillis) -> UnixMillis {
    UnixMillis(moment.0.saturating_sub(LOOKBACK))
}

/// The start of a line of a log of `size` bytes such that what was done at `moment` or later
/// stands behind it. `read` gives some bytes from a place, none at the end.
///
/// # Errors
/// Those of `read`.
pub(super) fn find<E>(
    size: u64,
    moment: UnixMillis,
    mut read: impl FnMut(u64, &mut Vec<u8>) -> Result<(), E>,
) -> Result<u64, E> {
    let mut buffer = Vec::new();
    let (mut low, mut high) = (0, size);
    while high - low > SHORT {
        let middle = low + (high - low) / 2;
        let end = high.min(middle.saturating_add(REACH));
        match time_after(middle, end, &mut buffer, &mut read)? {
            Some(time) if time < moment => low = middle,
            // A stretch without times is read, so that nothing is missed.
            _ => high = middle,
        }
    }
    if low == 0 {
        return Ok(0);
    }
    read(low, &mut buffer)?;
    // No line end near: the line is longer than what is read at once, and begins before.
    Ok(memchr::memchr(b'\n', &buffer).map_or(0, |end| low + end as u64 + 1))
}

/// The time of the first line that begins between two places and has one.
fn time_after<E>(
    from: u64,
    until: u64,
    buffer: &mut Vec<u8>,
    read: &mut impl FnMut(u64, &mut Vec<u8>) -> Result<(), E>,
) -> Result<Option<UnixMillis>, E> {
    let mut place = from;
    // The end of a line whose beginning was in the bytes before; at first that of the line in
    // whose middle the place is.
    let mut partial = None;
    while place < until {
        read(place, buffer)?;
        if buffer.is_empty() {
            break;
        }
        place += buffer.len() as u64;
        let mut rest = buffer.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            let whole = partial.replace(());
            if let Some(time) = whole.and_then(|()| time(line)) {
                return Ok(Some(time));
            }
        }
        // Lines that lie across two reads are passed over: others follow.
        partial = None;
    }
    Ok(None)
}

/// The time that a line tells, of the kinds of lines that come often.
fn time(line: &[u8]) -> Option<UnixMillis> {
    let Head::Wanted(kind, _, rest) = lines::head(line) else { return None };
    let name: &[u8] = match kind {
        Kind::TaskEnd => b"\"Finish Time\"",
        Kind::JobStart => b"\"Submission Time\"",
        Kind::JobEnd | Kind::StageCompleted => b"\"Completion Time\"",
        Kind::ExecutionEnd => b"\"time\"",
        _ => return None,
    };
    let at = memmem::find(rest, name)?;
    let millis = lines::number_of(rest.get(at..)?, name)?;
    i64::try_from(millis).ok().map(UnixMillis)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// A log of a line per second, some of them without a time.
    fn log(seconds: i64) -> String {
        (0..seconds)
            .map(|second| match second % 3 {
                0 => format!(
                    "{{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":1,\"Task Info\":{{\"Finish \
                     Time\":{}}},\"x\":\"{}\"}}\n",
                    second * 1000,
                    "y".repeat(20_000)
                ),
                1 => format!("{{\"Event\":\"SparkListenerTaskStart\",\"x\":\"{second}\"}}\n"),
                _ => format!(
                    "{{\"Event\":\"SparkListenerJobEnd\",\"Job ID\":1,\"Completion Time\":{}}}\n",
                    second * 1000
                ),
            })
            .collect()
    }

    fn found(log: &str, moment: i64, piece: usize) -> u64 {
        find(log.len() as u64, UnixMillis(moment), |place, buffer| {
            buffer.clear();
            let rest = &log.as_bytes()[usize::try_from(place).unwrap()..];
            buffer.extend_from_slice(&rest[..rest.len().min(piece)]);
            Ok::<(), Infallible>(())
        })
        .unwrap()
    }

    #[test]
    fn nothing_since_the_moment_stands_before_the_place_and_little_before_it_after() {
        let log = log(6000);
        for second in [0, 1, 700, 3000, 4499, 5999, 7000] {
            let place = usize::try_from(found(&log, second * 1000, 1 << 20)).unwrap();
            assert!(place == 0 || log.as_bytes()[place - 1] == b'\n', "{second}: a line begins");
            let wanted = log
                .lines()
                .scan(0, |place, line| {
                    let at = *place;
                    *place += line.len() + 1;
                    Some((at, line))
                })
                .find(|(_, line)| time(line.as_bytes()) >= Some(UnixMillis(second * 1000)))
                .map_or(log.len(), |(at, _)| at);
            assert!(place <= wanted, "{second}: {place} is not after {wanted}");
            assert!(
                wanted - place < usize::try_from(SHORT).unwrap() + 30_000,
                "{second}: {place}, {wanted}"
            );
        }
    }

    #[test]
    fn a_log_without_times_is_read_from_its_start() {
        let log = "{\"Event\":\"SparkListenerTaskStart\"}\n".repeat(400_000);
        assert_eq!(found(&log, 1000, 1 << 20), 0);
        assert_eq!(found(&"x".repeat(20 << 20), 1000, 1 << 20), 0);
    }
}
