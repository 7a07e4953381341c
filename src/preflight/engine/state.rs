//! Steps on the state, after the offset entry is written: metadata, schemas, operators, provider,
//! partition directories, files, and whether rows come to lie where the engine looks for them.

mod files;

use super::logs::too_new;
use super::{EngineError, Left, Order, Step, Stop, StopKind, new_batch};
use crate::preflight::facts::{
    Facts, OperatorFacts, OperatorMetadataFacts, SchemaFacts, StateFacts, Trouble,
};
use crate::preflight::request::{Engine, Request};
use crate::report::{CheckStatus, Provider};
use crate::units::{BatchId, OperatorId, PartitionId};

/// The provider that the engine can rewrite.
const ROCKSDB: &str = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider";
/// Where the empty key hashes to: Spark's seed.
const SEED: i64 = 42;
/// The newest formats of operator metadata and of schema files that the engine reads.
const NEWEST_METADATA: u32 = 2;
const NEWEST_SCHEMA: u32 = 3;
/// Files that are named in a check; JSON has no more either.
const NAMED: usize = 5;

const STEP: u32 = 10;
const SCHEMA: u32 = 0;
const OPERATOR: u32 = 1;
const PROVIDER: u32 = 2;
const DIRECTORIES: u32 = 3;
const FILES: u32 = 4;
const ROWS: u32 = 5;
const RESULT: u32 = 20;

/// Names of operators that the engine can rehash.
const SUPPORTED: [&str; 10] = [
    "stateStoreSave",
    "dedupe",
    "dedupeWithinWatermark",
    "sessionWindowStateStoreSaveExec",
    "symmetricHashJoin",
    "flatMapGroupsWithState",
    "applyInPandasWithState",
    "transformWithStateExec",
    "transformWithStateInPandasExec",
    "transformWithStateInPySparkExec",
];

/// All steps on the state, in the engine's order.
pub fn state_steps(facts: &Facts, request: &Request, engine: Engine) -> Vec<Step> {
    let Some(state) = &facts.state else { return Vec::new() };
    let batch = facts.logs.last_commit.unwrap_or(BatchId(0));
    let left = new_batch(facts, request).map_or(Left::Nothing, Left::OffsetEntry);
    let case = Case { facts, state, request, engine, batch, left };
    vec![
        case.metadata(),
        case.schemas(),
        case.operators(),
        case.provider(),
        case.directories(),
        case.files(),
        case.placement(),
        case.rows(),
    ]
}

/// A place in the order of steps on the state.
fn at(operator: OperatorId, store: usize, phase: u32) -> Order {
    Order { step: 1, operator, store, phase, partition: PartitionId(0) }
}

struct Case<'a> {
    facts: &'a Facts,
    state: &'a StateFacts,
    request: &'a Request,
    engine: Engine,
    /// The batch whose state is read.
    batch: BatchId,
    left: Left,
}

