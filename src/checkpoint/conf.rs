//! The confs that a batch pins in its offset entry, and what it means when one is absent.
//!
//! An engine that restarts a query forces these values into its session. A conf that is younger
//! than the checkpoint is absent from it, and then stands for the behaviour from before the conf
//! existed, which is not the conf's default of today.

use std::collections::BTreeMap;

use serde_json::Value;

use super::format::{self, FormatError};
use crate::report::Provider;

/// The pinned partition count of stateful operators.
pub const SHUFFLE_PARTITIONS: &str = "spark.sql.shuffle.partitions";

const PROVIDER_CLASS: &str = "spark.sql.streaming.stateStore.providerClass";
const CODEC: &str = "spark.sql.streaming.stateStore.compression.codec";
const ENCODING: &str = "spark.sql.streaming.stateStore.encodingFormat";
const ROW_CHECKSUM: &str = "spark.sql.streaming.stateStore.rowChecksum.enabled";
const MERGE_OPERATOR: &str = "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion";
const ROCKSDB_FORMAT: &str = "spark.sql.streaming.stateStore.rocksdb.formatVersion";
const JOIN: &str = "spark.sql.streaming.join.stateFormatVersion";
const AGGREGATION: &str = "spark.sql.streaming.aggregation.stateFormatVersion";
const GROUPS: &str = "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion";
const STRICT: &str = "spark.sql.streaming.statefulOperator.useStrictDistribution";

/// The provider of a checkpoint that pins confs but no provider.
pub const DEFAULT_PROVIDER_CLASS: &str =
    "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider";

/// The confs pinned by one batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confs(BTreeMap<String, String>);

/// The compression of changelogs, deltas and snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Codec {
    /// Blocks of lz4-java.
    Lz4,
    /// Zstandard frames.
    Zstd,
    /// Streams of snappy-java.
    Snappy,
    /// Chunks of compress-lzf.
    Lzf,
    /// A codec class that is not read.
    Other(String),
}

/// How keys and values are laid out in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoding {
    /// Spark's own row layout.
    UnsafeRow,
    /// Avro with a schema id.
    Avro,
    /// One that is not read.
    Other(String),
}

impl Confs {
    /// The confs given.
    pub fn new(confs: BTreeMap<String, String>) -> Self {
        Self(confs)
    }

    /// The `conf` object of an offset entry's metadata line. Values are text; numbers and truth
    /// values are taken as the text they print as.
    pub(super) fn from_json(value: Value) -> Result<Self, FormatError> {
        let Value::Object(fields) = value else {
            return Err(format::shape("the pinned confs as an object", 2, &value));
        };
        let text = |(name, value): (String, Value)| match value {
            Value::String(text) => Ok((name, text)),
            Value::Number(number) => Ok((name, number.to_string())),
            Value::Bool(flag) => Ok((name, flag.to_string())),
            other => Err(format::shape("a pinned conf as text", 2, &other)),
        };
        fields.into_iter().map(text).collect::<Result<_, _>>().map(Self)
    }

    /// One conf, if it is pinned.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All pinned confs by name.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// The partition count of stateful operators; `None` when absent or not a positive number.
    /// It is never assumed: 200 is only the default of a session.
    pub fn partitions(&self) -> Option<u32> {
        self.number(SHUFFLE_PARTITIONS).filter(|count| *count > 0)
    }

    /// The state store provider's Java class.
    pub fn provider_class(&self) -> &str {
        self.get(PROVIDER_CLASS).unwrap_or(DEFAULT_PROVIDER_CLASS)
    }

    /// Which provider that is. The open-source and the Databricks class write the same files.
    pub fn provider(&self) -> Provider {
        let class = self.provider_class();
        match class.rsplit('.').next().unwrap_or_default() {
            "RocksDBStateStoreProvider" => Provider::Rocksdb,
            "HDFSBackedStateStoreProvider" => Provider::Hdfs,
            _ => Provider::Other,
        }
    }

