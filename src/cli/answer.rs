//! The first line of a report: what matters most, in one sentence.
//!
//! Errors come first, then where the query stands, then how the state is spread. Must not
//! know about the terminal.

use super::look::Role;
use super::text;
use crate::analysis::{Distribution, Spread};
use crate::diagnosis::{Finding, Severity};
use crate::figures::{bytes, count, plural, ratio, share};
use crate::reader::{Observation, RowsSummary};
use crate::report::{InspectReport, OperatorPartitions, PartitionReport, Status, StorePartitions};
use crate::units::Bytes;

/// What there is to say of rows that were printed, `limit` of them at most.
pub(crate) fn of_rows(summary: &RowsSummary, limit: Option<u64>) -> Vec<(Role, String)> {
    let batch = summary.batch.map_or_else(String::new, |batch| format!(" of batch {batch}"));
    let mut said = vec![match summary.rows {
        0 => (Role::Info, format!("No rows{batch} match.")),
        rows if limit == Some(rows) => {
            let sentence = format!(
                "The first {}{batch}; there may be more, and --limit shows them.",
                plural(rows, "row", "rows")
            );
            (Role::Info, sentence)
        }
        rows => (Role::Info, format!("{}{batch}.", plural(rows, "row", "rows"))),
    }];
    if summary.not_compared > 0 {
        let sentence = format!(
            "{} could not be decoded and were not compared with the condition.",
            plural(summary.not_compared, "row", "rows")
        );
        said.push((Role::Warning, sentence));
    }
    if summary.partial {
        let sentence = "Rows may be missing: reading was given up, or a partition is unreadable.";
        said.push((Role::Warning, sentence.to_owned()));
    }
    said
}

/// What the spread of a store is judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Judged<'a> {
    /// The rows of the partitions whose rows are known.
    Rows(&'a Distribution),
    /// The bytes, where no partition's rows are known.
    Bytes(&'a Distribution),
    /// There is nothing to judge.
    Nothing,
}

impl<'a> Judged<'a> {
    pub(crate) fn of(store: &'a StorePartitions) -> Self {
        match (&store.skew.rows, &store.skew.bytes) {
            (Some(rows), _) => Self::Rows(rows),
            (None, Some(bytes)) => Self::Bytes(bytes),
            (None, None) => Self::Nothing,
        }
    }

    pub(crate) fn distribution(self) -> Option<&'a Distribution> {
        match self {
            Self::Rows(distribution) | Self::Bytes(distribution) => Some(distribution),
            Self::Nothing => None,
        }
    }

    /// What a partition has of it.
    pub(crate) fn measure(self, partition: &PartitionReport) -> Option<u64> {
        match self {
            Self::Rows(_) => partition.rows,
            Self::Bytes(_) => Some(partition.bytes.0),
            Self::Nothing => None,
        }
    }

    /// How it is spread.
    pub(crate) fn spread(self) -> Spread {
        match self {
            Self::Rows(rows) => Spread::of_rows(rows),
            Self::Bytes(bytes) => Spread::of_bytes(bytes),
            Self::Nothing => Spread::Nothing,
        }
    }

    fn ratio(self) -> f64 {
        self.distribution().and_then(|distribution| distribution.max_over_mean).unwrap_or(0.0)
    }

    /// `842,113 rows`, `5.1 MB`.
    fn total(self) -> String {
        match self {
            Self::Rows(rows) => format!("{} rows", count(rows.total)),
            Self::Bytes(size) => bytes(Bytes(size.total)),
            Self::Nothing => "nothing".to_owned(),
        }
    }
}

/// The role of a ratio in a table.
pub(crate) fn role_of(spread: Spread) -> Role {
    match spread {
        Spread::Skewed => Role::Warning,
        Spread::Nothing | Spread::TooLittle | Spread::Even => Role::Text,
    }
}

/// The role of a sentence about it.
fn role_of_sentence(spread: Spread) -> Role {
    match spread {
        Spread::Skewed => Role::Warning,
        Spread::Nothing | Spread::TooLittle | Spread::Even => Role::Info,
    }
}

/// A mark that survives without colour.
pub(crate) fn mark_of(spread: Spread) -> &'static str {
    match spread {
        Spread::Skewed => " !",
        Spread::Nothing | Spread::TooLittle | Spread::Even => "",
    }
}

/// The sentence for a whole observation.
pub(crate) fn of(observation: &Observation) -> (Role, String) {
    trouble(observation).unwrap_or_else(|| of_stores(observation))
}

