//! What the list of checkpoints calls things, on the page and on the screen alike.

use super::{Provider, ScanReport, ScannedCheckpoint, Status, Unreadable, UnreadableKind};
use crate::diagnosis::candidate::Standing;

/// Every kind of reason and obstacle, in the order of the help.
pub(crate) const KINDS: [&str; 14] = [
    "large-partitions",
    "skewed",
    "nearly-empty",
    "never-revisited",
    "unfinished-repartition",
    "errors",
    "no-committed-batch",
    "stateless",
    "provider",
    "streaming-limit",
    "keyless-aggregate",
    "join-format-4",
    "no-operator-metadata",
    "unknown-count",
];

/// The kinds of reason or obstacle that the last column tells; the first obstacle is enough.
pub(crate) fn kinds(one: &ScannedCheckpoint) -> impl Iterator<Item = &'static str> {
    let reasons = one.reasons.iter().filter(|_| one.standing == Standing::Gain);
    let obstacles = one.obstacles.iter().take(1);
    reasons.map(|reason| reason.kind).chain(obstacles.map(|obstacle| obstacle.kind))
}

/// The last column: `skewed, old`, `no: provider`, `-`.
pub(crate) fn verdict(one: &ScannedCheckpoint) -> String {
    let words: Vec<&str> = kinds(one).map(|kind| word(kind).0).collect();
    match one.standing {
        Standing::Gain => words.join(", "),
        Standing::Forbidden => format!("no: {}", words.join(", ")),
        Standing::Healthy => "-".to_owned(),
    }
}

/// A word of at most ten letters for a kind, and what it means.
pub(crate) fn word(kind: &'static str) -> (&'static str, &'static str) {
    match kind {
        "large-partitions" => {
            ("large", "more than 1 GB per partition; more partitions load and write faster")
        }
        "skewed" => (
            "skewed",
            "the largest partition has more than twice the mean; another count spreads it, \
             unless a single key holds it",
        ),
        "nearly-empty" => (
            "empty",
            "100 instances or more of fewer than 1,000 rows each; fewer partitions write fewer \
             objects per batch",
        ),
        "never-revisited" => ("old", "the same count in every retained batch: never revisited"),
        "unfinished-repartition" => {
            ("unfinished", "a resize was begun; only its own count can be retried")
        }
        "errors" => ("errors", "something is broken; statetop inspect PATH tells what"),
        "no-committed-batch" => ("no batch", "no batch is committed, so nothing to redistribute"),
        "stateless" => ("stateless", "the query keeps no state"),
        "provider" => ("provider", "the state store is not RocksDB"),
        "streaming-limit" => ("limit", "a streaming limit; a repartition fails half-way"),
        "keyless-aggregate" => {
            ("no keys", "an aggregate without grouping keys; an offline repartition loses it")
        }
        "join-format-4" => {
            ("join v4", "a join in state format 4; an offline repartition corrupts it")
        }
        "no-operator-metadata" => (
            "metadata",
            "no operator metadata (Spark 3.5); let one batch run on Spark 4.0 or later",
        ),
        "unknown-count" => ("no count", "no readable offset entry says the partition count"),
        other => (other, ""),
    }
}

/// Where the query stands, in at most ten letters.
pub(crate) fn status(status: Status) -> &'static str {
    match status {
        Status::Committed => "committed",
        Status::Pending => "pending",
        Status::UnfinishedRepartition => "unfinished",
        Status::NoBatch => "no batch",
        Status::NoCommittedBatch => "no commit",
        Status::Empty => "empty",
    }
}

/// The kind of state store.
pub(crate) fn provider(provider: Option<Provider>) -> &'static str {
    match provider {
        Some(Provider::Rocksdb) => "RocksDB",
        Some(Provider::Hdfs) => "HDFS",
        Some(Provider::Other) => "other",
        None => "-",
    }
}

/// The operators by name.
pub(crate) fn operators(one: &ScannedCheckpoint) -> String {
    let names: Vec<&str> = one.operators.iter().map(|operator| operator.name.as_str()).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}

/// The findings that matter: `1 X 2 !`.
pub(crate) fn findings(one: &ScannedCheckpoint) -> String {
    let part = |number: u64, mark: &str| (number > 0).then(|| format!("{number} {mark}"));
    let parts: Vec<String> =
        [part(one.errors, "X"), part(one.warnings, "!")].into_iter().flatten().collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}

/// Whether these are the queries of the configuration: then how they do matters more than what a
/// resize would bring.
pub(crate) fn are_named(checkpoints: &[&ScannedCheckpoint]) -> bool {
    !checkpoints.is_empty() && checkpoints.iter().all(|one| one.name.is_some())
}

/// The first and the last batch: `1742..1841`.
pub(crate) fn batches(one: &ScannedCheckpoint) -> String {
    let text = |batch: Option<crate::units::BatchId>| {
        batch.map_or_else(|| "-".to_owned(), |batch| batch.to_string())
    };
    format!("{}..{}", text(one.first_batch), text(one.last_batch))
}

/// What a checkpoint is called: its name in the configuration, else its path below the root where
/// there is only one, which is named elsewhere.
pub(crate) fn title<'a>(roots: &[String], one: &'a ScannedCheckpoint) -> &'a str {
    one.name.as_deref().unwrap_or_else(|| below(roots, &one.path))
}

/// A path below the root where there is only one, which is named elsewhere.
pub(crate) fn below<'a>(roots: &[String], path: &'a str) -> &'a str {
    let below = match roots {
        [root] => path.strip_prefix(root.trim_end_matches('/')),
        _ => None,
    };
    match below.map(|below| below.trim_start_matches('/')) {
        Some("") => ".",
        Some(below) => below,
        None => path,
    }
}

/// What could not be read; a link that leads elsewhere is none of it.
pub(crate) fn unread(report: &ScanReport) -> impl Iterator<Item = &Unreadable> {
    report.unreadable.iter().filter(|one| one.kind != UnreadableKind::Link)
}
