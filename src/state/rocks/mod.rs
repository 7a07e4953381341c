//! The `RocksDB` state store provider: snapshot descriptors, table files, changelogs.

pub mod changelog;
pub mod snapshot;
mod store;

pub use store::{BadFile, FileProblem, MergeDelimiter, RocksStore, sst_path};