/// What matters more than how the state is spread, if anything does.
pub(crate) fn trouble(observation: &Observation) -> Option<(Role, String)> {
    let findings = findings(observation);
    let error = findings.iter().find(|finding| finding.severity == Severity::Error);
    match error {
        Some(error) => {
            let sentence = with_first(&text::clean(&error.summary), char::to_uppercase);
            Some((Role::Error, format!("{sentence}.")))
        }
        None => of_status(&observation.inspect),
    }
}

/// All findings of an observation, each once, most severe first.
pub(crate) fn findings(observation: &Observation) -> Vec<&Finding> {
    let mut all: Vec<&Finding> = Vec::new();
    for finding in observation.inspect.findings.iter().chain(&observation.partitions.findings) {
        if !all.contains(&finding) {
            all.push(finding);
        }
    }
    all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    all
}

/// Where the query stands, when that is the news.
fn of_status(report: &InspectReport) -> Option<(Role, String)> {
    let planned = report.last_planned_batch.map_or_else(|| "?".to_owned(), |b| b.to_string());
    let (role, sentence) = match report.status {
        Status::Committed | Status::Pending if !report.stateful => (
            Role::Info,
            "The query keeps no state: there is no state/ directory with operators.".to_owned(),
        ),
        Status::Committed | Status::Pending => return None,
        Status::UnfinishedRepartition => (
            Role::Error,
            format!("Batch {planned} is a resize that did not finish: set the same count again."),
        ),
        Status::NoBatch => {
            (Role::Warning, "The query has started but never planned a batch.".to_owned())
        }
        Status::NoCommittedBatch => {
            (Role::Warning, format!("Batch {planned} is planned; no batch has been committed yet."))
        }
        Status::Empty => (Role::Error, "There is nothing of a checkpoint here.".to_owned()),
    };
    Some((role, sentence))
}

/// The store with the worst spread.
fn of_stores(observation: &Observation) -> (Role, String) {
    let stores = observation
        .partitions
        .operators
        .iter()
        .flat_map(|operator| operator.stores.iter().map(move |store| (operator, store)));
    let worst = stores.max_by(|(_, a), (_, b)| {
        let (a, b) = (Judged::of(a), Judged::of(b));
        a.spread().cmp(&b.spread()).then(a.ratio().total_cmp(&b.ratio()))
    });
    let Some((operator, store)) = worst else {
        return (Role::Info, "Nothing of the state was read.".to_owned());
    };
    let judged = Judged::of(store);
    let sentence = match judged.spread() {
        Spread::Even => format!(
            "The state is spread evenly: at most {} times the mean, in {}.",
            ratio(judged.ratio()),
            place(operator, store)
        ),
        Spread::TooLittle => "There is too little state to call its spread even or not.".to_owned(),
        Spread::Nothing => "There are no rows that could be counted.".to_owned(),
        Spread::Skewed => {
            let sentence = with_first(&of_store(store), char::to_lowercase);
            format!("In {}, {sentence}", place(operator, store))
        }
    };
    (role_of_sentence(judged.spread()), sentence)
}

/// `operator 1 dedupe`, `operator 0 symmetricHashJoin left-keyToNumValues`.
fn place(operator: &OperatorPartitions, store: &StorePartitions) -> String {
    let name = text::clean(&operator.name);
    match store.name.as_str() {
        "default" => format!("operator {} {name}", operator.id),
        store => format!("operator {} {name} {}", operator.id, text::clean(store)),
    }
}

/// The sentence for one store.
pub(crate) fn of_store(store: &StorePartitions) -> String {
    let judged = Judged::of(store);
    let Some((distribution, largest)) =
        judged.distribution().and_then(|all| all.largest.first().map(|largest| (all, largest)))
    else {
        return "Nothing is known of its partitions.".to_owned();
    };
    if distribution.total == 0 {
        return "It is empty.".to_owned();
    }
    let sentence = format!(
        "Partition {} holds {} of {}, {} times the mean",
        largest.partition,
        share(largest.share),
        judged.total(),
        ratio(judged.ratio()),
    );
    match judged.spread() {
        Spread::TooLittle => format!("{sentence}; too little to call it skew."),
        Spread::Even => format!("{sentence}: even."),
        Spread::Nothing | Spread::Skewed => format!("{sentence}."),
    }
}

/// `sentence` with its first letter changed by `change`.
fn with_first<I: Iterator<Item = char>>(sentence: &str, change: fn(char) -> I) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| change(first).chain(chars).collect())
}
