//! Maps of topics (or hubs) to partitions to numbers: Kafka, and Event Hubs.

use serde_json::{Map, Value};

use super::{Described, count, short};
use crate::checkpoint::names;

/// What the numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Kafka: the next offset to read.
    NextOffsets,
    /// Event Hubs: a sequence number; -1 where nothing was read yet.
    Sequence,
}

/// Topics told one by one; more are told as a number.
const TOLD: usize = 3;

/// One topic: its partitions, and the range of their numbers.
struct Topic<'a> {
    name: &'a str,
    partitions: u64,
    unread: u64,
    range: Option<(i64, i64)>,
}

/// Describes `{topic: {partition: number}}`; `None` for any other shape.
pub(super) fn topics(fields: &Map<String, Value>, numbers: Numbers) -> Option<Described> {
    let topics: Option<Vec<Topic<'_>>> =
        fields.iter().map(|(name, partitions)| topic(name, partitions)).collect();
    let mut topics = topics?;
    topics.sort_unstable_by_key(|topic| topic.name);
    let unread = topics.iter().any(|topic| topic.unread > 0);
    let numbers = if unread { Numbers::Sequence } else { numbers };
    let kind = match numbers {
        Numbers::NextOffsets => "kafka",
        Numbers::Sequence => "event-hubs",
    };
    let summary = match topics.len() {
        0 => return None,
        1..=TOLD => {
            let one = |topic: &Topic<'_>| format!("{} {}", short(topic.name), topic.tell(numbers));
            topics.iter().map(one).collect::<Vec<_>>().join("; ")
        }
        many => {
            let all = topics.into_iter().reduce(|all, next| all.join(&next))?;
            format!("{many} topics, {}", all.tell(numbers))
        }
    };
    Some(Described { kind, summary })
}

fn topic<'a>(name: &'a str, partitions: &Value) -> Option<Topic<'a>> {
    let mut topic = Topic { name, partitions: 0, unread: 0, range: None };
    for (partition, number) in partitions.as_object()? {
        names::decimal::<u32>(partition)?;
        topic.partitions += 1;
        match number.as_i64()? {
            ..0 => topic.unread += 1,
            number => {
                let (low, high) = topic.range.unwrap_or((number, number));
                topic.range = Some((low.min(number), high.max(number)));
            }
        }
    }
    (topic.partitions > 0).then_some(topic)
}

impl Topic<'_> {
    fn join(self, other: &Self) -> Self {
        let range = match (self.range, other.range) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (one, None) | (None, one) => one,
        };
        Self {
            partitions: self.partitions + other.partitions,
            unread: self.unread + other.unread,
            range,
            ..self
        }
    }

    /// `3 partitions, next offsets 2054..2992`.
    fn tell(&self, numbers: Numbers) -> String {
        let noun = match numbers {
            Numbers::NextOffsets => "next offset",
            Numbers::Sequence => "sequence number",
        };
        let range = self.range.map(|(low, high)| {
            if high == low { format!("{noun} {low}") } else { format!("{noun}s {low}..{high}") }
        });
        let unread = match self.unread {
            0 => None,
            all if all == self.partitions => Some("nothing read yet".to_owned()),
            some => Some(format!("nothing read yet from {some}")),
        };
        let partitions = Some(count(self.partitions, "partition"));
        [partitions, range, unread].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