impl Case<'_> {
    fn stop(&self, order: Order, error: EngineError, kind: StopKind) -> Stop {
        let order = Order { step: STEP + order.step, ..order };
        Stop { order, error: Some(error), left: self.left, kind }
    }

    fn metadata(&self) -> Step {
        const ID: &str = "operator-metadata";
        let error = || {
            EngineError::new(
                "STATE_REWRITER_INVALID_CHECKPOINT.MISSING_OPERATOR_METADATA",
                [
                    ("checkpointLocation", self.facts.location.resolved.clone()),
                    ("batchId", self.batch.to_string()),
                ],
            )
        };
        let operators = &self.state.operators;
        if operators.is_empty() {
            return Step::refused(
                ID,
                "The query keeps no state",
                "state/ has no operator".to_owned(),
                "There is nothing to resize: the shuffles of a stateless query follow \
                 spark.sql.shuffle.partitions of the session. The engine finds out only after it \
                 has written its offset entry.",
                self.stop(Order::default(), error(), StopKind::Stateless),
            );
        }
        let unreadable = operators.iter().find_map(|operator| match &operator.metadata {
            OperatorMetadataFacts::Unreadable(file, trouble) => Some((file, trouble)),
            _ => None,
        });
        if let Some((file, trouble)) = unreadable {
            let error = match trouble {
                Trouble::Version(found) => too_new(*found, NEWEST_METADATA),
                Trouble::Content(_) => EngineError::plain("unreadable operator metadata"),
            };
            return Step::refused(
                ID,
                "An operator's metadata is damaged",
                format!("{file}: {trouble}"),
                "Restore the file from a copy of the checkpoint. The engine tries no older one.",
                self.stop(Order::default(), error, StopKind::Files { repairable: false }),
            );
        }
        let missing = operators.iter().find_map(|operator| match &operator.metadata {
            OperatorMetadataFacts::Missing(reason) => Some((operator.id, reason)),
            OperatorMetadataFacts::Read { .. } | OperatorMetadataFacts::Unreadable(..) => None,
        });
        match missing {
            None => {
                let named: Vec<String> =
                    operators.iter().map(|op| format!("{} {}", op.id, op.name)).collect();
                Step::passed(ID, "The operators are described", named.join(", "))
            }
            Some((id, reason)) => Step::refused(
                ID,
                "An operator is not described",
                format!("operator {id}: {reason}; one such operator makes the engine read none"),
                "If the checkpoint was written by Spark 3.5, run the query once on Spark 4.0 or \
                 later: its first batch writes the metadata. Else restore state/*/_metadata from a \
                 copy.",
                self.stop(Order::default(), error(), StopKind::NoMetadata),
            ),
        }
    }

    fn options(&self, operator: OperatorId, store: &str) -> String {
        format!(
            "StateSourceOptions(checkpointLocation={}, batchId={}, operatorId={operator}, \
             storeName={store}, joinSide=none, stateVarName=None, flattenCollectionTypes=true)",
            self.facts.location.resolved, self.batch
        )
    }

    fn no_schema(&self, operator: OperatorId, store: &str) -> EngineError {
        let options = self.options(operator, store);
        EngineError::new("STDS_FAILED_TO_READ_STATE_SCHEMA", [("sourceOptions", options)])
    }

    fn schemas(&self) -> Step {
        const ID: &str = "schemas";
        let mut stops = Vec::new();
        let mut evidence = Vec::new();
        let mut moved = false;
        for operator in &self.state.operators {
            for (index, store) in operator.stores.iter().enumerate() {
                let order = at(operator.id, index, SCHEMA);
                match &store.schema {
                    SchemaFacts::Readable => {}
                    SchemaFacts::Fixed { file, trouble } => {
                        evidence.push(format!("{file}: {trouble}"));
                        let error = match trouble {
                            Trouble::Version(found) => too_new(*found, NEWEST_SCHEMA),
                            Trouble::Content(_) => self.no_schema(operator.id, &store.name),
                        };
                        stops.push(self.stop(order, error, StopKind::Files { repairable: false }));
                    }
                    SchemaFacts::Named { file, reason } => {
                        evidence.push(format!("{file}: {reason}"));
                        moved = self.state.elsewhere.is_some();
                        // Only transformWithState reads them before the engine is ready to
                        // give the failure a class.
                        let error = if operator.name.starts_with("transformWithState") {
                            EngineError::plain(&format!("File {file} does not exist"))
                        } else {
                            self.no_schema(operator.id, &store.name)
                        };
                        let kind = if moved {
                            StopKind::Moved
                        } else {
                            StopKind::Files { repairable: false }
                        };
                        stops.push(self.stop(order, error, kind));
                    }
                }
            }
        }
        if stops.is_empty() {
            let count: usize = self.state.operators.iter().map(|op| op.stores.len()).sum();
            return Step::passed(ID, "The schemas are readable", format!("of {count} stores"));
        }
        let remedy = if moved {
            "The metadata names schema files where the checkpoint was before. Move the checkpoint \
             back, or start the query once at this place: it writes metadata that names its own \
             files."
        } else {
            "Restore the schema file from a copy of the checkpoint."
        };
        let mut step = Step::of(
            ID,
            CheckStatus::Refused,
            "A schema file cannot be read",
            evidence.join("; "),
            remedy,
        );
        step.stops = stops;
        step
    }

    fn operators(&self) -> Step {
        const ID: &str = "operators";
        let bad = self.state.operators.iter().filter(|op| !SUPPORTED.contains(&op.name.as_str()));
        let bad: Vec<&OperatorFacts> = bad.collect();
        if let Some(step) = self.types().filter(|_| bad.is_empty()) {
            return step;
        }
        let Some(first) = bad.first() else {
            let names: Vec<&str> = self.state.operators.iter().map(|op| op.name.as_str()).collect();
            return Step::passed(ID, "All operators can be rehashed", names.join(", "));
        };
        let names: Vec<String> = bad.iter().map(|op| format!("{} {}", op.id, op.name)).collect();
        let remedy = if first.name == "globalLimit" {
            "A streaming limit keeps one counter and cannot be resized. Take the limit out of the \
             query, which needs a new checkpoint, or leave the count as it is."
        } else {
            "This operator's state cannot be rehashed; another count needs a new checkpoint."
        };
        let mut step = Step::of(
            ID,
            CheckStatus::Refused,
            "An operator cannot be rehashed",
            format!(
                "operator {}; the engine finds out only after it has written its offset entry, and \
                 every later try fails alike",
                names.join(", ")
            ),
            remedy,
        );
        step.stops.extend(bad.iter().map(|operator| {
            let error = EngineError::new(
                "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_STATEFUL_OPERATOR",
                [
                    // The engine leaves it empty here.
                    ("checkpointLocation", String::new()),
                    ("operatorName", operator.name.clone()),
                ],
            );
            self.stop(at(operator.id, 0, OPERATOR), error, StopKind::Operator)
        }));
        step
    }

    /// Times with more than six digits, which one engine does not have and the other reads only
    /// where a conf allows them.
    fn types(&self) -> Option<Step> {
        const ID: &str = "operators";
        const CONF: &str = "spark.sql.timestampNanosTypes.enabled";
        let nanoseconds = &self.state.nanoseconds;
        if self.engine == Engine::Spark42 {
            let first = nanoseconds.first()?;
            let schema = &first.schema;
            let name = format!(
                "{schema}[1.1] failure: 'TimestampType' expected but '{{' found\n\n{schema}\n^"
            );
            let error = EngineError::new("UNSUPPORTED_DATATYPE", [("typeName", name)]);
            let order = at(first.operator, first.store, SCHEMA);
            return Some(Step::refused(
                ID,
                "This engine does not have a type of the state",
                format!("operator {} has times with nanoseconds, of Spark 4.3", first.operator),
                "Resize with Spark 4.3, which wrote the state.",
                self.stop(order, error, StopKind::NewerEngine),
            ));
        }
        let first = nanoseconds.iter().find(|found| found.in_key)?;
        if self.request.session.get(CONF) == Some("true") {
            return None;
        }
        let parameters = [
            ("featureName", "Nanosecond-precision timestamp types".to_owned()),
            ("configKey", CONF.to_owned()),
            ("configValue", "true".to_owned()),
        ];
        let error = EngineError::new("FEATURE_NOT_ENABLED", parameters);
        let order = at(first.operator, first.store, OPERATOR);
        Some(Step::refused(
            ID,
            "The session does not allow a type of the keys",
            format!("operator {} has times with nanoseconds in its keys", first.operator),
            &format!("Set {CONF}=true in the session of the resize."),
            self.stop(order, error, StopKind::Feature(CONF)),
        ))
    }

    fn provider(&self) -> Step {
        const ID: &str = "provider";
        let class = &self.state.provider_class;
        if class == ROCKSDB {
            return Step::passed(ID, "The state store is RocksDB", class.clone());
        }
        let Some(first) = self.state.operators.first() else {
            return Step::passed(ID, "There is no state store", String::new());
        };
        let error = EngineError::new(
            "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_PROVIDER",
            [
                ("checkpointLocation", self.facts.location.resolved.clone()),
                ("provider", class.clone()),
            ],
        );
        let remedy = if self.state.provider == Some(Provider::Rocksdb) {
            "This class is of another engine: resize with that one (--engine databricks)."
        } else {
            "The provider of a checkpoint cannot change: another count needs a new checkpoint, best \
             one with RocksDB."
        };
        Step::refused(
            ID,
            "The state store is not open-source Spark's RocksDB",
            format!("{class}; the engine finds out only after it has written its offset entry"),
            remedy,
            self.stop(at(first.id, 0, PROVIDER), error, StopKind::Provider),
        )
    }

    fn directories(&self) -> Step {
        const ID: &str = "partition-directories";
        let count = self.facts.logs.partitions().unwrap_or(0);
        let mut stops = Vec::new();
        let mut evidence = Vec::new();
        let mut stale = Vec::new();
        for operator in &self.state.operators {
            let present = operator.directories.below(count);
            stale.extend(
                operator.directories.beyond(count).map(|p| format!("state/{}/{p}", operator.id)),
            );
            for (index, store) in operator.stores.iter().enumerate() {
                let order = at(operator.id, index, DIRECTORIES);
                let error = if present.present.is_empty() {
                    let options = self.options(operator.id, &store.name);
                    let class = "STDS_NO_PARTITION_DISCOVERED_IN_STATE_STORE";
                    EngineError::new(class, [("sourceOptions", options)])
                } else if present.are_continuous() {
                    continue;
                } else {
                    EngineError::new("INTERNAL_ERROR", [("message", PLANNING_FAILED.to_owned())])
                };
                if index == 0 {
                    evidence.push(format!(
                        "state/{} has {}",
                        operator.id,
                        listed(&present.present)
                    ));
                }
                stops.push(self.stop(order, error, StopKind::Files { repairable: false }));
            }
        }
        if stops.is_empty() {
            let evidence = if stale.is_empty() {
                format!("0 to {}", count.saturating_sub(1))
            } else {
                let number = stale.len();
                format!("of {number} that an earlier resize left behind, the engine reads none")
            };
            return Step::passed(
                ID,
                "The partition directories count from 0 without a gap",
                evidence,
            );
        }
        let mut step = Step::of(
            ID,
            CheckStatus::Refused,
            "A partition directory is missing",
            format!("{}; expected 0 to {}", evidence.join("; "), count.saturating_sub(1)),
            "Restore the directory from a copy of the checkpoint.",
        );
        step.stops = stops;
        step
    }
}

/// What the engine says when it cannot plan its reading.
const PLANNING_FAILED: &str = "The Spark SQL phase planning failed with an internal error. You hit \
     a bug in Spark or the Spark plugins you use. Please, report this bug to the corresponding \
     communities or vendors, and provide the full stack trace.";

/// `0, 1, 3` or `0, 1, 3, 4, 5, …`.
fn listed<T: ToString>(items: &[T]) -> String {
    let mut all: Vec<String> = items.iter().take(NAMED).map(ToString::to_string).collect();
    if items.len() > NAMED {
        all.push("…".to_owned());
    }
    all.join(", ")
}
