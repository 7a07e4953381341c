//! State stores: which files make up a version, and what is in them.
//!
//! A [`store::Store`] knows one store of one operator. It is counted partition by partition
//! ([`census`]) or walked over row by row ([`walk`]). Must not know the terminal.

pub mod catalog;
pub mod census;
mod directory;
pub mod families;
pub mod fault;
pub mod files;
pub mod grouping;
pub mod hash;
pub mod identity;
pub mod lists;
pub mod loading;
mod logs;
pub mod merge;
pub mod placement;
pub mod reading;
pub mod replay;
pub mod rocks;
pub mod row;
pub mod schema;
pub mod store;
pub mod verify;
pub mod walk;
pub mod whole;