    /// The codec of state files. Absent means lz4.
    pub fn codec(&self) -> Codec {
        let name = self.get(CODEC).unwrap_or("lz4");
        // Spark takes a short name or its own class for it.
        match name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "lz4" | "lz4compressioncodec" => Codec::Lz4,
            "zstd" | "zstdcompressioncodec" => Codec::Zstd,
            "snappy" | "snappycompressioncodec" => Codec::Snappy,
            "lzf" | "lzfcompressioncodec" => Codec::Lzf,
            _ => Codec::Other(name.to_owned()),
        }
    }

    /// Whether these are the confs of an engine from Spark 4.0 on, which alone pins the layout.
    pub fn is_spark_4(&self) -> bool {
        self.get(ENCODING).is_some()
    }

    /// The layout of rows. Absent means Spark's own.
    pub fn encoding(&self) -> Encoding {
        let name = self.get(ENCODING).unwrap_or("unsaferow");
        match name.to_ascii_lowercase().as_str() {
            "unsaferow" => Encoding::UnsafeRow,
            "avro" => Encoding::Avro,
            _ => Encoding::Other(name.to_owned()),
        }
    }

    /// What separates merged values: 1 a comma, 2 nothing. Absent means 1.
    pub fn merge_operator_version(&self) -> u32 {
        self.number(MERGE_OPERATOR).unwrap_or(1)
    }

    /// Whether every row carries a checksum. Absent means no.
    pub fn row_checksum(&self) -> bool {
        self.flag(ROW_CHECKSUM).unwrap_or(false)
    }

    /// State format of stream-stream joins, 1 to 4. Absent means 1.
    pub fn join_format(&self) -> u32 {
        self.number(JOIN).unwrap_or(1)
    }

    /// State format of aggregations, 1 or 2. Absent means 1.
    pub fn aggregation_format(&self) -> u32 {
        self.number(AGGREGATION).unwrap_or(1)
    }

    /// State format of `flatMapGroupsWithState`, 1 or 2. Absent means 1.
    pub fn fmgws_format(&self) -> u32 {
        self.number(GROUPS).unwrap_or(1)
    }

    /// `RocksDB`'s table format. Absent leaves the session's value, 5 in every release.
    pub fn rocksdb_format_version(&self) -> u32 {
        self.number(ROCKSDB_FORMAT).unwrap_or(5)
    }

    /// Whether rows are placed by the whole grouping key. Absent means no: a checkpoint begun
    /// before Spark 3.3 may be placed by a part of it.
    pub fn strict_distribution(&self) -> bool {
        self.flag(STRICT).unwrap_or(false)
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.trim().parse().ok()
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)?.trim().to_ascii_lowercase().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confs(confs: &[(&str, &str)]) -> Confs {
        Confs::new(confs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn an_absent_conf_means_what_it_meant_before_it_existed() {
        let confs = Confs::default();
        assert_eq!(confs.partitions(), None);
        assert_eq!(confs.provider(), Provider::Hdfs);
        assert_eq!(confs.codec(), Codec::Lz4);
        assert_eq!(confs.encoding(), Encoding::UnsafeRow);
        assert_eq!(confs.merge_operator_version(), 1);
        assert!(!confs.row_checksum() && !confs.strict_distribution());
        let formats = [confs.join_format(), confs.aggregation_format(), confs.fmgws_format()];
        assert_eq!(formats, [1, 1, 1]);
        assert_eq!(confs.rocksdb_format_version(), 5);
    }

    #[test]
    fn both_vendors_classes_are_the_same_provider() {
        let provider = |class| confs(&[(PROVIDER_CLASS, class)]).provider();
        let spark = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider";
        assert_eq!(provider(spark), Provider::Rocksdb);
        let databricks = "com.databricks.sql.streaming.state.RocksDBStateStoreProvider";
        assert_eq!(provider(databricks), Provider::Rocksdb);
        assert_eq!(provider("com.example.MyRocksDBStateStoreProvider"), Provider::Other);
        assert_eq!(provider(""), Provider::Other);
    }

    #[test]
    fn codecs_are_named_or_given_by_class() {
        let codec = |name| confs(&[(CODEC, name)]).codec();
        assert_eq!(codec("zstd"), Codec::Zstd);
        assert_eq!(codec("org.apache.spark.io.SnappyCompressionCodec"), Codec::Snappy);
        assert_eq!(codec("LZF"), Codec::Lzf);
        assert_eq!(codec("brotli"), Codec::Other("brotli".to_owned()));
    }

    #[test]
    fn a_count_is_a_positive_number() {
        let count = |text| confs(&[(SHUFFLE_PARTITIONS, text)]).partitions();
        assert_eq!(count("64"), Some(64));
        for bad in ["0", "-1", "", "many", "4294967296"] {
            assert_eq!(count(bad), None, "{bad:?}");
        }
    }
}
