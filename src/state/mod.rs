//! State stores: which files make up a version, and what is in them.
//!
//! A [`census::Store`] knows one store of one operator and counts it partition by
//! partition, from a snapshot's own count or exactly. Must not know the terminal.

pub mod catalog;
pub mod census;
pub mod codec;
pub mod families;
pub mod fault;
pub mod files;
pub mod lists;
mod logs;
pub mod replay;
pub mod rocks;
pub mod row;
pub mod schema;
