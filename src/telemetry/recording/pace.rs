//! Tells again what was told before, at the pace of its own times or faster.

use std::io::empty;
use std::time::Duration;

use crate::task::Cancel;
use crate::telemetry::attach::{Attach, AttachError, Deaf, Tell};
use crate::telemetry::event::EventKind;
use crate::telemetry::follow::Until;
use crate::telemetry::source::Source;
use crate::telemetry::stream::{self, Means, Span};
use crate::telemetry::ui::Credentials;
use crate::units::UnixMillis;

/// Nothing is waited for longer: a query that waited for a night is not watched waiting.
const LONGEST: Duration = Duration::from_secs(5);

/// A recording, or any other finite source, that is told again.
#[derive(Debug, Clone)]
pub struct Replay {
    source: Source,
    speed: f64,
}

impl Replay {
    /// Tells so many times as fast as it was; above 0.
    pub fn new(source: Source, speed: f64) -> Self {
        Self { source, speed }
    }
}

impl Attach for Replay {
    fn name(&self) -> &str {
        &self.source.name
    }

    fn follow(&self, cancel: &Cancel, tell: &mut Tell<'_>) -> Result<(), AttachError> {
        let means = Means { stdin: Box::new(empty()), credentials: Credentials::None };
        let span = Span { until: Until::End, since: None };
        let events = stream::events(vec![self.source.clone()], span, means, cancel);
        let mut pace = Pace::new(self.speed);
        for event in events {
            if cancel.sleep(pace.pause(&event.kind)).is_err() || tell(vec![event]) == Err(Deaf) {
                break;
            }
        }
        Ok(())
    }
}

/// The pauses between events.
#[derive(Debug)]
struct Pace {
    speed: f64,
    /// The latest time so far.
    latest: Option<UnixMillis>,
}

impl Pace {
    fn new(speed: f64) -> Self {
        Self { speed, latest: None }
    }

    /// How long to wait before an event is told. What comes late or has no time is not waited for.
    fn pause(&mut self, kind: &EventKind) -> Duration {
        let Some(at) = told_at(kind) else { return Duration::ZERO };
        let latest = *self.latest.get_or_insert(at);
        self.latest = Some(latest.max(at));
        let between = Duration::from_millis(latest.until(at)).as_secs_f64() / self.speed;
        Duration::try_from_secs_f64(between).unwrap_or(LONGEST).min(LONGEST)
    }
}

/// When an event was told: a microbatch at its end.
pub fn told_at(kind: &EventKind) -> Option<UnixMillis> {
    match kind {
        EventKind::Started(started) => started.timestamp,
        EventKind::Progress(progress) => {
            let took = progress.duration_ms.unwrap_or(0);
            progress.timestamp.map(|began| UnixMillis(began.0.saturating_add_unsigned(took)))
        }
        EventKind::Idle { timestamp, .. } => *timestamp,
        EventKind::Terminated(ended) => ended.timestamp,
        EventKind::PartitionLoad(load) => load.timestamp,
        EventKind::Repartition(note) => note.timestamp,
        EventKind::ConfRestored(conf) => conf.timestamp,
        EventKind::Environment(_) | EventKind::Interrupted(_) | EventKind::Unreadable(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::event::QueryRef;

    #[test]
    fn pauses_are_those_of_the_events_divided_by_the_speed() {
        let idle = |at: Option<i64>| EventKind::Idle {
            query: QueryRef::default(),
            timestamp: at.map(UnixMillis),
        };
        let mut pace = Pace::new(10.0);
        let pauses: Vec<u128> =
            [Some(50_000), Some(60_000), None, Some(55_000), Some(70_000), Some(9_000_000)]
                .map(|at| pace.pause(&idle(at)).as_millis())
                .into();
        // The last is 893 s later; nothing is waited for longer than 5 s.
        assert_eq!(pauses, [0, 1_000, 0, 0, 1_000, 5_000]);
        let mut slow = Pace::new(f64::MIN_POSITIVE);
        slow.pause(&idle(Some(0)));
        assert_eq!(slow.pause(&idle(Some(1))), LONGEST);
    }
}
