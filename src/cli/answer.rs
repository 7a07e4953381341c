//! The first line of a report: what matters most, in one sentence.
//!
//! Errors come first, then where the query stands, then how the state is spread. Must not
//! know about the terminal.

use super::look::Role;
use super::number::{count, percent, ratio};
use super::text;
use crate::analysis::Distribution;
use crate::diagnosis::{Finding, Severity};
use crate::reader::Observation;
use crate::report::{InspectReport, Status, StorePartitions};

/// From this many times the mean on, the largest partition is the one slow task of a stage.
const HOT: f64 = 3.0;
/// Up to this many times the mean a spread is as even as hashing makes it.
const EVEN: f64 = 1.5;
/// With fewer rows than this per partition, chance alone makes one partition the largest.
const ROWS_TO_JUDGE: f64 = 10.0;

/// How a store's state is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spread {
    /// Nothing in it, or nothing known.
    Nothing,
    /// Too little to call it skew.
    TooFew,
    /// As even as hashing makes it.
    Even,
    /// The largest is noticeably larger.
    Uneven,
    /// The largest is what everyone waits for.
    Hot,
}

impl Spread {
    pub(crate) fn of(distribution: Option<&Distribution>) -> Self {
        let Some(distribution) = distribution else { return Self::Nothing };
        match distribution.max_over_mean {
            None => Self::Nothing,
            Some(_) if distribution.mean < ROWS_TO_JUDGE => Self::TooFew,
            Some(ratio) if ratio >= HOT => Self::Hot,
            Some(ratio) if ratio > EVEN => Self::Uneven,
            Some(_) => Self::Even,
        }
    }

    /// The role of a ratio in a table.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Hot => Role::Error,
            Self::Uneven => Role::Warning,
            Self::Nothing | Self::TooFew | Self::Even => Role::Text,
        }
    }

    /// A mark that survives without colour.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Hot => " !",
            Self::Nothing | Self::TooFew | Self::Even | Self::Uneven => "",
        }
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
        Status::Committed | Status::Pending if !report.stateful => {
            (Role::Info, "The query keeps no state.".to_owned())
        }
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
        let key = |store: &StorePartitions| (Spread::of(judged(store)), ratio_of(store));
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let Some((operator, store)) = worst else {
        return (Role::Info, "Nothing of the state was read.".to_owned());
    };
    let spread = Spread::of(judged(store));
    let place = format!("operator {} {}", operator.id, text::clean(&store.name));
    match spread {
        Spread::Even => (
            Role::Info,
            format!(
                "The state is spread evenly: at most {} times the mean, in {place}.",
                ratio(ratio_of(store))
            ),
        ),
        Spread::TooFew => {
            (Role::Info, "There are too few rows to call their spread even or not.".to_owned())
        }
        Spread::Nothing => (Role::Info, "There are no rows that could be counted.".to_owned()),
        Spread::Uneven | Spread::Hot => (
            spread.role(),
            format!("In {place}, {}", with_first(&of_store(store), char::to_lowercase)),
        ),
    }
}

/// The sentence for one store.
pub(crate) fn of_store(store: &StorePartitions) -> String {
    let by = if store.skew.rows.is_some() { "rows" } else { "bytes" };
    let Some((distribution, largest)) =
        judged(store).and_then(|all| all.largest.first().map(|largest| (all, largest)))
    else {
        return "Nothing is known of its partitions.".to_owned();
    };
    if distribution.total == 0 {
        return "It is empty.".to_owned();
    }
    let sentence = format!(
        "Partition {} holds {} of {} {by}, {} times the mean",
        largest.partition,
        percent(largest.share),
        count(distribution.total),
        ratio(distribution.max_over_mean.unwrap_or(1.0)),
    );
    match Spread::of(Some(distribution)) {
        Spread::TooFew => format!("{sentence}; too few to call it skew."),
        Spread::Even => format!("{sentence}: even."),
        Spread::Nothing | Spread::Uneven | Spread::Hot => format!("{sentence}."),
    }
}

/// What a store is judged by: rows, or bytes where no row is known.
pub(crate) fn judged(store: &StorePartitions) -> Option<&Distribution> {
    store.skew.rows.as_ref().or(store.skew.bytes.as_ref())
}

fn ratio_of(store: &StorePartitions) -> f64 {
    judged(store).and_then(|distribution| distribution.max_over_mean).unwrap_or(0.0)
}

/// `sentence` with its first letter changed by `change`.
fn with_first<I: Iterator<Item = char>>(sentence: &str, change: fn(char) -> I) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| change(first).chain(chars).collect())
}
