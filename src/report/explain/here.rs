//! What an error means for one checkpoint: its batches, counts and files beside the values of
//! the message.
//!
//! Pure: what was read of the checkpoint comes in as reports.

use super::{ErrorReport, ExplainReport, schemas};
use crate::diagnosis::{Finding, Severity};
use crate::explain::schema_text;
use crate::report::{InspectReport, LoggedBatch, Status};
use crate::units::{BatchId, UnixMillis};

/// Findings that are told of one error.
const TOLD: usize = 3;

/// What is known of the checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a> {
    /// Its overview, of the last committed batch.
    pub inspect: &'a InspectReport,
    /// Both logs.
    pub batches: &'a [LoggedBatch],
}

impl ExplainReport {
    /// The report with what its errors mean for a checkpoint.
    #[must_use]
    pub fn about(mut self, here: Here<'_>) -> Self {
        for error in &mut self.errors {
            error.here = here.sentences(error);
            for schema in &mut error.schemas {
                let stored =
                    if schema.part == "key" { "storedKeySchema" } else { "storedValueSchema" };
                if let Some(operator) =
                    here.operator_with(schema.part, error.parameters.get(stored))
                {
                    schemas::set_rule(schema, schemas::rule(schema.part, operator));
                }
            }
        }
        self.checkpoint = Some(here.inspect.checkpoint.clone());
        self
    }
}

/// What an error is about, as far as a checkpoint can say something to it.
enum Topic {
    Repartition,
    Concurrent,
    StateFiles,
    Schema,
    Format,
    Sources,
    Kafka,
    Logs,
    Other,
}

impl Topic {
    fn of(error: &ErrorReport) -> Self {
        let id = error.class.as_deref().or(error.message.as_deref()).unwrap_or_default();
        let begins = |names: &[&str]| names.iter().any(|name| id.starts_with(name));
        if id.ends_with("STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH") {
            Self::Format
        } else if begins(&[
            "STATE_REPARTITION_INVALID_CHECKPOINT",
            "STATE_REWRITER",
            "repartition",
            "STREAMING_UNFINISHED_REPARTITION",
            "STREAMING_UNRESUMABLE",
        ]) {
            Self::Repartition
        } else if begins(&["CONCURRENT", "concurrent", "race-", "query-already"]) {
            Self::Concurrent
        } else if error.parameters.contains_key("operatorId")
            || begins(&["CANNOT_LOAD_STATE_STORE", "CHECKPOINT_FILE_CHECKSUM", "log-file"])
        {
            Self::StateFiles
        } else if begins(&[
            "STATE_STORE_KEY_SCHEMA",
            "STATE_STORE_VALUE_SCHEMA",
            "state-schema",
            "STATE_STORE_COLUMN_FAMILY_SCHEMA",
        ]) {
            Self::Schema
        } else if begins(&["source-count"]) {
            Self::Sources
        } else if begins(&["KAFKA", "kafka"]) {
            Self::Kafka
        } else if begins(&["batch-not-in-log", "STDS_OFFSET", "STREAMING_CHECKPOINT"]) {
            Self::Logs
        } else {
            Self::Other
        }
    }
}

