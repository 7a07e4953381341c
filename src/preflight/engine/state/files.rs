//! The last steps: loading every partition, and what becomes of the rows.

use super::super::{EngineError, Order, Step, Stop, StopKind};
use super::{Case, FILES, NAMED, RESULT, ROWS, SEED, STEP, at, listed};
use crate::preflight::facts::{Keying, Loaded, OperatorFacts, RowFacts};
use crate::report::CheckStatus;
use crate::state::loading::{LoadFailure, LoadOutcome};
use crate::units::StateVersion;

impl Case<'_> {
    pub(super) fn files(&self) -> Step {
        const ID: &str = "state-files";
        let mut stops = Vec::new();
        let mut bad = Vec::new();
        let mut repaired = Vec::new();
        for loaded in &self.state.loaded {
            let place = format!("operator {} partition {}", loaded.operator, loaded.partition);
            match &loaded.outcome {
                LoadOutcome::Loads { repaired: Some(file), .. } => repaired.push(file.clone()),
                LoadOutcome::Loads { repaired: None, .. } => {}
                LoadOutcome::Fails(failure) => {
                    let file = failure.file().unwrap_or("its lineage");
                    bad.push(format!("{place}: {file}: {}", failure.reason()));
                    stops.push(self.load_stop(loaded, failure));
                }
            }
        }
        let whole = format!("all {} can be put together", self.state.loaded.len());
        if stops.is_empty() && !self.state.complete {
            let remedy = "Let the check run to its end.";
            return Step::of(
                ID,
                CheckStatus::Unknown,
                "Not all files were looked at",
                whole,
                remedy,
            );
        }
        if stops.is_empty() && repaired.is_empty() {
            let evidence = format!("{whole}; table files by their sizes only");
            return Step::passed(ID, "The files of the state are there", evidence);
        }
        if stops.is_empty() {
            return Step::of(
                ID,
                CheckStatus::Warning,
                "A damaged snapshot would be replaced by an older one",
                format!("{}: changelogs are on in the session and reach back", listed(&repaired)),
                "The resize reads the state all the same. A session without changelogs would fail.",
            );
        }
        let more = bad.len().saturating_sub(NAMED);
        bad.truncate(NAMED);
        let mut evidence = bad.join("; ");
        if more > 0 {
            evidence = format!("{evidence}; {more} more");
        }
        let repairable = stops.iter().any(|stop| stop.kind == StopKind::Files { repairable: true });
        let remedy = if repairable {
            "Switch changelogs on in the session of the resize \
             (spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled=true): then an \
             older snapshot and the changelogs above it replace the damaged one."
        } else {
            "Restore the file from a copy of the checkpoint, or let the query go on from an \
             earlier batch. statetop verify names every damaged file."
        };
        let mut step =
            Step::of(ID, CheckStatus::Refused, "The state cannot be read", evidence, remedy);
        step.stops = stops;
        step
    }

    fn load_stop(&self, loaded: &Loaded, failure: &LoadFailure) -> Stop {
        let operator = self.state.operators.iter().find(|op| op.id == loaded.operator);
        let stores = operator.into_iter().flat_map(|op| &op.stores);
        let index = stores.take_while(|store| store.name != loaded.store).count();
        let order = Order { partition: loaded.partition, ..at(loaded.operator, index, FILES) };
        let location = &self.facts.location;
        let class = |subclass: &str| format!("CANNOT_LOAD_STATE_STORE.{subclass}");
        let error = match failure {
            LoadFailure::NoFile(file) => EngineError::new(
                &class("CANNOT_READ_STREAMING_STATE_FILE"),
                [("fileToRead", location.file(file))],
            ),
            LoadFailure::Size { file, expected, found } => EngineError::new(
                &class("UNEXPECTED_FILE_SIZE"),
                [
                    ("dfsFile", location.file(file)),
                    // A directory of the executor that nobody can know beforehand.
                    ("localFile", String::new()),
                    ("expectedSize", expected.to_string()),
                    ("localFileSize", found.to_string()),
                ],
            ),
            LoadFailure::Damaged(..) | LoadFailure::NameWithId(_) => {
                EngineError::new(&class("UNCATEGORIZED"), [])
            }
            LoadFailure::RepairFailed { newest, tried, eligible, .. } => EngineError::new(
                &class("AUTO_SNAPSHOT_REPAIR_FAILED"),
                [
                    ("latestSnapshot", newest.to_string()),
                    // Names the executor's thread.
                    ("stateStoreId", String::new()),
                    ("selectedSnapshots", versions(tried)),
                    ("eligibleSnapshots", versions(eligible)),
                ],
            ),
            LoadFailure::NoBase(lineage) => {
                let pairs: Vec<String> =
                    lineage.iter().map(|(version, id)| format!("{version}: {id}")).collect();
                EngineError::new(
                    &class("CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT"),
                    [("lineage", pairs.join(" "))],
                )
            }
        };
        let repairable = loaded.repairable;
        self.stop(order, error, StopKind::Files { repairable })
    }

    /// Whether rows can be read at all. Known only when every row has been.
    pub(super) fn rows(&self) -> Step {
        const ID: &str = "rows";
        match &self.state.rows {
            RowFacts::Sound => {
                Step::passed(ID, "The rows can be read", "every key was read".to_owned())
            }
            RowFacts::NotRead => Step::of(
                ID,
                CheckStatus::Unknown,
                "The rows were not read",
                "the state cannot be read, or --quick was given".to_owned(),
                "statetop verify reads and decodes all of them.",
            ),
            RowFacts::BrokenLists(operator, found) => {
                let message = "Invalid byte array backed UnsafeRow".to_owned();
                let error = EngineError::new("INTERNAL_ERROR", [("message", message)]);
                let order = at(*operator, 0, ROWS);
                let kind = StopKind::Files { repairable: false };
                Step::refused(
                    ID,
                    "Rows of a join are destroyed already",
                    found.clone(),
                    "An earlier resize of join state format 4 leaves this. Restore the checkpoint \
                     from before it, or begin a new one.",
                    self.stop(order, error, kind),
                )
            }
        }
    }

    /// Whether the rows would lie where the engine looks for them.
    pub(super) fn placement(&self) -> Step {
        const ID: &str = "result";
        let count = self.facts.logs.partitions().unwrap_or(0);
        let lost = |kind| Stop {
            order: Order { step: STEP + RESULT, ..Order::default() },
            error: None,
            left: self.left,
            kind,
        };
        let joins = self.state.join_format == 4;
        let join = self.state.operators.iter().find(|op| joins && op.name == "symmetricHashJoin");
        if let Some(join) = join {
            return Step::refused(
                ID,
                "The state of the join would be destroyed",
                format!(
                    "operator {} is a stream-stream join of state format 4: the engine hashes its \
                     rows by key and time, and writes its lists without their lengths; the resize \
                     succeeds, and the next start or read fails",
                    join.id
                ),
                "Do not resize this checkpoint with open-source Spark 4.2 or 4.3. Another count \
                 needs a new checkpoint; join state formats 2 and 3 can be resized.",
                lost(StopKind::JoinFormat),
            );
        }
        if let Some(gone) = self.state.gone.first() {
            return Step::refused(
                ID,
                "An operator's state is gone, and the resize would hide it",
                format!("state/{gone} is not there, though operators with higher ids are"),
                "Restore the directory from a copy of the checkpoint.",
                lost(StopKind::LostPartition),
            );
        }
        let alone = |op: &&OperatorFacts| op.keying == Keying::Keyless && op.name != "globalLimit";
        let keyless = self.state.operators.iter().find(alone);
        let to = self.request.to;
        if let Some(keyless) = keyless.filter(|_| to > 0 && SEED % to != 0) {
            return Step::refused(
                ID,
                "The row of an aggregate without keys would be lost",
                format!(
                    "operator {} has no grouping key and uses partition 0 alone; the engine would \
                     move its row to partition 42 mod {to} = {}, and the next batch would begin \
                     from nothing",
                    keyless.id,
                    SEED % to
                ),
                "All its state is one row: no count helps. Counts that divide 42 (1, 2, 3, 6, 7, \
                 14, 21, 42) keep the row where it is.",
                lost(StopKind::Keyless),
            );
        }
        let gone = self.state.operators.iter().find_map(|operator| {
            let present = operator.directories.below(count).present.len();
            let short = operator.keying == Keying::Keyed && present > 0;
            (short && u32::try_from(present).is_ok_and(|n| n < count))
                .then_some((operator, present))
        });
        if let Some((operator, present)) = gone
            && operator.directories.below(count).are_continuous()
        {
            return Step::refused(
                ID,
                "The last partitions are gone, and the resize would hide it",
                format!(
                    "state/{} has {present} of {count} partition directories, the first ones: the \
                     engine takes them for all, and their rows would be all that is left",
                    operator.id
                ),
                "Restore the directories from a copy of the checkpoint.",
                lost(StopKind::LostPartition),
            );
        }
        Step::passed(
            ID,
            "Every row would lie where the engine looks for it",
            "none of the known ways to lose state applies".to_owned(),
        )
    }
}

fn versions(versions: &[StateVersion]) -> String {
    let all: Vec<String> = versions.iter().map(ToString::to_string).collect();
    all.join(",")
}
