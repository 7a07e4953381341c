//! Pure functions from what was read to numbers. Must not know about I/O.

pub mod heavy;
pub mod layout;
mod skew;

pub use skew::{Distribution, Largest, Skew};
