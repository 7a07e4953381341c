"""Names of the Spark settings that the cases use."""

STATE = "spark.sql.streaming.stateStore."
ROCKS = STATE + "rocksdb."

PARTITIONS = "spark.sql.shuffle.partitions"
PROVIDER = STATE + "providerClass"
CHANGELOG = ROCKS + "changelogCheckpointing.enabled"
TRACK_ROWS = ROCKS + "trackTotalNumberOfRows"
MERGE_VERSION = ROCKS + "mergeOperatorVersion"
UNLOAD_ON_COMMIT = STATE + "unloadOnCommit"
MIN_DELTAS = STATE + "minDeltasForSnapshot"
CODEC = STATE + "compression.codec"
CHECKPOINT_FORMAT = STATE + "checkpointFormatVersion"
ENCODING = STATE + "encodingFormat"
FORMAT_VALIDATION = STATE + "formatValidation.enabled"
ROW_CHECKSUM = STATE + "rowChecksum.enabled"
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
OFFSET_LOG = "spark.sql.streaming.offsetLog.formatVersion"
SOURCE_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
NO_DATA_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
AGGREGATION_FORMAT = "spark.sql.streaming.aggregation.stateFormatVersion"
ANSI = "spark.sql.ansi.enabled"
CHAR_TYPES = "spark.sql.preserveCharVarcharTypeInfo"
TIME_TYPE = "spark.sql.timeType.enabled"
NANOS_TYPES = "spark.sql.timestampNanosTypes.enabled"
SINK_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSinkEvolution"

ROCKSDB_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HDFS_PROVIDER = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

DEFAULTS = {
    PARTITIONS: "5",
    PROVIDER: ROCKSDB_PROVIDER,
    CHANGELOG: "false",
    MIN_DELTAS: "4",
}
"""What every case starts from, unless it says otherwise."""