impl Here<'_> {
    fn sentences(&self, error: &ErrorReport) -> Vec<String> {
        let mut told = Vec::new();
        told.extend(self.another_query(error));
        told.extend(self.another_place(error));
        match Topic::of(error) {
            Topic::Repartition => self.repartition(error, &mut told),
            Topic::Concurrent => self.concurrent(error, &mut told),
            Topic::StateFiles => self.files(error, &mut told),
            Topic::Schema => self.schema(error, &mut told),
            Topic::Format => self.format(&mut told),
            Topic::Sources => self.sources(&mut told),
            Topic::Kafka => self.kafka(error, &mut told),
            Topic::Logs => self.logs(error, &mut told),
            Topic::Other => told.push(self.standing()),
        }
        told
    }

    fn batch(&self, batch: BatchId) -> Option<&LoggedBatch> {
        self.batches.iter().find(|logged| logged.batch == batch)
    }

    /// `The last committed batch is 40 (…); batch 41 was planned at … and has no commit.`
    fn standing(&self) -> String {
        let seen = self.inspect;
        let committed = match seen.last_committed_batch {
            Some(batch) => {
                format!("The last committed batch is {batch}{}", at(seen.last_commit_at))
            }
            None => "No batch is committed".to_owned(),
        };
        match seen.last_planned_batch.filter(|planned| Some(*planned) > seen.last_committed_batch) {
            Some(planned) => format!(
                "{committed}; batch {planned} was planned{} and has no commit.",
                at(seen.last_plan_at)
            ),
            None => format!("{committed}, and no later one is planned."),
        }
    }

    /// Whether the message names another query.
    fn another_query(&self, error: &ErrorReport) -> Option<String> {
        let theirs = error.parameters.get("id").filter(|id| id.contains('-'))?;
        let ours = self.inspect.query_id.as_ref().filter(|ours| *ours != theirs)?;
        Some(format!(
            "The message is about query {theirs}, and this checkpoint belongs to {ours}: what \
             follows may be about another query."
        ))
    }

    /// Whether the message names a checkpoint of another name.
    fn another_place(&self, error: &ErrorReport) -> Option<String> {
        let theirs = error.parameters.get("checkpointLocation").cloned().or_else(|| {
            let file = ["fileToRead", "fileName", "dfsFile"];
            let path = file.iter().find_map(|name| error.parameters.get(*name))?;
            path.rsplit_once("/state/").map(|(before, _)| before.to_owned())
        })?;
        let last = |path: &str| path.trim_end_matches('/').rsplit('/').next().map(str::to_owned);
        (last(&theirs) != last(&self.inspect.checkpoint)).then(|| {
            format!(
                "The message is about {theirs}; what follows is about {}. Check that they are the \
                 same.",
                self.inspect.checkpoint
            )
        })
    }

    fn repartition(&self, error: &ErrorReport, told: &mut Vec<String>) {
        let named = ["lastBatchId", "batchId"].iter().find_map(|name| number(error, name));
        let named = named.and_then(|batch| self.batch(BatchId(batch)));
        if let Some(named) =
            named.filter(|named| Some(named.batch) < self.inspect.last_planned_batch)
        {
            let state = if named.committed { "is committed" } else { "has no commit" };
            told.push(format!("Batch {}, which the message names, {state}.", named.batch));
        }
        let last = self.inspect.last_planned_batch.and_then(|batch| self.batch(batch));
        let wanted = ["numPartitions", "requestedNumPartition"];
        let wanted = wanted.iter().find_map(|name| error.parameters.get(*name));
        match last {
            Some(LoggedBatch { batch, planned_at, partitions: Some(to), repartition_from: Some(from), committed: false, .. }) => {
                let asked = wanted.filter(|asked| **asked != to.to_string());
                let asked = asked.map(|asked| format!(", not {asked}")).unwrap_or_default();
                told.push(format!(
                    "Batch {batch} was planned{} and has no commit: its repartition from {from} to \
                     {to} was abandoned. Only {to} can be retried{asked}. The state of batch {} is \
                     untouched.",
                    at(*planned_at),
                    self.inspect.last_committed_batch.map_or("-".to_owned(), |batch| batch.to_string()),
                ));
            }
            Some(LoggedBatch { batch, committed: false, planned_at, .. }) => told.push(format!(
                "Batch {batch} was planned{} and has no commit; it is an ordinary batch. A start of \
                 the query runs it first, and a repartition is refused until then.",
                at(*planned_at)
            )),
            Some(LoggedBatch { batch, committed_at, partitions, repartition_from, .. }) => {
                let count = partitions.map_or_else(|| "an unknown count".to_owned(), |n| n.to_string());
                let how = match repartition_from {
                    Some(from) => format!("a repartition from {from} to {count}"),
                    None => format!("with {count} partitions"),
                };
                told.push(format!(
                    "Nothing is unfinished now: batch {batch}, {how}, was committed{}.",
                    at(*committed_at)
                ));
            }
            None => told.push("No batch was ever planned here.".to_owned()),
        }
        let class = error.class.as_deref().unwrap_or_default();
        if class.ends_with("UNSUPPORTED_PROVIDER") {
            let provider = self.inspect.provider_class.as_deref().unwrap_or("not pinned");
            told.push(format!("The pinned provider is {provider}."));
        }
        if class.ends_with("OPERATOR") || class.ends_with("METADATA") {
            told.push(self.operators());
        }
        if let Some(batch) = number(error, "batchId").map(BatchId)
            && class.ends_with("OFFSET_SEQ_NOT_FOUND")
        {
            let there = self.batch(batch).is_some_and(|logged| logged.planned);
            let there = if there { "is there now" } else { "is not there" };
            told.push(format!("offsets/{batch} {there}; {}.", self.retained()));
        }
    }

    fn operators(&self) -> String {
        let names: Vec<String> =
            self.inspect.operators.iter().map(|op| format!("{} ({})", op.name, op.id)).collect();
        match names.as_slice() {
            [] if !self.inspect.stateful => "The query keeps no state.".to_owned(),
            [] => "No stateful operator is described in it.".to_owned(),
            names => format!("Its stateful operators: {}.", names.join(", ")),
        }
    }

    fn retained(&self) -> String {
        let planned = || self.batches.iter().filter(|logged| logged.planned);
        match (planned().next(), planned().next_back()) {
            (Some(first), Some(last)) => {
                format!("the offset log has batches {} to {}", first.batch, last.batch)
            }
            _ => "the offset log is empty".to_owned(),
        }
    }

    /// Who wrote the entry is not recorded; when it was, and whether the other goes on, shows.
    fn concurrent(&self, error: &ErrorReport, told: &mut Vec<String>) {
        let named = number(error, "batchId").map(BatchId);
        if let Some(batch) = named {
            match self.batch(batch) {
                Some(logged) => {
                    let commit = if logged.committed {
                        format!("committed{}", at(logged.committed_at))
                    } else {
                        "has no commit".to_owned()
                    };
                    told.push(format!(
                        "Batch {batch} was planned{} and {commit}. The logs do not name the run \
                         that wrote it; the one that printed this did not.",
                        at(logged.planned_at)
                    ));
                }
                None => told.push(format!("Batch {batch} is in neither log; {}.", self.retained())),
            }
        }
        let newest = self.inspect.last_planned_batch.max(self.inspect.last_committed_batch);
        if let Some((newest, batch)) = newest.zip(named).filter(|(newest, batch)| newest > batch) {
            told.push(format!(
                "The other run went on after batch {batch}: the newest is {newest}{}. Wait until \
                 nothing new comes before anything is started.",
                at(self.inspect.last_commit_at.max(self.inspect.last_plan_at))
            ));
        } else {
            told.push(self.standing());
        }
    }

    fn files(&self, error: &ErrorReport, told: &mut Vec<String>) {
        let place = number(error, "operatorId").zip(number(error, "partitionId"));
        let below = place.map(|(operator, partition)| format!("state/{operator}/{partition}"));
        let is_below = |finding: &&Finding| match (&below, &finding.file) {
            (Some(below), Some(file)) => file
                .strip_prefix(below.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            _ => false,
        };
        let mut here: Vec<&Finding> = self.inspect.findings.iter().filter(is_below).collect();
        here.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        if let Some(below) = &below {
            if here.is_empty() {
                told.push(format!(
                    "The files that batch {} needs of {below} are all there now (their contents \
                     were not read; `statetop verify` does).",
                    self.inspect.batch.map_or("-".to_owned(), |batch| batch.to_string())
                ));
            }
            if let Some(version) = number(error, "version") {
                let needs = self.inspect.batch.map(|batch| batch.version().0);
                let needs = needs.map(|needs| format!("; a start now loads version {needs}"));
                told.push(format!(
                    "The message is about state version {version}{}.",
                    needs.unwrap_or_default()
                ));
            }
        } else {
            let errors = self.inspect.findings.iter();
            here = errors.filter(|finding| finding.severity == Severity::Error).collect();
        }
        told.extend(here.into_iter().take(TOLD).map(finding));
        told.push(self.standing());
    }

    fn operator_with(&self, part: &str, stored: Option<&String>) -> Option<&str> {
        let stored = schema_text::parse(stored?)?;
        let of = |schema: &Option<serde_json::Value>| {
            schema.as_ref().and_then(schema_text::of_json).is_some_and(|fields| fields == stored)
        };
        let has = |operator: &&crate::report::OperatorReport| {
            operator.stores.iter().any(|store| {
                let whole = if part == "key" { &store.key_schema } else { &store.value_schema };
                of(whole)
                    || store.column_families.iter().any(|family| {
                        of(if part == "key" { &family.key_schema } else { &family.value_schema })
                    })
            })
        };
        self.inspect.operators.iter().find(has).map(|operator| operator.name.as_str())
    }

    fn schema(&self, error: &ErrorReport, told: &mut Vec<String>) {
        let stored = ["key", "value"].into_iter().find_map(|part| {
            let name = if part == "key" { "storedKeySchema" } else { "storedValueSchema" };
            self.operator_with(part, error.parameters.get(name))
        });
        told.push(match stored {
            Some(operator) => format!(
                "The stored schema is that of operator {operator} here: the state is as the \
                 message says, and the code has changed."
            ),
            None => format!(
                "No operator here has the stored schema of the message, or it is cut. {}",
                self.operators()
            ),
        });
        told.push(self.standing());
    }

    fn format(&self, told: &mut Vec<String>) {
        if let Some(format) = self.inspect.state_checkpoint_format {
            let log = self.inspect.commit_log_version;
            let log = log.map(|version| format!(", commit log v{version}")).unwrap_or_default();
            told.push(format!(
                "The state here is in checkpoint format {format}{log}: set \
                 spark.sql.streaming.stateStore.checkpointFormatVersion to {format} in the session \
                 that repartitions."
            ));
        }
        if self.inspect.status == Status::UnfinishedRepartition {
            let last = self.inspect.last_planned_batch.and_then(|batch| self.batch(batch));
            if let Some(LoggedBatch { batch, partitions: Some(to), planned_at, .. }) = last {
                told.push(format!(
                    "Batch {batch} was planned{} as a repartition to {to} and has no commit: retry \
                     with {to}.",
                    at(*planned_at)
                ));
            }
        }
    }

    fn sources(&self, told: &mut Vec<String>) {
        let sources = &self.inspect.sources;
        let names: Vec<String> = sources
            .iter()
            .map(|one| format!("{} {} ({})", one.id, one.kind, one.summary))
            .collect();
        told.push(format!(
            "The offset log here has {}: {}.",
            crate::figures::plural(sources.len() as u64, "source", "sources"),
            names.join("; ")
        ));
    }

    /// Where this checkpoint stands in the partition of the message.
    fn kafka(&self, error: &ErrorReport, told: &mut Vec<String>) {
        let named = error.parameters.get("topicPartition");
        let place = named.and_then(|named| named.rsplit_once('-'));
        let stands = place.and_then(|(topic, partition)| {
            let mut offsets = self.inspect.sources.iter().filter_map(|one| one.offset.as_ref());
            offsets.find_map(|offset| offset.get(topic)?.get(partition)?.as_u64())
        });
        if let (Some(batch), Some(named)) = (self.inspect.batch, named) {
            told.push(match stands {
                Some(offset) => format!(
                    "Batch {batch}, the last committed, ended before offset {offset} of {named}: \
                     that is the next one to read."
                ),
                None => format!("Batch {batch}, the last committed, has no offset of {named}."),
            });
        }
        told.push(self.standing());
    }

    fn logs(&self, error: &ErrorReport, told: &mut Vec<String>) {
        if let Some(batch) = number(error, "batchId").map(BatchId) {
            let has = |there: bool| if there { "is there" } else { "is not there" };
            let logged = self.batch(batch);
            told.push(format!(
                "offsets/{batch} {}, commits/{batch} {}; {}.",
                has(logged.is_some_and(|logged| logged.planned)),
                has(logged.is_some_and(|logged| logged.committed)),
                self.retained()
            ));
        }
        let errors = self.inspect.findings.iter();
        let errors = errors.filter(|finding| finding.severity == Severity::Error);
        told.extend(errors.take(TOLD).map(finding));
        told.push(self.standing());
    }
}

/// ` at 2026-11-30 14:02:11 UTC`; nothing where it is not known.
fn at(time: Option<UnixMillis>) -> String {
    // Copies and archives leave 0, which is no time.
    let iso = time.filter(|time| time.0 > 0).and_then(UnixMillis::iso);
    let second = iso.as_deref().and_then(|iso| iso.get(..19));
    second.map(|second| format!(" at {} UTC", second.replace('T', " "))).unwrap_or_default()
}

fn number(error: &ErrorReport, name: &str) -> Option<u64> {
    error.parameters.get(name)?.parse().ok()
}

fn finding(finding: &Finding) -> String {
    let file = finding.file.as_ref().map(|file| format!(" ({file})")).unwrap_or_default();
    format!("{}{file}. {}", finding.summary, finding.remedy)
}
