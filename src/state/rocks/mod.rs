//! The `RocksDB` state store provider: snapshot descriptors, table files, changelogs.

pub mod changelog;
mod contents;
pub mod snapshot;
mod store;
mod table;

pub use contents::Contents;
pub use store::{BadFile, FileProblem, MergeDelimiter, RocksStore, sst_path};
pub use table::Tables;
