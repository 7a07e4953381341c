//! Spark's checkpoint directory: the query's id, the offset and commit logs, operator metadata,
//! source logs.
//!
//! Parsers are pure functions from bytes to values; [`Checkpoint::load`] joins them with storage.
//! What is broken becomes a [`Fault`], never the end of the reading. This module must not know
//! row formats, state stores or the screen.

mod commit;
mod conf;
mod examine;
mod fault;
pub mod file_log;
pub mod find;
mod format;
mod load;
mod logs;
mod metadata;
mod names;
mod offset;
mod operator;
mod root;
pub mod sources;
mod state_ids;
mod view;

pub use commit::{CommitEntry, parse_commit_entry};
pub use conf::{Codec, Confs, DEFAULT_PROVIDER_CLASS, Encoding, SHUFFLE_PARTITIONS};
pub use fault::{BatchRange, Fault, Log, Need, Problem};
pub use format::FormatError;
pub use load::{Checkpoint, LoadError, OperatorLookup, mark};
pub use metadata::parse_query_id;
pub use offset::{OffsetEntry, OffsetMetadata, SourceOffset, parse_offset_entry};
pub use operator::{OperatorMetadata, StoreMetadata, parse_operator_metadata};
pub use state_ids::{OperatorStateIds, StateIds};
