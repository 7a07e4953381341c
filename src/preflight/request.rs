//! What is asked: a count, for an engine, in a session.

use std::collections::BTreeMap;

use crate::units::Bytes;

const STATE: &str = "spark.sql.streaming.stateStore.";

/// Confs of the session that decide how a resize ends. They are not pinned in the checkpoint.
pub(super) const CHECKPOINT_FORMAT: &str = "spark.sql.streaming.stateStore.checkpointFormatVersion";
const CHANGELOG: &str = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled";
/// Databricks' name of the runtime that a cluster has.
pub(super) const RUNTIME: &str = "spark.databricks.clusterUsageTags.sparkVersion";

/// Whose rules are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Databricks Runtime 18: set the count, start the query.
    Databricks,
    /// Open-source Spark 4.2: the offline repartition.
    Spark42,
    /// Open-source Spark 4.3: the same steps.
    Spark43,
}

impl Engine {
    /// As the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Databricks => "databricks",
            Self::Spark42 => "spark-4.2",
            Self::Spark43 => "spark-4.3",
        }
    }

    /// Whether it is open-source Spark.
    pub fn is_open_source(self) -> bool {
        self != Self::Databricks
    }
}

/// An engine and how it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineChoice {
    /// The engine.
    pub engine: Engine,
    /// A sentence.
    pub reason: String,
}

impl EngineChoice {
    /// The engine asked for, else the one that the checkpoint shows: Databricks by the provider's
    /// class or the address; of Spark the newest, since both make the same steps.
    pub fn of(asked: Option<Engine>, provider_class: Option<&str>, address: &str) -> Self {
        let choice = |engine, reason: &str| Self { engine, reason: reason.to_owned() };
        if let Some(engine) = asked {
            return choice(engine, "asked for");
        }
        if provider_class.is_some_and(|class| class.starts_with("com.databricks.")) {
            return choice(Engine::Databricks, "the checkpoint names a provider of Databricks");
        }
        let places = ["dbfs:", "/dbfs/", "/Volumes/"];
        if places.iter().any(|place| address.starts_with(place)) {
            return choice(Engine::Databricks, "the checkpoint lies in a place of Databricks");
        }
        choice(
            Engine::Spark43,
            "nothing in the checkpoint names Databricks, and open-source Spark 4.2 and 4.3 make \
             the same steps; --engine chooses",
        )
    }
}

/// Whether failed batches may be skipped, `enforceExactlyOnceSink` of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sinks {
    /// True, the default: a failed batch is in the way.
    ExactlyOnce,
    /// False: failed batches are marked as committed.
    SkipFailedBatches,
}

/// Confs of the session in which the resize would run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session(BTreeMap<String, String>);

impl Session {
    /// Confs by name.
    pub fn new(confs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(confs.into_iter().collect())
    }

    /// Whether Spark would take this value for the conf, as far as it matters here.
    ///
    /// # Errors
    /// A sentence with what is allowed.
    pub fn check(name: &str, value: &str) -> Result<(), String> {
        let replay = format!("{STATE}autoSnapshotRepair.maxChangeFileReplay");
        let flags = [
            CHANGELOG.to_owned(),
            format!("{STATE}autoSnapshotRepair.enabled"),
            format!("{STATE}rocksdb.boundedMemoryUsage"),
            "spark.sql.streaming.checkpoint.fileChecksum.enabled".to_owned(),
        ];
        let value = value.trim();
        if (name == CHECKPOINT_FORMAT || name == replay) && value.parse::<u32>().is_err() {
            return Err(format!("{name} takes a whole number, found {value:?}"));
        }
        let is_flag = ["true", "false"].contains(&value.to_ascii_lowercase().as_str());
        if flags.iter().any(|flag| flag == name) && !is_flag {
            return Err(format!("{name} takes true or false, found {value:?}"));
        }
        Ok(())
    }

    /// The value of a conf.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim())
    }

    /// The state checkpoint format that the session asks for; 1 where it says nothing.
    pub fn checkpoint_format(&self) -> u32 {
        self.number(CHECKPOINT_FORMAT).unwrap_or(1)
    }

    /// Whether changelogs are on. They are not pinned: a default session has them off.
    pub fn changelog(&self) -> bool {
        self.flag(CHANGELOG).unwrap_or(false)
    }

    /// Whether a damaged snapshot is replaced by an older one (4.2+): only where changelogs are on.
    pub fn repairs_snapshots(&self) -> bool {
        self.changelog() && self.flag(&format!("{STATE}autoSnapshotRepair.enabled")).unwrap_or(true)
    }

    /// How many changelogs may be replayed to replace a snapshot.
    pub fn most_changelogs(&self) -> u64 {
        /// Spark's default.
        const MOST: u32 = 500;
        self.number(&format!("{STATE}autoSnapshotRepair.maxChangeFileReplay"))
            .unwrap_or(MOST)
            .into()
    }

    /// Whether Spark's checksum files are compared.
    pub fn compares_checksums(&self) -> bool {
        self.flag("spark.sql.streaming.checkpoint.fileChecksum.enabled").unwrap_or(true)
    }

    /// Whether the memory of a node's state stores is bounded, if the session says so.
    pub fn bounded_memory(&self) -> Option<bool> {
        self.flag(&format!("{STATE}rocksdb.boundedMemoryUsage"))
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok()
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)?.to_ascii_lowercase().parse().ok()
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The count. Any whole number: what is none is refused as the engine refuses it.
    pub to: i64,
    /// The engine, where one was asked for.
    pub engine: Option<Engine>,
    /// Confs of the session.
    pub session: Session,
    /// Whether failed batches may be skipped.
    pub sinks: Sinks,
    /// Nodes of the cluster.
    pub nodes: Option<u32>,
    /// Memory that the state stores of a node share, where it is bounded.
    pub cap: Option<Bytes>,
    /// Whether every key is rehashed, to say whether the count helps.
    pub rehash: bool,
}

impl Request {
    /// A resize to this count in a session without confs.
    pub fn to(count: i64) -> Self {
        Self {
            to: count,
            engine: None,
            session: Session::default(),
            sinks: Sinks::ExactlyOnce,
            nodes: None,
            cap: None,
            rehash: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_session_repairs_nothing() {
        let conf = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let session = Session::default();
        assert_eq!((session.checkpoint_format(), session.repairs_snapshots()), (1, false));
        let on = Session::new([conf(CHANGELOG, "true")]);
        assert!(on.repairs_snapshots());
        let repair = format!("{STATE}autoSnapshotRepair.enabled");
        let off = Session::new([conf(CHANGELOG, "true"), conf(&repair, "false")]);
        assert!(!off.repairs_snapshots());
    }

    #[test]
    fn the_engine_is_the_one_that_the_checkpoint_shows() {
        let of = |class: Option<&str>, address| EngineChoice::of(None, class, address).engine;
        let theirs = "com.databricks.sql.streaming.state.RocksDBStateStoreProvider";
        assert_eq!(of(Some(theirs), "s3://b/ck"), Engine::Databricks);
        assert_eq!(of(None, "/Volumes/a/b/ck"), Engine::Databricks);
        assert_eq!(of(None, "s3://b/ck"), Engine::Spark43);
        assert_eq!(
            EngineChoice::of(Some(Engine::Spark42), None, "dbfs:/a").engine,
            Engine::Spark42
        );
    }
}
